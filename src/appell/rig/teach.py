"""Teaching: an arm that bears its own weight is led by a hand, and where it was is kept.

A simulated arm is led by a simulated hand. Of a real one only the marks are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import cast

import numpy as np

from appell.control.laws.pd_gravity import PDGravity
from appell.errors import InputError
from appell.model.units import joined
from appell.rig.controller.controller import Phase
from appell.rig.controller.mission import Approach, Yield
from appell.rig.log.log_file import Log
from appell.rig.log.run_report import Report
from appell.rig.loop.control_loop import ControlLoop, Result
from appell.rig.loop.real_time_run import Running
from appell.rig.loop.run_setup import Setup
from appell.rig.machine.machine import Machine
from appell.rig.machine.outputs import ALL, bits_of, levels_of, names_in
from appell.rig.machine.protocol import Whole
from appell.rig.machine.simulated_machine import Rig
from appell.rig.start import in_lockstep
from appell.robots.dynamics import Array, Dynamics

Tell = Callable[[InputError], None]  # what made no sense, and why

_ARRIVED, _PATIENCE = 0.01, 5.0  # rad, s
_LOOSE = 3.0  # 1/s of a joint's inertia: what damps an arm that is led


def yielding(robot: Dynamics) -> PDGravity:
    """A law that bears the arm's weight and damps it, and wants it nowhere."""
    inertia = np.diagonal(robot.mass_matrix(robot.neutral()))
    return PDGravity(robot, kp=0.0, kd=_LOOSE * inertia)


