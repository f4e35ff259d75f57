"""Lee 1982, Table 1: what the control law by the Lagrange-Euler equations costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from appell.compile.count import Operations, Polynomial, Tally
from appell.control.laws.computed_torque import commanded_acceleration
from appell.equations import lagrange_euler
from appell.maths.homogeneous import Matrix4
from appell.maths.scalar import Scalar
from appell.papers.common.general import (
    Steps,
    general_chain,
    interpolated,
    polynomials,
    states,
    total,
)
from appell.show.document import Row, Table

SIZES = range(1, 9)


def lagrange_euler_table() -> Table:
    """Lee's Table 1 beside our counts, row by row."""
    ours = polynomials(steps, SIZES)
    rows = [
        Row(what, interpolated(printed, SIZES), count)
        for (what, printed), count in zip(PRINTED.items(), ours, strict=True)
    ]
    return Table(
        "Table 1: operations of the controller, Lagrange-Euler",
        ("multiplications", "additions"),
        [*rows, Row("Total", TOTAL, total(ours))],
        note="As Lee counts: the joints' own matrices are given, a product of two 4 x 4 matrices "
        "costs 64 multiplications and 48 additions whatever stands in them, and a product by Q "
        "costs nothing. So the traces are paid for where a matrix is the identity, and the second "
        "derivatives' also where it is null, for links m that joint i does not carry. "
        f"Counted for n = {SIZES[0]} to {SIZES[-1]}.",
    )


def steps(tally: Tally, n: int) -> list[Operations]:
    """The operations of each row of the table, for a chain of n joints."""
    model = general_chain(tally, n)
    q, v, q_d, v_d, a_d = states(tally, n, 5)
    kp, kv = ([tally.constant() for _ in range(n)] for _ in range(2))
    J, Full = lagrange_euler.pseudo_inertias(model), full(tally)
    A = [Full(link.rows) for link in lagrange_euler.links(model, q)]
    step = Steps(tally)
    T = step(lagrange_euler.transforms(model, A))
    dT = lagrange_euler.derivatives(model, A, T)
    g = step(lagrange_euler.gravity_terms(model, dT, J))
    G = step(lagrange_euler.summed(g))
    d = step(lagrange_euler.inertia_terms(model, T, J))
    D = step(lagrange_euler.summed(d))
    terms = step(lagrange_euler.velocity_terms(model, T, dT, J))
    h = step(lagrange_euler.summed(terms))
    a = step(commanded_acceleration((q_d, v_d, a_d), q, v, kp, kv))
    step(lagrange_euler.joint_forces(model, D, h, G, v, a))
    return step


def full(tally: Tally) -> type[Matrix4]:
    """Matrices whose every element counts as a number that varies, be it zero or one."""

    class Full(Matrix4):
        def __init__(self, rows: Sequence[Sequence[Scalar]]) -> None:
            super().__init__([[tally.variable() for _ in row] for row in rows])

        def __matmul__(self, other: Matrix4) -> Matrix4:
            return super().__matmul__(Full(other.rows))

    return Full


# As printed; every quotient is a whole number.
PRINTED: dict[str, Callable[[int], tuple[int, int]]] = {
    "T_i^j": lambda n: (32 * n * (n - 1), 24 * n * (n - 1)),
    "-m_j g ∂T_0^j/∂q_i r_j": lambda n: (4 * n * (9 * n - 7), n * (51 * n - 45) // 2),
    "its sum over j": lambda n: (0, n * (n - 1) // 2),
    "Tr{∂T_0^k/∂q_j J_k (∂T_0^k/∂q_i)ᵀ}": lambda n: (
        128 * n * (n + 1) * (n + 2) // 3, 65 * n * (n + 1) * (n + 2) // 2
    ),
    "its sum over k": lambda n: (0, n * (n - 1) * (n + 1) // 6),
    "Tr{∂²T_0^m/∂q_j∂q_k J_m (∂T_0^m/∂q_i)ᵀ}": lambda n: (
        128 * n**2 * (n + 1) * (n + 2) // 3, 65 * n**2 * (n + 1) * (n + 2) // 2
    ),
    "its sum over m": lambda n: (0, n**2 * (n - 1) * (n + 1) // 6),
    "a_d + K_v e' + K_p e": lambda n: (2 * n, 4 * n),
    "τ = D (a_d + K_v e' + K_p e) + H + G": lambda n: (n**2 * (n + 2), n**2 * (n + 1)),
}  # fmt: skip
TOTAL = (
    Polynomial.of("128/3", "515/3", "850/3", "82/3", 0),
    Polynomial.of("98/3", "787/6", "640/3", "131/6", 0),
)
