"""Configurations of a robot with loops: drawn at random, and moved along what the loops allow."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import InputError, ModelError
from appell.model import configuration
from appell.model.configuration import Array, arrays
from appell.model.limits import limits

if TYPE_CHECKING:
    from appell.robots.closed.closed_robot import ClosedRobot

_DRAWS = 100  # how often configurations beyond the limits are drawn again
_LONGEST = 0.2  # rad or m: how far joints move along the loops before these are closed again


def random(robot: ClosedRobot, draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Closed configurations (*shape, nq) about the reference, within the joints' limits."""
    own = limits(robot.model)
    q = robot.random_states(prod(shape), draw)[0]
    for _ in range(_DRAWS):
        beyond = np.flatnonzero(np.any([limit.beyond(q) > 0 for limit in own], axis=0))
        if not len(beyond):
            return q.reshape(*shape, robot.nq)
        q[beyond] = robot.random_states(len(beyond), draw)[0]
    raise ModelError(
        f"'{robot.name}' is hardly ever within its joints' limits near its reference "
        f"{np.round(robot.reference, 3).tolist()}; close it with another guess."
    )


def integrate(robot: ClosedRobot, q: Any, dv: Any) -> Array:
    """Closed coordinates (..., nq) after the independent joints have moved by dv (..., nv)."""
    starts, ways = arrays("integrate", q=(q, robot.nq), dv=(dv, robot.nv))
    shape = np.broadcast_shapes(starts.shape[:-1], ways.shape[:-1])
    starts = np.broadcast_to(starts, (*shape, robot.nq))
    ways = np.broadcast_to(ways, (*shape, robot.nv))
    moved = np.empty_like(starts)
    for k in np.ndindex(shape):
        moved[k] = _followed(robot, starts[k].astype(float), ways[k].astype(float))
    return moved


def _followed(robot: ClosedRobot, q: Array, way: Array) -> Array:
    """The other joints follow a little at a time, so that they stay on their branch."""
    parts = 1 + int(np.abs(robot.speeds(q, way)).max(initial=0.0) / _LONGEST)
    for _ in range(parts):
        there = configuration.integrate(robot.model, q, robot.speeds(q, way / parts))
        q = robot.assembly.nearest(there, robot.mechanism.independent)
        if not robot.assembly.is_closed(q):
            raise InputError(
                f"integrate: '{robot.name}' cannot move {', '.join(robot.independent)} by "
                f"{np.round(way, 6).tolist()}: its loops do not close on the way there."
            )
    return q


def difference(robot: ClosedRobot, q1: Any, q2: Any) -> Array:
    """How far (..., nv) the independent joints move from q1 to q2."""
    for c in robot.constraints:
        if c.closures < len(c.rows):
            raise InputError(
                f"'{robot.name}': the displacement from one configuration to another depends on "
                f"the path between them, as '{c.name}' forbids velocities and not positions."
            )
    states = arrays("difference", q1=(q1, robot.nq), q2=(q2, robot.nq))
    return configuration.difference(robot.model, *states)[..., list(robot.mechanism.independent)]
