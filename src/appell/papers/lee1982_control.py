"""The simulated PUMA under computed torque: Lee 1982, section 5, figures 3 to 8.

The paper gives the ends of the motion, the gains and the sampling time, but neither the path
between the ends nor how long it takes, nor the arm's inertias. The arm here is that of Valera et
al. 2003; paths and durations are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import radians
from typing import TYPE_CHECKING

import numpy as np

from appell.control import Adc, ComputedTorque, Tracked, cubic, quintic, septic, track, trapezoidal
from appell.control.trajectory import Trajectory
from appell.library import load
from appell.papers.timing import quickest
from appell.show.document import Picture, Row, Table, plain
from appell.show.figures import add_legend, new_figure, new_grid
from appell.show.rules import Below
from appell.show.style import INK, JOINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

START, GOAL = np.radians([90, 0, 90, 0, 0, 0]), np.radians([45, 30, 0, 45, 60, 90])
KP, KV, PERIOD = 100.0, 20.0, 0.01
BIT = 4.26e-4  # rad, of a converter of 12 bits
DURATION = 2.0  # s: not in the paper

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
def followed(path: str = "quintic", duration: float = DURATION, period: float = PERIOD) -> Tracked:
    """The arm with its exact model, torques held between samples."""
    robot = load("puma560")
    law = ComputedTorque(robot, kp=KP, kv=KV)
    return track(robot, law, PATHS[path](START, GOAL, duration), period=period)


@cache
def through_a_converter() -> Tracked:
    """The same with positions that a converter of 12 bits has read, speeds as they are."""
    robot = load("puma560")
    reads = Adc(12, low=radians(-5), high=radians(95))  # 100 degrees: the paper's bit
    law = ComputedTorque(robot, kp=KP, kv=KV)
    return track(robot, law, quintic(START, GOAL, DURATION), period=PERIOD, adc=reads)


def tables() -> list[Table]:
    """The claim, the errors behind it, and what a step of the law takes."""
    return [_claim(), _converted(), _errors(), _step()]


def _claim() -> Table:
    worst = np.abs(followed().error).max(axis=0)
    rows = [Row(f"joint {j + 1}", (BIT,), (float(x),), rule=Below()) for j, x in enumerate(worst)]
    return Table(
        f"Section 5: position errors within a bit of 12, {BIT:.3g} rad",
        ["largest, rad"],
        rows,
        f"A quintic of {DURATION:g} s, sampled every {1000 * PERIOD:g} ms; {_ASSUMED}",
    )


def _converted() -> Table:
    read = through_a_converter().max_error
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
            rows.append(Row(f"{path}, {duration:g} s", [None] * len(PERIODS), errors, told))
    return Table(
        "Section 5: the largest position error of any joint, rad, by path, duration and sampling",
        [f"{1000 * period:g} ms" for period in PERIODS],
        rows,
        f"{_ASSUMED} Torques that are held make the error: it is in proportion to the sampling "
        "time (save where a trapezoid's corners fall between samples).",
        compared=False,
    )


def _step() -> Table:
    law = ComputedTorque(load("puma560"), kp=KP, kv=KV)
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
    f"Kp = {KP:g}, Kv = {KV:g}, the exact model, torques held between samples. The paper gives "
    "neither the path nor its duration nor the arm's inertias; these are Valera et al.'s."
)


def pictures() -> list[Picture]:
    return [
        Picture(
            "Figures 3 to 8: position errors of the six joints",
            f"A quintic of {DURATION:g} s, sampled every {1000 * PERIOD:g} ms. Dashed: one bit of "
            f"12, {BIT:.3g} rad.",
            errors_picture,
        ),
        Picture(
            "The largest error by path, duration and sampling time",
            f"Of any joint, in rad. Dashed: one bit of 12, {BIT:.3g} rad.",
            largest_picture,
        ),
    ]


def errors_picture() -> Figure:
    """Each joint's error over time."""
    run = followed()
    with new_figure(7.2, 4.2) as figure:
        for j, axes in enumerate(new_grid(figure, 2, 3)):
            axes.plot(run.t, 1e4 * run.error[:, j], color=JOINTS[j])
            for side in (-1, 1):
                axes.axhline(side * 1e4 * BIT, color=INK, lw=0.8, ls=(0, (4, 3)))
            axes.set(title=f"joint {j + 1}", xlim=(0, DURATION), ylim=(-5.2, 5.2))
            if j % 3 == 0:
                axes.set_ylabel("error, 10⁻⁴ rad")
            if j >= 3:
                axes.set_xlabel("time, s")
    return figure


def largest_picture() -> Figure:
    """A panel a path, a line a duration."""
    with new_figure(7.2, 3.0) as figure:
        for axes, path in zip(new_grid(figure, 1, 4, legend=0.3), PATHS, strict=True):
            for duration, colour in zip(DURATIONS, JOINTS, strict=False):
                errors = [followed(path, duration, period).max_error for period in PERIODS]
                x = [1000 * period for period in PERIODS]
                axes.plot(x, errors, "o-", ms=3, color=colour, label=f"{duration:g} s")
            axes.axhline(BIT, color=INK, lw=0.8, ls=(0, (4, 3)))
            axes.set(title=path, xlabel="sampling time, ms", xscale="log", yscale="log")
            axes.set_xticks(x, [f"{ms:g}" for ms in x])
            axes.minorticks_off()
            axes.set_ylim(3e-6, 1e-2)
        add_legend(figure, columns=4)
    return figure
