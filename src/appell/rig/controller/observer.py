"""Positions and speeds from the counts of encoders.

A count is coarse: its difference over a millisecond is useless as a speed. An observer follows the
counts instead, a model of two integrators corrected by what is measured, with both its poles at
``-bandwidth``. It is told the acceleration that is desired, so it does not lag behind on the way,
and how old counts are that come late, so it does not take them for those of now. Where none come,
the robot's equations say how the joints move under the torques that they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from appell.control.laws.compiled import Shapes, single_kernel
from appell.equations.quantities import QUANTITIES
from appell.maths.lists import Gain, Scalars, clipped, minus, plus, times
from appell.maths.scalar import Scalar
from appell.model.model import Model
from appell.rig.machine.machine import Machine
from appell.rig.machine.protocol import Whole
from appell.robots.robot import Array

BANDWIDTH = 150.0  # rad/s
_LONGEST = 5  # cycles of a step of the equations
_SLOW = 0.05  # rad/s, below which dry friction is taken to be less


def corrected_motion(x: Scalars, a: Scalars, measured: Scalars, numbers: Scalars) -> list[Scalar]:
    """x = (q, v) h later at the accelerations a, corrected by where the joints were measured to be
    some time before that, their ``age``. The numbers are h, the gains of q and v, and the age."""
    n = len(a)
    h, gain_q, gain_v, age = numbers
    positions, speeds = list[Scalar](), list[Scalar]()
    for q, v, rate, seen in zip(x[:n], x[n:], a, measured, strict=True):
        now, speed = q + h * v + h * h / 2 * rate, v + h * rate
        error = seen - (now - age * speed + age * age / 2 * rate)
        positions.append(now + (gain_q + age * gain_v) * error)
        speeds.append(speed + gain_v * error)
    return positions + speeds


def unseen_motion(
    model: Model, x: Scalars, tau: Scalars, friction: Gain, h: Scalars
) -> list[Scalar]:
    """x = (q, v) h[0] later under torques, nothing being measured; friction is viscous and dry."""
    n, dynamics = model.nv, QUANTITIES["forward_dynamics"]
    q, v = x[:n], x[n:]
    dry = times(friction[1], [clipped(speed / _SLOW, 1) for speed in v])
    given = minus(minus(tau, times(friction[0], v)), dry)
    a = dynamics.formulations[dynamics.default(model)](model, q, v, given)
    later = plus(v, [h[0] * rate for rate in a])
    return plus(q, [h[0] / 2 * speed for speed in plus(v, later)]) + later


@lru_cache(maxsize=64)
def observing(n: int) -> Callable[[Array, Array, Array, Array], Array]:
    """The compiled step of the observer from one period to the next."""
    inputs: Shapes = {"x": (2 * n,), "a": (n,), "measured": (n,), "numbers": (4,)}
    return single_kernel(corrected_motion, inputs, 2 * n)


@lru_cache(maxsize=64)
def unseen(model: Model) -> Callable[[Array, Array, Array, Array], Array]:
    """The compiled motion of an arm between two measurements."""
    n = model.nv
    inputs: Shapes = {"x": (2 * n,), "tau": (n,), "friction": (2, n), "h": (1,)}
    return single_kernel(unseen_motion, inputs, 2 * n, model)


class Observer:
    """``measured`` is what the counts tell; ``q`` and ``v`` are the estimates."""

    def __init__(
        self, model: Model, machine: Machine, counts: Whole, q: Array, bandwidth: float = BANDWIDTH
    ):
        self.n, self.step, self.T = machine.n, machine.count, machine.period
        self.later, self.unseen, self.bandwidth = observing(self.n), unseen(model), bandwidth
        self.friction = np.array([machine.viscous, machine.coulomb], dtype=float)
        self.usual = self._gains(1, 1, 0)
        self.last = counts
        self.total = np.zeros(machine.n, dtype=np.int64)  # counts since the first reading
        self.zero = q.copy()  # where the joints were then, in the middle of a count
        self.measured = q.copy()
        self.x: Array = np.concatenate([q, np.zeros(machine.n)])

    @property
    def q(self) -> Array:
        return self.x[: self.n]

    @property
    def v(self) -> Array:
        return self.x[self.n :]

    def predict(self, tau: Array, elapsed: int) -> None:
        """So many cycles later under these torques, nothing having been measured."""
        while elapsed > 0:
            cycles = min(elapsed, _LONGEST)
            self.x = self.unseen(self.x, tau, self.friction, np.array([cycles * self.T]))
            elapsed -= cycles

    def follow(self, a: Array, elapsed: int, counts: Whole, since: int = 1, age: int = 0) -> None:
        """So many cycles later, corrected by counts that are ``age`` cycles old, or newer than now,
        and came ``since`` cycles after those before them."""
        self.total = self.total + apart(counts, self.last)
        self.last = counts
        self.measured = self.zero + self.step * self.total
        usual = elapsed == since == 1 and age == 0
        gains = self.usual if usual else self._gains(elapsed, since, age)
        self.x = self.later(self.x, a, self.measured, gains)

    def _gains(self, elapsed: int, since: int, age: int) -> Array:
        """Of an observer that is sampled as seldom, with the same poles."""
        p = np.exp(-self.bandwidth * since * self.T)
        T = self.T
        return np.array([elapsed * T, 1 - p * p, (1 - p) ** 2 / (since * T), age * T])

    def move_zero(self, by: Array) -> None:
        """The joints are elsewhere than was thought."""
        self.zero, self.measured = self.zero + by, self.measured + by
        self.x = np.concatenate([self.q + by, self.v])


def apart(counts: Whole, before: Whole) -> Whole:
    """The way between two states of counters of 32 bits, which may have run over."""
    return np.subtract(counts, before, dtype=np.int32, casting="unsafe")
