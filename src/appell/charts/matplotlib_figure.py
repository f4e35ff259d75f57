"""Charts drawn by Matplotlib: what the ``plot`` methods return."""

from __future__ import annotations

from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import INK
from appell.errors import AppellError, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LETTERS = 80  # of a legend's line
_MARKERS = {"line": "", "held": "", "dots": ".", "both": "o", "rings": "o", "crosses": "x"}
_TICK = 30  # letters of a tick's name


def figure_of(chart: Chart, caller: str) -> Figure:
    """A new figure of all panels, with one legend below them."""
    if find_spec("matplotlib") is None:
        raise AppellError(f"{caller} needs Matplotlib: pip install 'appell[show]'.")
    from matplotlib.figure import Figure

    rows = ceil(len(chart.panels) / chart.columns)
    named = {line.name: line for line in chart.legend}
    figure = Figure(figsize=(7.2, 0.8 + 2.1 * rows + 0.05 * len(named)), layout="constrained")
    grid = figure.subplots(rows, chart.columns, sharex=_same_x(chart), squeeze=False)
    handles: dict[str, Any] = {}
    for k, (axes, panel) in enumerate(zip(grid.flat, chart.panels, strict=False)):
        for name, handle in _draw(axes, panel).items():
            handles.setdefault(name, handle)
        if k + chart.columns >= len(chart.panels) or not _same_x(chart):
            axes.set_xlabel(_plain(panel.x))
    for axes in grid.flat[len(chart.panels) :]:
        axes.remove()
    if len(handles) > 1:
        place: dict[str, Any] = {"loc": "outside lower center", "frameon": False}
        across = max(1, min(6, _LETTERS // (6 + max(map(len, handles)))))
        figure.legend([*handles.values()], [*map(_plain, handles)], ncols=across, **place)
    return figure


def _same_x(chart: Chart) -> bool:
    return len({panel.x for panel in chart.panels}) == 1


def _draw(axes: Any, panel: Panel) -> dict[str, Any]:
    """Draw a panel; its lines by their names."""
    handles = {}
    for line in panel.lines:
        handles[line.name] = _line(axes, line)
    low, high = panel.visible_range()
    for level in panel.levels:
        if low <= level.y <= high:
            axes.axhline(level.y, color=_ink(level.colour), lw=0.8, ls=":", zorder=1)
    for mark in panel.marks:
        axes.axvline(mark, color="0.7", lw=0.5, zorder=0)
    scales = {f"{axis}scale": "log" for axis in panel.log}
    axes.set(title=_plain(panel.title), ylabel=_plain(panel.y), ylim=(low, high), **scales)
    axes.grid(alpha=0.2)
    if panel.counts:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.ticks:
        names = [_plain(shorten(name, _TICK)) for name in panel.ticks]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    handles.pop("", None)
    return handles


def _line(axes: Any, line: Line) -> Any:
    look: dict[str, Any] = {"color": _ink(line.colour), "alpha": line.opacity, "label": line.name}
    if line.drawn == "band":
        return axes.fill_between(line.x, line.base, line.y, lw=0, **look)
    if line.drawn == "steps":
        return axes.stairs(np.asarray(line.y)[:-1], line.x, fill=True, lw=0, **look)
    marked = line.drawn not in ("line", "held")
    joined = line.drawn in ("line", "both", "held")
    look |= {
        "lw": line.width, "marker": _MARKERS[line.drawn] if marked else "",
        "ms": 0.8 * line.size, "ls": _dashes(line.dash) if joined else "",
        "drawstyle": "steps-post" if line.drawn == "held" else "default",
    }  # fmt: skip
    if line.drawn == "rings":
        look["mfc"] = "none"
    if line.bars is not None:
        axes.errorbar(line.x, line.y, line.reach, fmt="none", ecolor=_ink(line.colour), lw=0.8)
    return axes.plot(line.x, line.y, **look)[0]


def _plain(text: str) -> str:
    """A text without the formulas that Matplotlib finds between dollars."""
    return text.replace("$", r"\$")


def _dashes(text: str) -> Any:
    return (0, tuple(float(x) for x in text.split())) if text else "-"


def _ink(colour: str) -> str:
    """The ink of the page is Matplotlib's own text colour, so that its themes hold."""
    if colour != INK:
        return colour
    from matplotlib import rcParams

    return str(rcParams["text.color"])
