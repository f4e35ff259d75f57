"""Adaptive control on the surface s = e' + rate e: Slotine and Li, "On the adaptive control of
robot manipulators", 1987.

With the reference speed v_r = v_d + rate e, s = v_r - v. As dM/dt - 2C is skew, the power that s
puts into s^T M s / 2 is s^T (M a_r + C v_r + g - tau): the law makes it negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import Desired, evaluated, halves, reference, springs
from appell.control.laws.gains import ANY, DAMPING, Kind
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, minus, plus, times, transposed
from appell.maths.scalar import Scalar
from appell.model.model import Model
from appell.robots.robot import Array

_PER_PARAMETER = Kind("inertial parameter", matrix=False)


def adaptive(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    estimate: Scalars,
    period: Scalar,
    rate: Gain,
    kd: Gain,
    gamma: Gain,
    formulation: str = "gibbs_tensor",
) -> tuple[list[Scalar], list[Scalar]]:
    """tau = Y p + kd s with the estimate p of the inertial parameters, which grows at the rate
    gamma Y^T s, and what springs in the joints take; gives tau and the estimate a period later.

    With V = (s^T M s + (p - p*)^T gamma^-1 (p - p*)) / 2, V' = -s^T kd s.
    """
    v_r, a_r = reference(model, q, v, desired, rate)
    s = minus(v_r, v)
    Y = passive_regressor(model, q, v, v_r, a_r, formulation)
    growth = times(gamma, times(transposed(Y), s))
    learned = [p + period * g for p, g in zip(estimate, growth, strict=True)]
    return plus(times(Y, estimate), springs(model, q), times(kd, s)), learned


def passive_regressor(
    model: Any, q: Scalars, v: Scalars, v_r: Scalars, a_r: Scalars, formulation: str
) -> list[list[Scalar]]:
    """Y with Y p = M a_r + C(q, v) v_r + g: see `feedback.passive_dynamics`."""
    quantity = "regressor" if isinstance(model, Model) else "generalised_regressor"
    mean, half = halves(v, v_r)
    still = [0] * len(mean)
    whole = evaluated(model, quantity, formulation, q, mean, a_r)
    part = evaluated(model, quantity, formulation, q, half, still, weightless=True)
    return [minus(x, y) for x, y in zip(whole, part, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class Adaptive(Law):
    """Adaptive control, Slotine and Li 1987: tau = Y p + kd s, with s = e' + rate e.

    The estimate p of the inertial parameters is learned at the rate gamma Y^T s. The errors vanish
    whatever the robot's masses are; the estimate need not become the true one. The state is the
    estimate, in the order of ``robot.parameters``, which it starts from.

    Args:
        robot: What the law believes it moves, at first.
        rate: How fast errors decay on s = 0, 1/s.
        kd: Gain of s, N m s/rad or N s/m; chosen from the robot's inertia without it.
        gamma: How fast the estimate changes: one number, or one per parameter.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.Adaptive(arm, rate=10, kd=20)
        >>> np.array_equal(law.initial, arm.parameters)
        True
    """

    rate: Numbers = 10.0
    kd: Numbers | None = None
    gamma: Numbers = 1.0

    equation = staticmethod(adaptive)
    gains: ClassVar = {
        "rate": ANY,
        "kd": DAMPING,
        "gamma": Kind("inertial parameter", matrix=False),
    }
    regroups: ClassVar[bool] = False
    quantity: ClassVar[str] = "regressor"

    @property
    def initial(self) -> Array:
        """The robot's own parameters, in SI units."""
        return self.robot.parameters
