"""Teaching: an arm that bears its own weight is led by a hand, and where it was is kept.

A simulated arm is led by a simulated hand. Of a real one only the marks are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import cast

import numpy as np

from appell.control.laws import PDGravity
from appell.control.rig.controller import Controller, Phase
from appell.control.rig.lockstep import Lockstep
from appell.control.rig.log import Log, Writer, read_log
from appell.control.rig.loop import Loop
from appell.control.rig.machine import Machine
from appell.control.rig.mission import Approach, Yield
from appell.control.rig.plant import Rig
from appell.control.rig.report import Report
from appell.control.rig.running import Running
from appell.control.rig.serve import summary
from appell.control.rig.setup import Setup
from appell.control.rig.signals import reason_of, terminable
from appell.errors import InputError
from appell.model.units import joined
from appell.robot import Array, Robot

Tell = Callable[[InputError], None]  # what made no sense, and why

_ARRIVED, _PATIENCE = 0.01, 5.0  # rad, s
_LOOSE = 3.0  # 1/s of a joint's inertia: what damps an arm that is led


def yielding(robot: Robot) -> PDGravity:
    """A law that bears the arm's weight and damps it, and wants it nowhere."""
    inertia = np.diagonal(robot.mass_matrix(np.zeros(robot.nq)))
    return PDGravity(robot, kp=0.0, kv=_LOOSE * inertia)


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
    """What is said while teaching: ``1 +10`` leads joint 1 on by 10 degrees, or m if
    it slides, ``mark`` notes where the arm is, ``end`` ends."""

    def __init__(self, machine: Machine) -> None:
        self.hand, self.marks, self.over = Hand(machine), list[Array](), False

    def hear(self, line: str, q: Array) -> None:
        words = line.split()
        if not words:
            return
        if words == ["mark"]:
            self.marks.append(q.copy())
        elif words == ["end"]:
            self.over = True
        else:
            try:
                joint, by = (kind(word) for kind, word in zip((int, float), words, strict=True))
            except ValueError:
                raise InputError(
                    f"{line.strip()!r}: expected a joint and degrees such as '1 +10', or 'mark', "
                    "or 'end'."
                ) from None
            self.hand.lead(q, int(joint) - 1, float(by))


def teach_in_lockstep(ready: Setup, lines: Iterable[str], tell: Tell) -> tuple[Report, list[Array]]:
    """Each line is done before the next is heard. ``tell`` is given what makes no sense. An
    interrupt ends the lesson; what was marked before it is kept."""
    rig = Rig(ready.robot, ready.machine, ready.q0, list(ready.faults), ready.seed)
    controller = Controller(ready.law, ready.mission, ready.machine, ready.limits)
    lesson = Lesson(ready.machine)
    with terminable(), ready.log_path() as path:
        loop = Loop(controller, Lockstep(rig), Writer(path, ready.machine.n, ready.metadata))
        loop.begin()
        try:
            while not _taught(loop, rig, lesson, lines, tell):
                lines = ()  # after an interrupt nothing more is heard
            result = loop.end()
        finally:
            loop.writer.close(clean=False)
        log = read_log(path)
    report = Report(log, result.state, result.reason, ready.machine.period, summary(rig))
    return report, lesson.marks


def _taught(loop: Loop, rig: Rig, lesson: Lesson, lines: Iterable[str], tell: Tell) -> bool:
    """Whether it went on to its end; an interrupt makes the next cycles the last."""
    try:
        _teach(loop, rig, lesson, lines, tell)
    except KeyboardInterrupt as asked:
        if loop.controller.ended:
            raise
        loop.controller.stop(reason_of(asked))
        return False
    return True


def _teach(loop: Loop, rig: Rig, lesson: Lesson, lines: Iterable[str], tell: Tell) -> None:
    """The lesson, line by line, and the cycles after it."""
    controller = loop.controller
    while controller.phase < Phase.FOLLOW and loop.step():
        pass
    for line in lines:
        try:
            lesson.hear(line, controller.q)
        except InputError as problem:
            tell(problem)
        if lesson.over or controller.ended:
            break
        while not lesson.hand.done(controller.q, loop.tick * controller.machine.period):
            rig.led = lesson.hand.target
            if not loop.step():
                break
    cast("Yield", controller.mission).end()
    while loop.step():
        pass


def teach_live(running: Running, lesson: Lesson, heard: Callable[[], str | None]) -> None:
    """One look at a run in real time: what is said next, when the hand is done with what was said
    before."""
    row = running.now()
    if row is None or row["phase"] != Phase.FOLLOW:
        return
    q = row["q"].copy()
    if lesson.hand.done(q, row["cycle"] * running.ready.machine.period):
        line = heard()
        if line is not None:
            lesson.hear(line, q)
    if lesson.over:
        running.stop()
    if running.plant is not None and lesson.hand.target is not None:
        running.tell_plant(f'{{"lead": {lesson.hand.target.tolist()}}}\n'.encode())


def motion_of(log: Log, rate: float = 50.0) -> tuple[Array, Array]:
    """The motion under a hand: times and positions, so many a second."""
    led = log["phase"] == Phase.FOLLOW
    t, q = log.t[led], log["q"][led]
    if len(t) < 2:
        raise InputError("nothing was taught: the arm was not yet ready to be led.")
    step = max(1, round(1 / (rate * log.metadata["period"])))
    return t[::step] - t[0], q[::step]


def poses(marks: list[Array], machine: Machine) -> tuple[Array, Array]:
    """The marks, with times at which an arm can be there without haste."""
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
    return np.array(times), np.array(marks)
