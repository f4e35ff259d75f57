"""The arm between two cycles, quickly: fixed steps, with joints that stick and brakes that hold.

A joint slower than a threshold is at rest, and stays so while what holds it is within its friction
(Karnopp 1985, `appell.simulation.friction`); the others turn against their Coulomb friction. A
cycle is one step of the classical Runge-Kutta method. `appell.control.tracking.rubbing`
locates every change exactly; it takes too long for a thousand cycles a second. The motors' currents
follow the volts that they are given, as far as the supply goes against the motors' own voltage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from appell.control.laws.compiled import Shapes, single_kernel
from appell.control.tracking.held_joints import held_motion
from appell.maths.lists import Gain, Scalars, clipped, minus, plus, times
from appell.maths.scalar import Scalar, sign
from appell.maths.tableau import RK4, fixed_step
from appell.model.model import Model
from appell.rig.machine.machine import Machine
from appell.robots.robot import Array, Robot
from appell.simulation.friction import sticking

Bools = npt.NDArray[np.bool_]

REST = 1e-4  # rad/s, below which a joint is at rest


def damped_arm(
    model: Model, y: Scalars, push: Scalars, damping: Scalars, free: Scalars
) -> list[Scalar]:
    """The rate of y = (q, v), and what holds the joints that are not free."""
    q, v = y[: model.nv], y[model.nv :]
    return held_motion(model, q, v, minus(push, times(damping, v)), free)


def turning_arm(
    model: Model, y: Scalars, volts: Scalars, hand: Scalars, motors: Gain, period: Scalars
) -> list[Scalar]:
    """y a period later, and the motors' currents, by one step of Runge and Kutta while all joints
    turn. At last how many signs say that they do, three per joint: that it is not slow, that it
    does not turn round if its acceleration stays, and that it has not turned round.

    ``motors`` are A/V, the most A, N m/A, 1/ohm, and friction, viscous and dry.
    """
    n, h = model.nv, period[0]
    amplifier, most, back, per_ohm, viscous, coulomb = motors
    v, free = y[n:], [1] * n
    emf = times(per_ohm, times(back, v))  # as a current
    wanted = plus(times(amplifier, volts), emf)
    current = minus([clipped(x, limit) for x, limit in zip(wanted, most, strict=True)], emf)
    dry = times(coulomb, [sign(x) for x in v])
    push = minus(plus(times(back, current), hand), dry)

    def rate(t: Scalar, y: Scalars) -> list[Scalar]:
        return damped_arm(model, y, push, viscous, free)[: 2 * n]

    first = rate(0, y)
    new = fixed_step(RK4, rate, y, h, first)
    speeds = zip(v, first[n:], new[n:], strict=True)
    turns = [(x * x - REST**2, x * (x + h * a), x * later) for x, a, later in speeds]
    return [*new, *current, sum((sign(x) for each in turns for x in each), start=0)]


@lru_cache(maxsize=64)
def slope(model: Model) -> Callable[[Array, Array, Array, Array], Array]:
    """The compiled rate of an arm's state, with what friction leaves free."""
    n = model.nv
    inputs: Shapes = {"y": (2 * n,)}
    inputs |= dict.fromkeys(("push", "damping", "free"), (n,))
    return single_kernel(damped_arm, inputs, 3 * n, model)


@lru_cache(maxsize=64)
def smooth_period(model: Model) -> Callable[[Array, Array, Array, Array, Array], Array]:
    """The compiled motion of an arm and its motors over a period."""
    n = model.nv
    inputs: Shapes = {"y": (2 * n,), "volts": (n,), "hand": (n,), "motors": (6, n), "period": (1,)}
    return single_kernel(turning_arm, inputs, 3 * n + 1, model)


