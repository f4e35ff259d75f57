"""Joint impedance: each joint on a spring and a damper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.control.laws.feedback import DEFAULT, Desired, passive_dynamics, pd
from appell.control.laws.gains import ANY
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, plus
from appell.maths.scalar import Scalar


def joint_impedance(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    stiffness: Gain,
    damping: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M(q) a_d + C(q, v) v_d + g(q) + stiffness e + damping e' (Paden and Panja 1988).

    Forces f from outside then meet M e'' + (C + damping) e' + stiffness e = -f: the arm is a
    spring and a damper with the inertia it has.
    """
    spring = pd(model, q, v, desired, stiffness, damping)
    return plus(passive_dynamics(model, q, v, desired.v, desired.a, formulation), spring)


@dataclass(frozen=True, eq=False, repr=False)
class JointImpedance(Law):
    """Each joint on a spring and a damper: tau = M a_d + C v_d + g + stiffness e + damping e'.

    A force from outside, f, moves the joints by f / stiffness.

    Args:
        robot: What the law believes it moves.
        stiffness: N m/rad or N/m, one number or one per degree of freedom.
        damping: N m s/rad or N s/m; without it, critical for each joint alone, with its inertia at
            the neutral configuration.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> law = appell.control.JointImpedance(appell.load("planar_chain", n=2), stiffness=100)
        >>> law([0, 0], [0, 0], [0.1, 0], [0, 0], [0, 0])[0].shape
        (2,)
    """

    stiffness: Numbers
    damping: Numbers | None = None

    equation = staticmethod(joint_impedance)
    gains: ClassVar = {"stiffness": ANY, "damping": ANY}

    def _usual(self, what: str) -> Any:
        stiffness = np.asarray(self.stiffness)
        own = stiffness if stiffness.ndim < 2 else np.diagonal(stiffness)
        return 2 * np.sqrt(own * self._inertia())
