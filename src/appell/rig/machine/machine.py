"""Machine: what stands between a law and an arm's motors, as numbers.

Numbers are one for all joints, or one per joint. Joints are revolute, or prismatic with m for rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.laws.gains import Kind, gain
from appell.errors import InputError
from appell.given import whole
from appell.model.model import KINDS
from appell.model.units import UNKNOWN, Units, units_of
from appell.rig.machine.outputs import OUTPUTS, bits_of, refuse_names
from appell.rig.machine.protocol import MOST_JOINTS
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Array, Robot

Numbers = npt.ArrayLike

TURN = 2 * np.pi
_PATIENCE = 60.0  # s: a watchdog that waits longer guards nothing
DAC_BITS = ADC_BITS = 12  # the cards of Valera et al. 2003: PCL-726 and PCL-818


@dataclass(frozen=True)
class Machine:
    """Encoders, potentiometers, amplifiers and motors of n joints.

    A command of 0 to ``full_scale`` volts either way drives a current of ``amplifier`` A/V, as far
    as the ``supply`` goes against the motor's own voltage.
    """

    name: str
    lower: Numbers  # rad, no joint goes below
    upper: Numbers  # rad, or above
    speed: Numbers  # rad/s, no joint goes faster
    counts: Numbers  # of an encoder per revolution of its motor
    gear: Numbers  # revolutions of the motor per revolution of the joint
    pot_low: Numbers  # rad, at 0 V of the potentiometer: code 0
    pot_high: Numbers  # rad, at 5 V: code 4095
    torque_constant: Numbers  # N m/A of the motor
    resistance: Numbers  # ohm
    amplifier: Numbers  # A/V: current of the motor, by the command
    supply: Numbers = 40.0  # V
    full_scale: float = 10.0  # V of a command, both ways
    viscous: Numbers = 0.0  # N m s/rad, at the joint
    coulomb: Numbers = 0.0  # N m, at the joint
    brake: Numbers = 0.0  # N m, at the joint, when the brake is on
    index: Numbers = 0.0  # rad of the motor at which the index pulse comes
    period: float = 0.001  # s
    watchdog: int = 100  # cycles without a command after which the machine stops by itself
    kinds: tuple[str, ...] | None = None  # of the joints; a run takes those of its law's robot
    outputs: tuple[str, ...] = OUTPUTS  # names of its digital outputs
    kept: tuple[str, ...] = ()  # those that stay as they are when it stops; all others go off

    def __post_init__(self) -> None:
        n = self._joints()
        for name, kind in _NUMBERS.items():
            given = getattr(self, name)
            x = _any(name, given, n) if kind is None else gain(f"Machine: {name}", given, n, kind)
            object.__setattr__(self, name, x)
        for name in ("full_scale", "period"):
            x = getattr(self, name)
            if not isinstance(x, int | float) or not 0 < x < np.inf:
                raise InputError(f"Machine: {name} = {x!r}; expected a number more than zero.")
        whole("Machine: watchdog", self.watchdog, 1)
        if self.watchdog > _PATIENCE / self.period:
            raise InputError(
                f"Machine: watchdog = {self.watchdog}; expected cycles of {_PATIENCE:g} s at most."
            )
        if self.kinds is not None and UNKNOWN in units_of(self.kinds, self.n):
            raise InputError(
                f"Machine: kinds = {self.kinds!r}; expected {' or '.join(map(repr, KINDS))} for "
                f"each of {self.n} joints."
            )
        refuse_names(self.outputs, self.kept)
        for low, high in (("lower", "upper"), ("pot_low", "pot_high")):
            if not (getattr(self, low) < getattr(self, high)).all():
                raise InputError(f"Machine: {low} must be below {high}, joint by joint.")
        counts = np.asarray(self.counts)
        if (counts != np.round(counts)).any():
            raise InputError(f"Machine: counts = {counts}; expected whole numbers.")

    def _joints(self) -> int:
        numbers = [getattr(self, name) for name in _NUMBERS]
        sizes = {np.size(x) for x in numbers if np.ndim(x)}
        if len(sizes) > 1:
            raise InputError(
                f"Machine: numbers for {sorted(sizes)} joints; expected as many in each, or one "
                "number for all."
            )
        n = sizes.pop() if sizes else 1
        if not 1 <= n <= MOST_JOINTS:  # a reading has a bit for each motor that is too hot
            raise InputError(f"Machine: numbers for {n} joints; expected 1 to {MOST_JOINTS}.")
        return n

    # What follows from it

    @property
    def n(self) -> int:
        """How many joints."""
        return len(np.asarray(self.counts))

    @cached_property
    def units(self) -> tuple[Units, ...]:
        """Of each joint: where rad stands here, m for one that slides."""
        return units_of(self.kinds, self.n)

    @cached_property
    def kept_bits(self) -> int:
        """The bits of a command's order that are kept in a safe state."""
        return bits_of(self.kept, self.outputs)

    @cached_property
    def count(self) -> Array:
        """rad of the joint per count."""
        return TURN / (np.asarray(self.counts) * np.asarray(self.gear))

    @cached_property
    def revolution(self) -> Array:
        """rad of the joint per revolution of the motor: from one index pulse to the next."""
        return TURN / np.asarray(self.gear)

    @cached_property
    def code(self) -> Array:
        """rad of the joint per step of the potentiometer's converter."""
        return (np.asarray(self.pot_high) - np.asarray(self.pot_low)) / (2**ADC_BITS - 1)

    @cached_property
    def torque_per_volt(self) -> Array:
        """N m/V: torque at the joint, by the command."""
        return np.asarray(self.gear) * np.asarray(self.torque_constant) * np.asarray(self.amplifier)

    @cached_property
    def torque(self) -> Array:
        """N m, the most there is."""
        return self.torque_per_volt * self.full_scale

    @cached_property
    def volt_step(self) -> float:
        """V per step of the output's converter."""
        return self.full_scale / 2 ** (DAC_BITS - 1)

    def dac(self, volts: Array) -> npt.NDArray[np.int64]:
        """Codes of the output's converter for volts.

        Args:
            volts: The volts, (n,), V.

        Returns:
            Codes, 0 to 4095, (n,), no unit; 2048 is 0 V.

        Examples:
            >>> machine = appell.rig.puma560_machine()
            >>> machine.dac(np.zeros(6)).tolist()
            [2048, 2048, 2048, 2048, 2048, 2048]
        """
        half = 2 ** (DAC_BITS - 1)
        codes = np.rint(volts / self.volt_step).astype(np.int64) + half
        return np.minimum(np.maximum(codes, 0), 2 * half - 1)

    def output(self, tau: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Codes of the output's converter for torques at the joints.

        Args:
            tau: The torques, (n,), N m or N.

        Returns:
            Codes, (n,), no unit, and the volts that they are, (n,), V.

        Examples:
            >>> machine = appell.rig.puma560_machine()
            >>> codes, volts = machine.output(np.zeros(6))
            >>> codes.tolist()
            [2048, 2048, 2048, 2048, 2048, 2048]
        """
        per_torque, least, most, volt_step = self._steps
        steps = np.minimum(np.maximum(np.rint(tau * per_torque), least), most)
        return (steps - least).astype(np.int64), steps * volt_step

    @cached_property
    def _steps(self) -> tuple[Array, Array, Array, Array]:
        """Of the output's converter: steps per N m, the first, the last, and V per step."""
        half, one = 2 ** (DAC_BITS - 1), np.ones(self.n)
        per_torque = 1 / (self.torque_per_volt * self.volt_step)
        return per_torque, -half * one, (half - 1) * one, self.volt_step * one

    def volts(self, codes: Any) -> Array:
        """The volts that codes of the output's converter give.

        Args:
            codes: The codes, 0 to 4095, no unit.

        Returns:
            The volts, V.

        Examples:
            >>> machine = appell.rig.puma560_machine()
            >>> float(machine.volts(np.full(6, 2048))[0])
            0.0
        """
        _, least, _, volt_step = self._steps
        return (codes + least) * volt_step

    def at(self, codes: Any) -> Array:
        """The positions that codes of the potentiometers tell.

        Args:
            codes: The codes, 0 to 4095, no unit.

        Returns:
            Positions, rad or m.

        Examples:
            >>> machine = appell.rig.puma560_machine()
            >>> np.allclose(machine.at(np.zeros(6)), machine.pot_low)
            True
        """
        return np.asarray(self.pot_low) + self.code * codes


# What the numbers of joints may be; None: of either sign.
_POSITIVE = "speed", "counts", "gear", "torque_constant", "resistance", "amplifier", "supply"
_NUMBERS: dict[str, Kind | None] = {
    **dict.fromkeys(_POSITIVE, Kind(matrix=False, positive=True)),
    **dict.fromkeys(("viscous", "coulomb", "brake"), Kind(matrix=False)),
    **dict.fromkeys(("lower", "upper", "pot_low", "pot_high", "index")),
}


def _any(name: str, given: Any, n: int) -> Array:
    """Numbers of either sign."""
    try:
        x = np.broadcast_to(np.asarray(given, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        raise InputError(
            f"Machine: {name} = {given!r}; expected a number, or one per joint."
        ) from None
    if not np.isfinite(x).all():
        raise InputError(f"Machine: {name} = {given!r}; expected finite numbers.")
    return x


def puma560_machine() -> Machine:
    """The machine of the PUMA of Valera et al. 2003, section 3.

    The paper gives the counts, the potentiometers' 0-5 V and the outputs of +-10 V. Gears, torque
    constants, transconductances and the supply are as published for the PUMA 560 (Corke and
    Armstrong-Hélouvry, "A search for consensus among model parameters reported for the PUMA 560
    robot", ICRA 1994; Corke, "Visual Control of Robots", 1996, chapter 2), without signs. Assumed:
    resistances, friction, the brakes (on the first three joints, as on the PUMA), index pulses at
    the motors' zero, and potentiometers that span the joints' ranges with 5 degrees to spare.

    Returns:
        A `Machine`.

    Examples:
        >>> appell.rig.puma560_machine().period
        0.001
    """
    lower = np.radians([-160, -225, -45, -110, -100, -266])
    upper = np.radians([160, 45, 225, 170, 100, 266])
    k = np.array([0.223, 0.226, 0.240, 0.069, 0.072, 0.066])
    gear = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686])
    supply = 40.0
    return Machine(
        name="PUMA 560",
        lower=lower,
        upper=upper,
        speed=0.9 * supply / (k * gear),  # of the speed at which nothing is left of the supply
        counts=(200, 200, 250, 250, 250, 250),
        gear=gear,
        pot_low=lower - np.radians(5),
        pot_high=upper + np.radians(5),
        torque_constant=k,
        resistance=(2.1, 2.1, 2.1, 6.7, 6.7, 6.7),
        amplifier=(0.883, 0.877, 0.874, 0.442, 0.442, 0.449),
        supply=supply,
        viscous=(4, 4, 2, 0.2, 0.15, 0.02),
        coulomb=(6, 6, 4, 0.4, 0.3, 0.03),
        brake=(200, 300, 150, 0, 0, 0),
        kinds=("revolute",) * 6,
    )


def arm_of(robot: Dynamics) -> Robot:
    """The robot, if each of its joints is driven and measured; refused otherwise."""
    if not isinstance(robot, Robot) or robot.actuated != robot.joint_names:
        raise InputError(
            f"'{robot.name}' has loops; a machine drives and measures every joint of a robot "
            "without. control.track moves any robot."
        )
    return robot


_LIGHT = 1.0  # rad/s^2 or m/s^2 that assumed friction takes: gains overcome it within 0.05 rad


def _least_inertia(arm: Robot) -> Array:
    """What each joint accelerates at the neutral position while the others are free, kg m^2 or kg:
    files often have efforts that are far beyond what their light links need."""
    inverse = np.linalg.inv(np.asarray(arm.mass_matrix(arm.neutral()), dtype=float))
    return np.asarray(1 / np.diag(inverse))


def machine_for(robot: Dynamics) -> Machine:
    """The machine of an arm: the PUMA's for a PUMA; for another arm one that fits its joints, with
    encoders of 1000 counts behind gears of 100, and motors that give the joints' efforts at their
    speeds, and dry friction of 1% of these, or less where links are light, all assumed.

    Args:
        robot: The arm.

    Returns:
        A `Machine`.

    Examples:
        >>> machine = appell.rig.machine_for(appell.load("puma560"))
        >>> machine.n, machine.outputs
        (6, ('tool1', 'tool2'))
        >>> codes, volts = machine.output(np.zeros(6))
        >>> np.array_equal(machine.dac(volts), codes), float(machine.volts(codes)[0])
        (True, 0.0)
        >>> machine.at(np.full(6, 2048)).shape
        (6,)
    """
    arm = arm_of(robot)
    if robot.name == "puma560":
        return puma560_machine()
    limits = list[Array]()
    for name in ("lower", "upper", "speed", "effort"):
        limits.append(np.array([getattr(joint, name) for joint in arm.model.joints], dtype=float))
        if not np.isfinite(limits[-1]).all():
            joint = arm.model.joints[int(np.argmin(np.isfinite(limits[-1])))]
            raise InputError(
                f"'{robot.name}': joint '{joint.name}' has no {name} limit, so no machine can be "
                'assumed for the robot; give all joints limits (in a URDF file: <limit lower="-3" '
                'upper="3" velocity="2" effort="100"/>), or a machine: machine=Machine(...), '
                "--machine on the command line."
            )
    low, high, speed, effort = limits
    gear, supply, full = 100.0, 48.0, 10.0
    k = supply / (1.5 * gear * speed)
    current = effort / (gear * k)
    return Machine(
        name=f"assumed machine of {robot.name}",
        lower=low,
        upper=high,
        speed=speed,
        counts=1000,
        gear=gear,
        pot_low=low - 0.05 * (high - low),
        pot_high=high + 0.05 * (high - low),
        torque_constant=k,
        resistance=0.2 * supply / current,
        amplifier=current / full,
        supply=supply,
        full_scale=full,
        coulomb=np.minimum(0.01 * effort, _LIGHT * _least_inertia(arm)),
        brake=3 * effort,
        kinds=tuple(joint.kind for joint in robot.model.joints),
    )
