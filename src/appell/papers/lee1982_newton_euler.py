"""Lee 1982, Table 2: what the control law by the Newton-Euler equations costs."""

from __future__ import annotations

from appell.compile.count import Operations, Polynomial, Tally
from appell.control.laws.computed_torque import commanded_acceleration
from appell.equations import newton_euler
from appell.maths.rotation import Matrix
from appell.maths.vector import ZERO, Tensor, Vector
from appell.papers.common.general import Steps, general_links, polynomials, states, total
from appell.show.document import Row, Table
from appell.show.rules import Expected

SIZES = range(1, 9)


def newton_euler_table() -> Table:
    """Lee's Table 2 beside our counts, row by row."""
    ours = polynomials(steps, SIZES)
    printed, left_out = ours[: len(PRINTED)], ours[len(PRINTED) :]
    return Table(
        "Table 2: operations of the controller, Newton-Euler",
        ("multiplications", "additions"),
        [
            *(
                Row(what, paper, count)
                for (what, *paper), count in zip(PRINTED, printed, strict=True)
            ),
            *(
                Row(what, (None, None), count, _LEFT, [Expected(x) for x in known])
                for (what, *known), count in zip(LEFT_OUT, left_out, strict=True)
            ),
            Row("Total of the paper's rows", TOTAL, total(printed)),
        ],
        note="As Lee counts: the rotation matrices are given, and a product by one costs 9 "
        "multiplications and 6 additions whatever stands in it; the first joint costs as much as "
        "the others; r + r-bar is added every time; the hand's force is in f and not in n. "
        f"Counted for n = {SIZES[0]} to {SIZES[-1]}.",
    )


def steps(tally: Tally, n: int) -> list[Operations]:
    """The operations of each row of the table, for a chain of n joints; then those left out."""

    def vector() -> Vector:
        return Vector(tally.variable(), tally.variable(), tally.variable())

    links = general_links(tally, n, tally.variable)
    A = [Matrix(Tensor(vector(), vector(), vector())) for _ in links]
    s = [ZERO for _ in links]
    q, v, q_d, v_d, a_d, kp, kv = states(tally, n, 7)
    step = Steps(tally)
    a = step(commanded_acceleration((q_d, v_d, a_d), q, v, kp, kv))
    w = step(newton_euler.angular_velocities(links, A, v, vector()))
    across = step(newton_euler.coriolis_accelerations(links, w, v))
    dw = step(newton_euler.angular_accelerations(links, A, across, a, vector()))
    squares = newton_euler.squared_speeds(links, w)
    acc = step(newton_euler.origin_accelerations(links, A, s, w, dw, squares, v, a, vector()))
    centres = step(newton_euler.centre_accelerations(links, w, dw, squares, acc))
    F = step(newton_euler.inertial_forces(links, centres))
    f, phi = step(newton_euler.forces(links, A, F, vector()))
    N = step(newton_euler.inertial_moments(links, w, dw))
    moments = step(newton_euler.moments(links, A, s, F, phi, N))
    step(newton_euler.joint_forces(links, f, moments))
    servo, omega, coriolis, *others, joints = step
    return [omega, *others, servo, coriolis, joints]


PRINTED = [
    ("omega", Polynomial.of(9, 0), Polynomial.of(7, 0)),
    ("alpha", Polynomial.of(9, 0), Polynomial.of(9, 0)),
    ("a", Polynomial.of(27, 0), Polynomial.of(22, 0)),
    ("a-bar", Polynomial.of(15, 0), Polynomial.of(14, 0)),
    ("F", Polynomial.of(3, 0), Polynomial.of(0)),
    ("f", Polynomial.of(9, -9), Polynomial.of(9, -6)),
    ("N", Polynomial.of(24, 0), Polynomial.of(18, 0)),
    ("n", Polynomial.of(21, -15), Polynomial.of(24, -15)),
    ("a_d + K_v e' + K_p e", Polynomial.of(2, 0), Polynomial.of(4, 0)),
]
LEFT_OUT = [  # and what our equations need for them
    ("omega x q' z, in alpha", Polynomial.of(2, 0), Polynomial.of(0)),
    ("tau = (A z) . n, equation 3.27", Polynomial.of(2, 0), Polynomial.of(1, 0)),
]
_LEFT = "The equation needs it; the paper has no row."
TOTAL = (Polynomial.of(119, -24), Polynomial.of(107, -21))
