"""Shafei 2018: a tree of ten bars flies inside a circle and strikes it.

Table 3 and Figures 14 to 19, by the paper's own equations (gibbs_tree) and from its own numbers;
Table 1 and Figures 12 and 13 are in shafei_counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from math import nan, pi, sqrt
from time import process_time
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.charts.chart import Chart, Panel, lines
from appell.charts.palette import COLOURS, style
from appell.model.library.tree import tree_of_bars
from appell.papers import shafei2018_counts
from appell.robots.recipe import Recipe, recorded
from appell.robots.robot import Array, Robot
from appell.show.document import Document, Row, Table, plain
from appell.show.figure import Drawing, Picture
from appell.show.rules import AtMost, Differs, Known, Within
from appell.show.sketch import Sketch
from appell.show.style import LINE
from appell.simulation import Run, simulate
from appell.walls import Circle

if TYPE_CHECKING:
    from appell.simulation.contacts.impact import Impact


# Table 2: length in m, mass per length in kg/m, moments of the section per length in kg m.
LENGTH, DENSITY, SECTION = 1.0, 1.0, (5.89e-5, 2.94e-5, 2.94e-5)
PARENTS = (0, 1, 2, 3, 2, 5, 6, 5, 5, 9)  # of the ten links, figure 4
RADIUS, UNTIL, GAP = 2.5, 1.5, 1e-3  # m, s, m
ANGLES = (pi / 6, pi / 6, -2 * pi / 3, pi / 6, pi / 6, -2 * pi / 3, pi / 3, 0, 2 * pi / 3, -pi / 3)
# The printed -1.366 breaks the symmetry by 2.5e-5 m.
STARTS = {"made symmetric": -(1 + sqrt(3)) / 2, "as printed": -1.366}
FORMULATION = "gibbs_tree"  # the paper's
ENERGY = 18.66  # J, as printed
DRIFT = 1e-8  # J: a hundred times what the integrator's tolerances leave of about 100 J
HOURS = 40.0  # of CPU time, section 6

# Table 3: time, points, angle of attack, jump of the normal velocity, impulse on each point.
IMPACTS = (
    (0.3851, ("O1", "O5"), 33.12, 6.32, 5.26),
    (0.5698, ("O2", "O4"), 25.38, 8.62, 31.42),
    (1.01, ("O8", "O11"), 36.87, 8.64, 4.12),
    (1.082, ("O3",), 0.0, 12.48, 57.46),
    (1.387, ("O1", "O5"), 34.108, 30.14, 15.96),
)
COLUMNS = ("time (s)", "angle of attack (°)", "velocity (m/s)", "impulse (N s)")
# How far the paper's digits are from ours, which are converged: s, degrees, parts of the values.
TIME, ANGLE, VELOCITY, IMPULSE = 1e-3, 0.5, 0.005, 0.004
UPRIGHT = 1e-3  # degrees: zero by symmetry, which rounding alone breaks

BARS = (  # from point to point
    ("O1", "O2"), ("O2", "O3"), ("O3", "O4"), ("O4", "O5"), ("O3", "O6"),
    ("O6", "O7"), ("O7", "O8"), ("O6", "O9"), ("O6", "O10"), ("O10", "O11"),
)  # fmt: skip


def document() -> Document:
    """The tables, figures and the flight."""
    return Document(
        name="shafei2018",
        title="Dynamic modeling of tree-type robotic systems by combining 3×3 rotation and 4×4 "
        "transformation matrices",
        source="A. M. Shafei, H. R. Shafei, 2018",
        tables=[
            table_3("made symmetric"), table_3("as printed"), energy_table(), formulations_table(),
            apart_table(), *shafei2018_counts.tables(), time_table(),
        ],
        pictures=[
            *(Picture(f"Figure {k}", text, draw) for k, (text, draw) in FIGURES.items()),
            *shafei2018_counts.PICTURES,
            Picture("The flight", "Five impacts within 1.5 s; ten times slower.", _film),
        ],
        models=[tree().model],
    )  # fmt: skip


@cache
def tree() -> Robot:
    """Figure 4, from the numbers of table 2."""
    return Robot(tree_of_bars(PARENTS, LENGTH, DENSITY, SECTION, name="Shafei's tree"))


@cache
def flight(
    formulation: str | None = FORMULATION,
    start: str = "made symmetric",
    gap: float = GAP,
    tolerance: float = 3e-13,
) -> Run:
    """The motion from rest, by the paper's equations unless others are named."""
    q = [*ANGLES, STARTS[start], STARTS[start]]
    return simulate(
        tree(), q, until=UNTIL, walls=Circle(RADIUS), gap=gap, formulation=formulation,
        rtol=tolerance, atol=tolerance / 3,
    )  # fmt: skip


