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
    """PD with gravity compensated: tau = g(q) + kp e + kd e'.

    It reaches any set point with the exact g.
    """

    kp: Numbers | None = None
    kd: Numbers | None = None

    equation = staticmethod(pd_with_gravity)
    gains: ClassVar = {"kp": STIFFNESS, "kd": DAMPING}
