"""The simulated rig: an arm with encoders, potentiometers, temperatures, brakes and a watchdog.

It knows nothing of channels or of time: ``step`` is one cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import vector
from appell.rig.machine.faults import Fault, refuse_joints
from appell.rig.machine.machine import Machine
from appell.rig.machine.outputs import ALL
from appell.rig.machine.protocol import Command, Order, Reading, Status
from appell.rig.machine.simulated_arm import SimulatedArm
from appell.rig.machine.simulated_sensors import Encoders, Potentiometers, Switches
from appell.robots.robot import Array, Robot


class Rig:
    """An arm and its machine, from power-up: brakes on, counters at zero."""

    def __init__(
        self,
        robot: Robot,
        machine: Machine,
        q0: Any,
        faults: list[Fault] | None = None,
        seed: int = 0,
    ) -> None:
        if machine.n != robot.nv:
            raise InputError(
                f"rig: '{machine.name}' has {machine.n} joints and '{robot.name}' {robot.nv}."
            )
        self.machine, self.faults, self.n = machine, faults or [], robot.nv
        refuse_joints(self.faults, self.n)
        self.arm = SimulatedArm(robot, machine, vector("q0", q0, robot.nv))
        self.encoders = Encoders(machine, self.arm.q)
        self.pots, self.switches = Potentiometers(machine, seed), Switches(machine)
        self.cycle = self.heard = 0  # the rig's own, and when it last heard a command
        self.echo = 0
        self.status = Status.BRAKED
        self.tools = 0
        self.volts: Array = np.zeros(self.n)
        self.stopped_at: int | None = None  # the cycle in which its watchdog struck
        self.led: Array | None = None  # where a hand pulls the joints
        self.last_live = -1  # the last cycle in which it was not safe

    # A cycle

    def step(self, command: Command | None) -> Reading:
        """Obey the newest command that came, if any; move for a period; measure."""
        self.obey(command)
        if not self.safe:
            self.last_live = self.cycle
        if self.led is not None:
            self.arm.hand = _pull(self.led, self.arm, self.machine)
        powered, braked = bool(self.status & Status.POWERED), bool(self.status & Status.BRAKED)
        self.arm.advance(self.volts, powered, braked, self.machine.period)
        self.cycle += 1
        return self.measure()

    def obey(self, command: Command | None) -> None:
        """Follow a command, or none; after too many cycles without one, stop."""
        again = command is not None and command.order & (Order.RESET | Order.ENABLE) == Order.RESET
        if again:
            self.status &= ~Status.WATCHDOG
        if command is not None and (again or command.cycle > self.echo):
            self.heard, self.echo = self.cycle, command.cycle
            if not self.status & Status.WATCHDOG:
                self._set(command)
        silent = self.cycle - self.heard >= self.machine.watchdog
        if self.echo and silent and not self.status & Status.WATCHDOG:
            self.status |= Status.WATCHDOG
            self.stopped_at = self.cycle
            self._stop()

    def _set(self, command: Command) -> None:
        self.tools = command.order & ALL
        if not command.order & Order.ENABLE:
            return self._stop()
        self.volts = self.machine.volts(command.codes)
        released = bool(command.order & Order.RELEASE)
        self.status = Status.POWERED | (0 if released else Status.BRAKED)
        return None

    def _stop(self) -> None:
        self.tools &= self.machine.kept_bits
        self.volts = np.zeros(self.n)
        self.status = (self.status & Status.WATCHDOG) | Status.BRAKED

    @property
    def safe(self) -> bool:
        """Zero volts, amplifiers off, brakes on."""
        off = self.status & (Status.BRAKED | Status.POWERED) == Status.BRAKED
        return off and not self.volts.any()

    def measure(self) -> Reading:
        """What the sensors tell after this cycle."""
        cycle, faults, encoders = self.cycle, self.faults, self.encoders
        encoders.see(self.arm.q, cycle, faults)
        hot = self.switches.see(self.arm.current, cycle, faults)
        pots = self.pots.see(self.arm.q, cycle, faults)
        time = round(1e9 * cycle * self.machine.period)
        counted = encoders.counts, encoders.latch, encoders.pulses
        return Reading(cycle, time, self.echo, self.status, hot, *counted, pots)


def _pull(target: Array, arm: SimulatedArm, machine: Machine) -> Array:
    """What a hand does: a spring and a damper, no stronger than a third of the motors."""
    most = machine.torque / 3
    pull = most * ((target - arm.q) / 0.03 - arm.v / 0.5)
    return np.minimum(np.maximum(pull, -most), most)
