"""How much forward dynamics loses in single precision: Mata et al. 2002, section 5.1.

Ascher's two bars, 0.02 m and 2 m long, make the inertia matrix nearly singular. They rest without
joint torques, and the second is turned by two degrees at a time. Each method gives the
accelerations in double and in single precision; what they differ by is the method's own loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS
from appell.equations.quantities import QUANTITIES
from appell.model.model import Model
from appell.model.parameters import GROUPS, values, with_values
from appell.robots.registry import load
from appell.robots.robot import Array
from appell.show.document import Row, Table, plain
from appell.show.figure import picture
from appell.show.rules import Known, Ratio

METHODS = {"ABA": "articulated_body", "CRBA": "composite_body", "GA": "gibbs_tensor"}
BIASES = {"CRBA": "newton_euler", "GA": "gibbs_tensor"}
COLOURS_OF = {"ABA": COLOURS[2], "CRBA": COLOURS[1], "GA": COLOURS[0]}

# Table 5, in the order of METHODS, rad/s^2.
LARGEST = (0.4976, 1.2922, 0.534002)
AVERAGE = (0.01324, 0.275063, 0.0087611)


STEPS, MANY = 180, 3600  # of a turn: the paper's, and enough that chance plays no part


def configurations(steps: int = STEPS) -> Array:
    """A turn of the second bar in equal steps, the first along x: (steps, 2)."""
    q = np.zeros((steps, 2))
    q[:, 1] = np.deg2rad(360.0 / steps * np.arange(steps))
    return q


def condition_numbers(q: Array) -> Array:
    """The ratio of the singular values of the inertia matrix, (N,)."""
    return np.linalg.cond(load("two_link").mass_matrix(q))


def double(method: str, q: Array) -> Array:
    """Accelerations in double precision, (N, 2)."""
    return _by_kernel(method, q, "float64")


def compiled(method: str, q: Array) -> Array:
    """In single precision by the compiled kernel. Its code multiplies and adds in one rounding,
    and numbers of the robot alone are combined in double precision before they are rounded."""
    return _by_kernel(method, q, "float32")


def rounded(method: str, q: Array) -> Array:
    """In single precision by the equation itself, run on NumPy's float32: the robot's numbers are
    rounded first and every operation afterwards, as a FORTRAN program rounds them."""
    return _by_equations(q, QUANTITIES["forward_dynamics"].formulations[METHODS[method]])


def eliminated(method: str, q: Array) -> Array:
    """The same, but the linear system of CRBA and GA is solved by Gauss-Jordan elimination, as in
    the paper. Articulated bodies have no system to solve."""
    if method == "ABA":
        return rounded(method, q)
    bias = QUANTITIES["bias"].formulations[BIASES[method]]
    mass_matrix = QUANTITIES["mass_matrix"].formulations[METHODS[method]]

    def accelerations(model: Model, q: Any, v: Any, tau: Any) -> list[Any]:
        rest = [t - b for t, b in zip(tau, bias(model, q, v), strict=True)]
        return gauss_jordan(mass_matrix(model, q), rest)

    return _by_equations(q, accelerations)


def gauss_jordan(M: Sequence[Sequence[Any]], b: Sequence[Any]) -> list[Any]:
    """x with M x = b: each column in turn is cleared above and below the diagonal, without a
    choice of pivots, of which the paper says nothing."""
    rows = [[*row, x] for row, x in zip(M, b, strict=True)]
    for k in range(len(rows)):
        scaled = [x / rows[k][k] for x in rows[k]]
        rows = [
            scaled if i == k else [x - row[k] * y for x, y in zip(row, scaled, strict=True)]
            for i, row in enumerate(rows)
        ]
    return [row[-1] for row in rows]


def _by_equations(q: Array, equation: Callable[..., Any]) -> Array:
    """An equation of q, v and tau on float32, at rest and without torques."""
    model = load("two_link").model
    single = with_values(model, {g: values(model, g).astype(np.float32) for g in GROUPS})
    columns = list(q.astype(np.float32).T)
    rest = [np.zeros_like(x) for x in columns]
    return np.stack(equation(single, columns, rest, rest), axis=-1)


def _by_kernel(method: str, q: Array, dtype: str) -> Array:
    rest = np.zeros_like(q)
    kernel = load("two_link").kernel(
        "forward_dynamics", formulation=METHODS[method], dtype=dtype, regroup=False
    )
    return kernel(q, rest, rest)


FAITHFUL = "Gauss-Jordan, every operation rounded"
ARITHMETICS: dict[str, Callable[[str, Array], Array]] = {
    FAITHFUL: eliminated,
    "LᵀDL, every operation rounded": rounded,
    "LᵀDL, compiled kernel": compiled,
}


@cache
def errors(arithmetic: str, steps: int = STEPS) -> dict[str, Array]:
    """Double minus single precision of each method, (steps, 2) rad/s^2."""
    q, single = configurations(steps), ARITHMETICS[arithmetic]
    return {method: double(method, q) - single(method, q) for method in METHODS}


def largest(difference: Array) -> float:
    """The largest absolute error."""
    return float(np.abs(difference).max())


def average(difference: Array) -> float:
    """The mean absolute error."""
    return float(np.abs(difference).mean())


def ranking(
    arithmetic: str, size: Callable[[Array], float], joint: int = 0, steps: int = STEPS
) -> str:
    """The methods from the smallest error to the largest."""
    sizes = {method: size(e[:, joint]) for method, e in errors(arithmetic, steps).items()}
    return " < ".join(sorted(sizes, key=sizes.__getitem__))


def tables() -> list[Table]:
    """Table 5, and the order of the methods that it is about."""
    return [_table_5(), _rankings(), _others()]


def _table_5() -> Table:
    rows = []
    for joint in (0, 1):
        found = [e[:, joint] for e in errors(FAITHFUL).values()]
        rows += [
            Row(
                f"largest, joint {joint + 1}", LARGEST, [largest(e) for e in found], _DIGITS,
                [Ratio(*x) for x in SIZES_OF_LARGEST],
            ),
            Row(
                f"average, joint {joint + 1}", AVERAGE, [average(e) for e in found], _DIGITS,
                [Ratio(*x) for x in SIZES_OF_AVERAGE],
            ),
        ]  # fmt: skip
    return Table(
        "Table 5: accelerations in double minus single precision, size in rad/s²",
        list(METHODS),
        rows,
        _NOTE,
    )


# Ours over the paper's. Other orders of the same operations (pivots, reciprocals, another solver)
# give up to 1.4 times more or less; the rest is room for the sines of another processor.
SIZES_OF_LARGEST = (0.02, 0.08), (0.5, 2.0), (0.7, 2.8)
SIZES_OF_AVERAGE = (0.3, 1.1), (0.5, 1.6), (12.0, 36.0)


def _others() -> Table:
    """Other arithmetics, more steps, and averages with their signs."""
    rows: dict[str, list[float]] = {}
    for arithmetic in ARITHMETICS:
        for steps in (STEPS, MANY):
            found = [e[:, 0] for e in errors(arithmetic, steps).values()]
            case = f"{arithmetic}, {steps} steps"
            rows[f"largest, {case}"] = [largest(e) for e in found]
            rows[f"average, {case}"] = [average(e) for e in found]
            rows[f"average with signs, {case}"] = [abs(float(e.mean())) for e in found]
    return plain("Table 5 in other arithmetics, joint 1", list(METHODS), rows, _NOTE_OTHERS)


def _rankings() -> Table:
    def ours(size: Callable[[Array], float]) -> list[str]:
        return [ranking(arithmetic, size) for arithmetic in ARITHMETICS]

    all_of_them, stated = len(ARITHMETICS), "ABA < GA < CRBA"
    printed = " < ".join(sorted(METHODS, key=dict(zip(METHODS, AVERAGE, strict=True)).__getitem__))
    return Table(
        "Section 5.1: the methods in the order of their errors, joint 1",
        list(ARITHMETICS),
        [
            Row("by the largest error, table 5", [stated] * all_of_them, ours(largest)),
            Row("by the average error, section 6", [stated] * all_of_them, ours(average)),
            Row(
                "by the average as printed, table 5", [printed] * all_of_them, ours(average),
                _PRINTED, Known("GA < ABA < CRBA", stated),
            ),
        ],
    )  # fmt: skip


_DIGITS = "rounding depends on the order of operations, which the paper does not give"
_PRINTED = (
    "section 6 says that GA's errors are larger than ABA's; the printed averages say the contrary"
)
_NOTE = (
    "Masses 0.1 and 10 kg (the second is garbled in print), bars 0.02 m wide, gravity across them, "
    "no velocities and no torques; 180 steps of a turn. Every operation is rounded to single "
    "precision, as in a FORTRAN program, and the linear systems of CRBA and GA are solved by "
    "Gauss-Jordan elimination, as in the paper. Its symbol is q̈₂, its title says joint 1: both "
    "joints are given. What follows from the data is the order of the methods and the size of "
    "CRBA's errors. GA's errors are spread over the whole turn, so a largest one of 0.53 does not "
    "go with an average size of 0.009; averaged with their signs, they partly cancel."
)
_NOTE_OTHERS = (
    "The compiled kernels combine the robot's numbers in double precision before they round them, "
    "which serves ABA most. 3600 steps leave nothing to chance."
)


_TURN: dict[str, Any] = {"x": "angle of joint 2, °"}


@picture(
    "Figure 2: acceleration of joint 1 in single and in double precision",
    "The second bar turns once. Coloured: single precision, by Gauss-Jordan; dashed: double "
    "precision. Last, the condition number of the inertia matrix.",
)
def accelerations_picture() -> Chart:
    """A chart of each method's acceleration of joint 1 over the angle of joint 2, and of the
    condition number."""
    q = configurations()
    angle = np.rad2deg(q[:, 1])
    panels = []
    for method in METHODS:
        single = Line("single precision", angle, eliminated(method, q)[:, 0], COLOURS_OF[method])
        dashed = Line("double precision", angle, double(method, q)[:, 0], dash="4 3", width=1.0)
        panels.append(Panel(method, "acceleration, rad/s²", [single, dashed], **_TURN))
    low, high = zip(*(panel.visible_range() for panel in panels), strict=True)
    panels = [replace(panel, y_range=(min(low), max(high))) for panel in panels]
    condition = Line("", angle, condition_numbers(q), COLOURS[3])
    return Chart([*panels, Panel("", "condition number", [condition], **_TURN)], columns=2)


@picture(
    "The error in single precision over the turn",
    "Acceleration of joint 1, double minus single precision, absolute value.",
)
def errors_picture() -> Chart:
    """A chart of all methods' errors in joint 1 over the angle of joint 2, in each arithmetic."""
    angle = np.rad2deg(configurations()[:, 1])
    panels = []
    for arithmetic in ARITHMETICS:
        drawn = [
            Line(method, angle, np.maximum(np.abs(e[:, 0]), _FLOOR), COLOURS_OF[method], width=1.0)
            for method, e in errors(arithmetic).items()  # zero has no place on this scale
        ]
        panels.append(
            Panel(arithmetic, "error, rad/s²", drawn, log="y", y_range=(_FLOOR, 10), **_TURN)
        )
    return Chart(panels, columns=3)


_FLOOR = 1e-7
PICTURES = accelerations_picture, errors_picture
