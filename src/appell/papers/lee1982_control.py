"""The simulated PUMA under computed torque: Lee 1982, section 5, figures 3 to 8.

The paper gives the ends of the motion, the gains, the sampling time and g = 9.8 m/s^2, but neither
the path between the ends nor how long it takes, nor the arm's inertias. The arm here is that of
Valera et al. 2003; paths and durations are tried, and 2 s is our choice. The law and the arm run by
the paper's own equations, Newton and Euler's; the others are beside them. Errors are counted until
the arm is at rest, as those of some paths are largest when they stop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import radians
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Level, Line, Panel, lines
from appell.charts.palette import COLOURS
from appell.control import Adc, ComputedTorque, cubic, quintic, septic, track, trapezoidal
from appell.control.trajectories.trajectory import Trajectory
from appell.robots.registry import load
from appell.robots.robot import Robot
from appell.show.document import Row, Table, plain
from appell.show.figure import picture
from appell.show.motion_film import motion_film
from appell.show.rules import EQUAL, AtLeast, AtMost, Below, Known, Rule
from appell.simulation import Run
from appell.study.study_timing import quickest

START, GOAL = np.radians([90, 0, 90, 0, 0, 0]), np.radians([45, 30, 0, 45, 60, 90])
KP, KV, PERIOD = 100.0, 20.0, 0.01
BIT = 4.26e-4  # rad, of a converter of 12 bits
CONVERTER = Adc(12, low=radians(-5), high=radians(95))  # 100 degrees: the paper's bit
DURATION = 2.0  # s: our choice, as the paper has none
REST = 1.0  # s after the path's end that count: ten times 1 / 10 s, in which errors decay
GRAVITY = (0.0, 0.0, -9.8)  # m/s^2, section 3
NEWTON_EULER, LAGRANGE_EULER, DEFAULT = "newton_euler", "lagrange_euler", "gibbs_lean"

DURATIONS, PERIODS = (1.0, 2.0, 3.0, 5.0), (0.001, 0.002, 0.005, 0.01, 0.02)


def _quarters(start: np.ndarray, goal: np.ndarray, duration: float) -> Trajectory:
    """A quarter of the time speeding up, a quarter slowing down."""
    speed = np.abs(goal - start) / (0.75 * duration)
    return trapezoidal(start, goal, speed, speed / (0.25 * duration), duration)


PATHS: dict[str, Callable[..., Trajectory]] = {
    "trapezoidal": _quarters,
    "cubic": cubic,
    "quintic": quintic,
    "septic": septic,
}


@cache
def robot() -> Robot:
    """The arm in the paper's field of gravity."""
    return load("puma560").with_gravity(GRAVITY)


@cache
def computed_torque(formulation: str) -> ComputedTorque:
    """The law of section 5 by a formulation."""
    return ComputedTorque(robot(), kp=KP, kd=KV, formulation=formulation)


@cache
def followed(
    path: str = "quintic",
    duration: float = DURATION,
    period: float = PERIOD,
    formulation: str = NEWTON_EULER,
    adc: Adc | None = None,
) -> Run:
    """The run of the arm with its exact model, torques held between samples, until it is at rest;
    law and arm by the same equations; positions exact, or as a converter has read them."""
    return track(
        robot(),
        computed_torque(formulation),
        PATHS[path](START, GOAL, duration),
        period=period,
        until=duration + REST,
        adc=adc,
        formulation=formulation,
    )


def tables() -> list[Table]:
    """The claim, the errors behind it, and what a step of the law takes."""
    return [_claim(), _by_path(), _stillness(), _converted(), _errors(), _step()]


def _claim() -> Table:
    run = followed()
    others = [followed(formulation=f).error for f in (LAGRANGE_EULER, DEFAULT)]
    worst = np.abs(run.error).max(axis=0)
    apart = [np.abs(error - run.error).max(axis=0) for error in others]
    rule: list[Rule] = [Below(), AtMost(SAME), AtMost(SAME)]
    rows = [
        Row(f"joint {j + 1}", (BIT, None, None), [float(x[j]) for x in (worst, *apart)], "", rule)
        for j in range(len(worst))
    ]
    return Table(
        f"Section 5: position errors within a bit of 12, {BIT:.3g} rad",
        [
            "largest by Newton-Euler, rad",
            "Lagrange-Euler differs by, rad",
            "our default equations differ by, rad",
        ],
        rows,
        f"A quintic of {DURATION:g} s, which is our choice, sampled every {1000 * PERIOD:g} ms; "
        f"{_ASSUMED} The runs by other equations differ by rounding, and by what the integrator "
        "leaves, 1e-11 per step.",
    )


SAME = 1e-9  # rad: runs that only rounding and the integrator's error, 1e-11 per step, set apart

# Whether errors stay within a bit at the paper's 10 ms, by path and duration: 1, 2, 3 and 5 s.
WITHIN_A_BIT = {
    "trapezoidal": (False, False, True, True),
    "cubic": (False, False, True, True),
    "quintic": (False, True, True, True),
    "septic": (False, False, True, True),
}


