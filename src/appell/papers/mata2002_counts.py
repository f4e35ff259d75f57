"""What the algorithms of Mata et al. 2002 cost: sections 4.1 and 4.2, Tables 1 to 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.compile.count import Operations, Polynomial, Tally
from appell.equations import articulated_body, composite_body, gibbs_tensor, newton_euler
from appell.equations.coordinates import Equation
from appell.equations.linear import back_substitute, factorise
from appell.maths.vector import Tensor, Vector
from appell.papers.common.general import (
    Counts,
    Steps,
    general_chain,
    interpolated,
    polynomials,
    states,
    total,
)
from appell.show.document import Row, Table, plain
from appell.show.rules import EQUAL, Differs

PUMA = 6  # joints
COLUMNS = ("products", "sums")
AND_AT_6 = (*COLUMNS, *(f"{what} for n = {PUMA}" for what in COLUMNS))


def tables() -> list[Table]:
    """The costs of sections 4.1 and 4.2, and tables 1 to 4."""
    return [
        _section_4_1(), _table_1(), _section_4_2(), _table_2(), _table_3(), _table_4(),
        _with_the_printed_bias(),
    ]  # fmt: skip


# Section 4.1 and Table 1: inverse dynamics


def joint_steps(tally: Tally) -> list[tuple[str, Operations]]:
    """Each step of section 4.1, for one joint among many."""
    body = general_chain(tally, 1).bodies[0]
    v, a, q = (tally.variable() for _ in range(3))
    m, r, J = body.mass, body.inertia.com, gibbs_tensor.euler_tensor(body.inertia)
    R, s = body.rotation(q), body.offset(q)
    x, y, z, f, t = (_vector(tally) for _ in range(5))
    W = Tensor(*(_vector(tally) for _ in range(3)))
    child = gibbs_tensor.Child(R, s, y, z)
    steps: dict[str, Callable[[], Any]] = {
        "ω of the body before, in these axes": lambda: R.T @ x,
        "ω": lambda: gibbs_tensor.angular_velocity(body, x, v),
        "ω̇": lambda: gibbs_tensor.angular_acceleration(body, R, y, x, v, a),
        "Ω": lambda: gibbs_tensor.angular_acceleration_tensor(x, y),
        "s̈": lambda: gibbs_tensor.origin_acceleration(body, R, x, W, s, y, v, a),
        "r̈": lambda: gibbs_tensor.centre_acceleration(x, W, r),
        "f": lambda: gibbs_tensor.inertial_force(m, x),
        "t": lambda: gibbs_tensor.inertial_moment(W, J),
        "φ": lambda: gibbs_tensor.carried_force(R, x, y),
        "χ": lambda: gibbs_tensor.carried_moment(r, f, t, [child]),
    }
    counted = Steps(tally)
    for step in steps.values():
        counted(step())
    return list(zip(steps, counted, strict=True))


PRINTED_4_1 = (
    (8, 4), (0, 1), (10, 7), (6, 9), (17, 13), (9, 9), (3, 0), (15, 15), (8, 7), (20, 19),
)  # fmt: skip


def _section_4_1() -> Table:
    steps = joint_steps(Tally())
    ours = [(step.multiplications, step.additions) for _, step in steps]
    rows = [
        Row(name, printed, counted)
        for (name, _), printed, counted in zip(steps, PRINTED_4_1, ours, strict=True)
    ]
    printed, counted = (tuple(map(sum, zip(*x, strict=True))) for x in (PRINTED_4_1, ours))
    return Table(
        "Section 4.1: operations for one joint",
        COLUMNS,
        [*rows, Row("all steps", printed, counted)],
        "Each step run by itself on general vectors.",
    )


def _table_1() -> Table:
    luh = whole(newton_euler.inverse_dynamics, 3)
    ours = whole(gibbs_tensor.inverse_dynamics, 3)
    luh_printed = _printed((150, -48), 852, (131, -48), 738)
    ours_printed = _printed((96, -101), 475, (84, -100), 404)
    return Table(
        "Table 1: inverse dynamics",
        AND_AT_6,
        [
            _row("Luh et al.", luh, luh_printed, ARRANGED, ((-34, -7), (-40, -3))),
            _row("this work", ours, ours_printed, BASE, ((1,), (3,))),
        ],
        f"{GENERAL} Not among our formulations: Angeles et al., Balafoutis and Patel.",
    )


# Section 4.2 and Table 2: the inertia matrix


def matrix_steps(tally: Tally, n: int) -> list[Operations]:
    """Steps 2 to 7 of section 4.2, in which all numbers count, be they constant or not."""
    model = general_chain(tally, n, parameter=tally.variable)
    (q,) = states(tally, n, 1)
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    rows = gibbs_tensor.third_rows(R)
    M, gamma, E = gibbs_tensor.composed(model, s)
    step = Steps(tally)  # what is before it is given, or made off-line
    arms = step(gibbs_tensor.arms_of_joints(model, R, s))
    axes = step(gibbs_tensor.axes_of_joints(model, R, rows))
    phi, carried = step(gibbs_tensor.first_moments(model, R, gamma))
    psi = step(gibbs_tensor.second_moments(model, R, s, E, carried))
    D = step(gibbs_tensor.main_diagonal(model, M, psi))
    gibbs_tensor.couple(model, D, axes, arms, M, phi, psi)
    step(D)
    return step


# Of each step, the printed cost of a pass times the passes of its loops.
PRINTED_4_2: dict[str, Callable[[int], tuple[int, int]]] = {
    "2: s, 8M 4A for i < j, 3A for i + 1 < j": lambda n: (
        8 * _pairs(n), 4 * _pairs(n) + 3 * _pairs(n - 1)
    ),
    "3: ∂ω̇/∂q̈, 8M 4A for i + 1 < j": lambda n: (8 * _pairs(n - 1), 4 * _pairs(n - 1)),
    "4: φ, 8M 4A and 3A for i < n": lambda n: (8 * (n - 1), 7 * (n - 1)),
    "5: ψ, 31M 40A for 1 < i < n, 13M 11A for i = 1": lambda n: (
        31 * (n - 2) + 13, 40 * (n - 2) + 11
    ),
    "6: D_ii, nothing": lambda n: (0, 0),
    "7: D_jk, 7M 6A for k < j": lambda n: (7 * _pairs(n), 6 * _pairs(n)),
}  # fmt: skip
MATRIX = Polynomial.of("23/2", "39/2", -49), Polynomial.of("17/2", "63/2", -69)
D_PRINTED = (*MATRIX, 482, 426)


def _section_4_2() -> Table:
    return Table(
        "Section 4.2: operations for the inertia matrix, step by step",
        COLUMNS,
        [
            Row(f"step {what}", interpolated(PRINTED_4_2[what]), counted)
            for what, counted in zip(PRINTED_4_2, polynomials(matrix_steps), strict=True)
        ],
        AS_PRINTED,
    )


def matrix() -> Counts:
    """All steps of section 4.2."""
    return total(polynomials(matrix_steps))


def _table_2() -> Table:
    composite = whole(composite_body.mass_matrix, 1)
    joined = whole(gibbs_tensor.mass_matrix, 1)
    printed = _printed((12, 56, -27), 741, (7, 67, -56), 598)
    apart = (-1, -8, -36), (-18, -1)
    off_line = "this work, constants joined off-line"
    return Table(
        "Table 2: the inertia matrix",
        AND_AT_6,
        [
            _row("Walker and Orin, CRBA", composite, printed, ARRANGED, apart),
            _row("this work", matrix(), D_PRINTED),
            _row(off_line, joined, D_PRINTED, JOINED, ((-6, 8), (-2, -2))),
        ],
        f"{AS_PRINTED} {GENERAL} Not among our formulations: Angeles and Ma's NOC.",
    )


# Tables 3 and 4: forward dynamics

BIAS = Polynomial.of(96, -108), Polynomial.of(83, -105)
DECOMPOSITION = Polynomial.of("1/6", "1/2", "1/3", 0)


def system_steps(tally: Tally, n: int) -> list[Operations]:
    """Cholesky's decomposition with sums from zero, its solution; and with sums begun by their
    first terms."""
    D = [[tally.variable() for _ in range(n)] for _ in range(n)]
    b = [tally.variable() for _ in range(n)]
    paths = [range(i + 1) for i in range(n)]
    step = Steps(tally)
    L = step(gibbs_tensor.cholesky(D, paths, zero=tally.variable()))
    step(back_substitute(*L, b, paths))
    step(factorise(D, paths))
    return [_with_divisions(taken) for taken in step]


def _table_3() -> Table:
    decomposition, solution, shorter = polynomials(system_steps)
    cholesky = (DECOMPOSITION, DECOMPOSITION, 56, 56)
    everything = _printed(("1/6", 13, "695/6", -157), 1042, ("1/6", 10, "683/6", -174), 905)
    solution_printed = _printed((1, 0, 0), 36, (1, -1, 0), 30)
    bias = whole(gibbs_tensor.bias, 2)
    return Table(
        "Table 3: forward dynamics by this work",
        AND_AT_6,
        [
            _row("D", matrix(), D_PRINTED),
            _row("bias", bias, (*BIAS, 468, 393), BASE, SAVED),
            _row("Cholesky's decomposition", decomposition, cholesky),
            _row(
                "without adding to zero", shorter, cholesky, FROM_ZERO, ((0,), ("-1/2", "-1/2", 0))
            ),
            _row("solution of the system", solution, solution_printed),
            _row("total", _total(bias), everything, BASE, SAVED),
        ],
        f"{AS_PRINTED} Divisions count as products, and every sum of the decomposition begins at "
        "zero. The differences of forces and bias are not in the table.",
    )


def _table_4() -> Table:
    composite = whole(composite_body.forward_dynamics, 3)
    articulated = whole(articulated_body.forward_dynamics, 3)
    ours = _total(whole(gibbs_tensor.bias, 2))
    rows = [
        ("Walker and Orin, CRBA", (1627, 1261), composite, ARRANGED, (-309, -240)),
        ("Featherstone, ABA", (1533, 1415), articulated, ARRANGED, (-53, -237)),
        ("this work", (1042, 905), ours, BASE, (-6, -5)),
    ]
    return Table(
        f"Table 4: forward dynamics for n = {PUMA}",
        COLUMNS,
        [
            Row(what, printed, _at(counted), why, [Differs(x) for x in apart])
            for what, printed, counted, why, apart in rows
        ],
        f"{GENERAL} Not among our formulations: Angeles and Ma's NOC.",
    )


def _with_the_printed_bias() -> Table:
    """What our counts give with the paper's own for the bias: no evidence of the bias."""
    return plain(
        "Tables 3 and 4: our counts plus the paper's own count of the bias",
        AND_AT_6,
        {"D, decomposition and solution by us, the bias as printed": _shown(_total(BIAS))},
        "These are the printed totals, but the bias in them is the paper's: they show only that "
        "its tables add up.",
    )


