"""An arm drawn in space: seen from afar, so that parallel lines stay parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.robots.robot import Array
from appell.show.style import INK, PAPER

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


def draw_floor(axes: Any, view: View, low: Array, high: Array, step: float) -> None:
    """A grid on the floor with its scale along the two near edges, and a scale of height."""
    x, y, z = (np.arange(low[i], high[i] + step / 2, step) for i in range(3))
    floor = z[0]
    for u in x:
        _line(axes, view, [(u, y[0], floor), (u, y[-1], floor)], alpha=0.16)
        _text(axes, view((u, y[-1] + 0.05, floor)), _number(u))
    for u in y:
        _line(axes, view, [(x[0], u, floor), (x[-1], u, floor)], alpha=0.16)
        _text(axes, view((x[-1] + 0.05, u, floor)), _number(u))
    for u in z[1:]:
        _line(axes, view, [(x[-1], y[0], floor), (x[-1], y[0], u)], alpha=0.5)
        at = view((x[-1], y[0], u))
        axes.plot([at[0] - 0.012, at[0]], [at[1]] * 2, color=INK, lw=0.7, alpha=0.5)
        _text(axes, at - [0.05, 0], _number(u))
    _text(axes, view((x.mean(), y[-1] + 0.17, floor)), "x, m")
    _text(axes, view((x[-1] + 0.17, y.mean(), floor)), "y, m")
    _text(axes, view((x[-1], y[0], z[-1])) + [-0.05, 0.06], "z, m")


def draw_pedestal(axes: Any, view: View, floor: float, radius: float = 0.07) -> None:
    """A column from the floor to the shoulder."""
    turn = np.linspace(0, 2 * np.pi, 60)
    ring = np.pad(radius * _circle(turn), ((0, 0), (0, 1)))
    top, foot = view(ring), view(ring + [0, 0, floor])
    side = [(sign * radius, view((0, 0, z))[1]) for z, sign in
            ((0, -1), (floor, -1), (floor, 1), (0, 1))]  # fmt: skip
    for outline, colour in ((foot, "#a3abb5"), (np.array(side), "#a3abb5"), (top, "#8b95a1")):
        axes.fill(*outline.T, fc=colour, lw=0, zorder=2)


def draw_arms(axes: Any, view: View, arms: Array, approach: Array, colours: Sequence[str]) -> None:
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
        axes.fill(*bar.T, fc=PAPER, ec=PAPER, lw=2.4, zorder=3)
        axes.fill(*bar.T, fc=colour, lw=0, zorder=3)


def draw_shadow(axes: Any, view: View, corners: Array, floor: float) -> None:
    """The arm straight down on the floor."""
    low = view(np.concatenate([corners[:, :2], np.full((len(corners), 1), floor)], axis=1))
    axes.plot(*low.T, color=INK, alpha=0.07, lw=7, solid_joinstyle="round", zorder=1)


def draw_label(axes: Any, at: Array, text: str, colour: str) -> None:
    """Words below and left of a point of the sheet, readable over an arm too."""
    axes.annotate(
        text, at, (-7, -8), textcoords="offset points", ha="right", va="top", color=colour,
        weight="bold", zorder=5, bbox={"fc": PAPER, "ec": "none", "alpha": 0.75, "pad": 1.0},
    )  # fmt: skip


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


def _line(axes: Any, view: View, points: Any, **look: Any) -> None:
    axes.plot(*view(points).T, color=INK, lw=0.7, zorder=0, **look)


def _text(axes: Any, at: Any, text: str) -> None:
    axes.text(*at, text, ha="center", va="center", size=8.5)
    axes.update_datalim([at])


def _number(x: float) -> str:
    return f"{round(x, 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}")
