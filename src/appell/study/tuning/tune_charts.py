"""Charts of a tune: how it went, and what it changed of the samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.charts.chart import Chart, Level, Line, Panel
from appell.charts.palette import COLOURS
from appell.robots.dynamics import Array
from appell.study.field_units import common_unit
from appell.study.tuning.aims import Aim
from appell.study.tuning.trials import Samples
from appell.study.tuning.tuned import Tuned

_BEFORE, _AFTER, _BROKEN = COLOURS[1], COLOURS[0], COLOURS[6]
_MARKS: tuple[tuple[str, str, Any], ...] = (
    ("before", _BEFORE, "rings"), ("after", _AFTER, "dots")
)  # fmt: skip
_MOST = 6  # variables that have a panel
_WIDE = 30.0  # of the largest over the least, from which on an axis is logarithmic
_FAR = 0.1  # share of the evaluations that may be left out as far away
_TIMES = 4.0  # how far from the others, in ranges of these


class Shown(NamedTuple):
    """The range of objectives that is shown, whether it is logarithmic, and how many of the
    evaluations lie outside."""

    low: float
    high: float
    log: bool
    outside: int


def convergence(tuned: Tuned) -> Chart:
    """The objective of every evaluation, and the best so far."""
    n = np.arange(1, len(tuned.history["objective"]) + 1)
    objective, feasible = tuned.history["objective"], tuned.history["feasible"]
    lines = []
    if np.isfinite(tuned.best_so_far).sum() > 1:
        lines = [Line("best so far", n, tuned.best_so_far, _AFTER, width=2.2, drawn="held")]
    kinds: list[tuple[str, Array, str, Any]] = [
        ("evaluation", feasible, COLOURS[5], "dots"),
        ("constraints not kept", np.logical_not(feasible), _BROKEN, "crosses"),
    ]
    for name, kind, colour, drawn in kinds:
        chosen = kind.astype(bool) & np.isfinite(objective)
        if chosen.any():
            lines.append(Line(name, n[chosen], objective[chosen], colour, drawn=drawn))
    before = tuned.objective_before
    levels = [Level(before, "before", _BEFORE)] if np.isfinite(before) else []
    shown = _shown(tuned)
    panel = Panel(
        "", _labelled(tuned.what, tuned.aims.objective), lines, x="evaluation", counts=True,
        log="y" if shown is not None and shown.log else "", levels=levels,
        y_range=None if shown is None else shown[:2],
    )  # fmt: skip
    return Chart([panel])


def convergence_caption(tuned: Tuned, most: int) -> str:
    """What is drawn in the chart of convergence, and what is not; of lines with more than ``most``
    points only some are drawn."""
    objective, shown = tuned.history["objective"], _shown(tuned)
    missing = int(np.count_nonzero(~np.isfinite(objective)))
    outside = shown.outside if shown is not None else 0
    told = ["Every evaluation, all samples together."]
    if len(objective) > most:
        told = [f"{len(objective):,} evaluations, all samples together; of each stretch at least "
                "the highest and the lowest."]  # fmt: skip
    if missing:
        told.append(f"Not drawn: {missing:,} of {len(objective):,} evaluations, without a number.")
    if outside:
        told.append(f"Outside the axis: {outside:,} of {len(objective):,} evaluations.")
    if np.isfinite(tuned.objective_before):
        told.append("Dotted: with the scenario's own parameters.")
    return " ".join(told)


def _shown(tuned: Tuned) -> Shown | None:
    """All evaluations; without a few, if these are so far away that the others could not be told
    apart."""
    objective, best = tuned.history["objective"], tuned.best_so_far
    finite, best = objective[np.isfinite(objective)], best[np.isfinite(best)]
    kept = np.append(best, [x for x in (tuned.objective_before,) if np.isfinite(x)])
    values = np.concatenate([finite, kept])
    if not values.size:
        return None
    log = bool(_log(values))
    x, kept = (np.log(u) if log else u for u in (finite, kept))
    last = kept[len(best) - 1] if len(best) else np.median(x) if len(x) else kept[0]
    near = x[np.argsort(np.abs(x - last))][: len(x) - int(_FAR * len(x))]
    low, high = _ends(np.concatenate([near, kept]))
    far = _TIMES * (high - low)
    if far > 0:
        near = x[(x >= low - far) & (x <= high + far)]
    low, high = _ends(np.concatenate([near if far > 0 else x, kept]))
    room = 0.06 * (high - low) or 0.1 * (1.0 if log else abs(high) or 1.0)
    low, high = low - room, high + room
    outside = int(np.count_nonzero((x < low) | (x > high)))
    ends = np.exp([low, high]) if log else (low, high)
    return Shown(float(ends[0]), float(ends[1]), log, outside)


def _ends(x: Array) -> tuple[float, float]:
    return float(x.min()), float(x.max())


def over_samples(tuned: Tuned) -> Chart | None:
    """The measures of all samples before and after: as shares, and over what varies."""
    if "after" not in tuned.samples or tuned.count < 2:
        return None
    varied = Samples(tuned.study, {}).values(0, tuned.count)
    panels = []
    for aim in {x.column: x for x in (tuned.aims.objective, *tuned.aims.constraints)}.values():
        panels.append(_shares(tuned, aim))
        numeric = [name for name, v in tuned.study.vary.items() if v.numeric]
        panels += [_over(tuned, aim, name, varied[name]) for name in numeric[:_MOST]]
    return Chart(panels, columns=2)


def samples_caption(chart: Chart) -> str:
    """What is drawn in a chart of the samples."""
    told = "Every sample by itself: sorted, and over what varies. Orange: before; blue: after."
    ranges = [(panel.visible_range(), panel.levels) for panel in chart.panels]
    seen = any(low <= level.y <= high for (low, high), levels in ranges for level in levels)
    return f"{told} Dotted: bounds." if seen else told


def _shares(tuned: Tuned, aim: Aim) -> Panel:
    lines = []
    for name, colour, _ in _MARKS:
        y = _finite(tuned, name, aim)
        if y.size:
            share = 100 * (np.arange(y.size) + 0.5) / y.size
            lines.append(Line(name, share, np.sort(y), colour, drawn="both"))
    return Panel("", _labelled(aim.column, aim), lines, x="share of the samples, %",
                 levels=_levels(tuned, aim), log=_log_of(lines))  # fmt: skip


def _over(tuned: Tuned, aim: Aim, variable: str, x: Any) -> Panel:
    lines = []
    for name, colour, drawn in _MARKS:
        y = tuned.samples.get(name, {}).get(aim.column)
        if y is not None:
            good = np.isfinite(y)
            place = np.asarray(x, dtype=float)[good]
            lines.append(Line(name, place, y[good], colour, drawn=drawn))
    unit = _unit(tuned, variable)
    return Panel("", _labelled(aim.column, aim), lines, x=f"{variable}, {unit}" if unit else
                 variable, levels=_levels(tuned, aim), log=_log_of(lines))  # fmt: skip


def _unit(tuned: Tuned, variable: str) -> str:
    """The unit of a variable; a factor has none, nor has an argument of a function."""
    varied = tuned.study.vary[variable]
    if tuned.study.function is not None or varied.scales:
        return ""
    return common_unit(varied.sets or (variable,), tuned.study.base)


def _finite(tuned: Tuned, name: str, aim: Aim) -> Array:
    y = tuned.samples.get(name, {}).get(aim.column, np.zeros(0))
    return np.asarray(y[np.isfinite(y)])


def _levels(tuned: Tuned, aim: Aim) -> list[Level]:
    return [
        Level(x.bound, x.limit, _BROKEN)
        for x in tuned.aims.constraints
        if x.column == aim.column and x.bound is not None
    ]


def _log_of(lines: list[Line]) -> Any:
    return _log(np.concatenate([np.zeros(0), *(np.ravel(line.y) for line in lines)]))


def _log(values: Array) -> Any:
    wide = values.size and values.min() > 0 and values.max() > _WIDE * values.min()
    return "y" if wide else ""


def _labelled(name: str, aim: Aim) -> str:
    return f"{name}, {aim.unit}" if aim.unit else name
