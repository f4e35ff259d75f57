"""What laws of control share: errors, and the dynamics they compensate.

Errors are desired minus actual. A gain is a list of numbers, one per speed, or a matrix, a list of
rows that couples them. What a law is for is a tree's Model, or the system
(`appell.robots.system`) of another robot; its forces are those on the robot's speeds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from appell.equations.quantities import QUANTITIES
from appell.maths.lists import Gain, Scalars, minus, plus, times
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO
from appell.model.model import Model

DEFAULT = "gibbs_lean"  # the formulation of the dynamics that laws compensate


class Desired(NamedTuple):
    """What the joints are to do at an instant."""

    q: Scalars
    v: Scalars
    a: Scalars


def evaluated(
    model: Any, quantity: str, formulation: str | None, *arguments: Any, weightless: bool = False
) -> Any:
    """The value of a quantity of what a law is for, by a formulation; by the system's fastest where
    its quantity does not have that one. ``weightless`` leaves gravity out."""
    if isinstance(model, Model):
        subject = replace(model, gravity=ZERO) if weightless else model
        return QUANTITIES[quantity].formulations[formulation or DEFAULT](subject, *arguments)
    equations = model.quantities[quantity].formulations
    name = formulation if formulation in equations else model.default(quantity)
    regroup = name in model.quantities[quantity].regroup
    subject = model.subject({"gravity": [0.0, 0.0, 0.0]} if weightless else {}, regroup)
    return equations[name](subject, *arguments)


def positions(model: Any, q: Scalars) -> Scalars:
    """Those of the coordinates whose rates are the speeds: of a robot with loops, its independent
    joints'."""
    return q if isinstance(model, Model) else [q[k] for k in model.coordinates]


def position_error(model: Any, desired: Desired, q: Scalars) -> list[Scalar]:
    """Desired minus actual positions, one per speed."""
    return minus(positions(model, desired.q), positions(model, q))


def pd(model: Any, q: Scalars, v: Scalars, desired: Desired, kp: Gain, kd: Gain) -> list[Scalar]:
    """kp e + kd e'."""
    return plus(times(kp, position_error(model, desired, q)), times(kd, minus(desired.v, v)))


def reference(
    model: Any, q: Scalars, v: Scalars, desired: Desired, rate: Gain
) -> tuple[list[Scalar], list[Scalar]]:
    """v_r = v_d + rate e, and its derivative: what laws on the surface s = v_r - v follow."""
    return (
        plus(desired.v, times(rate, position_error(model, desired, q))),
        plus(desired.a, times(rate, minus(desired.v, v))),
    )


def inverse_dynamics(
    model: Any, q: Scalars, v: Scalars, a: Scalars, formulation: str = DEFAULT
) -> list[Scalar]:
    """M a + C v + g."""
    forces: list[Scalar] = evaluated(model, "generalised_forces", formulation, q, v, a)
    return forces


def gravity(model: Any, q: Scalars, formulation: str = DEFAULT) -> list[Scalar]:
    """g: what holds the robot still."""
    forces: list[Scalar] = evaluated(model, "gravity", formulation, q)
    return forces


def springs(model: Any, q: Scalars) -> Scalars:
    """What springs in the joints take."""
    if isinstance(model, Model):
        return evaluated(model, "springs", "joints", q) if model.springs else [0] * model.nv
    if "springs" in model.quantities:
        return evaluated(model, "springs", None, q)
    return [0] * model.size("n")


def passive_dynamics(
    model: Any,
    q: Scalars,
    v: Scalars,
    v_r: Scalars,
    a_r: Scalars,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """M a_r + C(q, v) v_r + g, with Christoffel's C: that for which dM/dt - 2C is skew.

    C(q, v) v_r is symmetric in the two speeds, so it follows from h(v) = C(q, v) v, which the
    inverse dynamics has: C(q, v) v_r = h((v + v_r) / 2) - h((v - v_r) / 2). Springs, which the
    weightless robot has too, are added again.
    """
    mean, half = halves(v, v_r)
    still = [0] * len(mean)
    forces = minus(
        inverse_dynamics(model, q, mean, a_r, formulation),
        evaluated(model, "generalised_forces", formulation, q, half, still, weightless=True),
    )
    return plus(forces, springs(model, q))


def halves(v: Scalars, v_r: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """Half the sum and half the difference."""
    return (
        [(x + y) / 2 for x, y in zip(v, v_r, strict=True)],
        [(x - y) / 2 for x, y in zip(v, v_r, strict=True)],
    )
