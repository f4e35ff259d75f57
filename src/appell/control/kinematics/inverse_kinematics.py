"""Inverse kinematics: joint positions that put frames in poses, or serve other tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.kinematics.closed_form import closed_form, has_closed_form, spherical_arm
from appell.control.kinematics.goal import TaskRequest, Tasks, read
from appell.control.kinematics.least_squares import solve
from appell.control.kinematics.lower_priorities import settled
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.control.kinematics.unreachable import (
    refuse,
    refuse_branch,
    refuse_limits,
    warn_near_singular,
)
from appell.errors import InputError
from appell.given import one_of
from appell.model.model import FrameName
from appell.robots.dynamics import Dynamics, refuse_no_robot
from appell.robots.robot import Array, Numbers, Robot, is_tree

_REACH = 1e-14  # of the square of the arm's size: squares of lengths by rounding
_SLACK = 1e-9  # rad or m by which a limit may be passed
_FAR = 1e9  # what is beyond the limits is taken last


def inverse_kinematics(
    robot: Dynamics,
    pose: Tasks,
    start: Numbers | None = None,
    *,
    branch: str = "nearest",
    frame: FrameName | None = None,
    method: str = "auto",
    limits: bool = True,
    tolerance: float = 1e-9,
    restarts: int = 50,
    seed: int = 0,
) -> Array:
    """Coordinates that put a frame in a pose.

    An arm with a spherical wrist has a closed form. Other robots are solved by damped least squares
    from ``start``, and from random positions where that fails. A pose out of reach raises
    UnreachableError, which says how far; near a singularity a SingularWarning is given, unless all
    branches are asked for.

    Args:
        robot: Any robot.
        pose: Poses (..., 4, 4) in the base's axes; positions (..., 3), which leave the frame's axes
            open; several frames as ``{frame: pose}``; or a list of tasks: `FrameTask` (with masks,
            relative to other frames), `CentreOfMassTask`, `GazeTask`, `PostureTask`. Tasks of
            priority 0 are reached; those of 1 and more come as near as the smaller numbers let
            them.
        start: Coordinates, (..., nq), rad or m, to begin with; without them the middle of the
            limits, or where a robot with loops was closed.
        branch: Of a closed form: one of its eight ways to reach a pose (see `BRANCHES`), "nearest"
            to ``start``, or "all", (..., 8, 6), whatever the limits, NaN where one does not reach.
        frame: A link's name or an `appell.Frame`; the tip without it.
        method: "closed", "numeric", or "auto": a closed form where there is one.
        limits: Whether joints stay within their limits.
        tolerance: Of the numerical solution, m and rad.
        restarts: How many random positions are tried.
        seed: Of these.

    Returns:
        Coordinates, (..., nq), rad or m. The loops of a robot are closed there.

    Examples:
        >>> puma = appell.load("puma560")
        >>> pose = puma.forward_kinematics([0.1, -0.8, 0.3, 0.2, 0.7, 0.1])
        >>> q = appell.control.inverse_kinematics(puma, pose, start=[0, -0.7, 0.2, 0, 0.5, 0])
        >>> print(np.round(q, 6))
        [ 0.1 -0.8  0.3  0.2  0.7  0.1]
    """
    refuse_no_robot("inverse_kinematics", robot)
    asked = read(robot, pose, start, frame, limits)
    alone = asked.alone
    _check_options(branch, method, tolerance, restarts)
    closed = method == "closed" or (
        method == "auto"
        and alone is not None
        and alone.part.kind == "pose"
        and is_tree(robot)
        and has_closed_form(robot, alone.frame)
    )
    if method == "closed":
        if not is_tree(robot):
            raise InputError(
                f"'{robot.name}' has loops, and no closed form here; leave method out."
            )
        if alone is None:
            raise InputError("method='closed' is for one pose in the base; leave method out.")
        spherical_arm(robot, alone.frame)  # says why there is none
        if alone.part.kind == "position":
            raise InputError(
                "a position alone leaves the wrist open, so it has no closed form; give poses "
                "(..., 4, 4), or use method='numeric'."
            )
    if branch != "nearest" and not closed:
        raise InputError(
            f"branch={branch!r}: only an arm with a spherical wrist has branches; leave it out, "
            "and give the start from which a solution is to be sought."
        )
    found = _closed(asked, branch) if closed else _numeric(asked, tolerance, restarts, seed)
    if branch != "all":
        warn_near_singular(asked, found)
    return found.reshape(asked.shape + found.shape[1:])


def _closed(asked: TaskRequest, branch: str) -> Array:
    """By the closed form; coordinates that do not move the frame stay as they start."""
    robot, task = asked.robot, asked.alone
    assert isinstance(robot, Robot)
    assert task is not None
    fitted = spherical_arm(robot, task.frame)
    arm = list(fitted.coordinates)
    q, beyond = closed_form(robot, task.frame)(asked.pose)
    reached: Any = np.repeat(beyond <= _REACH * fitted.arm.size**2, 2, axis=-1)
    refuse(asked, ~reached.any(axis=-1))
    if branch == "all":
        q[~reached] = np.nan
        return q
    start = asked.start[:, None, arm]
    low, high = (side[arm] for side in asked.limits)
    turning = np.array([robot.model.joints[k].screw.periodic for k in arm])
    q = np.where(turning, _turned(q, start, low, high), q)
    allowed: Any = ((q >= low - _SLACK) & (q <= high + _SLACK)).all(axis=-1)
    if branch != "nearest":
        chosen = np.full(len(q), list(BRANCHES).index(branch))
        refuse_branch(asked, branch, reached[:, chosen[0]])
    else:
        distance = np.linalg.norm(q - start, axis=-1) + np.where(allowed, 0.0, _FAR)
        chosen = np.argmin(np.where(reached, distance, np.inf), axis=-1)
    rows = np.arange(len(q))
    refuse_limits(asked, branch, q[rows, chosen], allowed[rows, chosen], arm)
    full = asked.start.copy()
    full[:, arm] = np.clip(q[rows, chosen], low, high)
    return full


def _numeric(asked: TaskRequest, tolerance: float, restarts: int, seed: int) -> Array:
    draw = np.random.default_rng(seed)
    found = solve(asked.goal, asked.start, asked.limits, tolerance, restarts, draw)
    refuse(asked, ~found.within(tolerance), found)
    return settled(asked.goal, found.q, asked.limits, tolerance)


def _turned(q: Array, start: Array, low: Array, high: Array) -> Array:
    """Angles moved by whole turns towards the start, within the limits where they can be."""
    turn = 2 * np.pi
    least = np.ceil((low - _SLACK - q) / turn)
    most = np.floor((high + _SLACK - q) / turn)
    turns = np.round((start - q) / turn)
    return q + turn * np.where(least <= most, np.clip(turns, least, most), turns)


def _check_options(branch: Any, method: Any, tolerance: Any, restarts: Any) -> None:
    one_of("branch", branch, ("nearest", "all", *BRANCHES))
    one_of("method", method, ("auto", "closed", "numeric"))
    if not isinstance(tolerance, int | float) or not 1e-13 <= tolerance < 1:
        raise InputError(f"tolerance={tolerance!r}; expected m and rad, from 1e-13 to below 1.")
    if not isinstance(restarts, int | np.integer) or restarts < 0:
        raise InputError(f"restarts={restarts!r}; expected a whole number, zero or more.")
