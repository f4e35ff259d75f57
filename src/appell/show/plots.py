"""Pictures of a straight-line study: the arm, its torques, its joints' motion.

Each function gives a Matplotlib figure. Two colours, INK and PAPER, follow the page's theme in
a report; all others are chosen to read on light and dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError
from appell.show.scene import View, draw_arm, draw_floor, draw_pedestal, draw_shadow
from appell.show.style import ARMS, JOINTS, LINE, MATPLOTLIB, POSTURES
from appell.study.straight_line import Motion, StraightLine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VIEW = View(azimuth=62, elevation=24)


def arm(study: StraightLine) -> Figure:
    """The arm at the start, half way and the end of the line (Valera et al. 2003, figure 3)."""
    points = np.concatenate([study.postures.reshape(-1, 3), study.path.position])
    low, high = np.floor(points.min(axis=0) * 5 - 0.5) / 5, np.ceil(points.max(axis=0) * 5) / 5
    floor = min(low[2], -0.2)
    with _figure(7.2, 5.0) as figure:
        axes = figure.add_subplot(aspect="equal")
        axes.set_axis_off()
        draw_floor(axes, _VIEW, low, high, floor, step=0.2)
        draw_pedestal(axes, _VIEW, floor)
        for corners in study.postures:
            draw_shadow(axes, _VIEW, corners, floor)
        for colour, corners in zip(POSTURES.values(), study.postures, strict=True):
            draw_arm(axes, _VIEW, corners, study.path.R[:, 2], colour)
        axes.plot(*_VIEW(study.path.position[[0, -1]]).T, color=LINE, lw=2.0, zorder=4)
    return figure


def torques(study: StraightLine) -> Figure:
    """Each joint's torque over time (Valera et al. 2003, figure 4)."""
    with _figure(7.2, 4.2) as figure:
        for j, axes in enumerate(_panels(figure, study, "torque, N m")):
            axes.plot(study.path.t, study.shown.tau[:, j], color=JOINTS[j])
            _widen(axes)
    return figure


def comparison(study: StraightLine) -> Figure:
    """Each joint's torque over time in every branch."""
    with _figure(7.2, 4.7) as figure:
        for j, axes in enumerate(_panels(figure, study, "torque, N m")):
            for motion in study.motions.values():
                axes.plot(study.path.t, motion.tau[:, j], label=str(motion.branch), **_line(motion))
            _widen(axes)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=2.6)
    return figure


def trajectories(study: StraightLine) -> Figure:
    """Joint angles, speeds and accelerations over time."""
    motion = study.shown
    rows = {"angle, rad": motion.q, "speed, rad/s": motion.v, "acceleration, rad/s²": motion.a}
    with _figure(7.2, 2.9) as figure:
        for axes, (label, values) in zip(figure.subplots(1, 3), rows.items(), strict=True):
            for j, colour in enumerate(JOINTS):
                axes.plot(study.path.t, values[:, j], color=colour, label=f"joint {j + 1}")
            axes.set(title=label, xlabel="time, s", xlim=(0, study.path.duration))
            axes.margins(y=0.06)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


@contextmanager
def _figure(width: float, height: float) -> Iterator[Any]:
    """A new figure, inches wide and high, while Appell's style holds."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise AppellError("pictures need Matplotlib: pip install 'appell[show]'") from None
    with matplotlib.rc_context(MATPLOTLIB):
        yield Figure(figsize=(width, height), layout="constrained")


def _panels(figure: Any, study: StraightLine, label: str) -> Sequence[Any]:
    """Six panels over time, one a joint."""
    grid = figure.subplots(2, 3, sharex=True)
    for j, axes in enumerate(grid.flat):
        axes.set_title(f"joint {j + 1}")
        axes.set_xlim(0, study.path.duration)
    for axes in grid[:, 0]:
        axes.set_ylabel(label)
    for axes in grid[1]:
        axes.set_xlabel("time, s")
    return list(grid.flat)


def _widen(axes: Any, least: float = 0.01) -> None:
    """Room around the curves, so that rounding about a constant is not drawn as a motion."""
    low, high = axes.get_ylim()
    middle, half = (low + high) / 2, max((high - low) / 2 * 1.05, least)
    axes.set_ylim(middle - half, middle + half)


def _line(motion: Motion) -> dict[str, Any]:
    """Colour for shoulder and elbow; the flipped wrist dashed over the pale, wide other one."""
    shoulder, elbow, wrist = motion.branch
    colour = ARMS[shoulder, elbow]
    if wrist == "flip":
        return {"color": colour, "lw": 1.3, "ls": (0, (3, 2)), "zorder": 4}
    return {"color": colour, "lw": 3.2, "alpha": 0.4}
