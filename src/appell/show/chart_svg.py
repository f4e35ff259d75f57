"""Charts as SVG that needs no script: for Markdown, for files, and for pages without scripts."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import INK, PAPER
from appell.errors import shorten
from appell.robots.robot import Array
from appell.show.svg import element, grid, points, text

_WIDTH, _HEIGHT = 720.0, 220.0  # of all columns, and of a panel
_ROOM = 38.0  # below a panel, for numbers and what x is
_TICK = 24  # letters of a tick's name
_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def chart_svg(chart: Chart, title: str) -> str:
    """The chart as one <svg> element, its legend below."""
    width = max(_WIDTH, 180.0 * chart.columns) / chart.columns
    height = _HEIGHT + max((_tick_room(panel) for panel in chart.panels), default=0.0) - _ROOM
    parts = [_panel(panel, width, height) for panel in chart.panels]
    svg = grid(parts, (width, height), chart.columns, title)
    named = chart.legend if len(chart.legend) > 1 else []
    if not named:
        return svg
    each = 40 + 7 * max(len(line.name) for line in named)
    across = max(1, int(width * chart.columns // each))
    high = height * ceil(len(parts) / chart.columns)
    entries = [
        _entry(line, 10 + each * (k % across), high + 14 + 18 * (k // across))
        for k, line in enumerate(named)
    ]
    total = high + 18 * ceil(len(named) / across) + 8
    old, new = (f"{width * chart.columns:g} {h:g}" for h in (high, total))
    return (
        svg.replace(f"0 0 {old}", f"0 0 {new}", 1).removesuffix("</svg>")
        + "".join(entries)
        + "</svg>"
    )


def _entry(line: Line, x: float, y: float) -> str:
    """An entry of the legend: what is filled is shown as a thick line, marks as one of them."""
    name = text(line.name, x + 28, y + 4)
    if line.drawn in ("dots", "rings", "crosses"):
        return _marks(line, np.array([[x + 11, y]]), max(5.0, line.size), 1.0) + name
    thick = {"stroke_width": 8} if line.drawn in ("steps", "band") else {}
    return element("line", x1=x, x2=x + 22, y1=y, y2=y, **_look(line) | thick) + name


def _marks(line: Line, places: Array, size: float, opacity: float | None) -> str:
    """Dots, rings or crosses of a line."""
    look: dict[str, Any] = {"stroke": line.colour, "fill": "none", "opacity": opacity}
    if line.drawn == "rings":
        r = size / 2
        half = f"a{r:g} {r:g} 0 1 0"
        d = "".join(f"M{u - r:.1f} {v:.1f}{half} {size:g} 0{half} {-size:g} 0" for u, v in places)
        return element("path", d=d, stroke_width=1.6, **look)
    if line.drawn == "crosses":
        d = "".join(f"M{u - 3:.1f} {v - 3:.1f}l6 6m0 -6l-6 6" for u, v in places)
        return element("path", d=d, stroke_width=1.6, **look)
    d = "".join(f"M{u:.1f} {v:.1f}h0" for u, v in places)
    return element("path", d=d, stroke_linecap="round", stroke_width=size, **look)


def nice_ticks(
    low: float, high: float, room: int, log: bool = False, *, whole: bool = False
) -> list[float]:
    """About so many round numbers from low to high; powers of ten on a logarithmic axis. ``whole``
    ones are whole numbers."""
    if log:
        first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            fine = [m * 10.0**k for k in range(first - 1, last + 2) for m in digits]
            fine = [u for u in fine if 0.999 * low <= u <= 1.001 * high]
            if 2 <= len(fine) <= room + 2:
                return fine
        if last > first:
            step = ceil((last - first + 1) / room)
            return [10.0**k for k in range(first, last + 1, step)]
    rough = (high - low) / room
    rough = max(rough, 1.0) if whole else rough
    size = 10.0 ** floor(log10(rough))
    width = next(s * size for s in (1, 2, 5, 10) if s * size >= 0.999 * rough)
    return [k * width for k in range(ceil(low / width - 1e-9), floor(high / width + 1e-9) + 1)]


def tick_labels(values: list[float], log: bool = False) -> list[str]:
    """Numbers of equal precision; very large and very small ones as powers of ten."""
    if log and len(values) > 1 and values[-1] >= 5 * values[0]:
        return [f"{x:g}" if 0.01 <= x < 1e4 else _tens(x) for x in values]
    most = max(map(abs, values), default=0.0)
    exponent = floor(log10(most) + 1e-9) if most and not 0.01 <= most < 1e5 else 0
    step = abs(values[1] - values[0]) / 10.0**exponent if len(values) > 1 else 1.0
    digits = max(0, min(6, -floor(log10(step) + 1e-9))) if step > 0 else 6
    times = f"×{_power(exponent)}" if exponent else ""
    return [
        f"{x / 10.0**exponent:.{digits}f}{times if x else ''}".replace("-", "−") for x in values
    ]


def _tens(x: float) -> str:
    exponent = floor(log10(x) + 1e-9)
    digit = round(x / 10.0**exponent)
    return ("" if digit == 1 else f"{digit}·") + _power(exponent)


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPER)


def _tick_room(panel: Panel) -> float:
    """The height of the ticks' names below a panel, upright, with what x is."""
    if not panel.ticks:
        return _ROOM
    return 30.0 + 5.2 * min(_TICK, max(map(len, panel.ticks)))


