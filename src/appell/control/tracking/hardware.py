"""What stands between a law and the arm: friction, motors, converters.

Numbers are one for all joints, or one per joint.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.laws.compiled import ACTUATORS
from appell.control.laws.gains import EACH, Kind, gain
from appell.errors import InputError
from appell.given import one_of, optional
from appell.robots.dynamics import Array, Dynamics
from appell.robots.robot import Robot
from appell.simulation.friction import joint_friction

Numbers = npt.ArrayLike

_LEVEL = Kind(matrix=False)


@dataclass(frozen=True)
class Friction:
    """What the joints' friction takes: viscous * v + coulomb * sign(v), and of a joint at rest
    whatever holds it, up to its stiction: the dead zone of its motor. Stiction is the Coulomb
    level where it is not given. ``coulomb_backwards`` is the size of Coulomb friction while v is
    negative, where it is another."""

    viscous: Numbers = 0.0
    coulomb: Numbers = 0.0
    stiction: Numbers | None = None
    coulomb_backwards: Numbers | None = None

    @classmethod
    def of(cls, robot: Dynamics) -> Friction:
        """That of the robot's own joints."""
        if not isinstance(robot, Robot):
            raise InputError(f"the joints of '{robot.name}' have no friction.")
        viscous, coulomb, constant = joint_friction(robot.model)
        return cls(viscous, coulomb + constant, None, coulomb - constant)

    def levels(self, n: int) -> tuple[Array, Array, Array, Array]:
        """Viscous, Coulomb and stiction of n joints, and a constant force that they take besides
        (:func:`appell.simulation.friction.joint_friction`)."""
        viscous = gain("Friction: viscous", self.viscous, n, _LEVEL)
        coulomb = gain("Friction: coulomb", self.coulomb, n, _LEVEL)
        constant = np.zeros(n)
        if self.coulomb_backwards is not None:
            back = gain("Friction: coulomb_backwards", self.coulomb_backwards, n, _LEVEL)
            coulomb, constant = (coulomb + back) / 2, (coulomb - back) / 2
            if self.stiction is not None:
                raise InputError(
                    "Friction: stiction is one level in both directions; leave it out where "
                    "coulomb_backwards is given (a joint at rest is held by the Coulomb levels)."
                )
        if self.stiction is None:
            return viscous, coulomb, coulomb, constant
        stiction = gain("Friction: stiction", self.stiction, n, _LEVEL)
        low = np.flatnonzero(stiction < coulomb)
        if len(low):
            k = low[0]
            raise InputError(
                f"Friction: stiction {stiction[k]:g} of joint {k} is less than its Coulomb friction"
                f" {coulomb[k]:g}; a joint at rest is held at least as firmly as one that turns."
            )
        return viscous, coulomb, stiction, constant


@dataclass(frozen=True)
class Motor:
    """Direct-current motors whose amplifiers give a voltage: tau = gear k (V - k gear v) / R.

    A sample's voltage is what the torque asked for needs at the measured speed, within ``voltage``
    both ways; it is held for the period, in which the motor's own voltage slows it.
    """

    torque_constant: Numbers  # k, N m/A, or V s/rad
    resistance: Numbers  # R, ohm
    voltage: Numbers  # V, the most there is
    gear: Numbers = 1.0

    def constants(self, n: int) -> tuple[Array, Array, Array]:
        """Of n joints: torque per volt, N m/V; the motor's voltage per rad/s; the most volts."""
        names = ("torque_constant", "resistance", "voltage", "gear")
        k, R, most, gear = (gain(f"Motor: {x}", getattr(self, x), n, EACH) for x in names)
        return gear * k / R, gear * k, most