def _total(bias: Counts) -> Counts:
    decomposition, solution, _ = polynomials(system_steps)
    return total([matrix(), decomposition, solution, bias])


# Counting, and how counts are shown


def whole(equation: Equation, inputs: int) -> Counts:
    """An equation of so many states, divisions among the products."""

    def steps(tally: Tally, n: int) -> list[Operations]:
        model, given = general_chain(tally, n), states(tally, n, inputs)
        equation(model, *given)
        return [_with_divisions(tally.taken())]

    return polynomials(steps)[0]


def _with_divisions(taken: Operations) -> Operations:
    return taken._replace(multiplications=taken.multiplications + taken.divisions)


def _vector(tally: Tally) -> Vector:
    return Vector(tally.variable(), tally.variable(), tally.variable())


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _at(counts: Sequence[Polynomial]) -> tuple[Any, ...]:
    return tuple(p(PUMA) for p in counts)


def _shown(counts: Sequence[Polynomial]) -> tuple[Any, ...]:
    """The polynomials and their values for six joints, as the tables print them."""
    return (*counts, *_at(counts))


def _printed(
    products: Sequence[Any], products_at_6: int, sums: Sequence[Any], sums_at_6: int
) -> tuple[Any, ...]:
    return (Polynomial.of(*products), Polynomial.of(*sums), products_at_6, sums_at_6)


def _row(
    what: str, counts: Counts, printed: Sequence[Any], why: str = "", more: Sequence[Any] = ()
) -> Row:
    """A row of AND_AT_6; ``more`` is what our polynomials are known to have more."""
    apart = _shown(tuple(Polynomial.of(*x) for x in more)) if more else ()
    return Row(what, printed, _shown(counts), why, [Differs(x) for x in apart] or EQUAL)


GENERAL = (
    "Our counts are those of the equation as it is written, for a general chain: what is zero or "
    "one by structure and what is made of constants only costs nothing."
)
AS_PRINTED = (
    "Counted as the paper does: elements of rotation matrices are given, step 1 is made off-line, "
    "and every other number counts, be it constant or not."
)
SAVED = (-6,), (-5,)
BASE = (
    "the constants tell what the base's zeros and the last links save, and which of it the paper "
    "left out it does not say: ours is what zeros by structure give"
)
ARRANGED = (
    "the same method otherwise arranged: ours turns vectors about one axis after another, and "
    "makes off-line what is made of constants only"
)
JOINED = (
    "offsets in the next link's axes and the last link's moments are constants; the elements of "
    "rotation matrices are counted here"
)
FROM_ZERO = "a sum that begins with its first term takes an addition less"
