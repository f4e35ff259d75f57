"""The controllers of table 4 and the motions of figures 3 to 5: Valera et al. 2003, section 4.

The paper ran its controllers on a real PUMA 600 and shows that they follow; it gives no numbers.
Here they run on a simulated arm of its tables 5 to 7 (data of the PUMA 560), with the exact model,
with friction, and with a load that the controllers do not know. Laws and arm run by the paper's own
equations, ours beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS
from appell.control import (
    Friction,
    Law,
    PointToPoint,
    Tracking,
    TrackingIntegral,
    ramp,
    spline,
    track,
)
from appell.control.trajectories.trajectory import Trajectory
from appell.papers.valera2003_line import DEFAULT, PAPER
from appell.robots.registry import load
from appell.robots.robot import Robot
from appell.show.document import Row, Table, plain
from appell.show.figure import picture
from appell.show.rules import AtLeast, AtMost, Expected
from appell.simulation import Run
from appell.study.study_timing import quickest

# All poles at -10/s: (s + 10)^2 and (s + 10)^3.
CONTROLLERS: dict[str, Callable[..., Law]] = {
    "point to point": partial(PointToPoint, kp=100, kd=20),
    "tracking": partial(Tracking, kp=100, kd=20),
    "tracking with integral action": partial(TrackingIntegral, kp=300, kd=30, ki=1000),
}
KP = 100.0  # 1/s^2, of tracking
HALF_A_DEGREE = float(np.radians(0.5))  # what "without problems" is taken for
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
    """The ramp or the spline that the controllers follow."""
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
def controller(name: str, formulation: str = PAPER) -> Law:
    """A controller of table 4 by a formulation."""
    return CONTROLLERS[name](robots()[0], formulation=formulation)


@cache
def followed(name: str, of: str, situation: str, formulation: str = PAPER) -> Run:
    """A reference followed from rest, and its end held for a while; law and arm by the same
    equations."""
    rubs, loaded = SITUATIONS[situation]
    return track(
        robots()[loaded],
        controller(name, formulation),
        reference(of),
        period=PERIOD,
        until=DURATION + REST,
        v0=np.zeros(6),
        friction=FRICTION if rubs else False,
        formulation=formulation,
    )


def tables() -> list[Table]:
    """What the paper says of its controllers, all of them beside each other, and what a step of
    them takes."""
    return [_statements(), _equations(), _on_the_way(), _left(), _step()]


def _statements() -> Table:
    """What section 4 says in words, in numbers."""
    _, tracking, integral = CONTROLLERS

    def left(name: str, situation: str) -> list[float]:
        return [followed(name, of, situation).final_error for of in REFERENCES]

    removed = np.divide(left(integral, "friction"), left(tracking, "friction")).tolist()
    displaced = [_displaced(followed(tracking, of, "unknown load")) for of in REFERENCES]
    worst = [
        _moving_error(followed(integral, of, "friction and unknown load")) for of in REFERENCES
    ]
    return Table(
        "Table 4: what the paper says of its controllers, position errors in rad",
        list(REFERENCES),
        [
            Row.own("tracking, exact model, left", left(tracking, "exact model"), AtMost(1e-9),
                "it is stable, and there is nothing to make an error"),
            Row.own("tracking, unknown load, left", left(tracking, "unknown load"),
                [Expected(x, 1e-3) for x in displaced],
                "an error of the dynamics displaces the equilibrium: by M⁻¹ (g of the load) / Kp"),
            Row.own("tracking, friction, left", left(tracking, "friction"), AtLeast(HALF_A_DEGREE),
                "static friction leaves an error, of more than half a degree"),
            Row.own("with integral action, unknown load, left", left(integral, "unknown load"),
                AtMost(1e-9), "the integral removes it"),
            Row.own("with integral action, friction, divided by that without", removed, AtMost(0.1),
                "the integral lessens it, by and by"),
            Row.own("with integral action, friction and unknown load, on the way after 0.3 s",
                worst, AtMost(HALF_A_DEGREE),
                "figure 5: joints follow without problems; within half a degree once the answer to "
                "the start, at which the ramp's speed jumps, is over"),
        ],
        _SETTING,
    )  # fmt: skip


def _displaced(run: Run) -> float:
    """The error at which M Kp e bears the load that the law does not know."""
    known, loaded = robots()
    q = run.q[-1]
    lacking = loaded.gravity(q) - known.gravity(q)
    return float(np.abs(np.linalg.solve(known.mass_matrix(q), lacking)).max() / KP)


def _moving_error(run: Run) -> float:
    """The largest after the ramp's speed has jumped."""
    return float(np.abs(run.error[(run.t > 0.3) & (run.t <= DURATION)]).max())


