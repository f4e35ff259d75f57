"""Laws of control: how joint forces follow from what is measured and what is desired.

Gains are a number for all joints, one per joint, or a matrix; of a closed robot per independent
joint, of a spherical parallel robot per coordinate. Those of laws that compensate the
inertia (ComputedTorque, PointToPoint, Tracking, TrackingIntegral) are in 1/s^2 and 1/s, the same
for light and heavy joints. Those of the others are in N m/rad and N m s/rad; not given, they
are what makes 100/s^2 and 20/s of each joint's inertia at the neutral configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from appell.control.laws.gains import Kind, shown
from appell.control.laws.law import Law
from appell.equations import (
    cartesian_impedance,
    computed_torque,
    inverse_dynamics_control,
    joint_control,
    sliding_control,
)
from appell.errors import InputError
from appell.robots.robot import Array

Gain = npt.ArrayLike

_ANY = Kind()
_EACH = Kind(matrix=False, positive=True)
_KP, _KV = 100.0, 20.0  # 1/s^2, 1/s
_TOOL = Kind("direction of the tool (three lengths, three angles)")


@dataclass(frozen=True, eq=False, repr=False)
class PDGravity(Law):
    """PD with gravity: tau = g(q) + kp e + kv e'. It reaches any set point with the exact g."""

    kp: Gain | None = None
    kv: Gain | None = None

    equation = staticmethod(joint_control.pd_with_gravity)
    gains: ClassVar = {"kp": _ANY, "kv": _ANY}

    def _usual(self, what: str) -> Array:
        return {"kp": _KP, "kv": _KV}[what] * self._inertia()


@dataclass(frozen=True, eq=False, repr=False)
class Feedforward(Law):
    """The torques of the desired motion, and PD: tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) +
    kp e + kv e'."""

    kp: Gain | None = None
    kv: Gain | None = None

    equation = staticmethod(joint_control.feedforward)
    gains: ClassVar = {"kp": _ANY, "kv": _ANY}

    def _usual(self, what: str) -> Array:
        return {"kp": _KP, "kv": _KV}[what] * self._inertia()


@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorque(Law):
    """Lee 1982, equation 4.1: tau = M (a_d + kv e' + kp e) + C v + g. With the exact model each
    error decays as e'' + kv e' + kp e = 0; critically damped for kv = 2 sqrt(kp).

    Gains with which errors grow are refused. A GainWarning is given for gains that the paper
    excludes after equation 4.3, such as kv = 0: with them errors need not vanish. The same holds
    for PointToPoint, Tracking and TrackingIntegral.
    """

    kp: Gain = 100.0
    kv: Gain = 20.0

    equation = staticmethod(computed_torque.computed_torque)
    gains: ClassVar = {"kp": _ANY, "kv": _ANY}
    damps: ClassVar = ("kv", "kp")


@dataclass(frozen=True, eq=False, repr=False)
class PointToPoint(Law):
    """Valera et al. 2003, table 4: tau = M (kp e - kd v) + C v + g. It goes to the desired
    position; the desired speed and acceleration are not used."""

    kp: Gain = 100.0
    kd: Gain = 20.0

    equation = staticmethod(inverse_dynamics_control.point_to_point)
    gains: ClassVar = {"kp": _ANY, "kd": _ANY}
    damps: ClassVar = ("kd", "kp")


@dataclass(frozen=True, eq=False, repr=False)
class Tracking(Law):
    """Valera et al. 2003, table 4: tau = M (a_d + kd e' + kp e) + C v + g."""

    kp: Gain = 100.0
    kd: Gain = 20.0

    equation = staticmethod(inverse_dynamics_control.tracking)
    gains: ClassVar = {"kp": _ANY, "kd": _ANY}
    damps: ClassVar = ("kd", "kp")


@dataclass(frozen=True, eq=False, repr=False)
class TrackingIntegral(Law):
    """Valera et al. 2003, table 4: tau = M (a_d + kd e' + kp e + ki integral of e) + C v + g.

    Stable with ki < kp kd. With a ``limit``, in N m, tau stays within it and the integral does not
    wind up: a joint at its limit integrates no error that would drive it further. It is for robots
    whose actuators drive the very joints that have the errors. The state is the integral.
    """

    kp: Gain = 300.0
    kd: Gain = 30.0
    ki: Gain = 1000.0
    limit: Gain | None = None

    equation = staticmethod(inverse_dynamics_control.tracking_with_integral)
    gains: ClassVar = {"kp": _ANY, "kd": _ANY, "ki": _ANY, "limit": _EACH}
    damps: ClassVar = ("kd", "kp", "ki")

    def _refuse(self) -> None:
        robot = self.robot
        if self.limit is not None and robot.actuated != robot.independent:
            raise InputError(
                f"TrackingIntegral: limit = {shown(np.asarray(self.limit))}: the actuators of "
                f"'{robot.name}' ({', '.join(robot.actuated)}) are not the joints whose errors are "
                f"integrated ({', '.join(robot.independent)}), so no error belongs to a limit; "
                "leave it out, and see track(torque_limit=)."
            )

    @property
    def initial(self) -> Array:
        return np.zeros(self.robot.nv)