def _panel(panel: Panel, width: float, height: float) -> str:
    x0, x1 = panel.horizontal_range()
    y0, y1 = panel.visible_range()
    up = nice_ticks(y0, y1, 5, "y" in panel.log)
    names = tick_labels(up, "y" in panel.log)
    left, right, top = 14 + 7.0 * max(map(len, names), default=1), width - 14, 26.0
    bottom = height - _tick_room(panel)
    X = _scale(x0, x1, left, right, "x" in panel.log)
    Y = _scale(y0, y1, bottom, top, "y" in panel.log)
    faint: dict[str, Any] = {"stroke": INK, "stroke_opacity": 0.13, "fill": "none"}
    parts = [
        element("text", element("tspan", escape(panel.title), font_weight="bold") + " "
                + escape(panel.y), x=left, y=16, fill=INK)
        if panel.title else text(panel.y, left, 16)
    ]  # fmt: skip
    for u, name in zip(Y(np.array(up)), names, strict=True):
        parts.append(element("path", d=f"M{left} {u:.1f}H{right}", **faint))
        parts.append(text(name, left - 6, u + 4, text_anchor="end"))
    if panel.ticks:
        for k, name in enumerate(panel.ticks):
            at = f"rotate(-90 {X(np.array(k)):.1f} {bottom + 8})"
            parts.append(text(shorten(name, _TICK), float(X(np.array(k))), bottom + 11,
                              text_anchor="end",
                              transform=at, font_size=9))  # fmt: skip
    else:
        room = max(2, int(width // 90))
        over = nice_ticks(x0, x1, room, "x" in panel.log, whole=panel.counts)
        for u, name in zip(X(np.array(over)), tick_labels(over, "x" in panel.log), strict=True):
            parts.append(element("path", d=f"M{u:.1f} {top}V{bottom}", **faint))
            parts.append(text(name, u, bottom + 15, text_anchor="middle"))
    parts.append(text(panel.x, (left + right) / 2, height - 6, text_anchor="middle"))
    faint["stroke_opacity"] = 0.3
    parts += [
        element("path", d=f"M{X(np.array(m)):.1f} {top}V{bottom}", **faint) for m in panel.marks
    ]
    shown = [level for level in panel.levels if y0 <= level.y <= y1]
    for level in shown:
        line: dict[str, Any] = {"stroke": level.colour, "stroke_dasharray": "2 3", "fill": "none"}
        parts.append(element("path", d=f"M{left} {Y(np.array(level.y)):.1f}H{right}", **line))
    parts += [_line(line, X, Y, (y0, y1)) for line in panel.lines]
    return "".join(parts)


def _scale(
    low: float, high: float, start: float, end: float, log: bool
) -> Callable[[Array], Array]:
    def place(u: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b, x = (np.log10(v) for v in (low, high, u)) if log else (low, high, u)
        return start + (end - start) * (x - a) / (b - a)

    return place


def _line(line: Line, X: Callable[[Array], Array], Y: Callable[[Array], Array],
          limits: tuple[float, float]) -> str:  # fmt: skip
    x, y, bars = thinned(line, 600)
    if line.drawn in ("steps", "band"):
        low, high = (Y(np.clip(end, *limits)) for end in line.ends)
        return (_columns if line.drawn == "steps" else _band)(line, X(x), low, high)
    at = np.stack([X(x), Y(np.clip(y, *limits))], axis=-1)
    parts = []
    if line.drawn in ("line", "both", "held"):
        way = _held(at) if line.drawn == "held" else at
        parts.append(element("polyline", points=points(way), fill="none", **_look(line)))
    seen = at[np.isfinite(at).all(axis=1)]
    if line.drawn not in ("line", "held") and len(seen):
        parts.append(_marks(line, seen, line.size, _look(line)["opacity"]))
    if bars is not None:
        ends = [Y(np.clip(end, *limits)) for end in line.ends]
        parts += [element("path", d=f"M{u:.1f} {a:.1f}V{b:.1f}", stroke=line.colour)
                  for u, a, b in zip(X(x), *ends, strict=True)]  # fmt: skip
    return "".join(parts)


def _held(at: Array) -> Array:
    """Corners of a line that goes in steps: each height holds until the next place."""
    corners = np.repeat(at, 2, axis=0)[:-1]
    corners[1::2, 0] = at[1:, 0]
    return corners


def _columns(line: Line, x: Array, low: Array, high: Array) -> str:
    """Columns beside each other, from low to high."""
    sides = zip(x[:-1], x[1:], low[:-1], high[:-1], strict=True)
    d = "".join(
        f"M{a:.1f} {b:.1f}V{t:.1f}H{c:.1f}V{b:.1f}Z" for a, c, b, t in sides if np.isfinite(t)
    )
    look = {"stroke": PAPER, "stroke_width": 0.6, "opacity": _look(line)["opacity"]}
    return element("path", d=d, fill=line.colour, **look) if d else ""


def _band(line: Line, x: Array, low: Array, high: Array) -> str:
    """The area from low to high, with gaps where one is not known."""
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(x)
    starts = np.flatnonzero(np.diff(known.astype(int), prepend=0) == 1).tolist()
    ends = np.flatnonzero(np.diff(known.astype(int), append=0) == -1).tolist()
    areas = [
        np.concatenate([np.stack([x[a : b + 1], high[a : b + 1]], axis=-1),
                        np.stack([x[a : b + 1], low[a : b + 1]], axis=-1)[::-1]])
        for a, b in zip(starts, ends, strict=True)
    ]  # fmt: skip
    look = {"fill": line.colour, "opacity": _look(line)["opacity"]}
    return "".join(element("polygon", points=points(area), **look) for area in areas)


def _look(line: Line) -> dict[str, Any]:
    return {
        "stroke": line.colour, "stroke_width": line.width, "stroke_dasharray": line.dash,
        "opacity": None if line.opacity == 1 else line.opacity, "stroke_linejoin": "round",
    }  # fmt: skip


def thinned(line: Line, most: int) -> tuple[Array, Array, Array | None]:
    """At most about so many places of a line: of each stretch the first, lowest and highest, so
    that no peak is lost. Lines with error bars, columns and bands keep all."""
    x, y = (np.asarray(u, dtype=float) for u in (line.x, line.y))
    if len(x) <= most or line.bars is not None or line.drawn in ("steps", "band"):
        return x, y, line.reach
    edges = np.linspace(0, len(x), most // 3 + 1).astype(int)
    kept = {0, len(x) - 1}
    for a, b in pairwise(edges.tolist()):
        part = np.where(np.isfinite(y[a:b]), y[a:b], 0.0)
        kept |= {a, a + int(part.argmin()), a + int(part.argmax())}
    chosen = sorted(kept)
    return x[chosen], y[chosen], None
