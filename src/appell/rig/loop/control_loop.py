"""The loop: at each deadline read, decide, write, log."""

from __future__ import annotations

import cmath
import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appell.rig.controller.controller import Controller
from appell.rig.controller.safety import State
from appell.rig.log.log_file import LogWriter
from appell.rig.loop.channels import Slot
from appell.rig.loop.realtime import Clock, NoClock
from appell.rig.machine.faults import Fault, active
from appell.rig.machine.machine import TURN
from appell.rig.machine.protocol import Command, Hardware, Reading, Status, refusal
from appell.rig.signals import STATUS, reason_of

TAIL = 25  # cycles, after the machine's own watchdog, that go on to see that it stands
GRACE = 0.2  # of a period that a reading may be waited for
_PACE = 1.0  # s to wait for a reading where there is no clock
_FIRST = 10.0  # s to wait for the first readings
_ASK = 10  # cycles
_LISTEN = 50  # readings, to know when they come
_MOST_NS = 2**31 - 1  # that a log can tell

SWITCH = "outputs "  # what begins a line that tells the bits of the outputs of an arm that is led

_Numbers = tuple[int, list[int], int]  # of a reading: hot, those of the joints, status


@dataclass
class Result:
    """How a loop ended."""

    state: State
    reason: str
    cycles: int
    overruns: int
    stands: bool  # whether the machine said that it stands with brakes on
    log_closed: bool


