"""Figure 5 of Valera et al. 2003 through the rig: the references of ramp and spline on a machine
like the paper's, with its encoders, potentiometers and outputs of +-10 V.

The machine is simulated in lock step, so the numbers are the same wherever they are computed. It
has the friction of :mod:`appell.papers.valera2003_control` and carries its load, which the
controller does not know.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from appell.control import rig
from appell.control.rig.controller import Controller, Phase
from appell.control.rig.lockstep import Lockstep
from appell.control.rig.mission import Follow
from appell.control.rig.plant import Rig
from appell.papers.valera2003_control import (
    DURATION,
    MACHINES,
    MILLISECONDS,
    REFERENCES,
    controller,
    reference,
    robots,
)
from appell.show.document import Picture, Row, Table, plain
from appell.show.figures import add_legend, new_figure, new_grid
from appell.show.style import INK, JOINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REST = 1.0  # s
LAW = "tracking with integral action"


@cache
def driven(of: str) -> rig.Report:
    """A reference run through the rig: homing, the way to its start, the reference, and a rest."""
    return rig.run(controller(LAW), reference(of), robot=robots()[1], rest=REST)


def tables() -> list[Table]:
    return [_followed(), _cycle()]


def _followed() -> Table:
    rows = [Row(of, [None] * 4, _measures(driven(of))) for of in REFERENCES]
    return Table(
        "Figure 5: references through the rig",
        (
            "largest error, degrees",
            f"error {REST:g} s after the end, degrees",
            "largest output, V",
            "cycles of 1 ms",
        ),
        rows,
        _SETTING,
        compared=False,
    )


def _measures(report: rig.Report) -> list[float]:
    on = report.following
    return [
        float(np.degrees(report.max_error)),
        float(np.degrees(np.abs(report.error[on][-1]).max())),
        float(np.abs(report.volts).max()),
        report.cycles,
    ]


def _cycle() -> Table:
    return plain(
        "Section 4: time of a whole cycle of the rig's controller, ms",
        [*MILLISECONDS, "this machine"],
        {"reading, checks, law and command": [*MILLISECONDS.values(), 1e3 * cycle_time()]},
        MACHINES,
    )


def cycle_time(cycles: int = 1500) -> float:
    """Seconds that half of the controller's cycles take less than, from Python."""
    machine = rig.puma560_machine()
    trajectory = reference("spline")
    hardware = Lockstep(Rig(robots()[0], machine, trajectory.start))
    moved = Controller(controller(LAW), Follow(trajectory, machine), machine)
    taken, tick = list[float](), 0
    while len(taken) < cycles:
        tick += 1
        reading = hardware.read()
        begin = perf_counter()
        command = moved.cycle(tick, reading, 0)
        if moved.phase is Phase.FOLLOW:
            taken.append(perf_counter() - begin)
        hardware.write(command)
    return float(np.median(taken))


def picture() -> Picture:
    return Picture(
        "Figure 5: positions for ramp and spline references",
        "Through the rig: tracking with integral action at 1 kHz, with friction and a load that it "
        "does not know; positions by the encoders. Dashed: the references.",
        positions_picture,
    )


def positions_picture() -> Figure:
    """Each joint's position and its reference."""
    with new_figure(7.2, 3.4) as figure:
        for axes, of in zip(new_grid(figure, 1, 2, legend=0.3), REFERENCES, strict=True):
            report = driven(of)
            on = report.following
            t = report.t[on] - report.t[on][0]
            for j, colour in enumerate(JOINTS):
                axes.plot(t, np.degrees(report.q[on, j]), color=colour, label=f"joint {j + 1}")
                dashed = (0, (4, 3))
                axes.plot(t, np.degrees(report.qd[on, j]), color=INK, lw=0.8, ls=dashed, zorder=3)
            axes.set(title=f"{of}: position, degrees", xlabel="time, s", xlim=(0, DURATION + REST))
        add_legend(figure, columns=6)
    return figure


_SETTING = (
    "The paper shows that the real arm follows, and prints no numbers. Ours is simulated in lock "
    "step: 200 and 250 counts a revolution of the motors, 12-bit converters, gears and motors as "
    "published for the PUMA 560, Coulomb friction and an unknown load of 1 kg. The ramp's speed "
    "jumps at its start, which is where its largest error is."
)
