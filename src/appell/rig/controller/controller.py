"""The controller: a reading in, a command out, a thousand times a second.

It holds all that a run decides: where the joints are, what state the run is in, what the law asks
for. It knows nothing of clocks, channels or files.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from math import isfinite
from typing import Any

import numpy as np

from appell.control.laws.law import Law
from appell.control.laws.tracking_integral import TrackingIntegral
from appell.errors import InputError
from appell.rig.controller.homing import READINGS, Homing, correction, out_of_range
from appell.rig.controller.mission import (
    Approach,
    Follow,
    Mission,
    Reference,
    Yield,
    outputs_of,
    reference_refusal,
)
from appell.rig.controller.observer import Observer
from appell.rig.controller.safety import Limits, Safety, Seen, State, after
from appell.rig.machine.machine import Machine
from appell.rig.machine.outputs import ALL
from appell.rig.machine.protocol import Command, Order, Reading, Status, safe
from appell.robots.robot import Array

_RESET = 200  # cycles that a machine may take for it
_BLIND = 100  # cycles over which the model is asked; after as many a run ends


class Phase(IntEnum):
    """What the arm does."""

    LOOK = 0  # at its potentiometers, brakes on
    HOME = 1
    APPROACH = 2
    FOLLOW = 3
    REST = 4  # brakes on, nothing more to do


class Controller:
    """A law that moves a machine on a mission, guarded."""

    def __init__(
        self,
        law: Law,
        mission: Mission,
        machine: Machine,
        limits: Limits | None = None,
        tool: int = 0,
    ) -> None:
        self.mission_law = mission.law or law  # the law to follow the mission by
        for each in (law, self.mission_law):
            if each.robot.nv != machine.n:
                raise InputError(
                    f"the law is for {each.robot.nv} joints; '{machine.name}' has {machine.n}."
                )
        self.law, self.mission, self.machine, self.tool = homing_law(law), mission, machine, tool
        self.safety = Safety(machine, limits)
        self.state, self.phase, self.reason = State.HOMING, Phase.LOOK, ""
        self.observer: Observer | None = None
        self.homing: Homing | None = None
        self.approach: Approach | None = None
        self.looks: list[Array] = []
        self.tick = 0
        self.read = 0  # the machine's cycle of the last reading that was observed
        self.began = 0  # the tick of the phase
        self.ages = _Ages()
        self.own = self.law.initial
        zero: Array = np.zeros(machine.n)
        self.q, self.v = zero, zero
        self.qd, self.vd, self.ad = zero, zero, zero
        self.tau, self.volts = zero, zero
        self.order = 0
        self.switched = 0  # bits of the outputs that the mission has on
        self.stale = False  # whether the machine remembers another controller

    def cycle(self, tick: int, reading: Reading | None, now: int) -> Command:
        """The command of a cycle. Ticks count from 1."""
        elapsed, self.tick = tick - self.tick, tick
        age = self.ages.of(tick, reading)
        self._observe(elapsed, reading, age)
        if self.state in (State.HOMING, State.ENABLED):
            if self.observer is None:
                wrong = self._waiting(tick, reading)
            else:
                moves = self.observer.measured, self.v, self.qd, self.tau
                homed = self.phase >= Phase.APPROACH
                seen = Seen(tick, elapsed, reading, age, *moves, self.order, homed)
                wrong = self.safety.check(seen)
            if wrong:
                self.fail(wrong)
        if self.state in (State.HOMING, State.ENABLED):
            self._drive(tick, reading)
        return self._command(tick, now)

    # States

    def fail(self, reason: str) -> None:
        """Into FAULT, for good."""
        if self.state is not State.FAULT:
            self.state, self.reason = after(self.state, "fault"), reason
            self.phase = Phase.REST

    def stop(self, reason: str = "") -> None:
        """The end that was meant; with a reason, one that was asked for before it."""
        if self.state in (State.HOMING, State.ENABLED):
            self.reason = reason
            self.state, self.phase = after(self.state, "done"), Phase.REST

    @property
    def ended(self) -> bool:
        """Whether nothing more will move."""
        return self.state in (State.FAULT, State.STOP)

    # What a cycle does

    def _waiting(self, tick: int, reading: Reading | None) -> str | None:
        """Before the joints' positions are known."""
        safety = self.safety
        if reading is None:
            return safety.lost()
        safety.missing = 0
        self.stale = bool(reading.status & Status.WATCHDOG) or reading.echo > tick
        if self.stale and tick > _RESET:
            return "watchdog of the machine: a reset does not clear it"
        return out_of_range(reading.pots)

    def _observe(self, elapsed: int, reading: Reading | None, age: int) -> None:
        if self.observer is None:
            return
        if reading is None or elapsed > 1:
            given = self.volts * self.machine.torque_per_volt
            self.observer.predict(given, min(elapsed, _BLIND))
        if reading is not None:
            since, self.read = max(1, reading.cycle - self.read), reading.cycle
            age = max(-_BLIND, min(age, _BLIND))
            self.observer.follow(self.ad, int(elapsed == 1), reading.counts, since, age)
        self.q, self.v = self.observer.q, self.observer.v

    def _drive(self, tick: int, reading: Reading | None) -> None:
        """Reference, law, volts."""
        reference = self._reference(tick, reading)
        if reference is None or self.state is State.FAULT:
            return
        self.qd, self.vd, self.ad = reference
        # Copies, as what is checked and logged must not be the law's to change.
        q, v, qd, vd, ad = (x.copy() for x in (self.q, self.v, self.qd, self.vd, self.ad))
        try:
            given, self.own = self.law(q, v, qd, vd, ad, self.own, period=self.machine.period)
            tau = np.asarray(given)
        except Exception as problem:  # whatever a law does, the arm must stop
            self.fail(f"law: {type(problem).__name__}: {problem}")
            return
        if tau.shape != self.q.shape or tau.dtype.kind not in "fiu":
            self.fail(
                f"law: torques are {tau.dtype} of shape {tau.shape}; expected numbers of shape "
                f"{self.q.shape}"
            )
        elif not isfinite(sum(tau.tolist())):
            self.fail("law: torques are not finite")
        else:
            self.tau = tau

    def _reference(self, tick: int, reading: Reading | None) -> Reference | None:
        if self.phase is Phase.LOOK:
            return self._look(tick, reading)
        if self.phase is Phase.HOME:
            return self._home(tick, reading)
        if self.phase is Phase.APPROACH:
            assert self.approach is not None
            wanted = self.approach.at(tick - self.began)
            if wanted is not None:
                return wanted
            self.phase, self.began = Phase.FOLLOW, tick
            if self.law is not self.mission_law:
                self.law, self.own = self.mission_law, self.mission_law.initial
        wanted = self.mission.at(tick - self.began, self.q)
        if wanted is None:
            self.stop()
            return None
        self.switched = self._switched(tick - self.began)
        if not isinstance(self.mission, Follow | Yield):
            return self._own_reference(wanted)
        return wanted

    def _switched(self, k: int) -> int:
        """The outputs that are on; a mission of your own may give anything."""
        try:
            return outputs_of(self.mission, k, self.machine)
        except Exception as problem:  # whatever it does, the arm must stop
            self.fail(f"mission: outputs: {type(problem).__name__}: {problem}")
            return self.switched

    def switch(self, bits: int) -> None:
        """The outputs of an arm that is led."""
        if isinstance(self.mission, Yield):
            self.mission.on = bits & ALL

    def _own_reference(self, given: Any) -> Reference | None:
        """Of a mission that is not Appell's, which may be anything."""
        wrong = reference_refusal(given, self.qd, self.machine, self.safety.limits.error)
        if wrong is not None:
            self.fail(wrong)
            return None
        q, v, a = (np.asarray(x, dtype=float) for x in given)
        return q, v, a

    def _look(self, tick: int, reading: Reading | None) -> Reference | None:
        if reading is None or self.stale:
            return None
        self.looks.append(self.machine.at(reading.pots))
        if len(self.looks) < READINGS:
            return None
        q, model = np.mean(self.looks, axis=0), self.law.robot.model
        self.observer, self.read = Observer(model, self.machine, reading.counts, q), reading.cycle
        self.homing = Homing(self.machine, reading, q)
        self.q, self.v, self.qd = self.observer.q, self.observer.v, q
        self.phase, self.began = Phase.HOME, tick
        return self.homing.reference(reading)

    def _home(self, tick: int, reading: Reading | None) -> Reference | None:
        assert self.homing is not None
        assert self.observer is not None
        wanted = self.homing.reference(reading)
        if self.homing.missing:
            self.fail(self.homing.missing)
            return None
        if not self.homing.done or reading is None:
            return wanted
        by = correction(self.machine, self.observer, reading)
        self.observer.move_zero(by)
        self.safety.set_home(reading.latch, by)
        self.q, start = self.observer.q, wanted[0] + by
        self.state = after(self.state, "homed")
        aim = self.mission.start
        self.approach = Approach(start, start if aim is None else aim, self.machine)
        self.phase, self.began = Phase.APPROACH, tick
        return self.approach.at(0)

    def _command(self, tick: int, now: int) -> Command:
        if self.ended or self.phase is Phase.LOOK:
            self.volts = np.zeros(self.machine.n)
            self.tau = self.volts
            idle = self.safe(tick, now)
            return idle._replace(order=Order.RESET) if self.stale else idle
        codes, self.volts = self.machine.output(self.tau)
        self.order = Order.ENABLE | Order.RELEASE | self.tool | self.switched
        return Command(tick, now, self.order, codes)

    def safe(self, tick: int, now: int) -> Command:
        """Zero volts, amplifiers off, brakes on, and outputs off but for those that are kept."""
        self.order &= self.machine.kept_bits
        return safe(tick, now, self.machine.n)._replace(order=self.order)


