"""The simulated PUMA: Mata et al. 2002, section 5.2.

Inverse kinematics give the joints' motion along a straight line, inverse dynamics the torques for
it. These torques alone then drive the arm, by forward dynamics and a Runge-Kutta integration, and
the motion that comes out is compared with the one that was planned. Nothing holds the arm on its
line: in gravity every small error grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import dist
from time import perf_counter
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, make_interp_spline

from appell.charts.chart import Chart, Panel, lines
from appell.robots.robot import Array
from appell.show.document import Row, Table, plain
from appell.show.figure import Picture, picture
from appell.show.motion_film import motion_film
from appell.show.plots import arm
from appell.show.rules import AtMost, Expected, Ratio
from appell.study.puma_line import PumaLine
from appell.study.straight_line import StraightLine, run

METHODS = {"CRBA": "composite_body", "ABA": "articulated_body", "GA": "gibbs_tensor"}
DEFAULT = "gibbs_lean"  # our own

START, END, ORIENTATION = (0.50, 0.00, 0.05), (0.62, 0.30, 0.11), (0.0, 90.0, 180.0)
DURATION = dist(START, END) / 0.1  # at the stated speed of 0.1 m/s
STATED_DURATION = 5.0
INTERVAL, TOLERANCE = 0.1, 1e-6
BRANCH = "left-up-flip"  # the only one of eight that keeps the joints' ranges
FORMULATION = "gibbs_tensor"  # the paper's
_SAMPLES = 100  # of the plan in an interval

# Table 6, one row per joint: average |q - q*|, |v - v*|, |a - a*|.
TABLE_6 = (
    (6.91878269e-4, 1.28209533e-3, 2.84439095e-3),
    (1.73972101e-2, 1.66087380e-3, 9.22318761e-2),
    (8.54693990e-4, 1.66087459e-3, 3.13261587e-3),
    (1.73972067e-2, 4.05637323e-2, 9.22318581e-2),
    (1.78259578e-2, 4.17630699e-2, 9.54221869e-3),
    (6.91878269e-4, 1.21908065e-3, 2.43724278e-3),
)
# Table 7, in the order of METHODS.
SECONDS, EVALUATIONS = (0.65, 0.71, 0.59), (1122, 1089, 1092)


@cache
def plan(duration: float = DURATION, branch: str = BRANCH) -> StraightLine:
    """The motion along the line, sampled about every millisecond."""
    return run(
        PumaLine(
            start=START,
            end=END,
            orientation=ORIENTATION,
            speed=dist(START, END) / duration,
            samples=round(duration / INTERVAL) * _SAMPLES + 1,
            branch=branch,
        )
    )


def torques(planned: StraightLine, formulation: str = FORMULATION) -> Array:
    """The torques that the motion takes, by the paper's equations unless others are named."""
    kernel = planned.robot.kernel("inverse_dynamics", formulation=formulation, regroup=False)
    found: Array = kernel(planned.shown.q, planned.shown.v, planned.shown.a)
    return found


Torques = Callable[[float], Array]


def smooth(planned: StraightLine) -> Torques:
    """The torques of every millisecond, a cubic spline through them."""
    return CubicSpline(planned.path.t, torques(planned))


def coarse(planned: StraightLine) -> Torques:
    """The torques of every 0.1 s, straight lines between them."""
    every = slice(None, None, _SAMPLES)
    return make_interp_spline(planned.path.t[every], torques(planned)[every], k=1)


@cache
def _driving() -> Torques:
    return smooth(plan())


def driving(t: float, q: Array, v: Array) -> Array:
    """The torques (6,) of the planned line at a time, N m, wherever the arm is: nothing corrects
    it. For ``task.torque`` of a scenario."""
    return _driving()(min(t, DURATION))


COARSE = "torques every 0.1 s"
INTERPOLATIONS = {"torques every 1 ms": smooth, COARSE: coarse}


@dataclass(frozen=True)
class Simulation:
    """What came out at the ends of the intervals: q, v, a (N, 6), beside the plan's."""

    q: Array
    v: Array
    a: Array
    planned: StraightLine
    evaluations: int
    seconds: float

    @property
    def t(self) -> Array:
        """The ends of the intervals, s."""
        return self.planned.path.t[::_SAMPLES]

    @property
    def errors(self) -> tuple[Array, Array, Array]:
        """|q - q*|, |v - v*|, |a - a*|, each (N, 6)."""
        plan = self.planned.shown
        pairs = ((plan.q, self.q), (plan.v, self.v), (plan.a, self.a))
        q, v, a = (np.abs(wanted[::_SAMPLES] - got) for wanted, got in pairs)
        return q, v, a

    @property
    def astray(self) -> Array:
        """How far the tool is from its planned place, (N,) m."""
        tool = self.planned.robot.forward_kinematics(self.q)[:, :3, 3]
        return np.linalg.norm(tool - self.planned.path.position[::_SAMPLES], axis=-1)


