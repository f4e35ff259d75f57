"""Adaptive and robust control on the surface s = e' + rate e: Slotine and Li, "On the adaptive
control of robot manipulators", 1987, and "Applied Nonlinear Control", 1991, sections 7 and 9.

With the reference speed v_r = v_d + rate e, s = v_r - v. As dM/dt - 2C is skew, the power that s
puts into s^T M s / 2 is s^T (M a_r + C v_r + g - tau): the laws make it negative.
"""

from __future__ import annotations

from typing import Any

from appell.equations.feedback import (
    DEFAULT,
    Desired,
    Gain,
    Scalars,
    clipped,
    evaluated,
    halves,
    minus,
    passive_dynamics,
    plus,
    position_error,
    times,
)
from appell.maths.scalar import Scalar
from appell.model.model import Model


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
    gamma Y^T s; gives tau and the estimate a period later.

    With V = (s^T M s + (p - p*)^T gamma^-1 (p - p*)) / 2, V' = -s^T kd s.
    """
    v_r, a_r = reference(model, q, v, desired, rate)
    s = minus(v_r, v)
    Y = passive_regressor(model, q, v, v_r, a_r, formulation)
    columns = [list(column) for column in zip(*Y, strict=True)]
    growth = times(gamma, times(columns, s))
    learned = [p + period * g for p, g in zip(estimate, growth, strict=True)]
    return plus(times(Y, estimate), times(kd, s)), learned


def sliding_mode(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    rate: Gain,
    k: Scalars,
    layer: Scalars,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M a_r + C v_r + g + k sat(s / layer).

    Where k exceeds what the model lacks, s comes to its boundary layer and stays there, and the
    error of a joint within layer / rate.
    """
    v_r, a_r = reference(model, q, v, desired, rate)
    s = minus(v_r, v)
    switched = [g * clipped(x / w, 1) for g, x, w in zip(k, s, layer, strict=True)]
    return plus(passive_dynamics(model, q, v, v_r, a_r, formulation), switched)


def reference(
    model: Any, q: Scalars, v: Scalars, desired: Desired, rate: Gain
) -> tuple[list[Scalar], list[Scalar]]:
    """v_r = v_d + rate e, and its derivative."""
    return (
        plus(desired.v, times(rate, position_error(model, desired, q))),
        plus(desired.a, times(rate, minus(desired.v, v))),
    )


def passive_regressor(
    model: Any,
    q: Scalars,
    v: Scalars,
    v_r: Scalars,
    a_r: Scalars,
    formulation: str = "gibbs_tensor",
) -> list[list[Scalar]]:
    """Y with Y p = M a_r + C(q, v) v_r + g: see :func:`feedback.passive_dynamics`."""
    quantity = "regressor" if isinstance(model, Model) else "generalised_regressor"
    mean, half = halves(v, v_r)
    still = [0] * len(mean)
    whole = evaluated(model, quantity, formulation, q, mean, a_r)
    part = evaluated(model, quantity, formulation, q, half, still, weightless=True)
    return [minus(x, y) for x, y in zip(whole, part, strict=True)]
