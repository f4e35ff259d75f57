"""An arm drawn in space: seen from afar, so that parallel lines stay parallel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.show.style import INK, PAPER

Array = npt.NDArray[np.floating[Any]]

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


def draw_floor(axes: Any, view: View, low: Array, high: Array, floor: float, step: float) -> None:
    """A grid on the floor with its scale along the two near edges, and a scale of height."""
    x, y = (np.arange(low[i], high[i] + step / 2, step) for i in (0, 1))
    for u in x:
        _line(axes, view, [(u, y[0], floor), (u, y[-1], floor)], lw=0.6, alpha=0.15)
        _tick(axes, view, (u, y[-1], floor), (0, 1, 0), f"{u:.1f}")
    for u in y:
        _line(axes, view, [(x[0], u, floor), (x[-1], u, floor)], lw=0.6, alpha=0.15)
        _tick(axes, view, (x[-1], u, floor), (1, 0, 0), f"{u:.1f}")
    _tick(axes, view, (x.mean(), y[-1], floor), (0, 3.0, 0), "x, m")
    _tick(axes, view, (x[-1], y.mean(), floor), (3.0, 0, 0), "y, m")
    corner = (x[-1], y[0])
    for u in np.arange(floor, high[2] + step / 2, step):
        _tick(axes, view, (*corner, u), (0, -0.8, 0), f"{u:.1f}")
        _line(axes, view, [(*corner, u), (corner[0], corner[1] - 0.015, u)], lw=0.7)
    _line(axes, view, [(*corner, floor), (*corner, u)], lw=0.7)
    _tick(axes, view, (*corner, u), (0, 0, 1.2), "z, m")


def draw_pedestal(axes: Any, view: View, floor: float, radius: float = 0.07) -> None:
    """A column from the floor to the shoulder."""
    turn = np.linspace(0, 2 * np.pi, 60)
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(turn)], axis=-1)
    top, foot = view(ring), view(ring + [0, 0, floor])
    _fill(axes, _hull(np.concatenate([top, foot])), INK, 0.16)
    _fill(axes, top, INK, 0.12)


def draw_arm(axes: Any, view: View, corners: Array, approach: Array, colour: str) -> None:
    """Links as tapered bars, joints as rings, the tool as its approach axis."""
    flat = view(corners)
    tool = view(np.stack([corners[-1], corners[-1] + 0.09 * approach]))
    axes.plot(*tool.T, color=PAPER, lw=5.5, zorder=3)
    axes.plot(*tool.T, color=colour, lw=3.2, zorder=3)
    bars = [_bar(*flat[k : k + 2], *widths) for k, widths in enumerate(_LINKS)]
    for bar in bars:
        axes.fill(*bar.T, fc=PAPER, ec=PAPER, lw=3.0, zorder=3, joinstyle="round")
    for bar in bars:
        axes.fill(*bar.T, fc=colour, ec=colour, lw=0.5, zorder=3)
    for k in (1, 2):
        axes.add_patch(_disc(flat[k], 0.02, PAPER, colour))
    axes.add_patch(_disc(flat[-1], 0.011, PAPER, colour))


def draw_shadow(axes: Any, view: View, corners: Array, floor: float) -> None:
    """The arm straight down on the floor."""
    low = view(np.concatenate([corners[:, :2], np.full((len(corners), 1), floor)], axis=1))
    axes.plot(*low.T, color=INK, alpha=0.08, lw=7, solid_joinstyle="round", zorder=1)


def _bar(p: Array, q: Array, at_p: float, at_q: float) -> Array:
    """The outline of a bar with round ends of different radius."""
    turn = np.linspace(0, 2 * np.pi, 40)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return _hull(np.concatenate([p + at_p * ring, q + at_q * ring]))


def _hull(points: Array) -> Array:
    from scipy.spatial import ConvexHull

    return points[ConvexHull(points).vertices]


def _disc(centre: Array, radius: float, face: str, edge: str) -> Any:
    from matplotlib.patches import Circle

    return Circle(tuple(centre), radius, fc=face, ec=edge, lw=1.2, zorder=3)


def _fill(axes: Any, outline: Array, colour: str, alpha: float) -> None:
    axes.fill(*outline.T, fc=colour, alpha=alpha, lw=0, zorder=2)


def _line(axes: Any, view: View, points: Any, **look: Any) -> None:
    axes.plot(*view(points).T, color=INK, zorder=0, **look)


def _tick(axes: Any, view: View, at: Any, outwards: Any, text: str) -> None:
    place = view(np.asarray(at) + 0.05 * np.asarray(outwards))
    axes.text(*place, text, ha="center", va="center", size=8, color=INK)
