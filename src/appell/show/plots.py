"""Pictures of a straight-line study: the arm, its torques, its joints' motion.

Each function gives a Matplotlib figure. Two colours, INK and PAPER, follow the page's theme in
a report; all others are chosen to read on light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.show.figures import add_legend, new_figure, new_grid
from appell.show.scene import (
    View,
    draw_arms,
    draw_floor,
    draw_label,
    draw_pedestal,
    draw_shadow,
)
from appell.show.style import ARMS, JOINTS, LINE, POSTURES
from appell.study.straight_line import Motion, StraightLine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VIEW = View(azimuth=30, elevation=24)


def arm(study: StraightLine) -> Figure:
    """The arm at the start, half way and the end of the line (Valera et al. 2003, figure 3)."""
    points = np.concatenate([study.postures.reshape(-1, 3), study.path.position])
    low, high = np.floor(points.min(axis=0) * 5 - 0.2) / 5, np.ceil(points.max(axis=0) * 5) / 5
    with new_figure(7.2, 5.0) as figure:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), aspect="equal")
        axes.set_axis_off()
        draw_floor(axes, _VIEW, low, high, step=0.2)
        draw_pedestal(axes, _VIEW, low[2])
        for corners in study.postures:
            draw_shadow(axes, _VIEW, corners, low[2])
        draw_arms(axes, _VIEW, study.postures, study.path.R[:, 2], list(POSTURES.values()))
        axes.plot(*_VIEW(study.path.position[[0, -1]]).T, color=LINE, lw=2.0, zorder=4)
        for (name, colour), k in zip(POSTURES.items(), study.stops, strict=True):
            label = f"{name}\n{study.path.t[k]:.1f} s"
            draw_label(axes, _VIEW(study.path.position[k]), label, colour)
    return figure


def torques(study: StraightLine) -> Figure:
    """Each joint's torque over time (Valera et al. 2003, figure 4)."""
    with new_figure(7.2, 4.2) as figure:
        for j, axes in enumerate(_panels(figure, study)):
            axes.plot(study.path.t, study.shown.tau[:, j], color=JOINTS[j])
            _widen(axes)
    return figure


def comparison(study: StraightLine) -> Figure:
    """Each joint's torque over time in every branch."""
    with new_figure(7.2, 4.7) as figure:
        for j, axes in enumerate(_panels(figure, study, legend=0.5)):
            for name, motion in study.motions.items():
                axes.plot(study.path.t, motion.tau[:, j], label=name, **_line(motion))
            _widen(axes)
        add_legend(figure, columns=4)
    return figure


def trajectories(study: StraightLine) -> Figure:
    """Joint angles, speeds and accelerations over time."""
    motion = study.shown
    rows = {"angle, rad": motion.q, "speed, rad/s": motion.v, "acceleration, rad/s²": motion.a}
    with new_figure(7.2, 2.9) as figure:
        grid = new_grid(figure, 1, 3, legend=0.3)
        for axes, (label, values) in zip(grid, rows.items(), strict=True):
            for j, colour in enumerate(JOINTS):
                axes.plot(study.path.t, values[:, j], color=colour, label=f"joint {j + 1}")
            axes.set(title=label, xlabel="time, s", xlim=(0, study.path.duration))
        add_legend(figure, columns=6)
    return figure


def _panels(figure: Any, study: StraightLine, legend: float = 0.0) -> Sequence[Any]:
    """Six panels of torque over time, one a joint."""
    grid = new_grid(figure, 2, 3, legend)
    for j, axes in enumerate(grid):
        axes.set(title=f"joint {j + 1}", xlim=(0, study.path.duration))
    for axes in grid[::3]:
        axes.set_ylabel("torque, N m")
        axes.yaxis.set_label_coords(-0.24, 0.5)
    for axes in grid[3:]:
        axes.set_xlabel("time, s")
    return grid


def _widen(axes: Any) -> None:
    """A scale that does not show rounding about a constant as a motion."""
    low, high = axes.get_ylim()
    if high - low < 1e-6:
        axes.set_ylim(low - 0.1, high + 0.1)


def _line(motion: Motion) -> dict[str, Any]:
    """Colour for shoulder and elbow; the flipped wrist dashed over the pale, wide other one."""
    shoulder, elbow, wrist = motion.branch
    colour = ARMS[shoulder, elbow]
    if wrist == "flip":
        return {"color": colour, "lw": 1.3, "ls": (0, (3, 2)), "zorder": 4}
    return {"color": colour, "lw": 3.2, "alpha": 0.4}