class SimulatedArm:
    """A robot with a machine's friction, motors and brakes."""

    def __init__(self, robot: Robot, machine: Machine, q: Array) -> None:
        self.n, self.machine = robot.nv, machine
        self.y: Array = np.concatenate([q, np.zeros(robot.nv)])
        self.slope, self.smooth = slope(robot.model), smooth_period(robot.model)
        self.none, self.all = np.zeros(robot.nv), np.ones(robot.nv)
        self.viscous, self.coulomb, self.brake = (
            np.asarray(x, dtype=float) for x in (machine.viscous, machine.coulomb, machine.brake)
        )
        gear, k = np.asarray(machine.gear), np.asarray(machine.torque_constant)
        self.back = gear * k  # V s/rad: the motors' own voltage; and N m/A
        self.resistance, self.supply, self.amplifier = (
            np.asarray(x) for x in (machine.resistance, machine.supply, machine.amplifier)
        )
        self.shorted = self.back**2 / self.resistance  # N m s/rad, of a motor that is cut off
        self.numbers = np.array(
            [
                self.amplifier,
                self.supply / self.resistance,
                self.back,
                1 / self.resistance,
                self.viscous,
                self.coulomb,
            ]
        )
        self.current: Array = np.zeros(self.n)
        self.hand: Array = np.zeros(self.n)  # N m, from outside

    @property
    def q(self) -> Array:
        return self.y[: self.n]

    @property
    def v(self) -> Array:
        return self.y[self.n :]

    def advance(self, volts: Array, powered: bool, braked: bool, h: float) -> None:
        """One period under a command that is held: quickly, if every joint turns and goes on to."""
        if powered and not braked:
            made = self.smooth(self.y, volts, self.hand, self.numbers, np.array([h]))
            if made[-1] == 3 * self.n:
                self.y, self.current = made[: 2 * self.n], made[2 * self.n : -1]
                return
        self.careful(volts, powered, braked, h)

    def careful(self, volts: Array, powered: bool, braked: bool, h: float) -> None:
        """The same in as many steps as joints come to rest in it."""
        tau, damping = self.motors(volts, powered)
        tau = tau + self.hand
        dry = self.coulomb + self.brake if braked else self.coulomb
        for _ in range(2 * self.n):
            way, free = self.settle(tau, dry)
            if not free.any():  # nothing moves, and nothing will
                return
            h -= self.step(tau - dry * way, damping, way, free, dry, h)
            if h <= 0:
                return

    def step(
        self, push: Array, damping: Array, way: Array, free: Array, dry: Array, h: float
    ) -> float:
        """Runge-Kutta over h, or until a joint comes to rest. How long that was."""
        n = self.n

        def rate(t: float, y: list[Array]) -> list[Array]:
            return [self.slope(y[0], push, damping, free)[: 2 * n]]

        first = rate(0.0, [self.y])
        a = first[0][n:]
        stops = turned(self.v, self.v + h * a, dry)  # if the force stays
        if stops is not None:
            h = float(np.min(-self.v[stops] / a[stops]))
        (self.y,) = fixed_step(RK4, rate, [self.y], h, first)
        rests = turned(way, self.v, dry)
        if rests is not None:  # friction stops a joint, and never turns it
            self.v[rests] = 0.0
        if stops is not None:
            self.v[stops & (np.abs(self.v) < REST)] = 0.0
        return h

    def motors(self, volts: Array, powered: bool) -> tuple[Array, Array]:
        """Torques, and what is taken from them per rad/s. Motors that are cut off are shorted."""
        if not powered:
            self.current = -self.back * self.v / self.resistance
            return np.zeros(self.n), self.viscous + self.shorted
        emf = self.back * self.v
        low, high = (-self.supply - emf) / self.resistance, (self.supply - emf) / self.resistance
        self.current = np.minimum(np.maximum(self.amplifier * volts, low), high)
        return self.back * self.current, self.viscous

    def settle(self, tau: Array, dry: Array) -> tuple[Array, Array]:
        """Which way joints turn, and 1 for those that are free, 0 for those that stick."""
        slow = min(map(abs, self.v.tolist())) < REST
        rests = (np.abs(self.v) < REST) & (dry > 0) if slow else None
        if rests is None or not rests.any():
            return np.sign(self.v), self.all
        self.y = np.concatenate([self.q, np.where(rests, 0.0, self.v)])

        def motion(way: Array, stuck: Bools) -> tuple[Array, Array]:
            made = self.slope(self.y, tau - dry * way, self.none, np.where(stuck, 0.0, 1.0))
            return made[self.n : 2 * self.n], made[2 * self.n :]

        way, stuck = sticking(motion, np.sign(self.v), rests, dry)
        return way, np.where(stuck, 0.0, 1.0)


def turned(before: Array, v: Array, dry: Array) -> Bools | None:
    """The joints that rub and go another way than before; None if there are none."""
    ahead = before * v
    if min(ahead.tolist()) >= 0:
        return None
    back: Bools = (ahead < 0) & (dry > 0)
    return back if back.any() else None
