"""Charts of a tune: how it went, and what it changed of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.charts.chart import Chart, Level, Line, Panel
from appell.charts.palette import COLOURS
from appell.robots.dynamics import Array
from appell.study.tuning.aims import Aim
from appell.study.tuning.trials import Samples
from appell.study.tuning.tuned import Tuned

_BEFORE, _AFTER = COLOURS[5], COLOURS[0]
_MOST = 6  # variables that have a panel
_WIDE = 30.0  # of the largest over the least, from which on an axis is logarithmic


def convergence(tuned: Tuned) -> Chart:
    """The objective of every evaluation, and the best so far."""
    n = np.arange(1, len(tuned.history["objective"]) + 1)
    objective, feasible = tuned.history["objective"], tuned.history["feasible"]
    lines = [Line("best so far", n, tuned.best_so_far, _AFTER, width=2.2)]
    dots = [
        ("evaluation", feasible, COLOURS[0]),
        ("constraints not kept", np.logical_not(feasible) & np.isfinite(objective), COLOURS[1]),
    ]
    for name, chosen, colour in dots:
        if chosen.any():
            y = objective[chosen]
            lines.append(Line(name, n[chosen], y, colour, opacity=0.5, drawn="dots"))
    before = tuned.objective_before
    levels = [Level(before, "before", _BEFORE)] if np.isfinite(before) else []
    shown = tuned.best_so_far[np.isfinite(tuned.best_so_far)]
    panel = Panel(
        "", _labelled(tuned.what, tuned.aims.objective), lines, x="evaluation",
        log=_log(shown), levels=levels, y_range=_seen(tuned, shown),
    )  # fmt: skip
    return Chart([panel])


def _seen(tuned: Tuned, best: Array) -> tuple[float, float] | None:
    """What is shown first: the way of the best, and evaluations that are not far beyond."""
    if not best.size:
        return None
    values = [*best, *([tuned.objective_before] if np.isfinite(tuned.objective_before) else [])]
    low, high = float(min(values)), float(max(values))
    if _log(best):
        return low / 1.5, high * 1.5
    room = (high - low) or abs(high) or 1.0
    return low - 0.1 * room, high + 0.3 * room


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


def _shares(tuned: Tuned, aim: Aim) -> Panel:
    lines = []
    for name, colour in (("before", _BEFORE), ("after", _AFTER)):
        y = _finite(tuned, name, aim)
        if y.size:
            share = 100 * (np.arange(y.size) + 0.5) / y.size
            lines.append(Line(name, share, np.sort(y), colour, drawn="both"))
    return Panel("", _labelled(aim.column, aim), lines, x="share of the samples, %",
                 levels=_levels(tuned, aim), log=_log_of(lines))  # fmt: skip


def _over(tuned: Tuned, aim: Aim, variable: str, x: Any) -> Panel:
    lines = []
    for name, colour in (("before", _BEFORE), ("after", _AFTER)):
        y = tuned.samples.get(name, {}).get(aim.column)
        if y is not None:
            good = np.isfinite(y)
            lines.append(Line(name, np.asarray(x, dtype=float)[good], y[good], colour,
                              drawn="dots"))  # fmt: skip
    return Panel("", _labelled(aim.column, aim), lines, x=variable, levels=_levels(tuned, aim),
                 log=_log_of(lines))  # fmt: skip


def _finite(tuned: Tuned, name: str, aim: Aim) -> Array:
    y = tuned.samples.get(name, {}).get(aim.column, np.zeros(0))
    return np.asarray(y[np.isfinite(y)])


def _levels(tuned: Tuned, aim: Aim) -> list[Level]:
    return [
        Level(x.bound, x.limit, COLOURS[1])
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
