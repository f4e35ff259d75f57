"""Shafei 2018: a tree of ten bars flies inside a circle and strikes it.

Table 3 and Figures 14 to 19, from the symmetric start; Table 1 and Figures 12 and 13 are
in shafei_counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.library import load
from appell.papers import shafei_counts
from appell.show.document import Document, Movie, Picture, Row, Table
from appell.show.figures import add_legend, new_figure, new_grid
from appell.show.rules import AtMost, Within
from appell.show.style import INK, JOINTS, LINE
from appell.simulation import Run, simulate
from appell.walls import Circle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from appell.robot import Robot

Array = npt.NDArray[np.floating[Any]]

RADIUS, UNTIL, GAP = 2.5, 1.5, 1e-3  # m, s, m
# The printed -1.366 breaks the symmetry by 2.5e-5 m.
START = (
    *(pi / 6, pi / 6, -2 * pi / 3, pi / 6, pi / 6, -2 * pi / 3, pi / 3, 0, 2 * pi / 3, -pi / 3),
    *(-(1 + sqrt(3)) / 2,) * 2,
)
ENERGY = 18.66  # J, as printed
DRIFT = 1e-8  # J: a hundred times what the integrator's tolerances leave of about 100 J

# Table 3: time, points, angle of attack, jump of the normal velocity, impulse on each point.
IMPACTS = (
    (0.3851, ("O1", "O5"), 33.12, 6.32, 5.26),
    (0.5698, ("O2", "O4"), 25.38, 8.62, 31.42),
    (1.01, ("O8", "O11"), 36.87, 8.64, 4.12),
    (1.082, ("O3",), 0.0, 12.48, 57.46),
    (1.387, ("O1", "O5"), 34.108, 30.14, 15.96),
)
# What the paper's digits carry of its own integration: s, degrees, and parts of the values.
TIME, ANGLE, VELOCITY, IMPULSE = 1e-3, 0.5, 0.005, 0.004
UPRIGHT = 1e-3  # degrees: zero by symmetry, which rounding alone breaks

BARS = (  # from point to point
    ("O1", "O2"), ("O2", "O3"), ("O3", "O4"), ("O4", "O5"), ("O3", "O6"),
    ("O6", "O7"), ("O7", "O8"), ("O6", "O9"), ("O6", "O10"), ("O10", "O11"),
)  # fmt: skip


def document() -> Document:
    return Document(
        name="shafei2018",
        title="Dynamic modeling of tree-type robotic systems by combining 3×3 rotation and 4×4 "
        "transformation matrices",
        source="A. M. Shafei, H. R. Shafei, 2018",
        tables=[table_3(), energy_table(), *shafei_counts.tables()],
        pictures=[
            *(Picture(f"Figure {k}", text, draw) for k, (text, draw) in FIGURES.items()),
            *shafei_counts.pictures(),
        ],
        movies=[Movie("The flight", "Five impacts within 1.5 s; ten times slower.", movie)],
    )


@cache
def flight(until: float = UNTIL) -> tuple[Robot, Run]:
    """The tree, and its motion from rest."""
    robot = load("ten_link_tree")
    rest = np.zeros(robot.nv)
    return robot, simulate(robot, START, rest, until=until, walls=(Circle(RADIUS),), gap=GAP)


def table_3() -> Table:
    _, run = flight()
    rows = []
    for (time, points, angle, velocity, impulse), found in zip(IMPACTS, run.impacts, strict=True):
        order = [found.points.index(point) for point in points]
        # The paper has one number for points that mirror each other; so do we, the first's.
        k = order[0]
        rows.append(
            Row(
                f"{' and '.join(points)}",
                (time, angle, velocity, impulse),
                tuple(
                    float(x)
                    for x in (
                        found.time,
                        np.degrees(found.angles[k]),
                        abs(found.velocity_jumps[k]),
                        found.impulses[k],
                    )
                ),
                rule=(
                    Within(TIME),
                    Within(ANGLE if angle else UPRIGHT),
                    Within(VELOCITY, relative=True),
                    Within(IMPULSE, relative=True),
                ),
            )
        )
    return Table(
        "Table 3: impacts",
        ["time (s)", "angle of attack (°)", "velocity (m/s)", "impulse (N s)"],
        rows,
        note="The velocity is the jump of the normal component. Equal within what the paper's "
        "digits carry of its integration: times to 1e-3 s, angles to 0.5 degrees, velocities to "
        "0.5 %, impulses to 0.4 %. The start is the symmetric one, X1 = X2 = -(1 + sqrt 3)/2: the "
        f"printed -1.366 breaks the symmetry. Contacts within {GAP:g} m are one impact.",
    )


def energy_table() -> Table:
    _, run = flight()
    drift = float(np.abs(run.energy - run.energy[0]).max())
    return Table(
        "Energy",
        ["J"],
        [
            Row("total", (ENERGY,), (float(run.energy[0]),), rule=Within(0.005)),
            Row("largest change in 1.5 s", (None,), (drift,), rule=AtMost(DRIFT)),
        ],
    )


# Figures 14 to 19


@cache
def points() -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Times, and each point's positions and velocities in the plane."""
    robot, run = flight()
    times = np.linspace(0, UNTIL, 601)
    q, v = (np.array(x) for x in zip(*map(run, times), strict=True))
    places = {p: robot.forward_kinematics(q, p)[:, :2, 3] for p in robot.model.points}
    rates = {p: np.einsum("tij,tj->ti", robot.jacobian(q, p)[:, :2], v) for p in robot.model.points}
    return times, places, rates


