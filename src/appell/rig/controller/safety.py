"""Safety: what a run may be in, what it must not do, and how soon that is noticed.

Every check is over readings alone, and says by name what is wrong in the cycle in which its limit
is reached. In that cycle the state is FAULT: zero volts, amplifiers off, brakes on. There is no way
out of FAULT and STOP but a new run, which begins with homing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.rig.controller.observer import apart
from appell.rig.machine.machine import Machine
from appell.rig.machine.protocol import Order, Reading, Status, Whole
from appell.robots.robot import Array

Bools = npt.NDArray[np.bool_]


class State(IntEnum):
    """What a run is in."""

    HOMING = 0
    ENABLED = 1
    FAULT = 2
    STOP = 3


TRANSITIONS: dict[tuple[State, str], State] = {
    (State.HOMING, "homed"): State.ENABLED,
    (State.HOMING, "done"): State.STOP,
    (State.HOMING, "fault"): State.FAULT,
    (State.ENABLED, "done"): State.STOP,
    (State.ENABLED, "fault"): State.FAULT,
    (State.STOP, "fault"): State.FAULT,
    (State.FAULT, "fault"): State.FAULT,  # the first reason stays
}


def after(state: State, event: str) -> State:
    """The state that an event leads to."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise InputError(f"a run in {state.name} cannot be {event!r}.") from None


@dataclass(frozen=True)
class Limits:
    """When a check strikes. In cycles in a row, unless another unit is given."""

    missed: int = 100  # no reading
    late: int = 20  # readings, or commands that the machine heard, that are old
    old: int = 5  # cycles, by more than this
    echo: int = 100  # cycles since the last command that the machine heard, at once
    state: int = 100  # amplifiers or brakes not as told
    overrun: int = 100  # the controller itself had no time
    hot: int = 2  # over-temperature
    position: int = 1  # beyond the joint's range
    speed: int = 3  # beyond the machine's speed
    jump: int = 1  # more counts in a cycle than half as much again as that speed explains
    torque: int = 100  # more asked for than the machine has
    error: float = 0.15  # rad from the reference (m of a joint that slides), at once
    disagree: int = 5  # encoder and potentiometer apart
    apart: float = 0.04  # rad, by this
    stuck: float = 0.05  # rad that the reference goes while the counts stand, at once
    slip: int = 2  # counts by which an index pulse may come elsewhere, at once
    noise: int = 8  # jumps of a potentiometer
    jumps_of: float = 20.0  # codes, of this
    window: int = 32  # cycles, in this time

    def __post_init__(self) -> None:
        for field in fields(self):
            x = getattr(self, field.name)
            whole = field.type == "int"
            number = isinstance(x, int | float) and not isinstance(x, bool) and 0 < x < np.inf
            if not number or (whole and not isinstance(x, int)):
                kind = "a whole number" if whole else "a number"
                raise InputError(f"Limits: {field.name} = {x!r}; expected {kind} above zero.")


class Seen(NamedTuple):
    """What there is to judge in a cycle."""

    tick: int
    elapsed: int  # cycles since the last one that there was time for: 1 if all is well
    reading: Reading | None
    age: int  # cycles that the reading is older than it should be
    q: Array  # by the encoders
    v: Array  # by the observer
    desired: Array
    tau: Array  # asked for by the law before this cycle
    order: int  # told to the machine before this cycle
    homed: bool