def values(impact: Impact, point: str) -> tuple[float, ...]:
    """A column of table 3. The paper has one number for points that mirror each other; so do we,
    the first's."""
    k = impact.points.index(point)
    jump, angle = abs(impact.velocity_jumps[k]), np.degrees(impact.angles[k])
    return tuple(float(x) for x in (impact.time, angle, jump, impact.impulses[k]))


def table_3(start: str) -> Table:
    """Table 3: the impacts, from a start."""
    impacts = flight(start=start).impacts
    rows = [
        Row(
            " and ".join(points),
            printed := (time, angle, velocity, impulse),
            _struck(impacts, k, points, printed),
            rule=(
                Within(TIME),
                Within(ANGLE if angle else UPRIGHT_OF[start]),
                Within(VELOCITY, relative=True),
                Within(IMPULSE, relative=True),
            ),
        )
        for k, (time, points, angle, velocity, impulse) in enumerate(IMPACTS)
    ]
    return Table(f"Table 3: impacts, the start {start}", COLUMNS, rows, _NOTES[start](rows))


# From the printed start, the motion is not symmetric, and the angle of O3 is not zero.
UPRIGHT_OF = {"made symmetric": UPRIGHT, "as printed": 0.05}


def _struck(
    impacts: Sequence[Impact], k: int, points: Sequence[str], printed: Sequence[float]
) -> tuple[float, ...]:
    """The k-th impact's values, if these points strike in it; not a number, if not."""
    if k < len(impacts) and set(impacts[k].points) == set(points):
        return values(impacts[k], points[0])
    return (nan,) * len(printed)


def _note(rows: Sequence[Row]) -> str:
    apart = np.array([np.subtract(row.ours, row.paper) for row in rows])
    parts = apart[:, 2:] / np.array([row.paper[2:] for row in rows])
    t, angle = np.abs(apart[:, :2]).max(axis=0)
    velocity, impulse = 100 * np.abs(parts).max(axis=0)
    return (
        "The velocity is the jump of the normal component. These are not the paper's digits: times "
        f"differ by up to {t:.1e} s, angles by {angle:.2f} degrees, velocities by {velocity:.2f} "
        f"%, impulses by {impulse:.2f} %. Ours are converged (see below), so that is what the "
        "paper's carry of its own integration; it grows from impact to impact."
    )


_NOTES = {
    "made symmetric": lambda rows: (
        f"{_note(rows)} The start is X1 = X2 = -(1 + sqrt 3)/2, of which the paper prints -1.366."
    ),
    "as printed": lambda rows: (
        f"X1 = X2 = -1.366 breaks the symmetry by 2.5e-5 m. Contacts within {GAP:g} m are one "
        f"impact; without that, O5 and O1 strike one after the other, and after that the motion is "
        "another (see below)."
    ),
}


def energy_table() -> Table:
    """The total energy, and how it drifts."""
    run = flight()
    drift = float(np.abs(run.energy - run.energy[0]).max())
    return Table(
        "Energy",
        ["J"],
        [
            Row("total", (ENERGY,), (float(run.energy[0]),), rule=Within(0.005)),
            Row.own("largest change in 1.5 s", (drift,), AtMost(DRIFT)),
        ],
    )


def formulations_table() -> Table:
    """The paper's equations beside our default's, and by looser tolerances."""
    others = {
        "by our default, gibbs_lean": flight("gibbs_lean"),
        "by tolerances a thousand times looser": flight(tolerance=3e-10),
    }
    bounds = (1e-9, 1e-5, 1e-6, 1e-6)
    rows = [
        Row.own(f"largest difference {what}", differences(other), [*map(AtMost, bounds)])
        for what, other in others.items()
    ]
    return Table(
        f"The flight by the paper's equations ({FORMULATION}), and how sure its numbers are",
        COLUMNS,
        rows,
        "Both tables, the figures and the movie are of the run by the paper's own equations, "
        "branch by branch. An error is magnified some ten thousand times by the five impacts.",
    )


def differences(other: Run) -> tuple[float, ...]:
    """What the impacts of another run differ by from those of the paper's equations, at most."""
    impacts = flight().impacts
    if [x.points for x in impacts] != [x.points for x in other.impacts]:
        return (nan,) * len(COLUMNS)
    pairs = [(x, y, x.points[0]) for x, y in zip(impacts, other.impacts, strict=True)]
    apart = np.array([np.subtract(values(x, p), values(y, p)) for x, y, p in pairs])
    return tuple(float(x) for x in np.abs(apart).max(axis=0))


