"""What inverse kinematics refuses, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.kinematics.goal import Goal, TaskRequest
from appell.control.kinematics.least_squares import NearestPositions, solve
from appell.control.kinematics.tasks import Task
from appell.errors import InputError
from appell.robots.robot import Array

NEAR_SINGULAR = 0.02  # a joint may then turn 50 times as fast as the frame moves


class UnreachableError(InputError):
    """A pose, or another target, that no joint positions reach.

    ``index`` is its place in a batch; ``q`` are the positions that come nearest, ``distance`` (m)
    and ``angle`` (rad) what is missing there, of all tasks of priority 0 together.
    """

    def __init__(
        self, message: str, index: tuple[int, ...], q: Array, distance: float, angle: float
    ) -> None:
        super().__init__(message)
        self.index, self.q, self.distance, self.angle = index, q, distance, angle

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.index, self.q, self.distance, self.angle)


class SingularWarning(UserWarning):
    """Near a singularity joints move fast for small motions of the frame."""


def refuse(
    asked: TaskRequest, bad: npt.NDArray[np.bool_], found: NearestPositions | None = None
) -> None:
    """Say how far one of the bad poses is out of reach: the worst, where ``found`` knows it."""
    (out,) = np.nonzero(bad)
    if not len(out):
        return
    goal = asked.goal
    if found is None:  # the closed form does not
        worst, k = int(out[0]), 0
        one, start = goal.of(out[:1]), asked.start[out[:1]]
        found = solve(one, start, asked.limits, 0.0, 10, np.random.default_rng(0))
    else:
        worst = k = int(out[np.argmax(found.missing[out])])
    q, distance, angle = found.q[k], float(found.distance[k]), float(found.angle[k])
    one = goal.of(np.array([worst]))
    if goal.stack.loops is not None:  # what came nearest may have opened them
        q = goal.stack.loops.nearest(q)
        distance, angle = one.missing(q)
    what = "poses" if asked.alone else "targets"
    others = f" {len(out)} of {len(goal.target)} {what} are out of reach." if len(out) > 1 else ""
    raise UnreachableError(
        f"'{goal.stack.system.name}' does not reach {_told(asked, worst, one, q, distance, angle)}"
        + (", widen the joints' limits" if np.isfinite(asked.limits).any() else "")
        + f", or give another start.{others}",
        tuple(int(i) for i in np.unravel_index(worst, asked.shape)),
        q,
        distance,
        angle,
    )


def _told(
    asked: TaskRequest, worst: int, one: Goal, q: Array, distance: float, angle: float
) -> str:
    """What is not reached, and by how much."""
    if not np.isfinite(distance + angle):
        return (
            f"{asked.name(worst)}: what is missing has no value at any positions that were tried, "
            "as with a quaternion of zeros, or a gaze at a point straight behind the frame or at "
            "its origin. Allow more restarts"
        )
    if asked.alone:
        turned = f" and {_shown(angle)} rad" if asked.alone.part.kind == "pose" else ""
        x, y, z = wanted = one.target[0, [3, 7, 11] if turned else [0, 1, 2]]
        nearest = wanted - one.error(q[None])[0, :3]
        return (
            f"{asked.name(worst)} at ({x:.4g}, {y:.4g}, {z:.4g}) m: what comes nearest is "
            f"({', '.join(map(_shown, nearest))}) m, {distance:.4g} m{turned} away. Move the pose "
            "there"
        )
    stack, e = one.stack, one.error(q[None])[0, : one.rows]
    missed = []
    for i, task in enumerate(asked.tasks):
        rows = stack.task[: one.rows] == i
        if rows.any():
            parts = [e[rows & (stack.angular[: one.rows] == angular)] for angular in (False, True)]
            lengths = [
                f"{_shown(float(np.linalg.norm(part)))} {unit}"
                for part, unit in zip(parts, ("m", "rad"), strict=True)
                if len(part)
            ]
            missed.append(f"{_label(task)} by {' and '.join(lengths)}")
    return (
        f"{asked.name(worst)}: where it comes nearest it misses {', '.join(missed)}. Move these, "
        "leave some components out by a mask, give some a lower priority (a larger number)"
    )


def _label(task: Task) -> str:
    of = getattr(task.part.frame, "link", task.part.frame)
    return f"{type(task).__name__}({of!r})" if of is not None else type(task).__name__


def _shown(x: float) -> str:
    """A number without what is only rounding."""
    return f"{0 if abs(x) <= 1e-6 else x:.4g}"


def refuse_branch(asked: TaskRequest, branch: str, reached: npt.NDArray[np.bool_]) -> None:
    """Say which pose the branch does not reach, if there is one."""
    (out,) = np.nonzero(~reached)
    if len(out):
        raise InputError(
            f"the branch {branch} of '{asked.robot.name}' does not reach "
            f"{asked.name(int(out[0]))}, though another one does; use branch='nearest'."
        )


def refuse_limits(
    asked: TaskRequest, branch: str, q: Array, allowed: npt.NDArray[np.bool_], arm: list[int]
) -> None:
    """Say which pose is reached beyond the joints' limits only, if there is one."""
    (out,) = np.nonzero(~allowed)
    if not len(out):
        return
    k = int(out[0])
    low, high = (side[arm] for side in asked.limits)
    excess = np.maximum(low - q[k], q[k] - high)
    j = int(np.argmax(excess))
    joint = asked.robot.model.joints[arm[j]]
    which = "every branch" if branch == "nearest" else f"the branch {branch}"
    unit = "rad" if joint.screw.angle else "m"
    raise InputError(
        f"'{asked.robot.name}' reaches {asked.name(k)} only beyond its limits: {which} needs "
        f"joint '{joint.name}' at {q[k, j]:.4g} {unit} (nearest), {excess[j]:.4g} beyond "
        f"[{joint.lower:.4g}, {joint.upper:.4g}]. Move the pose, or use limits=False."
    )


