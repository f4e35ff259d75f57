"""A campaign of random faults: each in lock step, from a point of one sound run, to its end.

For every fault it is told beforehand, from the fault and the log alone, by which cycle the machine
has to stand, or that nothing needs to happen. The rule: a fault ends within ``SLACK`` cycles of its
limit in zero volts and brakes, with a reason, and with every cycle in the log; a disturbance that
is within the limits does not stop the run.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from appell.errors import InputError
from appell.rig.controller.controller import Controller, Phase
from appell.rig.controller.safety import Limits, Safety, State
from appell.rig.log.log_file import Log, LogWriter, read_log
from appell.rig.loop.control_loop import ControlLoop, Result
from appell.rig.loop.run_setup import Setup
from appell.rig.machine.faults import FOREVER, KINDS, Fault, Kind
from appell.rig.machine.lockstep import Lockstep
from appell.rig.machine.machine import Machine
from appell.rig.machine.simulated_machine import Rig
from appell.rig.signals import STATUS
from appell.robots.robot import Array

SLACK = 2  # cycles
BEFORE, AFTER = 30, 250  # cycles logged before a fault, and after one that does no harm
PATIENT = ("slip", "stuck", "no index")  # the arm has to move before they can be seen


@dataclass(frozen=True)
class Outcome:
    """What became of a fault."""

    number: int
    fault: Fault
    due: int | None  # cycles after the fault by which it had to be noticed; None: no need to
    stood: int | None  # cycles after the fault when the machine stood; None: it went on
    reason: str
    logged: bool  # whether no cycle is missing from the log
    good: bool


def random_fault(number: int, seed: int, cycles: int, n: int) -> Fault:
    """The fault with this number of a campaign."""
    random = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    cycle, joint = int(random.integers(100, cycles)), int(random.integers(n))
    short = bool(random.random() < 0.3)  # one that should do no harm
    size, duration = 0.0, FOREVER
    if kind.startswith(("lost", "damaged")) and short:
        duration = int(random.integers(1, 15))
    elif kind.startswith("late"):
        size = float(random.integers(1, 5) if short else random.integers(25, 80))
    elif kind == "slip":
        size = float(random.choice([-1, 1]) * random.integers(3, 60))
    elif kind == "noise":
        size = float(random.uniform(60, 400))
    return Fault(cast("Kind", kind), cycle, joint, size, duration)


def campaign(
    ready: Setup, count: int, seed: int = 0, done: dict[int, Outcome] | None = None
) -> Iterator[Outcome]:
    """The outcomes of faults 0 to count - 1, those not yet done, in the order of their cycles."""
    todo = [k for k in range(count) if k not in (done or {})]
    if not todo:
        return
    cycles, n = Sound(ready).length(), ready.machine.n
    faults = {k: random_fault(k, seed, cycles, n) for k in todo}
    base = Sound(ready)
    with tempfile.TemporaryDirectory(prefix="appell-") as folder:
        for k in sorted(todo, key=lambda k: faults[k].cycle):
            base.to(faults[k].cycle - BEFORE)
            yield _tried(k, faults[k], base, Path(folder) / f"{k}.mcap")


class Sound:
    """The run without faults, as far as it has come."""

    def __init__(self, ready: Setup) -> None:
        self.ready = ready
        self.pair = Lockstep(replace(ready, faults=[]).rig()), ready.controller()
        self.tick = 0
        # What does not change is shared.
        shared = (ready.law, ready.mission, ready.machine, ready.limits)
        self.shared = {id(x): x for x in shared}

    def to(self, tick: int) -> None:
        """Go on to a cycle."""
        hardware, controller = self.pair
        while self.tick < tick:
            self.tick += 1
            hardware.write(controller.cycle(self.tick, hardware.read(), 0))

    def length(self) -> int:
        """Cycles until it ends."""
        controller = self.pair[1]
        while not controller.ended:
            self.to(self.tick + 1)
        if controller.state is not State.STOP:
            raise InputError(f"the run without faults ends in a fault: {controller.reason}")
        return self.tick

    def twin(self) -> tuple[Lockstep, Controller]:
        """A copy of machine and controller, to be given a fault."""
        return copy.deepcopy(self.pair, dict(self.shared))


def _tried(number: int, fault: Fault, base: Sound, path: Path) -> Outcome:
    hardware, controller = base.twin()
    rig, stood = hardware.rig, controller.safety.stood
    rig.faults.append(fault)
    own = [fault] if fault.kind == "disk full" else []
    writer = LogWriter(path, rig.n, base.ready.metadata)
    loop = ControlLoop(controller, hardware, writer, faults=own)
    loop.tick = base.tick
    loop.begin()
    harmless = fault.cycle + (0 if fault.duration == FOREVER else fault.duration) + AFTER
    while loop.step():
        if loop.tick > harmless and fault.kind not in PATIENT:
            controller.stop()
    result = loop.end()
    if result.reason in STATUS:  # broken off, which is no outcome
        raise KeyboardInterrupt
    log = read_log(path)
    path.unlink()
    return _judged(number, fault, result, log, rig, _Case(fault, log, stood, controller.safety))


def _judged(number: int, fault: Fault, result: Result, log: Log, rig: Rig, case: _Case) -> Outcome:
    due = _DUE[fault.kind](case)
    faulty = result.state is State.FAULT or rig.stopped_at is not None
    if fault.kind == "dead plant":  # it is the controller that has to notice
        ends = (State.FAULT, State.STOP)
        at = next((e.cycle for e in log.events if e.state in ends), None)
    else:
        at = rig.last_live + 1 if rig.safe else None
    stood = None if at is None or not (faulty or due is not None) else at - fault.cycle
    if fault.kind == "disk full":
        logged = len(log) == fault.cycle - int(log["cycle"][0])
    else:
        logged = len(log) == result.cycles and log.complete
    named = bool(result.reason) or not faulty
    in_time = due is None or (stood is not None and stood <= due + SLACK)
    ridden = due is not None or not faulty or fault.kind in PATIENT
    good = named and in_time and ridden and (rig.safe or fault.kind == "dead plant")
    return Outcome(number, fault, due, stood, result.reason, logged, good and logged)


# When each has to be noticed, in cycles after the fault; None where nothing needs to happen


@dataclass(frozen=True)
class _Case:
    fault: Fault
    log: Log
    stood: Array  # the reference when each counter last moved, where the log begins
    safety: Safety

    @property
    def limits(self) -> Limits:
        return self.safety.limits

    @property
    def machine(self) -> Machine:
        return self.safety.machine

    def column(self, name: str) -> Array:
        """Of the fault's joint."""
        return self.log[name][:, self.fault.joint]

    def after(self, where: Any) -> int | None:
        """Cycles from the fault to the first row for which ``where``."""
        cycles = self.log["cycle"].astype(int)
        hits = cycles[np.asarray(where) & (cycles >= self.fault.cycle)]
        return int(hits[0]) - self.fault.cycle if len(hits) else None


