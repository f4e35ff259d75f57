"""Laws that close a loop round each joint: proportional and derivative terms, in N m a rad, with
gravity compensated or with all torques of the desired motion fed forward."""

from __future__ import annotations

from typing import Any

from appell.equations.feedback import (
    DEFAULT,
    Desired,
    Gain,
    Scalars,
    gravity,
    inverse_dynamics,
    minus,
    passive_dynamics,
    plus,
    position_error,
    times,
)
from appell.maths.scalar import Scalar


def pd_with_gravity(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kv: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = g(q) + kp e + kv e': it reaches any set point (Takegaki and Arimoto 1981)."""
    return plus(gravity(model, q, formulation), _pd(model, q, v, desired, kp, kv))


def feedforward(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    kp: Gain,
    kv: Gain,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + kp e + kv e'."""
    return plus(inverse_dynamics(model, *desired, formulation), _pd(model, q, v, desired, kp, kv))


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
    spring = _pd(model, q, v, desired, stiffness, damping)
    return plus(passive_dynamics(model, q, v, desired.v, desired.a, formulation), spring)


def _pd(model: Any, q: Scalars, v: Scalars, desired: Desired, kp: Gain, kv: Gain) -> list[Scalar]:
    """kp e + kv e'."""
    return plus(times(kp, position_error(model, desired, q)), times(kv, minus(desired.v, v)))
