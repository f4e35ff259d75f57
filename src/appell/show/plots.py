"""Pictures of a straight-line study: the arm, its torques, its joints' motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel, lines
from appell.charts.palette import COLOURS
from appell.robots.robot import Array
from appell.show.figure import Drawing
from appell.show.scene import View, draw_arms, draw_floor, draw_label, draw_pedestal, draw_shadow
from appell.show.sketch import Sketch
from appell.show.style import ARMS, LINE, POSTURES
from appell.study.straight_line import Motion, StraightLine

_ROUNDING = 1e-9  # N m
_VIEW = View(azimuth=30, elevation=24)


def arm(study: StraightLine, names: Iterable[str] = POSTURES) -> Drawing:
    """A drawing of the arm at the start, half way and the end of the line (Valera et al. 2003,
    figure 3), or where the names say."""
    places = [k for k, name in enumerate(POSTURES) if name in names]
    postures = study.postures[places]
    corners = postures.reshape(-1, 3)
    low, high = np.floor(corners.min(axis=0) * 5 - 0.2) / 5, np.ceil(corners.max(axis=0) * 5) / 5
    sketch = Sketch()
    draw_floor(sketch, _VIEW, low, high, step=0.2)
    for posture in postures:
        draw_shadow(sketch, _VIEW, posture, low[2])
    draw_pedestal(sketch, _VIEW, low[2])
    draw_arms(sketch, _VIEW, postures, study.path.R[:, 2], [POSTURES[name] for name in names])
    sketch.line(_VIEW(study.path.position[[0, -1]]), LINE, 2.0)
    for place, name in zip(places, names, strict=True):
        k = study.stops[place]
        label = f"{name}\n{study.path.t[k]:.1f} s"
        draw_label(sketch, _VIEW(study.path.position[k]), label, POSTURES[name])
    return Drawing([sketch])


def torques(study: StraightLine) -> Chart:
    """A chart of each joint's torque over time (Valera et al. 2003, figure 4)."""
    t, names = study.path.t, study.robot.joint_names
    joints = zip(names, COLOURS, study.shown.tau.T, strict=False)
    return Chart([_torque_panel(name, [Line("", t, x, c)]) for name, c, x in joints], columns=3)


def comparison(study: StraightLine) -> Chart:
    """A chart of each joint's torque over time in every branch."""
    panels = [
        _torque_panel(joint, [
            Line(name, study.path.t, motion.tau[:, j], **_line(motion))
            for name, motion in study.motions.items()
        ])
        for j, joint in enumerate(study.robot.joint_names)
    ]  # fmt: skip
    return Chart(panels, columns=3)


def _torque_panel(joint: str, drawn: Sequence[Line]) -> Panel:
    """A panel of torques, on which rounding about zero is not shown as a motion."""
    still = max(float(np.abs(line.y).max()) for line in drawn) < _ROUNDING
    return Panel(joint, "torque, N m", drawn, y_range=(-0.1, 0.1) if still else None)


def over_time(t: Array, signals: Mapping[str, Array], names: Sequence[str]) -> Chart:
    """A chart of signals of all joints, each (N, n), a panel each under its name with its unit."""
    return Chart([Panel("", what, lines(names, t, x)) for what, x in signals.items()], columns=3)


def trajectories(study: StraightLine) -> Chart:
    """A chart of joint angles, speeds and accelerations over time."""
    motion = study.shown
    signals = {"angle, rad": motion.q, "speed, rad/s": motion.v, "acceleration, rad/s²": motion.a}
    return over_time(study.path.t, signals, study.robot.joint_names)


def _line(motion: Motion) -> dict[str, Any]:
    """Colour for shoulder and elbow; the flipped wrist dashed over the pale, wide other one."""
    shoulder, elbow, wrist = motion.branch
    colour = ARMS[shoulder, elbow]
    if wrist == "flip":
        return {"colour": colour, "width": 1.3, "dash": "3 2"}
    return {"colour": colour, "width": 3.2, "opacity": 0.4}
