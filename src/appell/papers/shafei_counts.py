"""Shafei 2018, Table 1 and Figures 12 and 13: what the motion equations of a tree cost.

The paper counts n_b equal branches of n_m links each, virtual ones included, so a branch is run
here: n bars in space, and the two slides X1 and X2 that carry the first. What is counted is the
inertia matrix and the right-hand side; nothing is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from appell.compile.count import Operations, Polynomial, Tally
from appell.equations import gibbs_tensor, gibbs_tree, lagrange_euler, lagrange_recursive
from appell.equations.gibbs_tree import Branch
from appell.maths.homogeneous import IDENTITY, Matrix4, transformation
from appell.maths.rotation import AboutX, AboutZ, After, Matrix
from appell.maths.scalar import Scalar
from appell.maths.vector import NIL, NULL, ZERO, Symmetric, Tensor, Vector
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import BASE, Body, Joint, Model
from appell.papers.general import SIZES, polynomials, states
from appell.papers.lee1982_lagrange_euler import full
from appell.show.document import Picture, Row, Table
from appell.show.plots import _figure, _grid, _legend
from appell.show.style import JOINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLIDES = 2  # X1 and X2
COLUMNS = ("multiplications", "additions")

Counts = tuple[Polynomial, Polynomial]


# The branch


def branch_model(tally: Tally, n: int) -> Model:
    """n bars, each along its x axis as in the paper, on two slides without mass."""
    k = tally.constant
    turn = Matrix(Tensor(Vector(0, 0, 1), Vector(1, 0, 0), Vector(0, 1, 0)))  # z to x to y
    bodies = [
        Body(f"slide {i + 1}", i - 1, Joint(f"X{i + 1}", "prismatic"), turn, ZERO, NOTHING, i)
        for i in range(SLIDES)
    ]
    for i in range(n):
        twist = AboutX(k(), k())
        bodies.append(
            Body(
                f"bar {i + 1}",
                parent=SLIDES + i - 1,
                joint=Joint(f"q{i + 1}"),
                R0=twist if i else After(turn, twist),
                s0=Vector(k(), 0, 0) if i else ZERO,
                inertia=Inertia(k(), Vector(k(), 0, 0), Symmetric(k(), 0, k(), 0, 0, k())),
                coordinate=SLIDES + i,
            )
        )
    gravity = Vector(k(), k(), k())
    return Model("branch", tuple(bodies), tuple(b.joint for b in bodies), (), gravity)


Matrices = Sequence[Matrix4]


def every_element(tally: Tally, matrices: Matrices) -> list[Matrix4]:
    """The bars' matrices with all elements counted, zero and one included; the slides' as is."""
    Full = full(tally)
    return [*matrices[:SLIDES], *(Full(X.rows) for X in matrices[SLIDES:])]


# The methods, step by step


def lagrangian(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """By 4 x 4 matrices: the right-hand side, and the inertia matrix column by column."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    A: Matrices = lagrange_euler.links(model, q)
    J: Matrices = lagrange_euler.pseudo_inertias(model)
    if every:
        A, J = every_element(tally, A), every_element(tally, J)
    tally.taken()
    W = lagrange_recursive.transformations(model, A)
    dA = lagrange_recursive.derivatives(model, A)
    dW = lagrange_recursive.own_derivatives(model, W, dA)
    ddW = lagrange_recursive.accelerations(model, A, W, dA, dW, v, [0] * model.nv)
    lagrange_recursive.forces(model, A, J, dW, ddW)
    right = tally.taken()
    M: list[list[Scalar]] = [[0] * model.nv for _ in model.bodies]
    for k in range(model.nv):
        lagrange_recursive.add_column(model, M, A, J, dW, k)
    return [right, tally.taken()]


