"""What a simulated machine measures: encoders, potentiometers, temperatures; and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from appell.rig.machine.faults import Fault, active
from appell.rig.machine.machine import TURN, Machine
from appell.robots.robot import Array

NOISE = 0.7  # codes, root mean square, of a potentiometer that is well
LINEARITY = 3.0  # codes by which it is not quite linear: 0.07 % of its range, assumed
HOT, AMBIENT = 130.0, 25.0  # degrees Celsius
WARMING, THERMAL = 0.8, 600.0  # K/W of the motor's losses, and s: assumed
_OFTEN = 16  # cycles between two looks at temperatures
_MANY = 256  # cycles whose noise is drawn at once


class Encoders:
    """Counters that begin with zero at power-up, and latch themselves at each index pulse."""

    def __init__(self, machine: Machine, q: Array) -> None:
        n = machine.n
        self.whole = np.asarray(machine.counts)
        self.index = np.asarray(machine.index) / TURN * self.whole  # counts from the motor's zero
        self.per_rad = np.array([1 / machine.count, 1 / machine.revolution])
        self.zero = np.array([np.zeros(n), self.index / self.whole])
        counts, self.revolution = self._at(q)
        self.offset = -counts.astype(np.int64)
        self.counts, self.latch = np.zeros(n, np.int32), np.zeros(n, np.int32)
        self.pulses = np.zeros(n, np.uint16)
        self.slipped: set[int] = set()

    def _at(self, q: Array) -> Array:
        """Whole counts, and whole revolutions from one index pulse to the next, (2, n)."""
        return np.floor(q * self.per_rad - self.zero)

    def see(self, q: Array, cycle: int, faults: list[Fault]) -> None:
        """Count on to where the joints are."""
        true, revolution = self._at(q)
        counts = (true.astype(np.int64) + self.offset).astype(np.int32)  # they may run over
        stuck = list[int]()
        if faults:
            self._slip(cycle, faults)
            stuck = [f.joint for f in active(faults, "stuck", cycle)]
            counts[stuck] = self.counts[stuck]
        if revolution.tobytes() != self.revolution.tobytes():
            self._pulse(revolution, counts, stuck, active(faults, "no index", cycle))
        self.revolution, self.counts = revolution, counts

    def _pulse(self, revolution: Array, counts: Any, stuck: list[int], deaf: list[Fault]) -> None:
        """The counters latch themselves; those that are stuck, where they are."""
        passed = revolution != self.revolution
        passed[[f.joint for f in deaf]] = False
        ahead = np.maximum(revolution, self.revolution) * self.whole + self.index
        at = (np.floor(ahead).astype(np.int64) + self.offset).astype(np.int32)
        at[stuck] = counts[stuck]
        self.latch = np.where(passed, at, self.latch)
        self.pulses = self.pulses + passed.astype(np.uint16)

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
        self.none, self.most = np.zeros(machine.n), np.full(machine.n, 4095.0)
        self.noise: Iterator[Array] = iter(())

    def see(self, q: Array, cycle: int, faults: list[Fault]) -> Any:
        """The codes for where the joints are."""
        noise = next(self.noise, None)
        if noise is None:
            self.noise = iter(NOISE * self.random.standard_normal((_MANY, len(q))))
            noise = next(self.noise)
        for fault in active(faults, "noise", cycle):
            noise[fault.joint] *= fault.size / NOISE
        code = (q - self.low) * self.per_rad
        code += LINEARITY * np.sin(0.005 * code + self.phase) + noise
        code = np.minimum(np.maximum(code, self.none), self.most)
        return np.rint(code).astype(np.uint16)


class Switches:
    """A bit for each motor that is too hot."""

    def __init__(self, machine: Machine) -> None:
        self.resistance = np.asarray(machine.resistance)
        self.share = _OFTEN * machine.period / THERMAL
        self.temperature: Array = np.full(machine.n, AMBIENT)
        self.hot = 0

    def see(self, current: Array, cycle: int, faults: list[Fault]) -> int:
        """The bits of the motors that are too hot."""
        if cycle % _OFTEN == 0:
            rise = WARMING * current**2 * self.resistance - (self.temperature - AMBIENT)
            self.temperature = self.temperature + self.share * rise
            self.hot = sum(1 << int(j) for j in np.flatnonzero(self.temperature > HOT))
        hot = self.hot
        for fault in active(faults, "hot", cycle):
            hot |= 1 << fault.joint
        return hot