@dataclass(frozen=True, eq=False, repr=False)
class Adaptive(Law):
    """Slotine and Li 1987: tau = Y p + kd s, with s = e' + rate e, and the estimate p of the
    inertial parameters learned at the rate gamma Y^T s.

    The errors vanish whatever the robot's masses are; the estimate need not become the true one.
    The state is the estimate, in the order of ``robot.parameters``, which it starts from.
    """

    rate: Gain = 10.0
    kd: Gain | None = None
    gamma: Gain = 1.0

    equation = staticmethod(sliding_control.adaptive)
    gains: ClassVar = {"rate": _ANY, "kd": _ANY, "gamma": Kind("inertial parameter", matrix=False)}
    regroups: ClassVar[bool] = False
    quantity: ClassVar[str] = "regressor"

    @property
    def initial(self) -> Array:
        return self.robot.parameters

    def _usual(self, what: str) -> Array:
        return _KV * self._inertia()


@dataclass(frozen=True, eq=False, repr=False)
class SlidingMode(Law):
    """Robust control, Slotine and Li 1991: tau = M a_r + C v_r + g + k sat(s / layer), with
    s = e' + rate e and the reference v_r = v_d + rate e.

    Where k, in N m, exceeds what the model lacks, every error comes to stay within layer / rate,
    layer in rad/s. A sampled law needs k / layer well below a joint's inertia over the period.
    """

    rate: Gain = 10.0
    k: Gain | None = None
    layer: Gain = 0.1

    equation = staticmethod(sliding_control.sliding_mode)
    gains: ClassVar = {"rate": _EACH, "layer": _EACH, "k": Kind(matrix=False)}

    def _usual(self, what: str) -> Array:
        return _KV * self._inertia() * np.asarray(self.layer, dtype=float)


@dataclass(frozen=True, eq=False, repr=False)
class JointImpedance(Law):
    """Each joint on a spring and a damper: tau = M a_d + C v_d + g + stiffness e + damping e'.
    A force from outside, f, moves the joints by f / stiffness. Damping that is not given is
    critical for each joint alone, with its inertia at the zero position."""

    stiffness: Gain
    damping: Gain | None = None

    equation = staticmethod(joint_control.joint_impedance)
    gains: ClassVar = {"stiffness": _ANY, "damping": _ANY}

    def _usual(self, what: str) -> Array:
        stiffness = np.asarray(self.stiffness)
        own = stiffness if stiffness.ndim < 2 else np.diagonal(stiffness)
        return 2 * np.sqrt(own * self._inertia())


@dataclass(frozen=True, eq=False, repr=False)
class CartesianImpedance(Law):
    """The tool on a spring and a damper: tau = M a_d + C v_d + g + J^T (stiffness x + damping x') +
    joint_damping e', where x leads from where the tool is to where the desired joints have it.

    Stiffness and damping have six numbers, for three lengths and three angles in the base's axes;
    angles count by their sine, so the tool must be within a right angle. ``frame`` is the tool's
    link, the tip without a name.
    """

    stiffness: Gain
    damping: Gain
    joint_damping: Gain = 0.0
    frame: str | None = None

    equation = staticmethod(cartesian_impedance.cartesian_impedance)
    gains: ClassVar = {"stiffness": _TOOL, "damping": _TOOL, "joint_damping": _ANY}

    def _refuse(self) -> None:
        self.robot.system.frame(self.frame)

    def __repr__(self) -> str:
        given = [f"{name}={shown(getattr(self, name))}" for name in self.gains]
        frame = self.robot.system.frame(self.frame)
        told = [*given, f"frame={getattr(frame, 'name', frame)}", *self._chosen()]
        return f"<CartesianImpedance of {self.robot.name}: {', '.join(told)}>"

    def _extra(self, model: Any) -> dict[str, Any]:
        return {"frame": model.frame(self.frame)}
