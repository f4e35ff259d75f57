"""Positions and speeds of joints between and by measurements of their positions."""

from __future__ import annotations

from appell.equations.feedback import Gain, Scalars, clipped, minus, plus, times
from appell.equations.quantities import QUANTITIES
from appell.maths.scalar import Scalar
from appell.model.model import Model

_SLOW = 0.05  # rad/s, below which dry friction is taken to be less


def corrected_motion(x: Scalars, a: Scalars, measured: Scalars, numbers: Scalars) -> list[Scalar]:
    """x = (q, v) h later at the accelerations a, corrected by where the joints were measured to be
    some time before that, their ``age``. The numbers are h, the gains of q and v, and the age."""
    n = len(a)
    h, gain_q, gain_v, age = numbers
    positions, speeds = list[Scalar](), list[Scalar]()
    for q, v, rate, seen in zip(x[:n], x[n:], a, measured, strict=True):
        now, speed = q + h * v + h * h / 2 * rate, v + h * rate
        error = seen - (now - age * speed + age * age / 2 * rate)
        positions.append(now + (gain_q + age * gain_v) * error)
        speeds.append(speed + gain_v * error)
    return positions + speeds


def unseen_motion(
    model: Model, x: Scalars, tau: Scalars, friction: Gain, h: Scalars
) -> list[Scalar]:
    """x = (q, v) h[0] later under torques, nothing being measured; friction is viscous and dry."""
    n, dynamics = model.nv, QUANTITIES["forward_dynamics"]
    q, v = x[:n], x[n:]
    dry = times(friction[1], [clipped(speed / _SLOW, 1) for speed in v])
    given = minus(minus(tau, times(friction[0], v)), dry)
    a = dynamics.formulations[dynamics.default(model)](model, q, v, given)
    later = plus(v, [h[0] * rate for rate in a])
    return plus(q, [h[0] / 2 * speed for speed in plus(v, later)]) + later
