"""Inverse dynamics control with integral action: Valera et al. 2003, section 4, table 4.

The paper's e is the actual position minus the desired one; here errors are desired minus actual.
The derivative term acts on the error of velocity: the table prints the velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.control.laws.feedback import DEFAULT, Desired, inverse_dynamics, position_error
from appell.control.laws.gains import ANY, EACH, shown
from appell.control.laws.law import Law, Numbers
from appell.errors import InputError
from appell.maths.lists import Gain, Scalars, clipped, magnitude, minus, plus, times
from appell.maths.scalar import Scalar, sign
from appell.robots.robot import Array


def tracking_with_integral(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    integral: Scalars,
    period: Scalar,
    kp: Gain,
    kd: Gain,
    ki: Gain,
    limit: Scalars | None = None,
    formulation: str = DEFAULT,
) -> tuple[list[Scalar], list[Scalar]]:
    """tau = C v + G + M u (equation 29) with u = a_d + kd e' + kp e + ki (integral of e), and the
    integral a period later.

    With a ``limit`` tau stays within it, and against windup a joint at its limit does not
    integrate an error that would drive it further (conditional integration).
    """
    e = position_error(model, desired, q)
    u = plus(desired.a, times(kd, minus(desired.v, v)), times(kp, e), times(ki, integral))
    tau = inverse_dynamics(model, q, v, u, formulation)
    if limit is None:
        return tau, [x + period * y for x, y in zip(integral, e, strict=True)]
    taken = [y * (1 - _driven(t, y, m)) for t, y, m in zip(tau, e, limit, strict=True)]
    grown = [x + period * y for x, y in zip(integral, taken, strict=True)]
    return [clipped(t, m) for t, m in zip(tau, limit, strict=True)], grown


def _driven(tau: Scalar, e: Scalar, limit: Scalar) -> Scalar:
    """1 where tau is beyond its limit and the error pushes it further, else 0."""
    beyond = (1 + sign(magnitude(tau) - limit)) / 2
    outwards = (1 + sign(tau * e)) / 2
    return beyond * outwards


@dataclass(frozen=True, eq=False, repr=False)
class TrackingIntegral(Law):
    """Inverse dynamics control with integral action, Valera et al. 2003, table 4.

    tau = M (a_d + kd e' + kp e + ki integral of e) + C v + g. Stable with ki < kp kd. It is for
    robots whose actuators drive the very joints that have the errors. The state is the integral.

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, 1/s^2.
        kd: Gain of the velocity error, 1/s.
        ki: Gain of the integral, 1/s^3.
        limit: Torques stay within it, N m or N, and the integral does not wind up: a joint at its
            limit integrates no error that would drive it further. No limit without it.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> law = appell.control.TrackingIntegral(appell.load("planar_chain", n=2), ki=500)
        >>> law.initial
        array([0., 0.])
    """

    kp: Numbers = 300.0
    kd: Numbers = 30.0
    ki: Numbers = 1000.0
    limit: Numbers | None = None

    equation = staticmethod(tracking_with_integral)
    gains: ClassVar = {"kp": ANY, "kd": ANY, "ki": ANY, "limit": EACH}
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
        """An integral of zero, (nv,), rad s or m s."""
        return np.zeros(self.robot.nv)
