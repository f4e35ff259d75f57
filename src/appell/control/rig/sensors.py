"""What a simulated machine measures: encoders, potentiometers, temperatures; and how they fail."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.rig.faults import Fault, active
from appell.control.rig.machine import TURN, Machine
from appell.robot import Array

NOISE = 0.7  # codes, root mean square, of a potentiometer that is well
LINEARITY = 3.0  # codes by which it is not quite linear: 0.07 % of its range, assumed
HOT, AMBIENT = 130.0, 25.0  # degrees Celsius
WARMING, THERMAL = 0.8, 600.0  # K a W of the motor's losses, and s: assumed
_OFTEN = 16  # cycles between two looks at temperatures


class Encoders:
    """Counters that begin with zero at power-up, and latch themselves at each index pulse."""

    def __init__(self, machine: Machine, q: Array) -> None:
        n = machine.n
        self.per_rad = 1 / machine.count
        self.whole = np.asarray(machine.counts)
        self.index = np.asarray(machine.index) / TURN * self.whole  # counts from the motor's zero
        self.offset = -np.floor(q * self.per_rad).astype(np.int64)
        self.revolution = np.floor((q * self.per_rad - self.index) / self.whole)
        self.counts, self.latch, self.pulses = (np.zeros(n, dtype=np.int64) for _ in range(3))
        self.slipped: set[int] = set()

    def see(self, q: Array, cycle: int, faults: list[Fault]) -> None:
        true = q * self.per_rad
        revolution = np.floor((true - self.index) / self.whole)
        passed = revolution != self.revolution
        if faults:
            self._slip(cycle, faults)
            for fault in active(faults, "no index", cycle):
                passed[fault.joint] = False
        counts = np.floor(true).astype(np.int64) + self.offset
        stuck = [f.joint for f in active(faults, "stuck", cycle)]
        counts[stuck] = self.counts[stuck]
        if passed.any():
            ahead = np.maximum(revolution, self.revolution) * self.whole + self.index
            at = np.floor(ahead).astype(np.int64) + self.offset
            at[stuck] = counts[stuck]
            self.latch = np.where(passed, at, self.latch)
            self.pulses = (self.pulses + passed) % 65536
        self.revolution, self.counts = revolution, counts

    def _slip(self, cycle: int, faults: list[Fault]) -> None:
        for k, fault in enumerate(faults):
            if fault.kind == "slip" and fault.cycle <= cycle and k not in self.slipped:
                self.slipped.add(k)
                self.offset[fault.joint] -= round(fault.size)


class Potentiometers:
    """0 to 5 V on a converter of 12 bits, a little noisy and not quite linear."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.low, self.per_rad = np.asarray(machine.pot_low), 1 / machine.code
        self.random, self.phase = np.random.default_rng(seed), np.arange(machine.n)

    def see(self, q: Array, cycle: int, faults: list[Fault]) -> Any:
        code = (q - self.low) * self.per_rad
        noise = self.random.standard_normal(len(q)) * NOISE
        for fault in active(faults, "noise", cycle):
            noise[fault.joint] *= fault.size / NOISE
        code += LINEARITY * np.sin(0.005 * code + self.phase) + noise
        code = np.rint(code)
        return np.minimum(np.maximum(code, 0), 4095).astype(np.int64)


class Switches:
    """A bit for each motor that is too hot."""

    def __init__(self, machine: Machine) -> None:
        self.resistance = np.asarray(machine.resistance)
        self.share = _OFTEN * machine.period / THERMAL
        self.temperature: Array = np.full(machine.n, AMBIENT)
        self.hot = 0

    def see(self, current: Array, cycle: int, faults: list[Fault]) -> int:
        if cycle % _OFTEN == 0:
            rise = WARMING * current**2 * self.resistance - (self.temperature - AMBIENT)
            self.temperature = self.temperature + self.share * rise
            self.hot = sum(1 << int(j) for j in np.flatnonzero(self.temperature > HOT))
        hot = self.hot
        for fault in active(faults, "hot", cycle):
            hot |= 1 << fault.joint
        return hot