def simulate(method: str, planned: StraightLine, torques: Torques) -> Simulation:
    """Drive the arm from the exact start; the integration (RK45) starts anew each interval."""
    name = METHODS.get(method, method)
    kernel = planned.robot.kernel("forward_dynamics", formulation=name, regroup=False)

    def rates(t: float, y: Array) -> Array:
        return np.concatenate([y[6:], kernel(y[:6], y[6:], torques(t))])

    stops = planned.path.t[::_SAMPLES]
    states = [np.concatenate([planned.shown.q[0], planned.shown.v[0]])]
    evaluations = 0
    begin = perf_counter()
    for span in pairwise(stops):
        step: Any = solve_ivp(rates, span, states[-1], "RK45", rtol=TOLERANCE, atol=TOLERANCE)
        states.append(step.y[:, -1])
        evaluations += step.nfev
    seconds = perf_counter() - begin
    y = np.array(states)
    a = kernel(y[:, :6], y[:, 6:], np.array([torques(t) for t in stops]))
    return Simulation(y[:, :6], y[:, 6:], a, planned, evaluations, seconds)


@cache
def simulations(duration: float, interpolation: str) -> dict[str, Simulation]:
    """The simulation by every method, the quickest of three runs."""
    planned = plan(duration)
    torques = INTERPOLATIONS[interpolation](planned)

    def quickest(method: str) -> Simulation:
        runs = (simulate(method, planned, torques) for _ in range(3))
        return min(runs, key=lambda simulation: simulation.seconds)

    return {method: quickest(method) for method in METHODS}


@cache
def by_default(duration: float, interpolation: str) -> Simulation:
    """The same simulation by our default equations."""
    planned = plan(duration)
    return simulate(DEFAULT, planned, INTERPOLATIONS[interpolation](planned))


def tables() -> list[Table]:
    """Tables 6 and 7, in which configurations, and how far each method's tool strays."""
    sixes = [_table_6(duration) for duration in SIZES_OF_6]
    return [_feasible(), *sixes, _apart(), _torques(), _evaluations(), _tool(), _table_7()]


def _feasible() -> Table:
    """Which configurations the arm can have on the line."""
    rows = [
        Row.own(name, [str([*m.beyond] or "none")], Expected(str(OUT[name] or "none")))
        for name, m in plan(DURATION, "all").motions.items()
    ]
    return Table(
        "Section 5.2: the eight configurations of the arm on the line",
        ["joints out of their ranges"],
        rows,
        f"Ranges are those published for the PUMA 560. Table 6 is of {BRANCH}.",
    )


OUT: dict[str, list[int]] = {
    "left-up-noflip": [4], "left-up-flip": [], "left-down-noflip": [2], "left-down-flip": [2, 4],
    "right-up-noflip": [1], "right-up-flip": [1, 4], "right-down-noflip": [1, 2],
    "right-down-flip": [1, 2],
}  # fmt: skip


def _table_6(duration: float) -> Table:
    found = simulations(duration, COARSE)["GA"].errors
    means = np.array([e.mean(axis=0) for e in found])
    return Table(
        f"Table 6: average differences in the simulation by GA, {duration:.3g} s, {COARSE}",
        ["angle, rad", "speed, rad/s", "acceleration, rad/s²"],
        [
            Row(
                f"joint {j + 1}", printed, [float(x) for x in means[:, j]], _WHY_6,
                _near(SIZES_OF_6[duration][j]),
            )
            for j, printed in enumerate(TABLE_6)
        ],
        _NOTES_6[duration],
    )  # fmt: skip


def _near(sizes: Sequence[float]) -> list[Ratio]:
    return [Ratio(0.97 * x, 1.03 * x) for x in sizes]


# Ours over the paper's. The torques between samples err alike on every machine; what rounding
# changes of the integrator's steps is far below the 3 % that are left.
SIZES_OF_6: dict[float, tuple[tuple[float, float, float], ...]] = {
    DURATION: (
        (0.0961, 0.1030, 0.0923), (0.2512, 5.978, 0.2381), (5.178, 6.153, 7.339),
        (0.004642, 0.003025, 0.002084), (0.0102, 0.00619, 0.02407), (0.1145, 0.1397, 0.1797),
    ),
    STATED_DURATION: (
        (6.850, 12.44, 20.00), (4.348, 107.6, 4.715), (86.05, 100.5, 118.1),
        (0.1948, 0.2542, 0.3573), (0.3324, 0.4996, 8.686), (3.400, 5.106, 6.497),
    ),
}  # fmt: skip


def _tool() -> Table:
    rows: dict[str, list[float]] = {}
    for duration, how in _cases():
        found = simulations(duration, how)
        astray = [1000 * s.astray for s in found.values()]
        case = f"{duration:.3g} s, {how}"
        rows[f"tool astray at the end, mm; {case}"] = [float(x[-1]) for x in astray]
        rows[f"tool astray on average, mm; {case}"] = [float(x.mean()) for x in astray]
    return plain("Section 5.2: where the tool gets to", list(METHODS), rows, _NOTE_TOOL)