def gibbs_appell(tally: Tally, n: int) -> list[Operations]:
    """By 3 x 3 matrices: the right-hand side and the inertia matrix of Mata et al. 2002."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    tally.taken()
    gibbs_tensor.bias(model, q, v)
    right = tally.taken()
    gibbs_tensor.mass_matrix(model, q)
    return [right, tally.taken()]


def combination(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The seven steps, 1 and 2 together, without what no later step asks for."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    branch = counted_branch(tally, model, q, every)
    place = gibbs_tree.placed(branch)
    taken = [tally.taken()]
    w, dw = gibbs_tree.angular_motion(branch, place, v, [0] * model.nv)
    taken.append(tally.taken())
    ddT = gibbs_tree.accelerations(branch, place, v, [0] * model.nv)
    p, Q, chi = gibbs_tree.carried(branch, place, ddT, w, dw)
    taken.append(tally.taken())
    gibbs_tree.projected(model, branch, place, p, Q, chi)
    taken.append(tally.taken())
    F = gibbs_tree.moved_moments(branch)
    P = gibbs_tree.turned_moments(branch, place)
    taken.append(tally.taken())
    gibbs_tree.coupled(branch, place, F, P)
    taken.append(tally.taken())
    return taken


def counted_branch(tally: Tally, model: Model, q: Sequence[Scalar], every: bool) -> Branch:
    (branch,) = gibbs_tree.branches(model, q)
    if every:
        B2 = [Symmetric(*(tally.variable() for _ in range(6))) for _ in branch.B2[SLIDES:]]
        branch = branch._replace(
            EA=every_element(tally, branch.EA),
            B1=every_element(tally, branch.B1),
            B2=[*branch.B2[:SLIDES], *B2],
        )
    tally.taken()
    return branch


def as_printed(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The seven steps with steps 1 and 2 as the appendix has them, between all links."""
    return [*printed_compounds(tally, n, every=every), *combination(tally, n, every=every)[1:]]


