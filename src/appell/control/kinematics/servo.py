"""One step of a servo loop: joint velocities that serve tasks, within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from appell.control.kinematics.bounded import Level, prioritised
from appell.control.kinematics.goal import tasks_of
from appell.control.kinematics.task_stack import TaskStack, task_stack
from appell.control.kinematics.tasks import Task
from appell.errors import InputError, quoted
from appell.given import is_number, number
from appell.given import limits as speed_limits
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics, refuse_no_robot
from appell.robots.robot import Array, Numbers


def servo(
    robot: Dynamics,
    q: Numbers,
    tasks: Task | Sequence[Task] | Mapping[Any, Numbers],
    *,
    dt: float,
    limits: bool = True,
    speed: Numbers | None = None,
    damping: float = 0.02,
) -> Array:
    """Velocities with which a robot does its tasks for the next ``dt`` seconds.

    Each task asks for its ``velocity`` and, if it has a target, for ``gain`` times what is missing.
    Tasks of priority 0 are served first, as well as can be; those of 1 by what that leaves free,
    and so on; of velocities that serve all alike, the smallest are taken. Loops stay closed and
    wheels do not slip, before all tasks. No joint passes its limits within dt, nor its speed limit.

    Args:
        robot: Any robot.
        q: Where it is, (nq,), rad or m.
        tasks: One task or several, or ``{frame: pose}``, poses (4, 4) in m.
        dt: The time to the next step, s.
        limits: Whether limits of positions and speeds count.
        speed: In the place of the joints' speed limits, rad/s or m/s: a number, or one for each of
            the tree's speeds.
        damping: Near singularities, where singular values of the tasks' Jacobian are below it, no
            unit (or below what a long step needs), motions along these are slowed down; 0 lets them
            be.

    Returns:
        v, (nv,), rad/s and m/s.

    Examples:
        >>> puma = appell.load("puma560")
        >>> q = np.array([0.1, -0.8, 0.3, 0.2, 0.7, 0.1])
        >>> up = appell.control.FrameTask(velocity=[0, 0, 0.1, 0, 0, 0])
        >>> v = appell.control.servo(puma, q, up, dt=0.01)
        >>> print(np.round(puma.jacobian(q) @ v, 6)[2])
        0.1
    """
    refuse_no_robot("servo", robot)
    if not is_number(damping) or not 0 <= damping < np.inf:
        raise InputError(f"servo: damping = {quoted(damping)}; expected a number, zero or more.")
    several = (tasks,) if isinstance(tasks, Task) else tasks_of(tasks)
    stack = task_stack(robot, several)
    period = number("servo: dt", dt)
    here = q if type(q) is np.ndarray and q.dtype == np.float64 else _state(q)
    if here.shape != (robot.nq,):
        raise InputError(f"servo: q has shape {here.shape}; expected ({robot.nq},), one state.")
    if stack.gain.max() * period > 1:
        raise InputError(
            f"servo: a gain of {stack.gain.max():g}/s passes the target within dt = {period:g} s; "
            f"expected at most 1 / dt, {1 / period:g}."
        )
    target = stack.target(several)
    if target.ndim > 1:
        raise InputError(f"servo: targets of shape {target.shape[:-1]}; expected one state's.")
    e, J = stack.plain(stack.singles, here, target)
    b = stack.gain * e
    if any(task.wanted is not None for task in several):
        b += _velocity(stack, several)
    b *= stack.weight
    J *= stack.weight[:, None]
    if not isfinite(b @ b) or not isfinite(np.vdot(J, J)):
        raise InputError(
            f"servo: q = {quoted(here.tolist())} of '{robot.name}' gives no numbers; expected "
            "finite coordinates at which the robot can be, and no gaze straight away from a point."
        )
    levels = [
        Level(J[i:j], b[i:j], _damping(damping, b[i:j], period))
        for i, j in zip((0, *stack.ends), stack.ends, strict=False)
    ]
    if stack.loops is not None:
        rows = stack.loops.rows(here)
        levels.insert(0, Level(rows, np.zeros(len(rows))))
    v = prioritised(levels, *_bounds(stack, here, period, limits, speed))
    return v[list(robot.mechanism.independent)] if isinstance(robot, ClosedRobot) else v


def _damping(damping: float, b: Array, dt: float) -> float:
    """The singular values s below which motions are slowed down.

    Along such a direction s changes by about as much as a joint moves (of an arm of 1 m), so a
    step v dt = s b dt / damping^2 passes the place where s vanishes if damping^2 < b dt, and the
    arm trembles there if it is less than half of that."""
    return max(damping, 0.5 * sqrt(dt * sqrt(b @ b))) if damping else 0.0


def _state(q: Any) -> Array:
    try:
        return np.array(q, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"servo: q = {quoted(q)}; expected real numbers.") from None


def _velocity(stack: TaskStack, tasks: Sequence[Task]) -> Array:
    """The velocities that tasks ask for, by row."""
    parts = []
    for task, rows in zip(tasks, stack.rows, strict=True):
        given = np.zeros(rows) if task.wanted is None else task.wanted
        if given.shape != (rows,):
            raise InputError(
                f"{type(task).__name__}: velocity has shape {given.shape}; expected ({rows},)."
            )
        parts.append(given)
    return np.concatenate(parts)[stack.order]


def _bounds(
    stack: TaskStack, q: Array, dt: float, limited: bool, speed: Any
) -> tuple[Array, Array]:
    """The least and the largest speeds. What is beyond a limit comes back as fast as it may."""
    n = len(stack.speed)
    most = stack.speed if limited else np.full(n, np.inf)
    if speed is not None:
        most = speed_limits("servo: speed", speed, n)
    if not limited:
        return -most, most
    x = q[stack.places]
    low, high = (stack.low - x) / dt, (stack.high - x) / dt
    return np.minimum(np.maximum(low, -most), most), np.maximum(np.minimum(high, most), -most)