class Safety:
    """The checks, and what they must remember."""

    def __init__(self, machine: Machine, limits: Limits | None = None) -> None:
        n = machine.n
        self.machine, self.limits = machine, limits or Limits()
        self.lower, self.upper = np.asarray(machine.lower), np.asarray(machine.upper)
        self.fastest = np.asarray(machine.speed)
        self.most_counts = 1.5 * self.fastest * machine.period / machine.count + 2
        self.whole = np.asarray(machine.counts, dtype=np.int64)
        self.last: Reading | None = None
        self.missing = self.unlike = self.aged = self.lagging = 0
        self.runs = {name: np.zeros(n, dtype=np.int64) for name in _RUNS}
        self.stood: Array = np.zeros(n)  # the reference when each counter last moved
        self.moved: Whole = np.zeros(n, dtype=int)  # the cycle when it did
        self.home: Whole | None = None  # counts at an index pulse, when homed
        self.jumps: list[tuple[int, Bools]] = []  # of potentiometers, with their cycles
        bounds = self.lower, self.upper, self.fastest, machine.torque
        pots = np.asarray(machine.pot_low), machine.code
        counts = self.most_counts, self.whole + self.limits.slip
        # What each joint is held against at a glance, as plain numbers.
        self.joints = list(zip(*(x.tolist() for x in (*bounds, *pots, *counts)), strict=True))
        self.clean = True  # whether nothing is being counted

    def check(self, seen: Seen) -> str | None:
        """What is wrong, or None."""
        reading = seen.reading
        if seen.elapsed > self.limits.overrun:
            return f"overrun: the controller had no time for {seen.elapsed} cycles"
        if reading is None:
            return self.lost()
        self.missing = 0
        wrong = self.late(seen, reading) or self.as_told(seen, reading)
        if wrong is None and not self.well(seen, reading):
            checks = (getattr(self, name) for name in _CHECKS)
            wrong = next((w for check in checks if (w := check(seen, reading))), None)
        if wrong is None:
            self._remember(seen, reading)
        return wrong

    def _remember(self, seen: Seen, reading: Reading) -> None:
        free = self.last is not None and seen.order & Order.RELEASE
        moved = reading.counts != self.last.counts if self.last is not None and free else True
        np.copyto(self.stood, seen.desired, where=moved)
        np.copyto(self.moved, seen.tick, where=moved)
        self.last = reading

    def set_home(self, latch: Whole, by: Array) -> None:
        """An index pulse of each joint came at these counts; the joints are elsewhere by so much
        than was thought."""
        self.home = latch.copy()
        self.stood = self.stood + by

    # All at a glance: whether all is well, in a few operations, as it is in almost every cycle

    def well(self, seen: Seen, reading: Reading) -> bool:
        """Whether every check of each joint would find nothing."""
        last = self.last
        well = (
            last is not None
            and reading.cycle - last.cycle == 1
            and not reading.hot
            and reading.pulses.tobytes() == last.pulses.tobytes()
            and self._joints_well(seen, reading, last)
        )
        if well and not self.clean:
            for count in self.runs.values():
                count[:] = 0
        self.clean = well
        return well

    def _joints_well(self, seen: Seen, reading: Reading, last: Reading) -> bool:
        """Plain numbers: for so few joints they are quicker than arrays."""
        limits, homed = self.limits, self.home is not None
        numbers = (seen.q, seen.v, seen.tau, seen.desired, self.stood)
        whole = (reading.counts, last.counts, reading.latch, reading.pots, last.pots)
        joints = zip(self.joints, *(x.tolist() for x in numbers + whole), strict=True)
        for limit, q, v, tau, qd, stood, count, before, latch, pot, was in joints:
            lower, upper, fastest, strongest, low, code, most, turn = limit
            if not (
                lower <= q <= upper
                and abs(v) <= fastest
                and abs(tau) <= strongest
                and abs(low + pot * code - q) <= limits.apart
                and abs(qd - stood) <= limits.stuck
                and abs(count - before) <= most
                and abs(pot - was) <= limits.jumps_of
            ):
                return False
            if homed and not (abs(qd - q) <= limits.error and abs(count - latch) <= turn):
                return False
        return True

    # Checks of the channel and of the machine as a whole

    def lost(self) -> str | None:
        """One more reading did not come."""
        self.missing += 1
        if self.missing < self.limits.missed:
            return None
        return f"readings lost: {self.missing} in a row"

    def late(self, seen: Seen, reading: Reading) -> str | None:
        """Whether readings are old, or from the future."""
        if -seen.age > self.limits.missed:
            return f"readings out of order: one is {-seen.age} cycles ahead"
        self.aged = self.aged + 1 if seen.age > self.limits.old else 0
        return f"readings late: by {seen.age} cycles" if self.aged >= self.limits.late else None

    def as_told(self, seen: Seen, reading: Reading) -> str | None:
        """The machine: whether it listens, and obeys."""
        status, most = reading.status, self.limits
        if status & Status.WATCHDOG:
            return "watchdog of the machine: it heard no command"
        lag = seen.tick - reading.echo
        if lag < 0:
            return f"commands out of order: the machine heard one of cycle {reading.echo}"
        if seen.tick > most.echo and lag > most.echo:
            return f"commands lost: the last one heard is {lag} cycles old"
        self.lagging = self.lagging + 1 if lag > most.old + 2 else 0  # 2: there and back
        if seen.tick > most.echo and self.lagging >= most.late:
            return f"commands late: by {lag} cycles"
        powered = bool(status & Status.POWERED) == bool(seen.order & Order.ENABLE)
        braked = bool(status & Status.BRAKED) != bool(seen.order & Order.RELEASE)
        self.unlike = 0 if powered and braked else self.unlike + 1
        if self.unlike < most.state:
            return None
        return f"{'brakes' if powered else 'amplifiers'} not as told for {self.unlike} cycles"

    # Checks of each joint

    def hot(self, seen: Seen, reading: Reading) -> str | None:
        """Whether a motor has been too hot for some cycles."""
        hot = (reading.hot >> np.arange(len(seen.q))) & 1 == 1
        return self._lasting("hot", hot, "over-temperature")

    def jump(self, seen: Seen, reading: Reading) -> str | None:
        """Whether counts changed by more than any speed of the machine explains."""
        if self.last is None:
            return None
        way = np.abs(apart(reading.counts, self.last.counts))
        most = self.most_counts * max(1, reading.cycle - self.last.cycle)
        return self._lasting("jump", way > most, "encoder jumped")

    def beyond(self, seen: Seen, reading: Reading) -> str | None:
        """Whether a joint goes beyond a limit of the machine."""
        beyond = {
            "position": (seen.q < self.lower) | (seen.q > self.upper),
            "speed": np.abs(seen.v) > self.fastest,
            "torque": np.abs(seen.tau) > self.machine.torque,
        }
        wrong = (self._lasting(name, x, f"{name} beyond its limit") for name, x in beyond.items())
        return next((w for w in wrong if w), None)

    def error(self, seen: Seen, reading: Reading) -> str | None:
        """Whether a joint is too far from its reference."""
        off = np.abs(seen.desired - seen.q)
        return _named(off > self.limits.error, "error too large") if seen.homed else None

    def disagree(self, seen: Seen, reading: Reading) -> str | None:
        """Whether encoder and potentiometer tell different positions, and which of them fails."""
        apart = np.abs(self.machine.at(reading.pots) - seen.q) > self.limits.apart
        noisy = apart & (self._jumps(seen.tick) > 1)
        stuck = apart & (seen.tick - self.moved > self.limits.disagree)
        what = "encoder and potentiometer disagree"
        if noisy.any() or stuck.any():
            what = "potentiometer noisy" if noisy.any() else "encoder stuck"
        return self._lasting("disagree", apart, what)

    def stuck(self, seen: Seen, reading: Reading) -> str | None:
        """Whether counts stand while the reference goes on."""
        if self.last is None or not seen.order & Order.RELEASE:
            return None
        still = reading.counts == self.last.counts
        far = np.abs(seen.desired - self.stood) > self.limits.stuck
        return _named(still & far, "encoder stuck")

    def slip(self, seen: Seen, reading: Reading) -> str | None:
        """Whether index pulses come at other counts than when the arm was homed, or not at all."""
        if self.home is None:
            return None
        away = apart(reading.latch, self.home) % self.whole
        off = np.minimum(away, self.whole - away)
        wrong = _named(off > self.limits.slip, "encoder slipped: index pulse at another count")
        if wrong:
            return wrong
        far = np.abs(apart(reading.counts, reading.latch))
        return _named(far > self.whole + self.limits.slip, "index pulse missing")

    def noise(self, seen: Seen, reading: Reading) -> str | None:
        """Whether a potentiometer jumps too often."""
        if self.last is None:
            return None
        leap = np.abs(reading.pots - self.last.pots) > self.limits.jumps_of
        if not leap.any():
            return None
        self.jumps.append((seen.tick, leap))
        return _named(self._jumps(seen.tick) >= self.limits.noise, "potentiometer noisy")

    def _jumps(self, tick: int) -> Whole:
        """How many there were of each joint within the window."""
        self.jumps = [(k, x) for k, x in self.jumps if k > tick - self.limits.window]
        return np.sum([x for _, x in self.jumps], axis=0) + np.zeros(self.machine.n, dtype=int)

    def _lasting(self, name: str, bad: Bools, what: str) -> str | None:
        """Of what has to last for some cycles."""
        if not bad.any():
            self.runs[name][:] = 0
            return None
        self.runs[name] = np.where(bad, self.runs[name] + 1, 0)
        return _named(self.runs[name] >= getattr(self.limits, name), what)


_RUNS = ("hot", "position", "jump", "speed", "torque", "disagree")
_CHECKS = ("hot", "jump", "slip", "stuck", "noise", "disagree", "beyond", "error")  # in this order


def _named(bad: Bools, what: str) -> str | None:
    if not bad.any():
        return None
    return f"{what}: joint {int(np.argmax(bad)) + 1}"
