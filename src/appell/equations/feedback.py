"""What laws of control share: errors, gains, and the dynamics they compensate.

Errors are desired minus actual. A gain is a list of numbers, one a joint, or a matrix, a list of
rows that couples them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from appell.equations.quantities import QUANTITIES
from appell.maths.scalar import Scalar, sign
from appell.maths.vector import ZERO
from appell.model.model import Model

Scalars = Sequence[Scalar]
Gain = Sequence[Any]

DEFAULT = "gibbs_lean"  # the formulation of the dynamics that laws compensate


class Desired(NamedTuple):
    """What the joints are to do at an instant."""

    q: Scalars
    v: Scalars
    a: Scalars


def times(K: Gain, x: Scalars) -> list[Scalar]:
    """K x, for gains of single joints or for a matrix of them."""
    if isinstance(K[0], list | tuple):
        return [sum((k * y for k, y in zip(row, x, strict=True)), start=0) for row in K]
    return [k * y for k, y in zip(K, x, strict=True)]


def plus(*vectors: Scalars) -> list[Scalar]:
    return [sum(parts[1:], start=parts[0]) for parts in zip(*vectors, strict=True)]


def minus(x: Scalars, y: Scalars) -> list[Scalar]:
    return [a - b for a, b in zip(x, y, strict=True)]


def magnitude(x: Scalar) -> Scalar:
    """|x|."""
    return x * sign(x)


def clipped(x: Scalar, limit: Scalar) -> Scalar:
    """x, or the limit with its sign where x is beyond it: (|x + limit| - |x - limit|) / 2."""
    return (magnitude(x + limit) - magnitude(x - limit)) / 2


def inverse_dynamics(
    model: Model, q: Scalars, v: Scalars, a: Scalars, formulation: str = DEFAULT
) -> list[Scalar]:
    """M a + C v + g."""
    return QUANTITIES["inverse_dynamics"].formulations[formulation](model, q, v, a)


def gravity(model: Model, q: Scalars, formulation: str = DEFAULT) -> list[Scalar]:
    """g: what holds the robot still."""
    return QUANTITIES["gravity"].formulations[formulation](model, q)


def passive_dynamics(
    model: Model,
    q: Scalars,
    v: Scalars,
    v_r: Scalars,
    a_r: Scalars,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """M a_r + C(q, v) v_r + g, with Christoffel's C: that for which dM/dt - 2C is skew.

    C(q, v) v_r is symmetric in the two speeds, so it follows from h(v) = C(q, v) v, which the
    inverse dynamics has: C(q, v) v_r = h((v + v_r) / 2) - h((v - v_r) / 2).
    """
    mean, half = halves(v, v_r)
    still = [0] * len(mean)
    return minus(
        inverse_dynamics(model, q, mean, a_r, formulation),
        inverse_dynamics(weightless(model), q, half, still, formulation),
    )


def halves(v: Scalars, v_r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """Half the sum and half the difference."""
    return (
        [(x + y) / 2 for x, y in zip(v, v_r, strict=True)],
        [(x - y) / 2 for x, y in zip(v, v_r, strict=True)],
    )


def weightless(model: Model) -> Model:
    return replace(model, gravity=ZERO)