def _channel(limit: Callable[[_Case], int]) -> Callable[[_Case], int | None]:
    """Of what is lost for some cycles."""

    def due(case: _Case) -> int | None:
        return limit(case) if case.fault.duration >= limit(case) else None

    return due


def _late_readings(case: _Case) -> int | None:
    """Nothing comes at first, and then what is old."""
    size, limits = round(case.fault.size), case.limits
    return min(size + limits.late, limits.missed) if size > limits.old else None


def _late_commands(case: _Case) -> int | None:
    """It is the machine's echo that is old; the command to stop is late, too."""
    size, limits = round(case.fault.size), case.limits
    return limits.old + 2 + limits.late + size if size > limits.old else None


def _stuck(case: _Case) -> int | None:
    """The reference has gone on, or the potentiometer has, while the counts stood."""
    j, limits = case.fault.joint, case.limits
    qd, counts, cycles = case.column("qd"), case.column("counts"), case.log["cycle"].astype(int)
    stood, far = case.stood[j], np.zeros(len(qd), dtype=bool)
    for k in range(1, len(qd)):
        if counts[k] != counts[k - 1] or case.log["phase"][k] == Phase.LOOK:
            stood = qd[k - 1]
        far[k] = abs(qd[k - 1] - stood) > limits.stuck
    should = case.after(far)
    apart = np.abs(case.machine.at(case.log["pots"])[:, j] - case.column("q"))
    apart = (apart > limits.apart + 0.01) & (cycles > case.fault.cycle)  # 0.01: the observer's lag
    moves = case.after(apart)
    due = [x for x in (should, None if moves is None else moves + limits.disagree) if x is not None]
    return min(due, default=None)


def _slip(case: _Case) -> int | None:
    j = case.fault.joint
    if abs(case.fault.size) > 2 * case.safety.most_counts[j]:
        return case.limits.jump
    pulses, homed = case.column("pulses"), case.log["phase"] >= Phase.APPROACH
    new = np.concatenate([[False], pulses[1:] != pulses[:-1]])
    cycles = case.log["cycle"].astype(int)
    if (new & ~homed & (cycles > case.fault.cycle)).any():
        return None  # what it is homed by comes after the slip
    return case.after(new & homed & (cycles > case.fault.cycle))


def _no_index(case: _Case) -> int | None:
    j = case.fault.joint
    far = np.abs(case.column("counts") - case.column("latch"))
    homed = case.log["phase"] >= Phase.APPROACH
    return case.after(homed & (far > case.safety.whole[j] + case.limits.slip))


_missed = _channel(lambda case: case.limits.missed)
_unheard = _channel(lambda case: case.machine.watchdog)
_DUE: dict[str, Callable[[_Case], int | None]] = {
    "lost readings": _missed,
    "damaged readings": _missed,
    "late readings": _late_readings,
    "lost commands": _unheard,
    "damaged commands": _unheard,
    "late commands": _late_commands,
    "slip": _slip,
    "stuck": _stuck,
    "no index": _no_index,
    "hot": lambda case: case.limits.hot,
    "noise": lambda case: case.limits.window,
    "dead plant": lambda case: case.limits.missed,
    "dead controller": lambda case: case.machine.watchdog,
    "disk full": lambda case: 1,
}


# Kept, so that a campaign can go on where it was interrupted


def outcome_line(outcome: Outcome) -> str:
    """An outcome as a line of JSON."""
    return json.dumps(asdict(outcome))


def outcomes_in(path: Path) -> dict[int, Outcome]:
    """Of a file, a line each; a last line that was cut does not count."""
    found = {}
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            said = json.loads(line)
            outcome = Outcome(**said | {"fault": Fault(**said["fault"])})
            found[int(outcome.number)] = outcome
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return found