def _equations() -> Table:
    """Every run by the paper's equations and by ours."""
    return Table(
        "Table 4: positions by the paper's equations and by our default ones, largest difference, "
        "rad",
        list(CONTROLLERS),
        [
            Row.own(
                situation,
                [max(_apart(name, of, situation) for of in REFERENCES) for name in CONTROLLERS],
                AtMost(1e-9),
            )
            for situation in SITUATIONS
        ],
        "Law and arm by gibbs_vector (section 2, M and bias as in section 4) and by gibbs_lean. "
        "They differ by rounding, and by what the integrator leaves, 1e-11 per step.",
    )


def _apart(name: str, of: str, situation: str) -> float:
    ours, usual = (followed(name, of, situation, f).q for f in (PAPER, DEFAULT))
    return float(np.abs(ours - usual).max())


def _on_the_way() -> Table:
    return _measured(
        "Table 4: the largest position error of any joint on the way, rad",
        lambda run: float(np.abs(run.error[run.t <= DURATION]).max()),
        _SETTING,
    )


def _left() -> Table:
    return _measured(
        f"Table 4: the position error that is left {REST:g} s after the end, rad",
        lambda run: run.final_error,
        "As the paper says: an error of the model, and friction at rest (the dead zone), leave an "
        "error of position, which integral action removes. Against dry friction it does so by and "
        "by: a joint sticks, integrates, breaks loose and sticks again nearer to its goal.",
    )


def _measured(title: str, measure: Callable[[Run], float], note: str) -> Table:
    """A table for information: a measure of every controller by reference and situation."""
    rows = {
        f"{of}, {situation}": [measure(followed(name, of, situation)) for name in CONTROLLERS]
        for of in REFERENCES
        for situation in SITUATIONS
    }
    return plain(title, list(CONTROLLERS), rows, note)


def _step() -> Table:
    printed = MILLISECONDS.values()
    rows = {name: [*printed, 1e3 * _seconds(controller(name))] for name in CONTROLLERS}
    columns = [*(f"paper, {name}" for name in MILLISECONDS), "ours, this machine"]
    return plain("Section 4: time to compute a control action, ms", columns, rows, MACHINES)


def _seconds(law: Law) -> float:
    """What one state takes, from Python."""
    still, own = np.zeros(6), law.initial
    return quickest(lambda: law(POINTS[0], still, POINTS[-1], still, still, own), 1000)


_SETTING = (
    f"Sampled every {1000 * PERIOD:g} ms, from rest, {DURATION:g} s long; all poles at -10/s. The "
    "paper ran the controllers on a real PUMA 600 and prints no errors; ours is simulated, with "
    "the data of its tables 5 to 7, a PUMA 560's. Its friction and load are not given; ours: "
    f"{LOAD:g} kg held {100 * PLACE[2]:g} cm from the wrist, which no controller "
    "knows, and Coulomb friction of 6, 6, 4, 0.4, 0.3 and 0.03 N m with some viscous. The point to "
    "point controller is not told the reference's speed, so it lags behind."
)
MACHINES = "The paper's machines, and the one that made this table."


@picture("The controllers of table 4", "The largest error of any joint.")
def errors_picture() -> Chart:
    """A chart with a panel per reference and situation, a line per controller."""
    panels = []
    for of, situation in product(REFERENCES, ("exact model", "friction and unknown load")):
        drawn = []
        for name, colour in zip(CONTROLLERS, COLOURS, strict=False):
            run = followed(name, of, situation)
            error = np.maximum(np.abs(run.error).max(axis=1), 1e-9)
            drawn.append(Line(name, run.t, error, colour))
        look: dict[str, Any] = {"log": "y", "y_range": (1e-7, 1)}
        panels.append(Panel(f"{of}, {situation}", "error, rad", drawn, **look))
    return Chart(panels, columns=2)


PICTURES = (errors_picture,)
