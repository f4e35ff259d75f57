"""An arm drawn in space: seen from afar, so that parallel lines stay parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.charts.palette import INK, PAPER
from appell.robots.robot import Array
from appell.show.sketch import Sketch

# Half the thickness of what is drawn between two corners of an arm, m.
_LINKS = ((0.045, 0.045), (0.045, 0.035), (0.035, 0.035), (0.032, 0.018))


class View(NamedTuple):
    """Where the eye is, in degrees: azimuth from x towards y, elevation above the floor."""

    azimuth: float
    elevation: float

    def __call__(self, points: Any) -> Array:
        """Points (..., 3) on the sheet, (..., 2): right and up as the eye sees them."""
        a, e = np.deg2rad(self)
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        return np.asarray(points) @ np.array([right, up]).T

    def nearness(self, points: Any) -> Array:
        """How near to the eye points (..., 3) are."""
        a, e = np.deg2rad(self)
        return np.asarray(points) @ [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]


def draw_floor(sketch: Sketch, view: View, low: Array, high: Array, step: float) -> None:
    """A grid on the floor with its scale along the two near edges, and a scale of height."""
    x, y, z = (np.arange(low[i], high[i] + step / 2, step) for i in range(3))
    floor = z[0]
    for u in x:
        _line(sketch, view, [(u, y[0], floor), (u, y[-1], floor)], opacity=0.16)
        _text(sketch, view((u, y[-1] + 0.05, floor)), _number(u))
    for u in y:
        _line(sketch, view, [(x[0], u, floor), (x[-1], u, floor)], opacity=0.16)
        _text(sketch, view((x[-1] + 0.05, u, floor)), _number(u))
    for u in z[1:]:
        _line(sketch, view, [(x[-1], y[0], floor), (x[-1], y[0], u)], opacity=0.5)
        at = view((x[-1], y[0], u))
        sketch.line([at - [0.012, 0], at], width=0.7, opacity=0.5)
        _text(sketch, at - [0.05, 0], _number(u))
    _text(sketch, view((x.mean(), y[-1] + 0.17, floor)), "x, m")
    _text(sketch, view((x[-1] + 0.17, y.mean(), floor)), "y, m")
    _text(sketch, view((x[-1], y[0], z[-1])) + [-0.05, 0.06], "z, m")


def draw_pedestal(sketch: Sketch, view: View, floor: float, radius: float = 0.07) -> None:
    """A column from the floor to the shoulder."""
    turn = np.linspace(0, 2 * np.pi, 60)
    ring = np.pad(radius * _circle(turn), ((0, 0), (0, 1)))
    top, foot = view(ring), view(ring + [0, 0, floor])
    side = [(sign * radius, view((0, 0, z))[1]) for z, sign in
            ((0, -1), (floor, -1), (floor, 1), (0, 1))]  # fmt: skip
    for outline, colour in ((foot, "#a3abb5"), (np.array(side), "#a3abb5"), (top, "#8b95a1")):
        sketch.fill(outline, colour)


def draw_arms(
    sketch: Sketch, view: View, arms: Array, approach: Array, colours: Sequence[str]
) -> None:
    """Arms by their corners, (k, 5, 3), from the farthest part to the nearest."""
    parts = []
    for corners, colour in zip(arms, colours, strict=True):
        tool = np.stack([corners[-1], corners[-1] + 0.1 * approach])
        parts.append((tool, (0.008, 0.008), colour))
        for k, widths in enumerate(_LINKS):
            parts.append((corners[k : k + 2], widths, colour))
    parts.sort(key=lambda part: view.nearness(part[0]).mean())
    for ends, widths, colour in parts:
        bar = _bar(view(ends), *widths)
        sketch.fill(bar, colour, stroke=PAPER, stroke_width=1.4)


def draw_shadow(sketch: Sketch, view: View, corners: Array, floor: float) -> None:
    """The arm straight down on the floor."""
    low = view(np.concatenate([corners[:, :2], np.full((len(corners), 1), floor)], axis=1))
    sketch.line(low, width=6, opacity=0.07)


def draw_label(sketch: Sketch, at: Array, text: str, colour: str) -> None:
    """Write words left of a point of the sheet and below it, readable over an arm too."""
    halo = {"stroke": PAPER, "stroke_width": 4, "paint_order": "stroke", "font_weight": "bold"}
    for k, line in enumerate(text.splitlines()):
        sketch.text(at, line, colour, dx=-6, dy=12 + 15 * k, text_anchor="end", **halo)


def _bar(ends: Array, at_p: float, at_q: float) -> Array:
    """The outline of a bar with round ends of different radius: two arcs and their tangents."""
    p, q = ends
    along = q - p
    tilt = np.arccos(np.clip((at_p - at_q) / max(np.hypot(*along), 1e-9), -1.0, 1.0))
    heading = np.arctan2(along[1], along[0])
    far = heading + np.linspace(-tilt, tilt, 20)
    near = heading + np.linspace(tilt, 2 * np.pi - tilt, 20)
    arcs = [p + at_p * _circle(near), q + at_q * _circle(far)]
    return np.concatenate(arcs)


def _circle(turn: Array) -> Array:
    return np.stack([np.cos(turn), np.sin(turn)], axis=-1)


def _line(sketch: Sketch, view: View, points: Any, **look: Any) -> None:
    sketch.line(view(points), INK, 0.7, **look)


def _text(sketch: Sketch, at: Any, text: str) -> None:
    sketch.text(at, text, font_size=11)


def _number(x: float) -> str:
    return f"{round(x, 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}")