class ControlLoop:
    """A controller, a machine and a log."""

    def __init__(
        self,
        controller: Controller,
        hardware: Hardware,
        writer: LogWriter,
        *,
        board: Slot | None = None,
        faults: Sequence[Fault] = (),
        ask: Callable[[], str | None] | None = None,
    ) -> None:
        self.controller, self.hardware, self.writer = controller, hardware, writer
        self.board, self.faults, self.ask = board, list(faults), ask
        self.told: State | None = None
        self.tick = self.cycles = self.busy = 0
        self.full = False  # the log, of the disk
        self.measured: _Numbers = 0, [0] * 4 * controller.machine.n, 0

    def run(self, clock: Clock | None = None) -> Result:
        """To the end, and a few cycles on. Without a clock: as fast as readings come."""
        self.begin(clock)
        try:
            self.interruptible(self.finish)
        except BaseException:  # a second interrupt, or a fault of our own
            self._write(self.controller.safe(self.tick + 1, 0))
            self.hardware.close()
            raise
        return self.end()

    def finish(self) -> None:
        """All cycles that are left."""
        while self.step():
            pass

    def interruptible(self, cycles: Callable[[], None]) -> None:
        """Some cycles; an interrupt makes the next ones the last."""
        try:
            cycles()
        except KeyboardInterrupt as asked:
            if self.controller.ended:
                raise
            self.controller.stop(reason_of(asked))
            self.finish()

    def begin(self, clock: Clock | None = None) -> None:
        """Get ready for the first cycle."""
        self.timed, self.clock = clock is not None, clock or NoClock()
        self.zero = time.time_ns() - time.monotonic_ns() if clock else 0
        self.left, self.stands = TAIL + self.controller.machine.watchdog, False

    def step(self) -> bool:
        """A cycle. False when it was the last."""
        period = self.controller.machine.period
        steps, late = self.clock.wait()
        self.tick += steps
        begin = time.monotonic_ns()
        now = begin if self.timed else round(1e9 * period * self.tick)
        self._cycle(self._read(GRACE * period if self.timed else _PACE), now, late)
        self.busy = time.monotonic_ns() - begin if self.timed else 0
        self.left -= self.controller.ended
        return self.left > 0

    def _cycle(self, reading: Reading | None, now: int, late: int) -> None:
        controller = self.controller
        self._asked()
        self._act_dead()
        self._write(self._decided(reading, now))
        self.cycles += 1
        self._fill(reading, now, late)
        self._log(now + self.zero)
        if self.board is not None:
            self.board.write(self.writer.bytes)
        if controller.ended and reading is not None:
            off = reading.status & (Status.BRAKED | Status.POWERED) == Status.BRAKED
            self.stands = self.stands or off

    def _decided(self, reading: Reading | None, now: int) -> Command:
        """A driver may give what is no reading at all."""
        try:
            return self.controller.cycle(self.tick, reading, now)
        except Exception as problem:  # whatever goes wrong, the arm must stop
            self.controller.fail(f"controller: {type(problem).__name__}: {problem}")
            return self.controller.safe(self.tick, now)

    def _read(self, timeout: float) -> Reading | None:
        """What a driver cannot do, for whatever reason, is a fault of the hardware."""
        try:
            given = self.hardware.read(timeout)
        except Exception as problem:  # a driver may raise anything
            self.controller.fail(f"hardware: {type(problem).__name__}: {problem}")
            return None
        wrong = None if given is None else refusal(given, self.controller.machine.n)
        if wrong is not None:
            self.controller.fail(f"hardware: {wrong}")
            return None
        return given

    def _write(self, command: Command) -> None:
        try:
            self.hardware.write(command)
        except Exception as problem:  # a driver may raise anything
            self.controller.fail(f"hardware: {type(problem).__name__}: {problem}")

    def _log(self, time: int, cycle: bool = True) -> None:
        """The events and the cycle; a log that fails is a fault."""
        if self.full:
            return
        controller = self.controller
        try:
            if controller.state is not self.told:
                self.writer.event(time, self.tick, controller.state, controller.reason)
                self.told = controller.state
            if cycle:
                self.writer.cycle(time)
        except OSError as problem:
            self.full = True
            controller.fail(f"log: {problem.strerror}")

    def _fill(self, reading: Reading | None, now: int, late: int) -> None:
        """The record. Where nothing was read, it has what was read before."""
        try:
            numbers = self.measured if reading is None else _numbers(reading)
            self._record(0 if reading is None else reading.cycle, numbers, now, late)
            self.measured = numbers
        except struct.error as problem:  # a driver's numbers may be larger than a log can hold
            self.controller.fail(f"hardware: no reading: {problem}")
            self._record(0, self.measured, now, late)

    def _record(self, cycle: int, read: _Numbers, now: int, late: int) -> None:
        c, (hot, joints, status) = self.controller, read
        reals = (x for each in (c.q, c.v, c.qd, c.tau, c.volts) for x in each.tolist())
        late, busy, overruns = min(late, _MOST_NS), min(self.busy, _MOST_NS), self.clock.overruns
        self.writer.fill(
            now, self.tick, cycle, *reals, late, busy, overruns, hot, *joints, status, c.order,
            c.state, c.phase,
        )  # fmt: skip

    def _asked(self) -> None:
        """What is asked of the run from outside, now and then."""
        asked = self.ask() if self.ask and self.tick % _ASK == 0 else None
        if asked == "stop":
            self.controller.stop()
        elif asked is not None and asked.startswith(SWITCH):
            self.controller.switch(int(asked.removeprefix(SWITCH)))
        elif asked in STATUS:
            self.controller.stop(asked)
        elif asked is not None:
            self.controller.fail(asked)

    def _act_dead(self) -> None:
        """Faults of the controller itself."""
        if active(self.faults, "disk full", self.tick) and not self.full:
            fd = os.open("/dev/full", os.O_WRONLY)
            os.dup2(fd, self.writer.fd)
            os.close(fd)
        if active(self.faults, "dead controller", self.tick):
            os.kill(os.getpid(), 9)

    def end(self) -> Result:
        """Close everything. A machine that does not say that it stands is a fault, too."""
        if not self.stands:
            self.controller.fail("the machine does not say that it stands")
            self._log(self.writer.time, cycle=False)
        closed = not self.full
        try:
            self.writer.close(clean=closed)
        except OSError:
            closed = False
        try:
            self.hardware.close()
        except Exception as problem:  # of a driver; the machine stands already
            self.controller.fail(f"hardware: {type(problem).__name__}: {problem}")
        c = self.controller
        return Result(c.state, c.reason, self.cycles, self.clock.overruns, self.stands, closed)


def _numbers(reading: Reading) -> _Numbers:
    parts = (reading.counts, reading.latch, reading.pulses, reading.pots)
    return reading.hot, [x for part in parts for x in part.tolist()], reading.status


def between_readings(hardware: Hardware, period: float) -> Clock | None:
    """A clock whose deadlines lie half way between readings, as these come; None if none come."""
    until, phases = time.monotonic() + _FIRST, list[float]()
    while time.monotonic() < until and len(phases) < _LISTEN:
        if hardware.read(10 * period) is not None:
            phases.append(time.monotonic_ns() * 1e-9 / period * TURN)
    if not phases:
        return None
    # The mean of directions, as a phase has no beginning.
    turns = sum(cmath.exp(1j * x) for x in phases[_LISTEN // 5 :])
    now = time.monotonic_ns() * 1e-9 / period
    ahead = (cmath.phase(turns) / TURN + 0.5 - now) % 1.0
    return Clock(period, phase=ahead)
