"""Random states of any robot that has a regressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import InputError
from appell.model import configuration
from appell.robots.robot import Array, is_tree


def random_states(robot: Any, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random states: configurations as ``robot.random`` draws them, within the limits of a tree's
    joints or about where a closed robot can be; velocities and accelerations of the size of one,
    the velocities within their limits.

    Args:
        robot: Any robot.
        count: How many.
        seed: Of the generator.

    Returns:
        q, (count, nq), rad or m, v and a, (count, nv), rad/s or m/s and rad/s^2 or m/s^2.

    Examples:
        >>> q, v, a = appell.identify.random_states(appell.load("puma560"), 100)
        >>> q.shape
        (100, 6)
    """
    draw = _generator(robot, count, seed)
    q = robot.random(draw, count)
    v, a = draw.normal(size=(2, count, robot.nv))
    if is_tree(robot):
        fastest = np.array([joint.speed for joint in robot.model.joints])
        v = np.clip(v, -fastest, fastest)
    return q, v, a


def states_anywhere(
    robot: Any, count: int, seed: int = 0, size: float = 1.0
) -> tuple[Array, Array, Array]:
    """The same whatever the limits, as they are no part of the dynamics; slides by ``size``, m."""
    if not is_tree(robot):
        return random_states(robot, count, seed)
    draw, model = _generator(robot, count, seed), robot.model
    q = configuration.random(model, draw, (count,), limited=False, room=np.pi * size)
    v, a = draw.normal(size=(2, count, robot.nv))
    scale = np.array([1.0 if joint.screw.angle else size for joint in model.joints])
    return q, scale * v, scale * a


def _generator(robot: Any, count: int, seed: int) -> np.random.Generator:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or count < 0:
        raise InputError(f"random_states({count!r}): expected a whole number of states, 0 up.")
    if not hasattr(robot, "nq"):
        raise InputError(f"random_states: a {type(robot).__name__} is no robot; give one.")
    return np.random.default_rng(seed)