def _apart() -> Table:
    others = [*(name for name in METHODS if name != "GA"), f"our default, {DEFAULT}"]
    rows = []
    for duration, how in _cases():
        found = simulations(duration, how)
        runs = [*(found[name] for name in METHODS if name != "GA"), by_default(duration, how)]
        apart = [float(np.abs(run.q - found["GA"].q).max()) for run in runs]
        what = f"joints apart from GA's, rad; {duration:.3g} s, {how}"
        rows.append(Row.own(what, apart, AtMost(1e-9)))
    return Table("Section 5.2: results are practically the same", others, rows, _NOTE_APART)


def _torques() -> Table:
    rows = []
    for planned in (plan(DURATION), plan(STATED_DURATION)):
        apart = float(np.abs(torques(planned) - torques(planned, DEFAULT)).max())
        rows.append(Row.own(f"{planned.path.duration:.3g} s", (apart,), AtMost(1e-9)))
    title = f"Section 5.2: torques by the paper's equations ({FORMULATION}) less our default's"
    return Table(title, ["largest, N m"], rows)


def _evaluations() -> Table:
    rows = [
        Row(
            f"{duration:.3g} s, {how}",
            EVALUATIONS,
            [s.evaluations for s in simulations(duration, how).values()],
            "another integrator and another choice of its first steps",
            _near(SIZES_OF_7[duration]),
        )
        for duration, how in _cases()
    ]
    return Table("Table 7: evaluations of the function", list(METHODS), rows, _NOTE_EVALUATIONS)


# Ours over the paper's: two steps in each interval, and room for another step or two.
SIZES_OF_7 = {DURATION: (0.4118, 0.4242, 0.4231), STATED_DURATION: (0.6239, 0.6428, 0.6410)}


def _table_7() -> Table:
    rows: dict[str, list[float]] = {"the paper, Pentium II of 400 MHz": list(SECONDS)}
    for duration, how in _cases():
        found = simulations(duration, how).values()
        rows[f"this machine; {duration:.3g} s, {how}"] = [s.seconds for s in found]
    return plain("Table 7: processing time, s", list(METHODS), rows, _NOTE_7)


def _cases() -> list[tuple[float, str]]:
    return [(duration, how) for duration in (DURATION, STATED_DURATION) for how in INTERPOLATIONS]


_WHY_6 = "arm, tool and torques between samples are not given"
_NOTE_6 = (
    f"The arm is that of Valera et al. 2003, in the configuration {BRANCH}. RK45, tolerance 10⁻⁶, "
    "started anew every 0.1 s; averages over the ends of these intervals. Torques and simulation "
    "are by the paper's equations. The paper gives neither the arm's configuration nor its tool "
    "nor how torques are had between samples, and joints 1 and 6, 2 and 3, 2 and 4 share printed "
    "values: the digits cannot be had."
)
_NOTES_6 = {
    DURATION: f"{_NOTE_6} The line is {dist(START, END):.4f} m long, which takes {DURATION:.3f} s "
    "at the stated 0.1 m/s.",
    STATED_DURATION: f"{_NOTE_6} The stated duration, at {dist(START, END) / STATED_DURATION:.4f} "
    "m/s. With torques of every 1 ms and a cubic spline through them, the errors nearly vanish.",
}
_NOTE_TOOL = "Nothing corrects the arm, so errors grow with the time it moves."
_NOTE_APART = (
    "The three methods solve the same equations and differ by rounding only, as the paper also "
    "finds; what rounding leaves grows with the time that the arm moves."
)
_NOTE_EVALUATIONS = (
    "Our three methods agree to rounding, so their integrations take the same steps: two in each "
    "interval of 0.1 s. The paper's numbers differ from method to method."
)
_NOTE_7 = (
    "Times are of the run that made this table, the best of three. The paper's programs were "
    "FORTRAN; their times follow the methods' operations. Ours do not: nearly all of it is the "
    "integrator's, in Python."
)


@picture(
    "How the simulated joints leave the plan",
    "By GA; each joint's angle, simulated minus planned, absolute value.",
)
def errors_picture() -> Chart:
    """A chart of each joint's error in angle, by GA, for both ways to give the torques."""
    panels = []
    for how in INTERPOLATIONS:
        simulation = simulations(DURATION, how)["GA"]
        t, error = simulation.t[1:], simulation.errors[0][1:]  # at the start there is none
        panels.append(Panel(how, "error, rad", lines(plan().robot.joint_names, t, error), log="y"))
    return Chart(panels, columns=2)


PICTURES = (
    Picture(
        "Figure 3: the arm at the start and the end of the line",
        f"Planned: {DURATION:.2f} s at 0.1 m/s, {BRANCH}: the one within the joints' ranges.",
        lambda: arm(plan(), ["start", "end"]),
    ),
    errors_picture,
    motion_film(
        "The motion",
        "Along the line, as planned.",
        lambda: (plan().robot, plan().path.t, plan().shown.q),
    ),
)
