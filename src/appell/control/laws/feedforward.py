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
    """The torques of the desired motion, and PD.

    tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + kp e + kd e'.
    """

    kp: Numbers | None = None
    kd: Numbers | None = None

    equation = staticmethod(feedforward)
    gains: ClassVar = {"kp": STIFFNESS, "kd": DAMPING}