def _by_path() -> Table:
    """The claim for every path and duration at the paper's sampling time."""
    rows = []
    for path, known in WITHIN_A_BIT.items():
        for duration, holds in zip(DURATIONS, known, strict=True):
            error = followed(path, duration).max_error
            usual = followed(path, duration, formulation=DEFAULT).max_error
            rule = EQUAL if holds else Known("yes", "no")
            rows.append(
                Row(
                    f"{path}, {duration:g} s",
                    ("yes", None, None),
                    ("yes" if error < BIT else "no", error, abs(error - usual)),
                    "" if holds else "The paper's path is another one, or takes longer.",
                    [rule, AtMost(BIT) if holds else AtLeast(BIT), AtMost(SAME)],
                )
            )
    return Table(
        f"Section 5: which motions stay within a bit, sampled every {1000 * PERIOD:g} ms",
        ["within a bit", "largest error, rad", "our default equations differ by, rad"],
        rows,
        "The paper says that errors are always below a bit, of a motion whose path and duration it "
        f"does not give. {_failing()} A trapezoid and a cubic stop with a jump of their "
        "acceleration, and err most just after it.",
    )


def _failing() -> str:
    """Where the claim fails, in words."""
    known = {p: [d for d, holds in zip(DURATIONS, x, strict=True) if not holds]
             for p, x in WITHIN_A_BIT.items()}  # fmt: skip
    told = [f"{p} of {' and '.join(f'{d:g}' for d in x)} s" for p, x in known.items() if x]
    return f"At 10 ms the claim fails for a {', a '.join(told[:-1])} and a {told[-1]}."


def _stillness() -> Table:
    """A table that shows that no transient is left out."""
    runs = [followed(path, duration) for path in PATHS for duration in DURATIONS]
    return Table(
        f"The arm {REST:g} s after the end of its path, when counting ends",
        ["largest speed, rad/s", "largest error, rad"],
        [
            Row.own(
                f"all motions at {1000 * PERIOD:g} ms",
                [max(float(np.abs(r.v[-1]).max()) for r in runs), max(r.final_error for r in runs)],
                [AtMost(STILL), AtMost(STILL / 10)],
                "what is left of a transient: (1 + 10 t) exp(-10 t) is 5e-4 after 1 s",
            )
        ],
    )


STILL = 1e-4  # rad/s


def _converted() -> Table:
    read = followed(adc=CONVERTER).max_error
    return plain(
        "Positions read by such a converter",
        ["largest error, rad"],
        {"all joints": [read]},
        "The paper's simulation has exact positions.",
    )


def _errors() -> Table:
    rows = []
    for path in PATHS:
        for duration in DURATIONS:
            errors = [followed(path, duration, period).max_error for period in PERIODS]
            kept = [f"{1000 * p:g}" for p, e in zip(PERIODS, errors, strict=True) if e < BIT]
            told = f"below a bit at {', '.join(kept)} ms" if kept else "nowhere below a bit"
            rows.append(Row.own(f"{path}, {duration:g} s", errors, why=told))
    return Table(
        "Section 5: the largest position error of any joint, rad, by path, duration and sampling",
        [f"{1000 * period:g} ms" for period in PERIODS],
        rows,
        f"{_ASSUMED} Torques that are held make the error: it is about in proportion to the "
        "sampling time.",
        compared=False,
    )


def _step() -> Table:
    law = ComputedTorque(robot(), kp=KP, kd=KV)
    states = [np.array(x) for x in (START, 0 * START, GOAL, 0 * START, 0 * START)]
    one = quickest(lambda: law(*states), 1000)
    many = [np.tile(x, (10_000, 1)) for x in states]
    kernel = law.kernel()
    each = quickest(lambda: kernel(*many)) / 10_000
    return plain(
        "Section 5: time to compute the torques of one set point, ms",
        ["PDP 11/45 by its data sheet", "one state", "one of 10,000 in a call"],
        {"computed torque, six joints": (3.0, 1e3 * one, 1e3 * each)},
        "The paper's machine, and the one that made this table.",
    )


_ASSUMED = (
    f"Kp = {KP:g}, Kv = {KV:g}, g = 9.8 m/s², the exact model, torques held between samples, "
    "errors counted until the arm is at rest. The paper gives neither the path nor its duration "
    "nor the arm's inertias; these are Valera et al.'s."
)


@picture(
    "Figures 3 to 8: position errors of the six joints",
    f"A quintic of {DURATION:g} s, sampled every {1000 * PERIOD:g} ms. Dotted: one bit of 12, "
    f"{BIT:.3g} rad.",
)
def errors_picture() -> Chart:
    """A chart of each joint's error over time."""
    run, bit = followed(), [Level(sign * BIT, "one bit of 12") for sign in (-1, 1)]
    drawn = zip(load("puma560").joint_names, run.error.T, strict=True)
    return Chart(
        [
            Panel(name, "error, rad", [Line("", run.t, x, COLOURS[j])], levels=bit,
                  y_range=(-5.2e-4, 5.2e-4))
            for j, (name, x) in enumerate(drawn)
        ],
        columns=3,
    )  # fmt: skip


@picture(
    "The largest error by path, duration and sampling time",
    f"Of any joint. Dotted: one bit of 12, {BIT:.3g} rad.",
)
def largest_picture() -> Chart:
    """A chart with a panel per path, a line per duration."""
    x, bit = [1000 * period for period in PERIODS], [Level(BIT, "one bit of 12")]

    def drawn(path: str) -> list[Line]:
        errors = [[followed(path, d, p).max_error for d in DURATIONS] for p in PERIODS]
        return lines([f"{d:g} s" for d in DURATIONS], x, errors, drawn="both")

    look: dict[str, Any] = {"x": "sampling time, ms", "log": "xy", "y_range": (3e-6, 1e-2)}
    panels = [Panel(path, "error, rad", drawn(path), levels=bit, **look) for path in PATHS]
    return Chart(panels, columns=4)


MOTION = motion_film(
    "The motion",
    f"The simulated arm, by a quintic of {DURATION:g} s, and {REST:g} s at rest.",
    lambda: (robot(), followed().t, followed().q),
)