class Hand:
    """Where a hand wants the joints to be; the simulated arm is pulled there."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.target: Array | None = None
        self.since: float | None = None  # when it began to pull

    def lead(self, q: Array, joint: int, by: float) -> None:
        """On from where the joint was last wanted, by degrees, or m if it slides."""
        if not 0 <= joint < self.machine.n:
            raise InputError(f"joint {joint + 1}: there are joints 1 to {self.machine.n}.")
        target = q.copy() if self.target is None else self.target.copy()
        target[joint] += by / self.machine.units[joint].scale
        low, high = (np.asarray(x)[joint] for x in (self.machine.lower, self.machine.upper))
        if not low < target[joint] < high:
            unit = self.machine.units[joint].position
            raise InputError(f"joint {joint + 1} goes from {low:.4g} to {high:.4g} {unit}.")
        self.target = target

    def done(self, q: Array, now: float) -> bool:
        """Whether the joints are where it wants them, or it has lost patience; ``now`` in s."""
        if self.target is None or float(np.abs(self.target - q).max()) < _ARRIVED:
            self.since = None
            return True
        self.since = now if self.since is None else self.since
        return now - self.since > _PATIENCE


class Lesson:
    """What is said while teaching: ``1 +10`` leads joint 1 on by 10 degrees, or m if it slides,
    ``tool1 on`` and ``tool1 off`` switch an output, ``mark`` notes where the arm is and which
    outputs are on, ``end`` ends."""

    def __init__(self, machine: Machine) -> None:
        self.hand, self.marks, self.over = Hand(machine), list[Array](), False
        self.outputs, self.on = machine.outputs, 0  # their names, and the bits of those that are on
        self.marked = list[int]()  # the bits at each mark

    def hear(self, line: str, q: Array) -> None:
        """Do what a line says, the joints being at q."""
        words = line.split()
        if not words:
            return
        if words == ["mark"]:
            self.marks.append(q.copy())
            self.marked.append(self.on)
        elif words == ["end"]:
            self.over = True
        elif len(words) == 2 and words[1] in ("on", "off"):
            bit = bits_of([words[0]], self.outputs)
            self.on = self.on | bit if words[1] == "on" else self.on & ~bit
        else:
            try:
                joint, by = (kind(word) for kind, word in zip((int, float), words, strict=True))
            except ValueError:
                raise InputError(
                    f"{line.strip()!r}: expected a joint and degrees such as '1 +10', an output "
                    "such as 'tool1 on', or 'mark', or 'end'."
                ) from None
            self.hand.lead(q, int(joint) - 1, float(by))


def teach_in_lockstep(ready: Setup, lines: Iterable[str], tell: Tell) -> tuple[Report, Lesson]:
    """Each line is done before the next is heard. ``tell`` is given what makes no sense. An
    interrupt ends the lesson; what was marked before it is kept."""
    lesson = Lesson(ready.machine)

    def drive(loop: ControlLoop, rig: Rig | None) -> Result:
        assert rig is not None
        loop.begin()
        loop.interruptible(lambda: _teach(loop, rig, lesson, lines, tell))
        return loop.end()

    return in_lockstep(ready, drive), lesson


def _teach(loop: ControlLoop, rig: Rig, lesson: Lesson, lines: Iterable[str], tell: Tell) -> None:
    """The lesson, line by line, and the cycles after it."""
    controller = loop.controller
    while controller.phase < Phase.FOLLOW and loop.step():
        pass
    for line in lines:
        try:
            lesson.hear(line, controller.q)
        except InputError as problem:
            tell(problem)
        controller.switch(lesson.on)
        if lesson.over or controller.ended or not loop.step():
            break
        while not lesson.hand.done(controller.q, loop.tick * controller.machine.period):
            rig.led = lesson.hand.target
            if not loop.step():
                break
    cast("Yield", controller.mission).end()
    loop.finish()


def teach_live(running: Running, lesson: Lesson, heard: Callable[[], str | None]) -> None:
    """One look at a run in real time: what is said next, when the hand is done with what was said
    before."""
    row = running.now()
    if row is None or row["phase"] != Phase.FOLLOW:
        return
    q = row["q"].copy()
    if lesson.hand.done(q, row["cycle"] * running.ready.machine.period):
        line, before = heard(), lesson.on
        if line is not None:
            lesson.hear(line, q)
        if lesson.on != before:
            running.switch(lesson.on)
    if lesson.over:
        running.stop()
    if running.plant is not None and lesson.hand.target is not None:
        running.tell_plant(f'{{"lead": {lesson.hand.target.tolist()}}}\n'.encode())


def motion_of(log: Log, rate: float = 50.0) -> tuple[Array, Array, dict[str, Array]]:
    """The motion under a hand: times, positions and the outputs' levels, so many a second."""
    led = log["phase"] == Phase.FOLLOW
    t, q, order = log.t[led], log["q"][led], log["order"][led]
    if len(t) < 2:
        raise InputError("nothing was taught: the arm was not yet ready to be led.")
    step = max(1, round(1 / (rate * log.metadata["period"])))
    rows = _rows(len(t), step, np.flatnonzero(np.diff(order & ALL)) + 1)
    levels = levels_of(order[rows], names_in(log.metadata))
    return t[rows] - t[0], q[rows], levels


def _rows(count: int, step: int, changes: Whole) -> Whole:
    """Every ``step``-th row, or in place of those nearby the rows in which something changes."""
    even = np.arange(0, count, step)
    if not len(changes):
        return even
    near = np.abs(even[:, None] - changes).min(axis=1) <= step // 2
    near[0] = False  # where the motion begins
    return np.union1d(even[~near], changes)


def poses(lesson: Lesson, machine: Machine) -> tuple[Array, Array, dict[str, Array]]:
    """The marks, with times at which an arm can be there without haste, and the outputs' levels
    from each on."""
    marks = lesson.marks
    if not marks:
        raise InputError("no marks; expected two or more to move between.")
    if len(marks) == 1:
        where = ",".join(u.text(x, 3) for x, u in zip(marks[0], machine.units, strict=True))
        raise InputError(
            f"one mark, at {where} ({joined(u.shown for u in machine.units)}); expected two or "
            "more to move between. "
            f"'appell control move --to {where}' goes there."
        )
    times = [0.0]
    for a, b in pairwise(marks):
        times.append(times[-1] + max(Approach(a, b, machine).T, 0.5))
    levels = levels_of(np.array(lesson.marked), machine.outputs)
    return np.array(times), np.array(marks), levels
