"""Pictures of a report: charts that a page's script draws, and sketches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import INK
from appell.show.chart_svg import chart_svg, thinned
from appell.show.sketch import Sketch, sketches_svg

MOST_POINTS = 1200  # of a line in a page


@dataclass(frozen=True, eq=False)
class Drawing:
    """Sketches of one size, ``columns`` beside each other; a ``film`` can be stopped."""

    sketches: Sequence[Sketch]
    columns: int = 1
    film: bool = False


@dataclass(frozen=True, eq=False)
class Film:
    """A moving picture, as an <svg> element of a page; it can be stopped."""

    svg: str


Drawn = Chart | Drawing | Film


@dataclass(frozen=True)
class Picture:
    """A chart, a drawing or a film, made when it is asked for."""

    title: str
    caption: str
    draw: Callable[[], Drawn]


def picture(title: str, caption: str) -> Callable[[Callable[[], Drawn]], Picture]:
    """Make a picture of a function that draws."""
    return lambda draw: Picture(title, caption, draw)


def svg_of(drawn: Drawn, title: str) -> str:
    """What was drawn as one <svg> element that needs no script."""
    if isinstance(drawn, Chart):
        return chart_svg(drawn, title)
    if isinstance(drawn, Film):
        return drawn.svg
    return sketches_svg(drawn.sketches, title, drawn.columns)


def figure_html(drawn: Drawn, title: str, caption: str) -> str:
    """What was drawn as a <figure> of a page, with its caption."""
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    svg = svg_of(drawn, title)
    if isinstance(drawn, Chart):
        data = json.dumps(chart_data(drawn), allow_nan=False, separators=(",", ":"))
        return (
            f'<figure class="chart"><div class="drawn"></div><noscript>{svg}</noscript>'
            f'<script type="application/json">{data.replace("<", chr(92) + "u003c")}</script>'
            f"{told}</figure>"
        )
    moves = isinstance(drawn, Film) or drawn.film
    button = '<button type="button" hidden>Pause</button>' if moves else ""
    return f'<figure class="{"film" if moves else "sketch"}">{svg}{button}{told}</figure>'


def chart_data(chart: Chart) -> dict[str, Any]:
    """The chart as the page's script takes it; numbers of x that lines share are told once."""
    over: list[list[float | None]] = []
    panels = [_panel(panel, over) for panel in chart.panels]
    legend = [{"name": line.name, **_look(line)} for line in chart.legend]
    return {"columns": chart.columns, "over": over, "panels": panels, "legend": legend}


def _panel(panel: Panel, over: list[list[float | None]]) -> dict[str, Any]:
    return {
        "title": panel.title, "x": panel.x, "y": panel.y, "log": panel.log,
        "range": [float(y) for y in panel.visible_range()], "fixed": panel.y_range is not None,
        "span": [float(x) for x in panel.horizontal_range()], "counts": panel.counts,
        "marks": [float(x) for x in panel.marks], "ticks": list(panel.ticks),
        "levels": [
            {"y": float(x.y), "name": f"{x.name}: {x.y:.4g}", "colour": _ink(x.colour)}
            for x in panel.levels
        ],
        "lines": [_line(line, over) for line in panel.lines],
    }  # fmt: skip


def _line(line: Line, over: list[list[float | None]]) -> dict[str, Any]:
    x, y, bars = thinned(line, MOST_POINTS)
    places = _numbers(x)
    if places not in over:
        over.append(places)
    told = {"name": line.name, "x": over.index(places), "y": _numbers(y), **_look(line)}
    if line.drawn == "band":
        told["base"] = _numbers(line.base)
    return told | ({} if bars is None else {"bars": [*map(_numbers, bars)]})


def _look(line: Line) -> dict[str, Any]:
    return {
        "colour": _ink(line.colour), "dash": line.dash, "width": line.width,
        "opacity": line.opacity, "drawn": line.drawn, "size": line.size,
    }  # fmt: skip


def _ink(colour: str) -> str:
    return "currentColor" if colour == INK else colour


def _numbers(values: Any) -> list[float | None]:
    """Six digits of each; none of what is not finite."""
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in np.asarray(values).tolist()]