def printed_compounds(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """Steps 1 and 2 to the letter; E[j] is E_j, A[j] is A_j, and i = 0 the reference."""
    model = branch_model(tally, n)
    (q,) = states(tally, n + SLIDES, 1)
    Kind = full(tally) if every else Matrix4
    bars = model.bodies[SLIDES:]
    ends = [Vector(*q[:SLIDES], 0), *(bar.s0 for bar in bars[1:])]
    E = [Kind(transformation(AboutZ(1, 0), end).rows) for end in ends]
    turns = [bar.rotation(x) for bar, x in zip(bars, q[SLIDES:], strict=True)]
    A = [IDENTITY, *(Kind(transformation(turn, ZERO).rows) for turn in turns)]
    U1 = [lagrange_euler.by_operator(Aj, bar) for Aj, bar in zip(A[1:], bars, strict=True)]
    tally.taken()

    T: dict[tuple[int, int], Matrix4] = {}
    tilde: dict[tuple[int, int], Matrix4] = {}
    for i in range(n):
        for j in range(i + 1, n + 1):
            T[i, j] = T[i, j - 1] @ E[j - 1] @ A[j] if j > i + 1 else A[j]
            tilde[i, j] = E[i] @ T[i, j]
    hat = [E[0], *(tilde[0, j] @ E[j] for j in range(1, n))]
    for hat_j, U in zip(hat, U1, strict=True):
        _ = hat_j @ U
    taken = [tally.taken()]

    R = [Tensor(*(Vector(*row[:3]) for row in Aj.rows[:3])) for Aj in A]
    for j in range(1, n - 1):
        compound = R[j + 1]
        for k in range(j + 2, n + 1):
            compound = gibbs_tree.product(compound, R[k])
    return [*taken, tally.taken()]


def alone(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The same steps by 4 x 4 matrices alone: B1 is half the pseudo-inertia, B2 is null."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    J = [gibbs_tree.scaled(x, 0.5) for x in lagrange_euler.pseudo_inertias(model)]
    branch = counted_branch(tally, model, q, every)
    B1 = every_element(tally, J) if every else J
    branch = branch._replace(B1=B1, B2=[NIL] * model.nv)
    tally.taken()
    place = gibbs_tree.placed(branch)
    ddT = gibbs_tree.accelerations(branch, place, v, [0] * model.nv)
    rest = [ZERO] * model.nv
    gibbs_tree.projected(model, branch, place, *gibbs_tree.carried(branch, place, ddT, rest, rest))
    right = tally.taken()
    P = [[NULL] * model.nv] * model.nv
    gibbs_tree.coupled(branch, place, gibbs_tree.moved_moments(branch), P)
    return [right, tally.taken()]


# Table 1


class Method(NamedTuple):
    """A row of Table 1: what it is called, what it costs as printed, and how to run it."""

    name: str
    printed: Sequence[Polynomial | None]
    run: Callable[..., list[Operations]]
    why: str


LAGRANGIAN, GIBBS_APPELL, COMBINATION = "Lagrangian, 4 × 4", "Gibbs-Appell, 3 × 3", "combination"
PRINTED: dict[str, Counts] = {
    LAGRANGIAN: (Polynomial.of(340, 1296, 504), Polynomial.of("463/2", "2111/2", 350)),
    GIBBS_APPELL: (Polynomial.of(186, 57, -162), Polynomial.of(148, 145, -215)),
    COMBINATION: (Polynomial.of("507/2", "1631/2", 297), Polynomial.of(146, 643, 165)),
}


def _methods(every: bool) -> list[Method]:
    def asked(run: Callable[..., list[Operations]]) -> Callable[..., list[Operations]]:
        return partial(run, every=every)

    combined = PRINTED[COMBINATION]
    return [
        Method(LAGRANGIAN, PRINTED[LAGRANGIAN], asked(lagrangian), _COLUMNS),
        Method(GIBBS_APPELL, PRINTED[GIBBS_APPELL], gibbs_appell, _AS_MATA),
        Method(COMBINATION, combined, asked(combination), _WITHOUT),
        Method(f"{COMBINATION}, steps 1 and 2 to the letter", combined, asked(as_printed), _LETTER),
        Method("the same steps, 4 × 4 alone", (None, None), asked(alone), _ALONE),
    ]


@cache
def counts(every: bool) -> dict[str, Counts]:
    """Multiplications and additions of one branch, by method."""
    return {m.name: _total(polynomials(m.run)) for m in _methods(every)}


def _total(steps: Sequence[Counts]) -> Counts:
    zero = Polynomial.of(0)
    multiplications, additions = (sum(x, start=zero) for x in zip(*steps, strict=True))
    return multiplications, additions


def tables() -> list[Table]:
    """Table 1 in two ways to count, the seven steps, and the order that section 5 claims."""
    return [_table_1(every=True), _table_1(every=False), _steps(), _orders()]


def _table_1(*, every: bool) -> Table:
    rows = [Row(m.name, m.printed, counts(every)[m.name], m.why) for m in _methods(every)]
    return Table(
        f"Table 1, {_WAYS[every]}: operations for each of n_b branches of n links",
        COLUMNS,
        rows,
        _NOTE[every],
    )


_STEPS = (
    "1 and 2: T, ∂T/∂q, R",
    "3: ω, ω̇",
    "4: T̈, p, Q, χ",
    "5: the right-hand side",
    "6: F, Π",
    "7: the inertia matrix",
)


def _steps() -> Table:
    ours = polynomials(partial(combination, every=True))
    rows = [Row(name, (None, None), x) for name, x in zip(_STEPS, ours, strict=True)]
    return Table(
        f"Appendix: the combination step by step, {_WAYS[True]}",
        COLUMNS,
        [*rows, Row("all steps", (None, None), _total(ours))],
        "The paper gives no counts of its steps.",
    )


def ranking(every: bool, n: int) -> list[str]:
    """The three methods from the fewest operations to the most, for n links."""
    of = counts(every)
    return [" < ".join(sorted(PRINTED, key=lambda m: of[m][c](n))) for c in range(len(COLUMNS))]


def overtaken(of: Callable[[int], bool], longest: int = 1000) -> int:
    """The first number of links from which on a claim holds."""
    failing = [n for n in range(SIZES[0], longest) if not of(n)]
    return failing[-1] + 1 if failing else SIZES[0]


def _orders() -> Table:
    claimed = [f"{GIBBS_APPELL} < {COMBINATION} < {LAGRANGIAN}"] * len(COLUMNS)
    rows = [
        Row(f"{_WAYS[True]}, n = {n}", claimed, ranking(True, n), exact=True)
        for n in (SIZES[0], 4, SIZES[-1])
    ]
    first = overtaken(lambda n: ranking(False, n) == claimed)
    why = (
        "Where zeros cost nothing, multiplying 4 × 4 matrices costs less than turning by 3 × 3 "
        f"ones besides; the paper's order holds from n = {first} on."
    )
    rows.append(Row(f"{_WAYS[False]}, n = 4", claimed, ranking(False, 4), why))
    rows.append(Row(f"{_WAYS[False]}, n = {first}", claimed, ranking(False, first), exact=True))
    return Table("Section 5: the methods from the fewest operations to the most", COLUMNS, rows)


_WAYS = {True: "every element counted", False: "zeros and ones free"}
_NOTE = {
    True: "A product of two 4 × 4 matrices costs 64 multiplications and 48 additions, one of "
    "3 × 3 matrices 27 and 18, whatever stands in them; Mata's recursion turns vectors by two "
    "rotations in a plane, as in his own tables. The slides X1 and X2 are two links more, whose "
    "zeros and ones are free. Branches' matrices are added up at "
    "the end; those additions are left out, as in the paper, and so is the impact. "
    f"Counted for n = {SIZES[0]} to {SIZES[-1]}.",
    False: "What is zero or one by structure costs nothing: a transformation's last row, a bar's "
    "centre of mass on its axis, the columns that a derivative leaves empty.",
}
_COLUMNS = (
    "The paper does not say how it extends Hollerbach's inverse dynamics to an inertia matrix; "
    "here each column is made by the same recursion, from its joint on."
)
_AS_MATA = (
    "The paper counts an extension of Mata's recursion that it does not give; run as Mata wrote "
    "it, with the slides as joints, it costs far less."
)
_WITHOUT = (
    "Without the transformations and rotations between all links, which no later step uses, and "
    "with E A as one matrix."
)
_LETTER = (
    "The n² term of the additions comes out; the paper's multiplications have no place in the "
    "printed steps, which do not say how T̈ is made either."
)
_ALONE = (
    "Not in the paper: with the whole inertia in B₁ the 3 × 3 matrices are not needed, and the "
    "same steps cost less."
)


# Figures 12 and 13

BRANCHES, LINKS = 4, 4  # held while the other varies
_COLOURS = dict(zip(PRINTED, (JOINTS[1], JOINTS[0], JOINTS[2]), strict=True))


def pictures() -> list[Picture]:
    return [
        Picture(
            f"Figure 12: operations over the number of links, {BRANCHES} branches",
            _CAPTION,
            partial(_drawn, range(SIZES[0], SIZES[-1] + 1), "links of a branch", _over_links),
        ),
        Picture(
            f"Figure 13: operations over the number of branches, {LINKS} links each",
            _CAPTION,
            partial(_drawn, range(1, 11), "branches", _over_branches),
        ),
    ]


def _over_links(count: Polynomial, n: int) -> float:
    return float(BRANCHES * count(n))


def _over_branches(count: Polynomial, n: int) -> float:
    return float(n * count(LINKS))


def _drawn(numbers: Sequence[int], label: str, cost: Callable[[Polynomial, int], float]) -> Figure:
    ours = counts(True)
    with _figure(7.2, 3.2) as figure:
        panels = _grid(figure, 1, 2, legend=0.3)
        for c, (axes, title) in enumerate(zip(panels, COLUMNS, strict=True)):
            for name, colour in _COLOURS.items():
                mine, printed = (
                    [cost(x[c], n) for n in numbers] for x in (ours[name], PRINTED[name])
                )
                axes.plot(numbers, mine, color=colour, marker="o", ms=3, label=name)
                axes.plot(numbers, printed, color=colour, lw=1.0, ls=(0, (4, 3)))
            axes.set(title=title, yscale="log", xlabel=label)
        _legend(figure, columns=3)
    return figure


_CAPTION = (
    "Solid: counted by running the equations, every element of a matrix counted. Dashed: the "
    "paper's polynomials."
)
