"""A chart: panels of lines, columns and bands over time or another number, with names and units.

Reports draw it in the page (show/chart.js) and as SVG (show/chart_svg.py), ``plot`` methods by
Matplotlib (matplotlib_figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from appell.charts.palette import INK, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEW, _SOME = 60, 300  # marks that are drawn large, and of middle size
_MARKED = ("dots", "both", "rings", "crosses")
_MARGIN = 0.025  # of the width of a panel, beside marks at its ends


@dataclass(frozen=True, eq=False)
class Line:
    """Values ``y`` over ``x``. Lines of the same ``name`` share an entry of the legend; one without
    a name has none. ``bars`` are half the lengths of error bars, or (2, N) their lengths below and
    above.

    "steps" are columns from zero, as of a histogram: y[k] holds from x[k] to x[k + 1], and the last
    of y is not drawn. A "band" is the area from ``base`` to ``y``. On a "held" line, y[k] holds
    until x[k + 1]. "rings" are open circles."""

    name: str
    x: Any
    y: Any
    colour: str = INK
    dash: str = ""
    width: float = 1.6
    opacity: float = 1.0
    drawn: Literal["line", "held", "dots", "both", "rings", "crosses", "steps", "band"] = "line"
    bars: Any = None
    base: Any = None

    @property
    def reach(self) -> Any:
        """The lengths of the error bars below and above, (2, N), if there are any."""
        if self.bars is None:
            return None
        bars = np.asarray(self.bars, dtype=float)
        return bars if bars.ndim == 2 else np.stack([bars, bars])

    @property
    def size(self) -> float:
        """Diameter of its marks in pixels: larger where these are few."""
        if self.drawn == "both" or self.bars is not None:
            return 5.2
        count = np.size(self.y)
        return 7.0 if count <= _FEW else 5.0 if count <= _SOME else 3.6

    @property
    def ends(self) -> tuple[Any, Any]:
        """The least and the largest value at each x that is drawn."""
        y, reach = np.asarray(self.y, dtype=float), self.reach
        if self.drawn == "band":
            return np.asarray(self.base, dtype=float), y
        if self.drawn == "steps":
            return np.zeros(len(y)), y
        return (y, y) if reach is None else (y - reach[0], y + reach[1])


@dataclass(frozen=True)
class Level:
    """A value that lines are compared with, such as a limit: a thin horizontal line."""

    y: float
    name: str
    colour: str = INK


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines on the same axes. ``x`` and ``y`` say what is drawn, with its unit: "torque, N m".

    ``marks`` are instants, drawn as thin vertical lines; ``y_range`` is shown until someone zooms;
    ``ticks`` are names for x = 0, 1, 2, ...; ``log`` names the axes that are logarithmic;
    ``counts`` says that x counts something, so that its axis has whole numbers alone.
    """

    title: str
    y: str
    lines: Sequence[Line]
    x: str = "time, s"
    log: Literal["", "x", "y", "xy"] = ""
    levels: Sequence[Level] = ()
    marks: Sequence[float] = ()
    y_range: tuple[float, float] | None = None
    ticks: Sequence[str] = ()
    counts: bool = False

    def horizontal_range(self) -> tuple[float, float]:
        """The least and the largest x to show: those of the lines, with a margin beside marks so
        that none is cut in half."""
        if self.ticks:
            return -0.7, len(self.ticks) - 0.3
        x = np.concatenate([np.zeros(0), *(np.ravel(line.x) for line in self.lines)]).astype(float)
        log = "x" in self.log
        x = x[np.isfinite(x) & ((x > 0) | (not log))]
        if not x.size:
            return (1.0, 10.0) if log else (0.0, 1.0)
        low, high = float(x.min()), float(x.max())
        if not any(line.drawn in _MARKED for line in self.lines):
            return low, high if high > low else low + 1
        if log:
            ratio = (high / low) ** _MARGIN if high > low else 2.0
            return low / ratio, high * ratio
        room = _MARGIN * (high - low) or 0.5
        return low - room, high + room

    def visible_range(self) -> tuple[float, float]:
        """The least and the largest y to show: those of the lines; levels count where they are not
        far from these, and rounding about a constant is not shown as a motion."""
        if self.y_range:
            return self.y_range
        ends = [np.ravel(end) for line in self.lines for end in line.ends]
        values = np.concatenate([np.zeros(0), *ends])
        values = values[np.isfinite(values) & ((values > 0) | ("y" not in self.log))]
        if not values.size:
            return (1.0, 10.0) if "y" in self.log else (0.0, 1.0)
        low, high = float(values.min()), float(values.max())
        if "y" in self.log:
            near = [x.y for x in self.levels if low / 30 < x.y < 30 * high]
            low, high = min([low, *near]), max([high, *near])
            return (low / 2, high * 2) if high < 10 * low else (low / 1.2, high * 1.2)
        room = high - low or abs(high)
        near = [x.y for x in self.levels if low - room <= x.y <= high + room]
        low, high = min([low, *near]), max([high, *near])
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            return low - 0.1, high + 0.1
        return low - 0.04 * (high - low), high + 0.04 * (high - low)


@dataclass(frozen=True, eq=False)
class Chart:
    """Panels, ``columns`` beside each other where there is room, under one legend."""

    panels: Sequence[Panel]
    columns: int = 1

    @property
    def legend(self) -> list[Line]:
        """The first line of each name."""
        first: dict[str, Line] = {}
        for panel in self.panels:
            for line in panel.lines:
                if line.name:
                    first.setdefault(line.name, line)
        return list(first.values())

    def figure(self, caller: str) -> Figure:
        """The chart drawn by Matplotlib, for the method that ``caller`` names."""
        from appell.charts.matplotlib_figure import figure_of

        return figure_of(self, caller)


def lines(names: Iterable[str], x: Any, y: Any, **look: Any) -> list[Line]:
    """A line for each column of y, in colours that stay apart."""
    columns = np.asarray(y).T
    named = zip(names, columns, strict=True)
    return [Line(name, x, column, **{**style(k), **look}) for k, (name, column) in enumerate(named)]
