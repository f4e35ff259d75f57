"""Inverse dynamics control from point to point: Valera et al. 2003, section 4, table 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import DEFAULT, Desired, inverse_dynamics, position_error
from appell.control.laws.gains import ANY
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, minus, times
from appell.maths.scalar import Scalar


def point_to_point(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = C v + G + M u (equation 29) with u = kp e - kd v; the paper's e is the actual position
    minus the desired one, here it is desired minus actual."""
    u = minus(times(kp, position_error(model, desired, q)), times(kd, v))
    return inverse_dynamics(model, q, v, u, formulation)


@dataclass(frozen=True, eq=False, repr=False)
class PointToPoint(Law):
    """Inverse dynamics control of a position, Valera et al. 2003: tau = M (kp e - kd v) + C v + g.

    It goes to the desired position; the desired velocity and acceleration are not used (table 4).

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, 1/s^2.
        kd: Gain of the velocity, 1/s.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.PointToPoint(arm, kp=100, kd=20)
        >>> appell.control.track(arm, law, [1.0, 0.5], until=2.0, q0=[0, 0]).final_error < 1e-3
        True
    """

    kp: Numbers = 100.0
    kd: Numbers = 20.0

    equation = staticmethod(point_to_point)
    gains: ClassVar = {"kp": ANY, "kd": ANY}
    damps: ClassVar = ("kd", "kp")