def warn_near_singular(asked: TaskRequest, q: Array) -> None:
    """Warn of the positions that are nearest to a singularity, if any is near one."""
    robot, task = asked.robot, asked.alone
    if task is None or not len(q) or not len(ways := _ways(asked.goal, q)):
        return
    J = robot.kernel("jacobian", frame=task.frame)(q)[:, ways]
    if asked.goal.stack.loops is None:
        J = J[..., asked.goal.stack.moving]
    undefined = np.isnan(J).any(axis=(-1, -2))  # of a robot with loops that is itself singular
    smallest = np.linalg.svd(np.nan_to_num(J), compute_uv=False)[:, -1]
    smallest = np.where(undefined, 0.0, smallest)
    k = int(np.argmin(smallest))
    if smallest[k] < NEAR_SINGULAR:
        near = int((smallest < NEAR_SINGULAR).sum())
        more = f" (and {near - 1} more)" if near > 1 else ""
        warn_of_singularity(f"at {asked.name(k)}{more}", robot.name, float(smallest[k]))


def _ways(goal: Goal, q: Array) -> npt.NDArray[np.intp]:
    """The directions and axes in which the frame can move at all: in a plane two and one. What
    does not move here, nor a little way off, does not."""
    draw = np.random.default_rng(0)
    beside = goal.moved(q, draw.uniform(-0.1, 0.1, (len(q), goal.stack.system.size("n"))))
    J = np.concatenate([goal.stack(x, goal.target)[1] for x in (q, beside)])
    return np.flatnonzero(np.nanmax(np.abs(J), axis=(0, 2)) > 1e-9)


def warn_of_singularity(where: str, robot: str, value: float) -> None:
    """Warn of a place where the smallest singular value is small."""
    faster = f"{1 / value:.3g}" if value > 1e-12 else "infinitely many"
    warnings.warn(
        f"{where} '{robot}' is near a singularity: the smallest singular value of its "
        f"Jacobian is {value:.3g}, so a joint may have to turn {faster} times as fast as the frame "
        "moves.",
        SingularWarning,
        stacklevel=4,
    )
