"""What stands between a law and the arm: friction, motors, converters.

Numbers are one for all joints, or one per joint.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.hardware_numbers import a_count
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
    """Friction of joints: viscous * v + coulomb * sign(v), and of a joint at rest whatever holds
    it, up to its stiction.

    Args:
        viscous: N m s/rad or N s/m, one number or one per joint.
        coulomb: N m or N.
        stiction: What holds a joint at rest, N m or N; the Coulomb level without it.
        coulomb_backwards: The Coulomb level while the velocity is negative, where it is another.

    Examples:
        >>> friction = appell.control.Friction(viscous=0.1, coulomb=[0.5, 0.2])
        >>> friction.levels(2)[1]
        array([0.5, 0.2])
        >>> appell.control.Friction.of(appell.load("planar_chain", n=2)).viscous
        array([0., 0.])
    """

    viscous: Numbers = 0.0
    coulomb: Numbers = 0.0
    stiction: Numbers | None = None
    coulomb_backwards: Numbers | None = None

    @classmethod
    def of(cls, robot: Dynamics) -> Friction:
        """The friction of a robot's own joints.

        Args:
            robot: Whose joints.

        Returns:
            A `Friction`.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> appell.control.Friction.of(arm).viscous.tolist()
            [0.0, 0.0]
        """
        if not isinstance(robot, Robot):
            raise InputError(f"the joints of '{robot.name}' have no friction.")
        viscous, coulomb, constant = joint_friction(robot.model)
        return cls(viscous, coulomb + constant, None, coulomb - constant)

    def levels(self, n: int) -> tuple[Array, Array, Array, Array]:
        """The numbers of n joints.

        Args:
            n: How many joints.

        Returns:
            Viscous, N m s/rad or N s/m, then Coulomb and stiction of each joint, and a constant
            force that it takes besides, N m or N; each (n,).

        Examples:
            >>> appell.control.Friction(viscous=0.5, coulomb=2).levels(2)[:2]
            (array([0.5, 0.5]), array([2., 2.]))
        """
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

    A sample's voltage is what the torque asked for needs at the measured velocity, within
    ``voltage`` both ways; it is held for the period, in which the motor's own voltage slows it.

    Args:
        torque_constant: k, N m/A, one number or one per joint.
        resistance: R, ohm.
        voltage: The most volts.
        gear: Turns of the motor per turn of the joint.

    Examples:
        >>> motor = appell.control.Motor(torque_constant=0.05, resistance=1.0, voltage=24, gear=100)
        >>> motor.constants(1)
        (array([5.]), array([5.]), array([24.]))
    """

    torque_constant: Numbers  # k, N m/A, or V s/rad
    resistance: Numbers  # R, ohm
    voltage: Numbers  # V, the most there is
    gear: Numbers = 1.0

    def constants(self, n: int) -> tuple[Array, Array, Array]:
        """The numbers of n joints.

        Args:
            n: How many joints.

        Returns:
            Torque per volt, N m/V, the motor's voltage per speed, V s/rad, and the most volts, V;
            each (n,).
        """
        names = ("torque_constant", "resistance", "voltage", "gear")
        k, R, most, gear = (gain(f"Motor: {x}", getattr(self, x), n, EACH) for x in names)
        return gear * k / R, gear * k, most


@dataclass(frozen=True)
class Adc:
    """A converter of positions: 2^bits steps from low to high.

    Args:
        bits: How many.
        low: The position of the first step, rad or m, one number or one per joint.
        high: The position after the last.

    Examples:
        >>> round(appell.control.Adc(12).step, 6)
        0.001534
    """

    bits: int
    low: Numbers = -np.pi
    high: Numbers = np.pi

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits < 64:
            raise InputError(f"Adc: bits = {self.bits!r}; expected a whole number, 1 to 63.")
        low, high = np.asarray(self.low), np.asarray(self.high)
        if not ((-np.inf < low) & (low < high) & (high < np.inf)).all():
            raise InputError(f"Adc: from {self.low!r} to {self.high!r}; expected a range.")

    @property
    def step(self) -> Any:
        """What one bit is worth, rad or m: a number, or one per joint."""
        step = np.subtract(self.high, self.low, dtype=float) / 2**self.bits
        return step if np.ndim(step) else float(step)

    def __call__(self, q: Array) -> Array:
        low = np.asarray(self.low, dtype=float)
        code = np.clip(np.round((q - low) / self.step), 0, 2**self.bits - 1)
        return np.asarray(low + self.step * code)


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
        if adc is not None and np.shape(adc.step) not in ((), (robot.nq,)):
            raise InputError(
                f"track: adc has a range for {len(adc.step)} joints; expected one, or {robot.nq}."
            )
        one_of("track: speeds", speeds, ("exact", "differences"))
        self.adc, self.period, self.first = adc, period, v
        self.own = list(robot.system.coordinates)
        self.differences = speeds == "differences"
        self.counts = encoder
        self.step = None if encoder is None else a_count(encoder, robot)
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


class Drive:
    """From the torques that a law asks for to those that the motors give."""

    def __init__(self, first: Array, delay: Any, limit: Array | None, motor: Motor | None) -> None:
        if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 0:
            raise InputError(f"track: delay = {delay!r}; expected a whole number of samples.")
        optional("track: motor", motor, Motor, "Motor(...)")
        self.limit = limit
        self.waiting = deque([self.within(first)] * int(delay))
        self.motor = None if motor is None else motor.constants(len(first))

    def within(self, tau: Array) -> Array:
        return tau if self.limit is None else np.clip(tau, -self.limit, self.limit)

    @property
    def damping(self) -> Array | float:
        """What the motors' own voltage takes from the torque, N m s/rad."""
        return 0.0 if self.motor is None else self.motor[0] * self.motor[1]

    def __call__(self, asked: Array, v: Array) -> tuple[Array, Array | None]:
        """The torque that is held (the motors' own voltage slows it besides), and the voltage.

        ``v`` is measured."""
        tau = self.within(asked)
        if self.waiting:
            self.waiting.append(tau)
            tau = self.waiting.popleft()
        if self.motor is None:
            return tau, None
        per_volt, back, most = self.motor
        volts = np.clip(tau / per_volt + back * v, -most, most)
        return per_volt * volts, volts
