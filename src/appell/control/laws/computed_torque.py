"""The computed torque technique: Lee 1982, section 4, where kd is called K_v.

The joint forces are those of the inverse dynamics, for an acceleration that removes errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control.laws.feedback import DEFAULT, Desired, inverse_dynamics, positions
from appell.control.laws.former_names import formerly
from appell.control.laws.gains import ANY
from appell.control.laws.law import Law, Numbers
from appell.maths.lists import Gain, Scalars, minus, plus, times
from appell.maths.scalar import Scalar


def commanded_acceleration(
    desired: tuple[Scalars, Scalars, Scalars], q: Scalars, v: Scalars, kp: Gain, kd: Gain
) -> list[Scalar]:
    """a_d + kd (v_d - v) + kp (q_d - q), equation 4.4; gains of single joints, or matrices."""
    q_d, v_d, a_d = desired
    return plus(a_d, times(kd, minus(v_d, v)), times(kp, minus(q_d, q)))


def computed_torque(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """D (a_d + kd (v_d - v) + kp (q_d - q)) + H + G, equation 4.1.

    With the exact model the errors obey e'' + kd e' + kp e = 0, equation 4.3.
    """
    wanted = (positions(model, desired.q), desired.v, desired.a)
    a = commanded_acceleration(wanted, positions(model, q), v, kp, kd)
    return inverse_dynamics(model, q, v, a, formulation)


@formerly(kv="kd")
@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorque(Law):
    """Computed torque, Lee 1982, equation 4.1: tau = M (a_d + kd e' + kp e) + C v + g.

    With the exact model each error decays as e'' + kd e' + kp e = 0; critically damped for kd = 2
    sqrt(kp). Gains with which errors grow are refused. A GainWarning is given for gains that the
    paper excludes after equation 4.3, such as kd = 0: with them errors need not vanish. The same
    holds for PointToPoint, Tracking and TrackingIntegral.

    Args:
        robot: What the law believes it moves.
        kp: Gain of the position error, 1/s^2: one number, one per degree of freedom, or a matrix,
            as all gains.
        kd: Gain of the velocity error, 1/s.
        formulation: The equations of its dynamics; the fastest without it.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.ComputedTorque(arm, kp=100, kd=20)
        >>> move = appell.control.quintic([0, 0], [1, 0.5], 1.0)
        >>> run = appell.control.track(arm, law, move, period=0.001)
        >>> run.max_error < 1e-3
        True
    """

    kp: Numbers = 100.0
    kd: Numbers = 20.0

    equation = staticmethod(computed_torque)
    gains: ClassVar = {"kp": ANY, "kd": ANY}
    damps: ClassVar = ("kd", "kp")
