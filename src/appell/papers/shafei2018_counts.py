"""Shafei 2018, Table 1 and Figures 12 and 13: what the motion equations of a tree cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS
from appell.compile.count import Polynomial
from appell.papers.common.general import SIZES, Algorithm, Counts, polynomials, total
from appell.papers.shafei2018_branch import alone, as_printed, combination, gibbs_appell, lagrangian
from appell.show.document import Row, Table, plain
from appell.show.figure import Picture
from appell.show.rules import EQUAL, Differs, Known

COLUMNS = ("multiplications", "additions")

# Table 1


LAGRANGIAN, GIBBS_APPELL, COMBINATION = "Lagrangian, 4 x 4", "Gibbs-Appell, 3 x 3", "combination"
TO_THE_LETTER = f"{COMBINATION}, steps 1 and 2 to the letter"
ALONE = "the same steps, 4 x 4 alone"
PRINTED: dict[str, Counts] = {
    LAGRANGIAN: (Polynomial.of(340, 1296, 504), Polynomial.of("463/2", "2111/2", 350)),
    GIBBS_APPELL: (Polynomial.of(186, 57, -162), Polynomial.of(148, 145, -215)),
    COMBINATION: (Polynomial.of("507/2", "1631/2", 297), Polynomial.of(146, 643, 165)),
}
# What our counts are known to have more.
APART: dict[str, Counts] = {
    LAGRANGIAN: (Polynomial.of(-204, -372, -873), Polynomial.of(-120, -313, -707)),
    GIBBS_APPELL: (Polynomial.of("-349/2", "73/2", 92), Polynomial.of("-279/2", "-139/2", 141)),
    COMBINATION: (Polynomial.of("-335/2", "121/2", -760), Polynomial.of(-81, 59, -603)),
    TO_THE_LETTER: (Polynomial.of(-58, -12, -621), Polynomial.of(8, -505)),
}


@cache
def counts(every: bool) -> dict[str, Counts]:
    """Multiplications and additions of one branch, by method."""
    runs: dict[str, Algorithm] = {
        LAGRANGIAN: partial(lagrangian, every=every),
        GIBBS_APPELL: gibbs_appell,
        COMBINATION: partial(combination, every=every),
        TO_THE_LETTER: partial(as_printed, every=every),
        ALONE: partial(alone, every=every),
    }
    return {name: total(polynomials(run)) for name, run in runs.items()}


def tables() -> list[Table]:
    """Table 1 in two ways to count, the seven steps, and the order that section 5 claims."""
    return [_table_1(), _without_zeros(), _steps(), _orders()]


def _table_1() -> Table:
    why = dict(zip(APART, (_COLUMNS, _AS_MATA, _WITHOUT, _LETTER), strict=True))
    rows = [
        Row(name, PRINTED.get(name, PRINTED[COMBINATION]), counts(True)[name], why[name],
            [Differs(x) for x in apart])
        for name, apart in APART.items()
    ]  # fmt: skip
    return Table(
        f"Table 1: operations for each of n_b branches of n links, {_WAYS[True]}",
        COLUMNS,
        rows,
        _NOTE,
    )


def _without_zeros() -> Table:
    title = f"Operations for each of n_b branches of n links, {_WAYS[False]}"
    return plain(title, COLUMNS, counts(False), _NOTE_WITHOUT_ZEROS)


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
    rows = dict(zip(_STEPS, ours, strict=True)) | {"all steps": total(ours)}
    rows |= {ALONE: counts(True)[ALONE]}
    return plain(
        f"Appendix: the combination step by step, {_WAYS[True]}",
        COLUMNS,
        rows,
        f"The paper gives no counts of its steps. {_ALONE}",
    )


def ranking(every: bool, sizes: Sequence[int], combined: str = COMBINATION) -> list[str]:
    """The three methods from the fewest operations to the most, by columns; ``combined`` is the
    combination that is meant."""
    of = {name: counts(every)[combined if name == COMBINATION else name] for name in PRINTED}
    orders = [
        {" < ".join(sorted(of, key=lambda name: of[name][c](n))) for n in sizes}
        for c in range(len(COLUMNS))
    ]
    return [order.pop() if len(order) == 1 else "changes with n" for order in orders]


CLAIMED = [f"{GIBBS_APPELL} < {COMBINATION} < {LAGRANGIAN}"] * len(COLUMNS)


CHEAPER = f"{GIBBS_APPELL} < {LAGRANGIAN} < {COMBINATION}"
LONG = 15  # links from which on the paper's order holds where zeros are free


def _orders() -> Table:
    why = (
        "Where zeros cost nothing, 4 x 4 matrices alone do with less than both kinds together; the "
        f"paper's order holds from n = {LONG} on."
    )
    letter = ranking(True, SIZES, TO_THE_LETTER)
    whole = f"n = {SIZES[0]} to {SIZES[-1]}"
    return Table(
        "Section 5: the methods from the fewest operations to the most",
        COLUMNS,
        [
            Row(f"{_WAYS[True]}, {whole}", CLAIMED, ranking(True, SIZES)),
            Row(
                f"the same, steps 1 and 2 to the letter, {whole}", CLAIMED, letter, _UNUSED,
                [Known(CLAIMED[0], CHEAPER)] * 2,
            ),
            Row(
                f"{_WAYS[False]}, {whole}", CLAIMED, ranking(False, SIZES), why,
                [Known(CLAIMED[0], CHEAPER), Known(CLAIMED[0], "changes with n")],
            ),
            Row(f"{_WAYS[False]}, n = {LONG}", CLAIMED, ranking(False, [LONG])),
            Row(
                f"{_WAYS[False]}, n = {LONG - 1}", CLAIMED, ranking(False, [LONG - 1]), why,
                [Known(CLAIMED[0], CHEAPER), EQUAL],
            ),
        ],
    )  # fmt: skip


_UNUSED = (
    "What no later step uses makes the combination dearer than the Lagrangian run here, which is "
    "not the one that the paper counted."
)
_WAYS = {True: "every element counted", False: "zeros and ones free"}
_NOTE = (
    "A product of two 4 x 4 matrices costs 64 multiplications and 48 additions, one of 3 x 3 "
    "matrices 27 and 18, whatever stands in them; Mata's recursion turns vectors by two rotations "
    "in a plane, as in his own tables. The slides X1 and X2 are two links more, whose zeros and "
    "ones are free. The additions that join the branches' matrices at the end are left out, and so "
    f"is the impact. Counted for n = {SIZES[0]} to {SIZES[-1]}."
)
_NOTE_WITHOUT_ZEROS = (
    "What is zero or one by structure costs nothing: a transformation's last row, a bar's centre "
    "of mass on its axis, the columns that a derivative leaves empty. The paper counts otherwise."
)
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
    "The n² term of the additions comes out; the paper's other terms also hold what it does not "
    "print, such as how T̈ is made, or count the slides in another way."
)
_ALONE = (
    "Not in the paper: with the whole inertia in B₁ the 3 x 3 matrices are not needed, and the "
    "same steps cost less."
)


# Figures 12 and 13

BRANCHES, LINKS = 4, 4  # held while the other varies
_COLOURS = dict(zip(PRINTED, (COLOURS[1], COLOURS[0], COLOURS[2]), strict=True))


_CAPTION = (
    "Solid: counted by running the equations, every element of a matrix counted. Dashed: the "
    "paper's polynomials."
)


def _drawn(numbers: Sequence[int], label: str, cost: Callable[[Polynomial, int], Any]) -> Chart:
    """A chart of what each method costs over a number of links or branches."""
    panels = []
    for c, title in enumerate(COLUMNS):
        drawn = []
        for name, colour in _COLOURS.items():
            mine, printed = (
                [float(cost(x[c], n)) for n in numbers] for x in (counts(True)[name], PRINTED[name])
            )
            drawn.append(Line(name, numbers, mine, colour, drawn="both"))
            drawn.append(Line("as printed", numbers, printed, colour, dash="4 3", width=1.0))
        panels.append(Panel("", title, drawn, x=label, log="y"))
    return Chart(panels, columns=2)


PICTURES = (
    Picture(
        f"Figure 12: operations over the number of links, {BRANCHES} branches",
        _CAPTION,
        lambda: _drawn(SIZES, "links of a branch", lambda count, n: BRANCHES * count(n)),
    ),
    Picture(
        f"Figure 13: operations over the number of branches, {LINKS} links each",
        _CAPTION,
        lambda: _drawn(range(1, 11), "branches", lambda count, n: n * count(LINKS)),
    ),
)
