"""Charts of a sweep: distributions, Sobol indices, and how measures respond to variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS
from appell.robots.dynamics import Array
from appell.study.sweeps.results.statistics import Numbers, means, some_of, value_text
from appell.study.sweeps.results.sweep_statistics import Statistics

_LOGARITHMIC = ("log_uniform", "log_normal", "logarithmic")
_FEW = 12  # values that have a column of their own in a histogram
_MEDIAN, _SHARE, _WORST = COLOURS[0], COLOURS[1], COLOURS[6]


def labelled(of: Statistics, name: str) -> str:
    """Label of an axis or a column: a measure or a variable, with its unit if it has one."""
    unit = of.unit(name)
    return f"{name}, {unit}" if unit else name


def _columns(panels: Sequence[Panel]) -> int:
    return min(3, max(1, len(panels)))


# Distributions


def distributions(of: Statistics, names: Sequence[str]) -> Chart:
    """A histogram of each measure or variable that has different values."""
    panels = [histogram_panel(of, name) for name in names if of.varies(name)]
    return Chart(panels, _columns(panels))


def histogram_panel(of: Statistics, name: str) -> Panel:
    """Histogram of a measure or variable over the points."""
    variable = name in of.variables
    colour = COLOURS[5] if variable else COLOURS[0]
    if not of.is_number(name):
        by = of.groups(name)
        counts = np.bincount(by.code, minlength=len(by.centre))
        return _levels_panel(name, name, by.names, counts, colour)
    numbers = of.numbers(name)
    levels = numbers.levels
    if levels is not None and len(levels) <= _FEW and len(numbers.finite) >= 4 * len(levels):
        counts = np.diff([*np.searchsorted(numbers.finite, levels), len(numbers.finite)])
        texts = [value_text(float(x)) for x in levels]
        return _levels_panel(name, labelled(of, name), texts, counts, colour, numbers.infinite)
    log = _log(of, name)
    histogram = numbers.histogram(bool(log))
    beyond = histogram.below + histogram.above
    notes = [
        "points",
        f"{beyond:,} beyond the edges" if beyond else "",
        f"{numbers.infinite:,} infinite" if numbers.infinite else "",
    ]
    y = np.append(histogram.counts, 0).astype(float)
    spread = numbers.spread
    return Panel(
        name,
        ", ".join(filter(None, notes)),
        [Line("", histogram.edges, y, colour, opacity=0.8, drawn="steps")],
        x=labelled(of, name),
        log="x" if log else "",
        marks=[x for x in (spread.q05, spread.median, spread.q95) if _between(x, histogram.edges)],
        y_range=(0.0, 1.06 * max(1.0, float(y.max()))),
    )


def _between(x: float, edges: Array) -> bool:
    return bool(edges[0] <= x <= edges[-1])


def _levels_panel(
    title: str, x: str, names: Sequence[str], counts: Any, colour: str, infinite: int = 0
) -> Panel:
    """A column for each of a few values."""
    k = np.arange(len(names))
    edges = np.ravel(np.stack([k - 0.38, k + 0.38], axis=1))
    y = np.ravel(np.stack([np.asarray(counts, dtype=float), np.full(len(k), np.nan)], axis=1))
    return Panel(
        title,
        "points" + (f", {infinite:,} infinite" if infinite else ""),
        [Line("", edges, y, colour, opacity=0.8, drawn="steps")],
        x=x,
        ticks=list(names),
        y_range=(0.0, 1.06 * max(1.0, float(np.nanmax(y)))),
    )


def _log(of: Statistics, name: str) -> Literal["", "x"]:
    """Whether an axis is logarithmic: as the variable's distribution is, or the measure's values
    ask for."""
    if name in of.variables:
        kind = of.sweep.study.vary[name].kind
        return "x" if kind in _LOGARITHMIC else ""
    return "x" if of.numbers(name).wide else ""


# Sensitivities


def sobol_chart(of: Statistics, measures: Sequence[str]) -> Chart:
    """First- and total-order Sobol indices of measures, with the bounds of their confidence."""
    panels = []
    for name in measures:
        indices = of.sobol[name]
        k = np.arange(len(indices.variables))
        lines = [
            Line(
                text, k + side, values, colour, drawn="dots",
                bars=np.stack([values - bounds[:, 0], bounds[:, 1] - values]).clip(0.0),
            )
            for text, side, values, bounds, colour in (
                ("first order", -0.12, indices.first, indices.first_bounds, COLOURS[0]),
                ("total order", 0.12, indices.total, indices.total_bounds, COLOURS[1]),
            )
        ]  # fmt: skip
        what = f"share of the variance, {indices.samples:,} samples"
        panels.append(Panel(name, what, lines, "variable", ticks=list(indices.variables),
                            y_range=_shares_range(lines)))  # fmt: skip
    return Chart(panels, min(2, len(panels)))


def _shares_range(lines: Sequence[Line]) -> tuple[float, float]:
    """From 0 to 1, or to bounds that are beyond."""
    ends = np.concatenate([np.ravel(end) for line in lines for end in line.ends])
    ends = ends[np.isfinite(ends)]
    low, high = min(0.0, *ends), max(1.0, *ends)
    room = 0.04 * (high - low)
    return (low - room, high) if high == 1 else (low - room, high + room)


# Responses


def responses(of: Statistics, measure: str, variables: Sequence[str], dots: int = 1200) -> Chart:
    """A measure over variables: the median in groups of points, the band from 5 % to 95 %, some of
    the points, and the worst ones."""
    if of.numbers(measure).binary:
        return shares(of, of.sweep[measure], measure, variables)
    panels = [response_panel(of, measure, x, dots) for x in variables]
    return Chart(panels, _columns(panels))


def response_panel(of: Statistics, measure: str, variable: str, dots: int) -> Panel:
    """A measure over a variable."""
    y, numbers = of.sweep[measure], of.numbers(measure)
    log: Any = _log(of, variable) + ("y" if numbers.wide else "")
    shown = some_of(np.flatnonzero(np.isfinite(y)), dots)
    by, band = of.groups(variable), of.response(measure, variable)
    place = by.code + 0.0 if by.names else np.asarray(of.sweep[variable], dtype=float)
    beside = 0.6 * (np.modf(np.arange(len(shown)) * _GOLDEN)[0] - 0.5) if by.names else 0.0
    lines = [_dots("points", place[shown] + beside, y[shown], COLOURS[5], 0.45)]
    typical = np.median(band.counts)
    if by.names:
        bars = np.stack([band.median - band.q05, band.q95 - band.median])
        lines.append(Line("median", by.centre, band.median, _MEDIAN, drawn="dots", bars=bars))
    elif len(by.centre) > 3 and typical >= 2:
        if typical >= 5:
            lines.append(Line("5 to 95 %", by.centre, band.q95, _MEDIAN, opacity=0.25,
                              drawn="band", base=band.q05))  # fmt: skip
        lines.append(Line("median", by.centre, band.median, _MEDIAN, width=2.0))
    if len(shown) < len(numbers.finite):
        worst = of.rows(of.worst(measure))
        worst = worst[np.isfinite(y[worst])]
        lines.append(_dots("worst", place[worst], y[worst], _WORST, 1.0, "crosses"))
    return Panel(
        "", labelled(of, measure), [x for x in lines if len(x.x)], x=labelled(of, variable),
        log=log, ticks=list(by.names), y_range=_range(numbers, "y" in log),
    )  # fmt: skip


def responses_caption(of: Statistics, measure: str, chart: Chart, dots: int = 1200) -> str:
    """What is drawn in a chart of responses: only of that which is there."""
    names = {line.name for line in chart.legend}
    bars = any(line.bars is not None for panel in chart.panels for line in panel.lines)
    numbers = of.numbers(measure)
    if numbers.binary:
        return shares_caption()
    count = len(numbers.finite)
    drawn = len(some_of(np.arange(count), dots))
    some = f"all {count:,}" if drawn == count else f"{drawn:,} of {count:,}"
    told = [f"Dots: {some} points{' with finite values' if numbers.infinite else ''}."]
    if "median" in names:
        told.append("Median: of groups of points with like values of the variable.")
    if "5 to 95 %" in names:
        told.append("Band: 5 to 95 % of each group.")
    if bars:
        told.append("Bars: 5 to 95 % of each group.")
    if "worst" in names:
        told.append("Crosses: the worst points.")
    y_range = _range(numbers, numbers.wide)
    if y_range is not None:
        low, high = y_range
        beyond = int(np.count_nonzero((numbers.finite < low) | (numbers.finite > high)))
        told.append(f"Beyond the axis: {beyond:,} of all points.")
    return " ".join(told)


def shares_caption() -> str:
    """What is drawn in a chart of shares."""
    return "In groups of points with like values of the variable. Bars: the standard error."


_GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less their whole parts, lie evenly in [0, 1)


def _range(numbers: Numbers, log: bool) -> tuple[float, float] | None:
    """A range of y that is not spoilt by a few points far away; None if there are none."""
    low, high = numbers.range(log)
    if len(numbers.finite) and (numbers.finite[0] < low or numbers.finite[-1] > high):
        return low, high
    return None


def _dots(name: str, x: Array, y: Array, colour: str, opacity: float, drawn: Any = "dots") -> Line:
    order = np.argsort(x, kind="stable")
    return Line(name, x[order], y[order], colour, opacity=opacity, drawn=drawn, width=1.4)


def shares(of: Statistics, truth: Any, what: str, variables: Sequence[str]) -> Chart:
    """The share of points for which something is true, over variables, all on one scale, with its
    standard error."""
    values = np.asarray(truth, dtype=float)
    lines = [_share(of, values, what, x) for x in variables]
    most = max((float(np.nanmax(line.ends[1])) for line in lines), default=1.0)
    shown = (-0.02, 1.02) if most > 0.5 else (-0.04 * most, 1.04 * most)
    panels = [
        Panel("", f"{what}, share of points", [line], x=labelled(of, x), log=_log(of, x),
              ticks=list(of.groups(x).names), y_range=shown)
        for x, line in zip(variables, lines, strict=True)
    ]  # fmt: skip
    return Chart(panels, _columns(panels))


def _share(of: Statistics, truth: Any, what: str, variable: str) -> Line:
    """The share of ones among zeros in groups of a variable."""
    by = of.groups(variable)
    share, count = means(by, truth)
    error = np.sqrt(share * (1 - share) / np.maximum(count, 1))
    return Line(what, by.centre, share, _SHARE, bars=np.nan_to_num(error),
                drawn="dots" if by.names else "both")  # fmt: skip


def sweep_chart(of: Statistics, measure: str | None) -> Chart:
    """The distributions of all measures, or that of one and how it responds to the variables."""
    if measure is None:
        return distributions(of, of.measures)
    variables = [x for x in of.variables if of.varies(x)]
    first = [histogram_panel(of, measure)]
    panels = first + list(responses(of, measure, variables).panels) if of.varies(measure) else first
    return Chart(panels, _columns(panels))