def _history(which: int, axis: int, label: str) -> Figure:
    """A component of all points over time: positions (1) or velocities (2)."""
    found = points()
    t, values = found[0], found[which]
    assert isinstance(values, dict)
    with new_figure(7.2, 3.4) as drawn:
        (axes,) = new_grid(drawn, 1, 1, legend=0.55)
        for k, (name, x) in enumerate(values.items()):
            style = ("-", (0, (4, 2)))[k // len(JOINTS)]
            axes.plot(t, x[:, axis], color=JOINTS[k % len(JOINTS)], ls=style, lw=1.2, label=name)
        for impact in flight()[1].impacts:
            axes.axvline(impact.time, color=INK, lw=0.6, alpha=0.3)
        axes.set(xlabel="time, s", ylabel=label, xlim=(0, UNTIL))
        add_legend(drawn, columns=6)
    return drawn


def _configurations() -> Figure:
    """The tree at the start and at each impact, in the circle."""
    robot, run = flight()
    moments = [0.0, *(impact.time for impact in run.impacts)]
    with new_figure(7.2, 5.0) as drawn:
        panels = drawn.subplots(
            2, 3, gridspec_kw={"left": 0, "right": 1, "top": 0.94, "bottom": 0.01, "hspace": 0.12}
        )
        for axes, t in zip(panels.flat, moments, strict=True):
            struck = [x.points for x in run.impacts if x.time == t]
            title = f"{t:.4f} s" + (f": {', '.join(struck[0])}" if struck else "")
            axes.set_title(title, loc="center")
            _draw(axes, _corners(robot, run(t)[0]), struck[0] if struck else ())
    return drawn


def _corners(robot: Robot, q: Array) -> dict[str, Array]:
    return {p: robot.forward_kinematics(q, p)[..., :2, 3] for p in robot.model.points}


def _draw(axes: Any, at: dict[str, Array], struck: Sequence[str]) -> list[Any]:
    """The circle and the bars; the bars' lines."""
    turn = np.linspace(0, 2 * pi, 181)
    axes.plot(RADIUS * np.cos(turn), RADIUS * np.sin(turn), color=INK, lw=1.0)
    lines = [axes.plot(*np.array([at[a], at[b]]).T, color=JOINTS[0], lw=2.4)[0] for a, b in BARS]
    if struck:
        axes.plot(*np.array([at[p] for p in struck]).T, "o", color=LINE, ms=6)
    axes.set(aspect="equal", xlim=(-2.7, 2.7), ylim=(-2.7, 2.7))
    axes.set_axis_off()
    return lines


def _energies() -> Figure:
    _, run = flight()
    with new_figure(7.2, 3.2) as drawn:
        (axes,) = new_grid(drawn, 1, 1, legend=0.3)
        axes.plot(run.t, run.kinetic, color=JOINTS[0], label="kinetic")
        axes.plot(run.t, run.potential, color=JOINTS[1], label="potential")
        axes.plot(run.t, run.energy, color=INK, label="total")
        axes.set(xlabel="time, s", ylabel="energy, J", xlim=(0, UNTIL))
        add_legend(drawn, columns=3)
    return drawn


FIGURES = {
    14: ("Positions of joints and end points along X1.", lambda: _history(1, 0, "X1, m")),
    15: ("Their velocities along X1.", lambda: _history(2, 0, "velocity along X1, m/s")),
    16: ("Positions of joints and end points along X2.", lambda: _history(1, 1, "X2, m")),
    17: ("Their velocities along X2.", lambda: _history(2, 1, "velocity along X2, m/s")),
    18: ("At the start and at the impacts; struck points are marked.", _configurations),
    19: ("Kinetic, potential and total energy.", _energies),
}


def movie(frames: int = 120, seconds: float = 12.0) -> bytes:
    """The flight as a GIF file."""
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    robot, run = flight()
    states = [run(t)[0] for t in np.linspace(0, UNTIL, frames)]
    places = _corners(robot, np.array(states))
    with new_figure(3.2, 3.2) as drawn:
        FigureCanvasAgg(drawn)
        axes = drawn.add_axes((0, 0, 1, 1))
        lines = _draw(axes, {p: x[0] for p, x in places.items()}, ())
        return _gif(PillowWriter(fps=round(frames / seconds)), drawn, lines, places, frames)


def _gif(writer: Any, drawn: Figure, lines: list[Any], places: Any, frames: int) -> bytes:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder, "flight.gif")
        with writer.saving(drawn, path, dpi=100):
            for k in range(frames):
                for line, (a, b) in zip(lines, BARS, strict=True):
                    line.set_data(*np.array([places[a][k], places[b][k]]).T)
                writer.grab_frame()
        return path.read_bytes()
