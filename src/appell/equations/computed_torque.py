"""The computed torque technique: Lee 1982, section 4.

The joint forces are those of the inverse dynamics, for an acceleration that removes errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.equations.feedback import (
    DEFAULT,
    Desired,
    Gain,
    inverse_dynamics,
    minus,
    plus,
    positions,
    times,
)
from appell.maths.scalar import Scalar


def commanded_acceleration(
    desired: tuple[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    kp: Gain,
    kv: Gain,
) -> list[Scalar]:
    """a_d + kv (v_d - v) + kp (q_d - q), equation 4.4; gains of single joints, or matrices."""
    q_d, v_d, a_d = desired
    return plus(a_d, times(kv, minus(v_d, v)), times(kp, minus(q_d, q)))


def computed_torque(
    model: Any,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    desired: Desired,
    kp: Gain,
    kv: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """D (a_d + kv (v_d - v) + kp (q_d - q)) + H + G, equation 4.1.

    With the exact model the errors obey e'' + kv e' + kp e = 0, equation 4.3.
    """
    wanted = (positions(model, desired.q), desired.v, desired.a)
    a = commanded_acceleration(wanted, positions(model, q), v, kp, kv)
    return inverse_dynamics(model, q, v, a, formulation)
