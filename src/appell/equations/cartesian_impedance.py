"""Cartesian impedance: the tool on a spring and a damper (Hogan 1985), without a force sensor.

The tool is drawn to where the desired joint positions have it, by a force and a moment in the
base's axes; the arm keeps the inertia it has.
"""

from __future__ import annotations

from typing import Any

from appell.equations.feedback import (
    DEFAULT,
    Desired,
    Gain,
    Scalars,
    evaluated,
    minus,
    passive_dynamics,
    plus,
    times,
)
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross

Rows = list[list[Scalar]]


def cartesian_impedance(
    model: Any,
    q: Scalars,
    v: Scalars,
    desired: Desired,
    stiffness: Gain,
    damping: Gain,
    joint_damping: Gain,
    frame: Any,
    formulation: str = DEFAULT,
) -> list[Scalar]:
    """tau = M a_d + C v_d + g + J^T (stiffness x + damping x') + joint_damping e', where x is the
    tool's displacement, three lengths and three angles."""
    J = _asked("jacobian", model, q, frame)
    x = displacement(
        _asked("forward_kinematics", model, desired.q, frame),
        _asked("forward_kinematics", model, q, frame),
    )
    dx = minus(times(_asked("jacobian", model, desired.q, frame), desired.v), times(J, v))
    wrench = plus(times(stiffness, x), times(damping, dx))
    return plus(
        passive_dynamics(model, q, v, desired.v, desired.a, formulation),
        times([list(column) for column in zip(*J, strict=True)], wrench),
        times(joint_damping, minus(desired.v, v)),
    )


def displacement(desired: Rows, actual: Rows) -> list[Scalar]:
    """What takes one pose to another, 6: the way of the origin, then sin(angle) times the axis, as
    half the sum of the axes' cross products."""
    turn = ZERO
    for k in range(3):
        turn = turn + cross(_axis(actual, k), _axis(desired, k))
    return [*(desired[i][3] - actual[i][3] for i in range(3)), *(turn * 0.5)]


def _axis(T: Rows, k: int) -> Vector:
    return Vector(T[0][k], T[1][k], T[2][k])


def _asked(quantity: str, model: Any, q: Scalars, frame: Any) -> Any:
    return evaluated(model, quantity, "bodies", q, frame)
