"""Pictures of a straight-line study: the arm, its torques, its joints' motion.

Each function gives a Matplotlib figure. Two colours, INK and PAPER, follow the page's theme in
a report; all others are chosen to read on light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from appell.robots.robot import Array
from appell.show.figures import drawing
from appell.show.scene import View, draw_arms, draw_floor, draw_label, draw_pedestal, draw_shadow
from appell.show.style import ARMS, JOINTS, LINE, POSTURES
from appell.study.straight_line import Motion, StraightLine

_VIEW = View(azimuth=30, elevation=24)


@drawing(7.2, 5.0)
def arm(figure: Any, study: StraightLine, names: Iterable[str] = POSTURES) -> None:
    """Draw the arm at the start, half way and the end of the line (Valera et al. 2003, figure 3),
    or where the names say."""
    places = [k for k, name in enumerate(POSTURES) if name in names]
    postures = study.postures[places]
    points = postures.reshape(-1, 3)
    low, high = np.floor(points.min(axis=0) * 5 - 0.2) / 5, np.ceil(points.max(axis=0) * 5) / 5
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), aspect="equal")
    axes.set_axis_off()
    draw_floor(axes, _VIEW, low, high, step=0.2)
    draw_pedestal(axes, _VIEW, low[2])
    for corners in postures:
        draw_shadow(axes, _VIEW, corners, low[2])
    draw_arms(axes, _VIEW, postures, study.path.R[:, 2], [POSTURES[name] for name in names])
    axes.plot(*_VIEW(study.path.position[[0, -1]]).T, color=LINE, lw=2.0, zorder=4)
    for place, name in zip(places, names, strict=True):
        k = study.stops[place]
        label = f"{name}\n{study.path.t[k]:.1f} s"
        draw_label(axes, _VIEW(study.path.position[k]), label, POSTURES[name])


@drawing(7.2, 4.2, 2, 3)
def torques(panels: Sequence[Any], study: StraightLine) -> None:
    """Draw each joint's torque over time (Valera et al. 2003, figure 4)."""
    for axes, tau, colour in zip(panels, study.shown.tau.T, JOINTS, strict=True):
        axes.plot(study.path.t, tau, color=colour)
    _label(panels, study)


@drawing(7.2, 4.7, 2, 3, legend=4, below=0.5)
def comparison(panels: Sequence[Any], study: StraightLine) -> None:
    """Draw each joint's torque over time in every branch."""
    for j, axes in enumerate(panels):
        for name, motion in study.motions.items():
            axes.plot(study.path.t, motion.tau[:, j], label=name, **_line(motion))
    _label(panels, study)


@drawing(7.2, 2.9, 1, 3, legend=6)
def over_time(panels: Sequence[Any], t: Array, signals: Mapping[str, Array]) -> None:
    """Draw three signals of all joints, each (N, n), a panel each under its name."""
    for axes, (title, values) in zip(panels, signals.items(), strict=True):
        for j, x in enumerate(values.T):
            axes.plot(t, x, color=JOINTS[j % len(JOINTS)], label=f"joint {j + 1}")
        axes.set(title=title, xlabel="time, s", xlim=(0, t[-1]))


def trajectories(study: StraightLine) -> Any:
    """A figure of joint angles, speeds and accelerations over time."""
    motion = study.shown
    signals = {"angle, rad": motion.q, "speed, rad/s": motion.v, "acceleration, rad/s²": motion.a}
    return over_time(study.path.t, signals)


def _label(panels: Sequence[Any], study: StraightLine) -> None:
    """Name what six panels of torque over time show, one per joint."""
    for j, axes in enumerate(panels):
        axes.set(title=f"joint {j + 1}", xlim=(0, study.path.duration))
        _widen(axes)
    for axes in panels[::3]:
        axes.set_ylabel("torque, N m")
        axes.yaxis.set_label_coords(-0.24, 0.5)
    for axes in panels[3:]:
        axes.set_xlabel("time, s")


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