def homing_law(law: Law) -> Law:
    """What homes an arm and brings it to where a mission begins. One that friction does not hold:
    others may never come to the index pulses."""
    return law if isinstance(law, TrackingIntegral) else TrackingIntegral(law.robot)


def rehearse(law: Law, machine: Machine) -> None:
    """Do all once, on paper, before it has to be quick: code is compiled and memory had."""
    n, half = machine.n, (np.asarray(machine.lower) + np.asarray(machine.upper)) / 2
    still = np.zeros(n, dtype=np.int64)
    pots = np.rint((half - np.asarray(machine.pot_low)) / machine.code).astype(np.int64)
    controller = Controller(law, Yield(n), machine)
    controller.law, controller.own = law, law.initial
    for tick in range(1, 3 * READINGS):
        status = Status.POWERED if controller.order else Status.BRAKED
        reading = Reading(tick, 0, tick - 1, status, 0, still, still, still, pots)
        controller.cycle(tick, reading, 0)


class _Ages:
    """How much older a reading is than readings usually are; negative where a controller stalled in
    a cycle and reads what is newer. The machine has a clock of its own: the median knows it."""

    def __init__(self) -> None:
        self.ahead: deque[int] = deque(maxlen=63)  # of the machine's cycles, compared with ours
        self.usual = 0

    def of(self, tick: int, reading: Reading | None) -> int:
        if reading is None:
            return 0
        ahead = reading.cycle - tick
        self.ahead.append(ahead)
        if len(self.ahead) < 16 or tick % 16 == 0:
            self.usual = sorted(self.ahead)[len(self.ahead) // 2]
        return self.usual - ahead
