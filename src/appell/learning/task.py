"""What is to be learned: where episodes start, what they aim at, what is rewarded.

Functions of arrays whose first axis is the environments, so that a thousand cost little more than
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.robots.dynamics import Array, Dynamics

Draw = np.random.Generator


@dataclass(frozen=True)
class Task:
    """The functions of a task.

    Attributes:
        start: ``start(rng, count)`` gives positions and velocities where episodes begin, (count,
            nq) and (count, nv).
        reward: ``reward(q, v, tau, goal)`` gives (count,) numbers.
        goal: ``goal(rng, count)`` gives what an episode aims at, (count, g) numbers, which are part
            of the observation; without it there are none, (count, 0).
        terminated: ``terminated(q, v, goal)`` tells which episodes end there, (count,); without it
            they end by time alone, or because a simulation failed.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> task = appell.learning.Task(
        ...     start=lambda rng, count: (arm.random(rng, count), np.zeros((count, 2))),
        ...     reward=lambda q, v, tau, goal: -np.abs(q).sum(-1),
        ... )
        >>> appell.learning.VectorEnv(arm, 4, task=task, torque_limit=5).reset(seed=0)[0].shape
        (4, 4)
    """

    start: Callable[[Draw, int], tuple[Any, Any]]
    reward: Callable[[Array, Array, Array, Array], Any]
    goal: Callable[[Draw, int], Any] | None = None
    terminated: Callable[[Array, Array, Array], Any] | None = None


def reaching(
    robot: Dynamics, frame: str | None = None, *, effort: float = 0.0, speed: float = 0.01
) -> Task:
    """The task to bring the origin of a frame to a place and stay there; without a frame, to bring
    the robot to a configuration.

    Starts and goals are drawn from the robot's configurations (``robot.random``). The reward of a
    step is minus the distance, and minus the costs.

    Args:
        robot: Any.
        frame: A link, or a place on one.
        effort: Cost per N m of the norm of tau.
        speed: Cost per rad/s of the norm of v.

    Returns:
        A `Task`.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> appell.learning.reaching(arm).goal(np.random.default_rng(0), 3).shape
        (3, 2)
    """

    def goal(rng: Draw, count: int) -> Array:
        q = robot.random(rng, count)
        return q if frame is None else place(q)

    def place(q: Any) -> Array:
        return robot.forward_kinematics(q, frame)[..., :3, 3]

    def reward(q: Array, v: Array, tau: Array, goal: Array) -> Array:
        away = apart(robot, q, goal) if frame is None else place(q) - goal
        return -norm(away) - speed * norm(v) - effort * norm(tau)

    goal(np.random.default_rng(0), 1)  # an unknown frame is refused here
    return Task(
        start=lambda rng, count: (robot.random(rng, count), np.zeros((count, robot.nv))),
        reward=reward,
        goal=goal,
    )


def holding(
    robot: Dynamics, q: Any = None, *, spread: float = 0.1, effort: float = 0.0, speed: float = 0.01
) -> Task:
    """The task to hold a configuration, the neutral one if none is given.

    The reward of a step is minus the distance, and minus the costs.

    Args:
        robot: Any.
        q: The configuration, (nq,).
        spread: Episodes start beside it, each joint off by a normal random number of this
            deviation, rad (m).
        effort: Cost per N m of the norm of tau.
        speed: Cost per rad/s of the norm of v.

    Returns:
        A `Task`.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> q, v = appell.learning.holding(arm).start(np.random.default_rng(0), 3)
        >>> q.shape, v.shape
        ((3, 2), (3, 2))
    """
    home = robot.neutral() if q is None else np.asarray(q, dtype=float)
    if home.shape != (robot.nq,):
        raise InputError(f"holding: q has shape {home.shape}; expected ({robot.nq},).")

    def start(rng: Draw, count: int) -> tuple[Array, Array]:
        off = spread * rng.normal(size=(count, robot.nv))
        return robot.integrate(home, off), np.zeros((count, robot.nv))

    def reward(q: Array, v: Array, tau: Array, goal: Array) -> Array:
        return -norm(apart(robot, home, q)) - speed * norm(v) - effort * norm(tau)

    return Task(start, reward)


def apart(robot: Dynamics, start: Array, end: Array) -> Array:
    """The way between configurations: a difference, quickly, where coordinates are the joints'."""
    return end - start if robot.nq == robot.nv else robot.difference(start, end)


def norm(x: Array) -> Array:
    """Of each row."""
    return np.sqrt(np.einsum("ij,ij->i", x, x))
