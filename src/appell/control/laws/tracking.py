"""Inverse dynamics control along a motion: Valera et al. 2003, section 4, table 4.

The derivative term acts on the error of velocity (the table prints the velocity), so the law is the
computed torque of Lee 1982 with other names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.computed_torque import computed_torque
from appell.control.laws.feedback import DEFAULT, Desired
from appell.control.laws.gains import ANY
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars
from appell.maths.scalar import Scalar


def tracking(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = C v + G + M u (equation 29) with u = a_d + kd e' + kp e."""
    return computed_torque(model, q, v, desired, kp, kd, formulation)


@dataclass(frozen=True, eq=False, repr=False)
class Tracking(Law):
    """Inverse dynamics control of a motion, Valera et al. 2003, table 4: the law of ComputedTorque.

    tau = M (a_d + kd e' + kp e) + C v + g.

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, 1/s^2.
        kd: Gain of the velocity error, 1/s.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> law = appell.control.Tracking(appell.load("planar_chain", n=2), kp=100, kd=20)
        >>> law([0, 0], [0, 0], [0.1, 0], [0, 0], [0, 0])[0].shape
        (2,)
    """

    kp: Numbers = 100.0
    kd: Numbers = 20.0

    equation = staticmethod(tracking)
    gains: ClassVar = {"kp": ANY, "kd": ANY}
    damps: ClassVar = ("kd", "kp")
