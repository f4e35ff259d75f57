"""Figure 5 of Valera et al. 2003 through the rig: the references of ramp and spline on a machine
like the paper's, with its encoders, potentiometers and outputs of +-10 V.

The machine is simulated in lock step, without time. It has the friction of
`appell.papers.valera2003_control` and carries its load, which the controller does not know.
The law runs by the paper's own equations, ours beside them.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

from appell import rig
from appell.charts.chart import Chart
from appell.papers import valera2003_control as control
from appell.papers.valera2003_line import DEFAULT, PAPER
from appell.rig.controller.controller import Controller, Phase
from appell.rig.controller.mission import Follow
from appell.rig.log.log_file import LogWriter
from appell.rig.loop.control_loop import ControlLoop
from appell.rig.machine.protocol import command_bytes, command_of, reading_bytes, reading_of
from appell.rig.machine.simulated_machine import Rig
from appell.show.document import Row, Table, plain
from appell.show.figure import picture
from appell.show.rules import AtMost, Below, Rule
from appell.simulation.run_chart import Signal

REST = 1.0  # s
# Degrees: twice the half degree of friction and load, as in table 4; and for the ramp as much again
# as its speed's jump of 30 degrees/s makes by (s + 10)^3, 0.023 s.
WITHIN = {"ramp": 1.7, "spline": 1.0}
VOLTS = 10.0  # to which the paper limits its outputs, section 3
LAW = "tracking with integral action"


@cache
def driven(of: str, formulation: str = PAPER) -> rig.Report:
    """A reference run through the rig: homing, the way to its start, the reference, and a rest."""
    return rig.run(
        control.controller(LAW, formulation),
        control.reference(of),
        robot=control.robots()[1],
        rest=REST,
    )


def tables() -> list[Table]:
    """How the references are followed, and the time of a cycle."""
    return [_followed(), _cycle()]


def _followed() -> Table:
    rows = []
    for of in control.REFERENCES:
        rule: list[Rule] = [AtMost(WITHIN[of]), AtMost(0.5), Below(), AtMost(0.05)]
        ours = _measures(driven(of), driven(of, DEFAULT))
        rows.append(Row(of, [None, None, VOLTS, None], ours, "", rule))
    return Table(
        "Figure 5: references through the rig",
        (
            "largest error, degrees",
            f"error {REST:g} s after the end, degrees",
            "largest output, V",
            "our default equations differ by, degrees",
        ),
        rows,
        _SETTING,
    )


def _measures(report: rig.Report, usual: rig.Report) -> list[float]:
    on, other = report.following, usual.following
    return [
        float(np.degrees(report.max_error)),
        float(np.degrees(np.abs(report.error[on][-1]).max())),
        float(np.abs(report.volts).max()),
        float(np.degrees(np.abs(report.q[on] - usual.q[other]).max())),
    ]


def _cycle() -> Table:
    (decided, whole), (_, waiting) = cycle_times(), cycle_times(500, machine_period=True)
    return plain(
        "Section 4: time of a cycle of the rig's controller, ms",
        [*(f"paper, {name}" for name in control.MILLISECONDS), "ours, this machine"],
        {
            "the paper's execution time": [*control.MILLISECONDS.values(), None],
            "checks, observer, law and command": [None, None, 1e3 * decided],
            "the whole: reading, these, writing and logging": [None, None, 1e3 * whole],
            "the same, a cycle every ms as in real time": [None, None, 1e3 * waiting],
        },
        f"{control.MACHINES} Ours from Python; half of the cycles are quicker. A processor that "
        "has waited is slower. appell control soak measures cycles in real time over shared "
        "memory, in a process of their own. The paper does not say what its times include.",
    )


class Mirror:
    """A machine's readings and commands as the bytes that pass over a channel, without the time
    that its simulation takes."""

    def __init__(self, simulated: Rig) -> None:
        self.rig, self.told, self.came = simulated, b"", b""

    def turn(self) -> None:
        """A cycle of the machine: the part that is not the controller's."""
        self.came = reading_bytes(self.rig.step(command_of(self.told, self.rig.n)))

    def read(self, timeout: float = 0.0) -> rig.Reading | None:
        return reading_of(self.came, self.rig.n)

    def write(self, command: rig.Command) -> None:
        self.told = command_bytes(command)

    def close(self) -> None:
        self.told = b""


class TimedController(Controller):
    """One that notes how long it takes to decide."""

    taken = 0.0  # s, of the last cycle

    def cycle(self, tick: int, reading: rig.Reading | None, now: int) -> rig.Command:
        begin = perf_counter()
        command = super().cycle(tick, reading, now)
        self.taken = perf_counter() - begin
        return command


def cycle_times(cycles: int = 1500, machine_period: bool = False) -> tuple[float, float]:
    """Seconds that half of the cycles take less than: what the controller decides, and the whole
    cycle of the loop with reading, writing and logging; one after another, or one a period."""
    machine, trajectory = rig.puma560_machine(), control.reference("spline")
    mirror = Mirror(Rig(control.robots()[0], machine, trajectory.start))
    moved = TimedController(control.controller(LAW), Follow(trajectory, machine), machine)
    decided, whole = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="appell-") as folder:
        loop = ControlLoop(moved, mirror, LogWriter(Path(folder) / "log.mcap", machine.n, {}))
        loop.begin()
        while len(whole) < cycles and not moved.ended:
            mirror.turn()
            begin = perf_counter()
            loop.step()
            if moved.phase is Phase.FOLLOW:
                whole.append(perf_counter() - begin)
                decided.append(moved.taken)
                if machine_period:
                    sleep(max(0.0, machine.period - whole[-1]))
        loop.writer.close()
    return float(np.median(decided)), float(np.median(whole))


@picture(
    "Figure 5: positions for ramp and spline references",
    "Through the rig: tracking with integral action at 1 kHz, with friction and a load that it "
    "does not know; positions by the encoders. Dashed: the references.",
)
def positions_picture() -> Chart:
    """A chart of each joint's position and its reference."""
    panels = []
    for of in control.REFERENCES:
        report = driven(of)
        on = report.following
        t = report.t[on] - report.t[on][0]
        wanted = ("reference", t, np.degrees(report.qd[on]))
        q, n = np.degrees(report.q[on]), len(report.joint_names)
        signal = Signal("position", t, q, report.joint_names, ["°"] * n, reference=wanted)
        panels += [replace(panel, title=of) for panel in signal.panels()]
    return Chart(panels, columns=2)


PICTURES = (positions_picture,)
_SETTING = (
    "The paper shows that the real arm, a PUMA 600, follows, and prints no numbers; its outputs "
    "are limited to 10 V. Ours is simulated in lock step: 200 and 250 counts per revolution of the "
    "motors, 12-bit converters, gears and motors as published for the PUMA 560, Coulomb friction "
    "and an unknown load of 1 kg. The ramp's speed jumps at its start, which is where its largest "
    "error is: 0.7 degrees of it by the controller's own poles. Another equation changes torques "
    "by less than a step of the output's converter."
)
