"""Positions and speeds from the counts of encoders.

A count is coarse: its difference over a millisecond is useless as a speed. An observer follows the
counts instead, a model of two integrators corrected by what is measured, with both its poles at
``-bandwidth``. It is told the acceleration that is desired, so it does not lag behind on the way.
"""

from __future__ import annotations

import numpy as np

from appell.control.rig.machine import Machine
from appell.control.rig.protocol import Whole
from appell.robot import Array

BANDWIDTH = 150.0  # rad/s


class Observer:
    """``measured`` is what the counts tell; ``q`` and ``v`` are the estimates."""

    def __init__(self, machine: Machine, counts: Whole, q: Array, bandwidth: float = BANDWIDTH):
        self.step, self.T = machine.count, machine.period
        x = np.exp(-bandwidth * self.T)  # both poles of the sampled observer
        self.gain_q, self.gain_v = 1 - x * x, (1 - x) ** 2 / self.T
        self.last = counts
        self.total = np.zeros(machine.n, dtype=np.int64)  # counts since the first reading
        self.zero = q.copy()  # where the joints were then, in the middle of a count
        self.measured = q.copy()
        self.q, self.v = q.copy(), np.zeros(machine.n)

    def predict(self, a: Array) -> None:
        """A cycle later, before anything is measured."""
        dv = self.T * a
        self.q = self.q + self.T * (self.v + 0.5 * dv)
        self.v = self.v + dv

    def correct(self, counts: Whole) -> None:
        """By the counts of this cycle."""
        self.total = self.total + apart(counts, self.last)
        self.last = counts
        self.measured = self.zero + self.step * self.total
        error = self.measured - self.q
        self.q = self.q + self.gain_q * error
        self.v = self.v + self.gain_v * error

    def move_zero(self, by: Array) -> None:
        """The joints are elsewhere than was thought."""
        self.zero, self.measured, self.q = self.zero + by, self.measured + by, self.q + by


def apart(counts: Whole, before: Whole) -> Whole:
    """The way between two states of counters of 32 bits, which may have run over."""
    return np.subtract(counts, before, dtype=np.int32, casting="unsafe")
