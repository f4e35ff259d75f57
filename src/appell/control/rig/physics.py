"""The arm between two cycles, quickly: fixed steps, with joints that stick and brakes that hold.

A joint slower than a threshold is at rest, and stays so while what holds it is within its friction
(Karnopp 1985); the others turn against their Coulomb friction. A cycle is one step of the classical
Runge-Kutta method. :mod:`appell.control.rubbing` locates every change exactly; it takes too long
for a thousand cycles a second.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from appell.control.rig.machine import Machine
from appell.control.rubbing import holding
from appell.robot import Array, Robot

Bools = npt.NDArray[np.bool_]

_REST = 1e-4  # rad/s


class Arm:
    """A robot with a machine's friction, motors and brakes."""

    def __init__(self, robot: Robot, machine: Machine, q: Array) -> None:
        self.n, self.machine = robot.nv, machine
        self.q, self.v = q.copy(), np.zeros(robot.nv)
        self.rate = holding(robot.model)
        self.viscous, self.coulomb, self.brake = (
            np.asarray(x, dtype=float) for x in (machine.viscous, machine.coulomb, machine.brake)
        )
        gear, k = np.asarray(machine.gear), np.asarray(machine.torque_constant)
        self.back = gear * k  # V s a rad: the motors' own voltage; and N m a A
        self.resistance, self.supply, self.amplifier = (
            np.asarray(x) for x in (machine.resistance, machine.supply, machine.amplifier)
        )
        self.shorted = self.back**2 / self.resistance  # N m s a rad, of a motor that is cut off
        self.current: Array = np.zeros(self.n)
        self.hand: Array = np.zeros(self.n)  # N m, from outside

    def advance(self, volts: Array, powered: bool, braked: bool, h: float) -> None:
        """One period under a command that is held: as many steps as joints come to rest in it."""
        tau, damping = self.motors(volts, powered)
        dry = self.coulomb + self.brake if braked else self.coulomb
        for _ in range(2 * self.n):
            way, free = self.settle(tau + self.hand, dry)
            push = tau + self.hand - dry * way
            h -= self.step(push, damping, way, free, dry > 0, h)
            if h <= 0:
                return

    def step(
        self, push: Array, damping: Array, way: Array, free: Array, rubs: Bools, h: float
    ) -> float:
        """Runge-Kutta over h, or until a joint comes to rest. How long that was."""
        y, n, rate = np.concatenate([self.q, self.v]), self.n, self.rate

        def slope(y: Array) -> Array:
            v = y[n:]
            return rate(y[:n], v, push - damping * v, free)[: 2 * n]

        k1 = slope(y)
        back = self.v * way + h * way * k1[n:]  # the speed after h, if the force stays
        stops = rubs & (back < 0) & (self.v != 0)
        if stops.any():
            h = float(np.min(-self.v[stops] / k1[n:][stops]))
        k2 = slope(y + (h / 2) * k1)
        k3 = slope(y + (h / 2) * k2)
        k4 = slope(y + h * k3)
        y += (h / 6) * (k1 + 2 * (k2 + k3) + k4)
        self.q, self.v = y[:n], y[n:]
        rests = rubs & ((self.v * way < 0) | (stops & (np.abs(self.v) < _REST)))
        if rests.any():  # friction stops a joint, and never turns it
            self.v[rests] = 0.0
        return h

    def motors(self, volts: Array, powered: bool) -> tuple[Array, Array]:
        """Torques, and what is taken from them a rad/s. Motors that are cut off are shorted."""
        if not powered:
            self.current = -self.back * self.v / self.resistance
            return np.zeros(self.n), self.viscous + self.shorted
        emf = self.back * self.v
        low, high = (-self.supply - emf) / self.resistance, (self.supply - emf) / self.resistance
        self.current = np.minimum(np.maximum(self.amplifier * volts, low), high)
        return self.back * self.current, self.viscous

    def settle(self, tau: Array, dry: Array) -> tuple[Array, Array]:
        """Which way joints turn, and 1 for those that are free, 0 for those that stick."""
        rests = (np.abs(self.v) < _REST) & (dry > 0)
        if not rests.any():
            return np.sign(self.v), np.ones(self.n)
        self.v = np.where(rests, 0.0, self.v)
        way: Array = np.sign(self.v)
        for _ in range(self.n):
            free = np.where(rests, 0.0, 1.0)
            held = self.rate(self.q, self.v, tau - dry * way, free)[2 * self.n :]
            over = np.where(rests, np.abs(held) - dry, -1.0)
            if not (over > 0).any():
                break
            joint = int(np.argmax(over))
            rests[joint], way[joint] = False, np.sign(held[joint])
        return way, np.where(rests, 0.0, 1.0)
