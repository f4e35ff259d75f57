"""Random states of any robot that has a regressor."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.constraints.closed import ClosedRobot
from appell.errors import InputError
from appell.model.model import FREE, Joint
from appell.parallel.agile_wrist import AgileWrist
from appell.robot import Robot

Array = npt.NDArray[np.float64]


def random_states(robot: Any, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """q, v and a, (count, ...): positions within the limits of a tree's joints (half a turn or 3 m
    both ways where a joint has none), or about where a closed robot can be; speeds and
    accelerations of the size of one, the speeds within their limits."""
    q, v, a = states_anywhere(robot, count, seed)
    joints = getattr(robot.model, "joints", ())
    if isinstance(robot, ClosedRobot) or not joints:
        return q, v, a
    free = q.shape[1] - robot.nv  # a free base has a coordinate more than speeds, and no limits
    for k, joint in list(enumerate(joints))[FREE if robot.model.free else 0 :]:
        low, high = _range(joint)
        q[:, k + free] = low + (q[:, k + free] / np.pi + 1) / 2 * (high - low)
        v[:, k] = np.clip(v[:, k], -joint.speed, joint.speed)
    return q, v, a


def _range(joint: Joint) -> tuple[float, float]:
    """Where a joint may be, of a joint without limits half a turn or 3 m both ways."""
    low, high = joint.lower, joint.upper
    if isfinite(low) and isfinite(high):
        return low, high
    if isfinite(low) or isfinite(high):
        return (low, low + 2 * np.pi) if isfinite(low) else (high - 2 * np.pi, high)
    return -np.pi, np.pi


def states_anywhere(
    robot: Any, count: int, seed: int = 0, size: float = 1.0
) -> tuple[Array, Array, Array]:
    """The same whatever the limits, as they are no part of the dynamics; slides by ``size``, m."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or count < 0:
        raise InputError(f"random_states({count!r}): expected a whole number of states, 0 up.")
    if not hasattr(robot, "nq"):
        raise InputError(f"random_states: a {type(robot).__name__} is no robot; give one.")
    draw = np.random.default_rng(seed)
    if isinstance(robot, ClosedRobot):
        q = np.asarray(robot.random_states(count, seed)[0], dtype=np.float64)
    elif isinstance(robot, AgileWrist):
        q = draw.uniform(-0.3, 0.3, (count, robot.nq))
    else:
        q = draw.uniform(-np.pi, np.pi, (count, robot.nq))
        if robot.model.free:
            q[:, 3:7] = draw.normal(size=(count, 4))
            q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, a = draw.normal(size=(2, count, robot.nv))
    if isinstance(robot, Robot) and not isinstance(robot, ClosedRobot):
        slides = [k for k, j in enumerate(robot.model.joints) if j.kind == "prismatic"]
        for x, shift in ((q, q.shape[1] - robot.nv), (v, 0), (a, 0)):
            # A free base's own three come before the quaternion.
            x[:, [k + shift * (k >= FREE) for k in slides]] *= size
    return q, v, a
