"""PD with gravity: a proportional and a derivative term at each joint, the weight compensated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import DEFAULT, Desired, gravity, pd
from appell.control.laws.former_names import formerly
from appell.control.laws.gains import DAMPING, STIFFNESS
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, plus
from appell.maths.scalar import Scalar


def pd_with_gravity(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = g(q) + kp e + kd e': it reaches any set point (Takegaki and Arimoto 1981)."""
    return plus(gravity(model, q, formulation), pd(model, q, v, desired, kp, kd))


@formerly(kv="kd")
@dataclass(frozen=True, eq=False, repr=False)
class PDGravity(Law):
    """PD control with gravity compensated: tau = g(q) + kp e + kd e'.

    It reaches any set point with the exact g.

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, N m/rad or N/m; chosen from the robot's inertia without it.
        kd: Gain of the velocity error, N m s/rad or N s/m; chosen likewise.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> law = appell.control.PDGravity(appell.load("planar_chain", n=2), kp=50, kd=10)
        >>> tau, _ = law([0.1, 0.2], [0, 0], [0.1, 0.2], [0, 0], [0, 0])
        >>> np.allclose(tau, law.robot.gravity([0.1, 0.2]))
        True
    """

    kp: Numbers | None = None
    kd: Numbers | None = None

    equation = staticmethod(pd_with_gravity)
    gains: ClassVar = {"kp": STIFFNESS, "kd": DAMPING}
