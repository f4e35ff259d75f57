"""Inverse dynamics control: Valera et al. 2003, section 4, table 4.

All three controllers are tau = C v + G + M u (equation 29) and differ by u. The paper's e is the
actual position minus the desired one; here errors are desired minus actual. The derivative term
of the tracking controllers acts on the error of velocity: the table prints the velocity.
"""

from __future__ import annotations

from typing import Any

from appell.equations.feedback import (
    DEFAULT,
    Desired,
    Gain,
    Scalars,
    clipped,
    inverse_dynamics,
    magnitude,
    minus,
    plus,
    position_error,
    times,
)
from appell.maths.scalar import Scalar, sign


def point_to_point(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """u = kp e - kd v."""
    u = minus(times(kp, position_error(model, desired, q)), times(kd, v))
    return inverse_dynamics(model, q, v, u, formulation)


def tracking(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kd: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """u = a_d + kd e' + kp e."""
    u = plus(
        desired.a, times(kd, minus(desired.v, v)), times(kp, position_error(model, desired, q))
    )
    return inverse_dynamics(model, q, v, u, formulation)


def tracking_with_integral(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    integral: Scalars,
    period: Scalar,
    kp: Gain,
    kd: Gain,
    ki: Gain,
    limit: Scalars | None = None,
    formulation: str = DEFAULT,
) -> tuple[list[Scalar], list[Scalar]]:
    """u = a_d + kd e' + kp e + ki (integral of e); gives tau and the integral a period later.

    With a ``limit`` tau stays within it, and against windup a joint at its limit does not
    integrate an error that would drive it further (conditional integration).
    """
    e = position_error(model, desired, q)
    u = plus(desired.a, times(kd, minus(desired.v, v)), times(kp, e), times(ki, integral))
    tau = inverse_dynamics(model, q, v, u, formulation)
    if limit is None:
        return tau, [x + period * y for x, y in zip(integral, e, strict=True)]
    taken = [y * (1 - _driven(t, y, m)) for t, y, m in zip(tau, e, limit, strict=True)]
    grown = [x + period * y for x, y in zip(integral, taken, strict=True)]
    return [clipped(t, m) for t, m in zip(tau, limit, strict=True)], grown


def _driven(tau: Scalar, e: Scalar, limit: Scalar) -> Scalar:
    """1 where tau is beyond its limit and the error pushes it further, else 0."""
    beyond = (1 + sign(magnitude(tau) - limit)) / 2
    outwards = (1 + sign(tau * e)) / 2
    return beyond * outwards
