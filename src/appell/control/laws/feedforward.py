"""Feedforward: the torques of the desired motion, and a proportional and a derivative term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import DEFAULT, Desired, inverse_dynamics, pd
from appell.control.laws.former_names import formerly
from appell.control.laws.gains import DAMPING, STIFFNESS
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, plus
from appell.maths.scalar import Scalar


def feedforward(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + kp e + kd e'."""
    return plus(inverse_dynamics(model, *desired, formulation), pd(model, q, v, desired, kp, kd))


@formerly(kv="kd")
@dataclass(frozen=True, eq=False, repr=False)
class Feedforward(Law):
    """The torques of the desired motion, and PD: tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + kp e
    + kd e'.

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, N m/rad or N/m; chosen from the robot's inertia without it.
        kd: Gain of the velocity error, N m s/rad or N s/m; chosen likewise.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> law = appell.control.Feedforward(appell.load("planar_chain", n=2), kp=50, kd=10)
        >>> tau, _ = law([0, 0], [0, 0], [0.1, 0.2], [1, 0], [0, 1])
        >>> tau.shape
        (2,)
    """

    kp: Numbers | None = None
    kd: Numbers | None = None

    equation = staticmethod(feedforward)
    gains: ClassVar = {"kp": STIFFNESS, "kd": DAMPING}