@dataclass(frozen=True)
class Adc:
    """A converter of positions: 2^bits steps from low to high, in rad or m."""

    bits: int
    low: float = -np.pi
    high: float = np.pi

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits < 64:
            raise InputError(f"Adc: bits = {self.bits!r}; expected a whole number, 1 to 63.")
        if not -np.inf < self.low < self.high < np.inf:
            raise InputError(f"Adc: from {self.low!r} to {self.high!r}; expected a range.")

    @property
    def step(self) -> float:
        """What one bit is worth."""
        return (self.high - self.low) / 2**self.bits

    def __call__(self, q: Array) -> Array:
        code = np.clip(np.round((q - self.low) / self.step), 0, 2**self.bits - 1)
        return self.low + self.step * code


class Sensors:
    """What a law sees of positions and speeds."""

    def __init__(
        self, robot: Dynamics, encoder: Any, adc: Adc | None, speeds: str, period: float, v: Array
    ) -> None:
        looped = ACTUATORS in robot.system.quantities
        for name, given in (("encoder", encoder), ("adc", adc)):
            if looped and given is not None:
                raise InputError(
                    f"track: {name} = {given!r}: sensors of '{robot.name}' sit at some of its "
                    "joints, and the law is given coordinates that close its loops; leave it out."
                )
        if encoder is not None and adc is not None:
            raise InputError("track: encoder and adc both measure positions; give one of them.")
        optional("track: adc", adc, Adc, "Adc(bits, low, high)")
        one_of("track: speeds", speeds, ("exact", "differences"))
        self.adc, self.period, self.first = adc, period, v
        self.own = list(robot.system.coordinates)
        self.differences = speeds == "differences"
        self.step = None if encoder is None else _a_count(encoder, robot)
        self.last: Array | None = None

    def __call__(self, q: Array, v: Array) -> tuple[Array, Array]:
        if self.step is not None:
            q = self.step * np.round(q / self.step)
        elif self.adc is not None:
            q = self.adc(q)
        if self.differences:
            v = self.first if self.last is None else (q - self.last)[self.own] / self.period
            self.last = q
        return q, v


def _a_count(counts: Any, robot: Dynamics) -> Array:
    """What one count of an encoder is worth: counts are of a revolution, or of a metre."""
    whole = [2 * np.pi if joint.screw.angle else 1.0 for joint in robot.model.joints]
    return np.array(whole) / gain("encoder", counts, robot.nv, EACH)


class Drive:
    """From the torques that a law asks for to those that the motors give."""

    def __init__(self, first: Array, delay: Any, limit: Array | None, motor: Motor | None) -> None:
        if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 0:
            raise InputError(f"track: delay = {delay!r}; expected a whole number of samples.")
        optional("track: motor", motor, Motor, "Motor(...)")
        self.waiting = deque([first] * int(delay))
        self.limit = limit
        self.motor = None if motor is None else motor.constants(len(first))

    @property
    def damping(self) -> Array | float:
        """What the motors' own voltage takes from the torque, N m s/rad."""
        return 0.0 if self.motor is None else self.motor[0] * self.motor[1]

    def __call__(self, asked: Array, v: Array) -> tuple[Array, Array | None]:
        """The torque that is held (the motors' own voltage slows it besides), and the voltage.

        ``v`` is measured."""
        tau = asked if self.limit is None else np.clip(asked, -self.limit, self.limit)
        if self.waiting:
            self.waiting.append(tau)
            tau = self.waiting.popleft()
        if self.motor is None:
            return tau, None
        per_volt, back, most = self.motor
        volts = np.clip(tau / per_volt + back * v, -most, most)
        return per_volt * volts, volts


def torque_limits(given: Any, robot: Dynamics) -> Array | None:
    """The largest torques of the actuators: the joints' own efforts for True, none for None."""
    if given is None or given is False:
        return None
    if given is not True:
        return gain("torque_limit", given, robot.system.size("d"), EACH)
    if not isinstance(robot, Robot):
        raise InputError(
            f"track: torque_limit=True: the joints of '{robot.name}' have no efforts of their own; "
            "give the largest torques."
        )
    efforts = {joint.name: joint.effort for joint in robot.model.joints}
    return np.array([efforts[name] for name in robot.actuated])