def apart_table() -> Table:
    """The printed start where contacts are not grouped."""
    impacts = flight(start="as printed", gap=1e-6).impacts
    first = [impact.points for impact in impacts[:4]]
    return Table(
        "The printed start, contacts within 1e-6 m only",
        ["until 1.5 s"],
        [
            Row(
                "impacts", (len(IMPACTS),), (len(impacts),), _ALONE,
                Differs(4),
            ),
            Row(
                "the first four",
                ("O1 and O5, O2 and O4, O8 and O11, O3",),
                (", ".join(" and ".join(points) for points in first),),
                _ALONE,
                Known("O1 and O5, O2 and O4, O8 and O11, O3", "O5, O1, O2, O4"),
            ),
        ],
    )  # fmt: skip


_ALONE = "the sides strike one after the other, and the impact map is discontinuous there"


def time_table() -> Table:
    """CPU time of the machine at hand."""
    work: dict[str, Callable[[], Any]] = {
        f"solving by {name}, tolerance 3e-13": partial(flight.__wrapped__, name)
        for name in (FORMULATION, "gibbs_lean")
    }
    motion = Recipe("motion", FORMULATION)
    work[f"deriving the equations by {FORMULATION}"] = lambda: recorded(tree().system, motion)
    paper = [f"{HOURS:g} h", "Core i3-3220, 3.3 GHz"]
    rows = {"the paper: deriving and solving, steps of 1e-5 s": paper}
    for what, run in work.items():
        seconds = timeit(run, process_time, number=1)
        rows[what] = [f"{seconds:.3f} s", "this machine"]
    return plain(
        "Section 6: CPU time of the flight", ["CPU time", "machine"], rows,
        "Ours take the equations as compiled code, which is made once (a second or two) and kept.",
    )  # fmt: skip


# Figures 14 to 19


@cache
def points() -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Times, and each point's positions and velocities in the plane."""
    robot, run = tree(), flight()
    times = np.linspace(0, UNTIL, 601)
    q, v = (np.array(x) for x in zip(*map(run, times), strict=True))
    places = {p: robot.forward_kinematics(q, p)[:, :2, 3] for p in robot.model.points}
    rates = {p: np.einsum("tij,tj->ti", robot.jacobian(q, p)[:, :2], v) for p in robot.model.points}
    return times, places, rates


def _history(velocities: bool, axis: int, label: str) -> Chart:
    """A chart of a component of all points' positions or velocities over time."""
    t, places, rates = points()
    shown = rates if velocities else places
    marks = [impact.time for impact in flight().impacts]
    x = np.array([x[:, axis] for x in shown.values()]).T
    return Chart([Panel("", label, lines(shown, t, x, width=1.2), marks=marks)])


def _configurations() -> Drawing:
    """A drawing of the tree at the start and at each impact, in the circle."""
    robot, run = tree(), flight()
    struck = {0.0: (), **{impact.time: impact.points for impact in run.impacts}}
    sketches = []
    for t, names in struck.items():
        sketch = _circle(f"{t:.4f} s" + (f": {', '.join(names)}" if names else ""))
        at = _corners(robot, run(t)[0])
        for a, b in BARS:
            sketch.line([at[a], at[b]], COLOURS[0], 2.0)
        for name in names:
            sketch.dot(at[name], LINE)
        sketches.append(sketch)
    return Drawing(sketches, columns=3)


def _corners(robot: Robot, q: Array) -> dict[str, Array]:
    return {p: robot.forward_kinematics(q, p)[..., :2, 3] for p in robot.model.points}


def _circle(title: str = "") -> Sketch:
    turn, sketch = np.linspace(0, 2 * pi, 181), Sketch(title)
    sketch.line(RADIUS * np.stack([np.cos(turn), np.sin(turn)], axis=-1))
    return sketch


def _energies() -> Chart:
    """A chart of the kinetic, the potential and the total energy over time."""
    energies = flight().chart().panels[-1]
    drawn = [replace(line, **style(k)) for k, line in enumerate(energies.lines)]
    return Chart([replace(energies, lines=drawn)])


def _film(frames: int = 150, seconds: float = 15.0) -> Drawing:
    """A drawing of the flight that moves."""
    q = flight()(np.linspace(0, UNTIL, frames))[0]
    places, sketch = _corners(tree(), q), _circle()
    for a, b in BARS:
        sketch.moving(np.stack([places[a], places[b]], axis=1), seconds, COLOURS[0], 3.0)
    return Drawing([sketch], film=True)


FIGURES: dict[int, tuple[str, Callable[[], Chart | Drawing]]] = {
    14: ("Positions of joints and end points along X1.", lambda: _history(False, 0, "X1, m")),
    15: ("Their velocities along X1.", lambda: _history(True, 0, "velocity along X1, m/s")),
    16: ("Positions of joints and end points along X2.", lambda: _history(False, 1, "X2, m")),
    17: ("Their velocities along X2.", lambda: _history(True, 1, "velocity along X2, m/s")),
    18: ("At the start and at the impacts; struck points are marked.", _configurations),
    19: ("Kinetic, potential and total energy.", _energies),
}
