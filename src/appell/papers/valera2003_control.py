"""The controllers of table 4 and the motions of figures 3 to 5: Valera et al. 2003, section 4.

The paper ran its controllers on a real PUMA and shows that they follow; it gives no numbers. Here
they run on a simulated one, with the exact model, with friction, and with a load that the
controllers do not know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from appell.control import (
    Friction,
    Law,
    PointToPoint,
    Tracked,
    Tracking,
    TrackingIntegral,
    ramp,
    spline,
    track,
)
from appell.control.trajectory import Trajectory
from appell.library import load
from appell.papers.timing import quickest
from appell.robot import Robot
from appell.show import plots
from appell.show.document import Picture, Row, Table, plain
from appell.show.figures import add_legend, new_figure, new_grid
from appell.show.style import JOINTS
from appell.study.straight_line import StraightLine, run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# All poles at -10/s: (s + 10)^2 and (s + 10)^3.
CONTROLLERS: dict[str, Callable[[Robot], Law]] = {
    "point to point": lambda robot: PointToPoint(robot, kp=100, kd=20),
    "tracking": lambda robot: Tracking(robot, kp=100, kd=20),
    "tracking with integral action": lambda robot: TrackingIntegral(robot, kp=300, kd=30, ki=1000),
}
POINTS = np.radians(
    [
        [0, -45, 60, 0, 30, 0],
        [20, -30, 70, 20, 50, 30],
        [30, -45, 40, 45, 60, 60],
        [30, -15, 30, 45, 60, 90],
    ]
)
DURATION, REST, PERIOD = 3.0, 3.0, 0.01  # s
LOAD, PLACE = 1.0, (0.0, 0.0, 0.05)  # kg, and m from the wrist along the hand
FRICTION = Friction(viscous=(4, 4, 2, 0.2, 0.15, 0.02), coulomb=(6, 6, 4, 0.4, 0.3, 0.03))

SITUATIONS = {
    "exact model": (False, False),
    "friction": (True, False),
    "unknown load": (False, True),
    "friction and unknown load": (True, True),
}
MILLISECONDS = {"Pentium, 150 MHz": 0.225, "Pentium II, 350 MHz": 0.061}


def reference(name: str) -> Trajectory:
    if name == "ramp":
        return ramp(POINTS[0], POINTS[-1], DURATION)
    return spline(POINTS, np.linspace(0, DURATION, len(POINTS)))


REFERENCES = ("ramp", "spline")


@cache
def robots() -> tuple[Robot, Robot]:
    """The arm that the controllers know, and the one that carries a load."""
    robot = load("puma560")
    return robot, robot.with_payload(LOAD, PLACE)


@cache
def controller(name: str) -> Law:
    return CONTROLLERS[name](robots()[0])


@cache
def followed(name: str, of: str, situation: str) -> Tracked:
    """A reference followed from rest, and its end held for a while."""
    rubs, loaded = SITUATIONS[situation]
    return track(
        robots()[loaded],
        controller(name),
        reference(of),
        period=PERIOD,
        until=DURATION + REST,
        v0=np.zeros(6),
        friction=FRICTION if rubs else False,
    )


@cache
def straight_line() -> StraightLine:
    return run()


def tables() -> list[Table]:
    """The controllers beside each other, and what a step of them takes."""
    return [_on_the_way(), _left(), _step()]


def _on_the_way() -> Table:
    return Table(
        "Table 4: the largest position error of any joint on the way, rad",
        list(CONTROLLERS),
        _rows(lambda run: float(np.abs(run.error[run.t <= DURATION]).max())),
        _SETTING,
        compared=False,
    )


def _left() -> Table:
    return Table(
        f"Table 4: the position error that is left {REST:g} s after the end, rad",
        list(CONTROLLERS),
        _rows(lambda run: run.final_error),
        "As the paper says: an error of the model, and friction at rest (the dead zone), leave an "
        "error of position, which integral action removes. Against dry friction it does so by and "
        "by: a joint sticks, integrates, breaks loose and sticks again nearer to its goal.",
        compared=False,
    )


def _rows(measure: Callable[[Tracked], float]) -> list[Row]:
    return [
        Row(
            f"{of}, {situation}",
            [None] * len(CONTROLLERS),
            [measure(followed(name, of, situation)) for name in CONTROLLERS],
        )
        for of in REFERENCES
        for situation in SITUATIONS
    ]


def _step() -> Table:
    printed = MILLISECONDS.values()
    rows = {name: [*printed, 1e3 * _seconds(controller(name))] for name in CONTROLLERS}
    columns = [*MILLISECONDS, "this machine"]
    return plain("Section 4: time to compute a control action, ms", columns, rows, MACHINES)


def _seconds(law: Law) -> float:
    """What one state takes, from Python."""
    still, own = np.zeros(6), law.initial
    return quickest(lambda: law(POINTS[0], still, POINTS[-1], still, still, own), 1000)


_SETTING = (
    f"Sampled every {1000 * PERIOD:g} ms, from rest, {DURATION:g} s long; all poles at -10/s. The "
    "paper ran the controllers on the real arm and prints no errors. Its friction and load are not "
    f"given; ours: {LOAD:g} kg held {100 * PLACE[2]:g} cm from the wrist, which no controller "
    "knows, and Coulomb friction of 6, 6, 4, 0.4, 0.3 and 0.03 N m with some viscous. The point to "
    "point controller is not told the reference's speed, so it lags behind."
)
MACHINES = "The paper's machines, and the one that made this table."


def pictures() -> list[Picture]:
    return [
        Picture(
            "Figure 3: the prescribed trajectory",
            "The arm at the start, half way and at the end of the line, elbow up (one of eight "
            "configurations; the paper does not say which).",
            lambda: plots.arm(straight_line()),
        ),
        Picture(
            "Figure 4: torques required per joint",
            "By the Gibbs-Appell equations, in the configuration of figure 3.",
            lambda: plots.torques(straight_line()),
        ),
        Picture(
            "The controllers of table 4",
            "The largest error of any joint, in rad.",
            errors_picture,
        ),
    ]


def errors_picture() -> Figure:
    """A panel a reference and a situation, a line a controller."""
    shown = "exact model", "friction and unknown load"
    with new_figure(7.2, 4.6) as figure:
        panels = iter(new_grid(figure, 2, 2, legend=0.3))
        for of in REFERENCES:
            for situation in shown:
                axes = next(panels)
                for name, colour in zip(CONTROLLERS, JOINTS, strict=False):
                    run = followed(name, of, situation)
                    error = np.abs(run.error).max(axis=1)
                    axes.plot(run.t, np.maximum(error, 1e-9), color=colour, label=name)
                axes.set(title=f"{of}, {situation}", yscale="log", ylim=(1e-7, 1))
                axes.set_xlim(0, DURATION + REST)
                if of == REFERENCES[-1]:
                    axes.set_xlabel("time, s")
        add_legend(figure, columns=3)
    return figure
