"""Homing: where the joints are, from potentiometers and index pulses.

A potentiometer tells the position to a few thousandths of a rad, with the brakes on and before
anything moves. That is enough to know the motor's revolution. Each joint then moves slowly, towards
the middle of its range, until the index pulse of that revolution tells the rest.
"""

from __future__ import annotations

import numpy as np

from appell.rig.controller.observer import Observer, apart
from appell.rig.machine.machine import TURN, Machine
from appell.rig.machine.protocol import Reading, Whole
from appell.robots.robot import Array

READINGS = 64  # of the potentiometers, averaged
REST = 0.1  # s at rest, before and after
TRAVEL = 1.3  # revolutions of the motor, after which an index pulse is missing
ONE_TURN, RISE = 0.7, 0.1  # s: a revolution of the motor takes, and to come to that speed


class Homing:
    """The slow move: one reference per cycle, until ``done``."""

    def __init__(self, machine: Machine, reading: Reading, q: Array) -> None:
        self.machine, self.first = machine, reading
        middle = (np.asarray(machine.lower) + np.asarray(machine.upper)) / 2
        self.speed = np.where(q < middle, 1.0, -1.0) * machine.revolution / ONE_TURN
        self.start = q
        self.q, self.v = q.copy(), np.zeros(machine.n)
        self.found = np.zeros(machine.n, dtype=bool)
        self.rest = -round(REST / machine.period)
        self.done = False

    def reference(self, reading: Reading | None) -> tuple[Array, Array, Array]:
        """Of the next cycle."""
        T = self.machine.period
        if reading is not None:
            self.found |= reading.pulses != self.first.pulses
        aim = np.where(self.found, 0.0, self.speed) if self.rest >= 0 else np.zeros(len(self.q))
        most = np.abs(self.speed) / RISE
        a = np.clip((aim - self.v) / T, -most, most)
        self.q = self.q + T * self.v + T * T / 2 * a
        self.v = self.v + T * a
        still = self.found.all() and np.abs(self.v).max() < 1e-9
        if self.rest < 0 or still:
            self.rest += 1
        self.done = self.rest * T > REST
        return self.q, self.v, a

    @property
    def missing(self) -> str | None:
        """Which index pulse did not come, if one did not."""
        far = np.abs(self.q - self.start) > TRAVEL * self.machine.revolution
        wrong = far & ~self.found
        return f"index pulse missing: joint {int(np.argmax(wrong)) + 1}" if wrong.any() else None


def correction(machine: Machine, observer: Observer, reading: Reading) -> Array:
    """By how much the joints are elsewhere than the potentiometers said, by their index pulses."""
    counted = observer.total + apart(reading.latch, observer.last)
    thought = observer.zero + observer.step * (counted - 0.5)  # at the index pulse, a count's edge
    gear, index = np.asarray(machine.gear), np.asarray(machine.index)
    turns = np.rint((thought * gear - index) / TURN)
    return (turns * TURN + index) / gear - thought


def out_of_range(codes: Whole) -> str | None:
    """A potentiometer at an end of its range is broken or torn off."""
    bad = (codes <= 1) | (codes >= 4094)
    return f"potentiometer out of range: joint {int(np.argmax(bad)) + 1}" if bad.any() else None
