"""What inverse kinematics refuses, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.kinematics.goal import Goal, PoseRequest, moving
from appell.control.kinematics.least_squares import NearestPositions, solve
from appell.errors import InputError
from appell.robots.robot import Array

NEAR_SINGULAR = 0.02  # a joint may then turn 50 times as fast as the frame moves


class UnreachableError(InputError):
    """A pose that no joint positions reach.

    ``index`` is its place in a batch; ``q`` are the positions that come nearest, ``distance`` (m)
    and ``angle`` (rad) what is missing there.
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
    asked: PoseRequest, bad: npt.NDArray[np.bool_], found: NearestPositions | None = None
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
        worst = k = int(out[np.argmax(np.hypot(found.distance[out], found.angle[out]))])
    q, distance, angle = found.q[k], float(found.distance[k]), float(found.angle[k])
    if goal.loops is not None:  # what came nearest may have opened them
        q = goal.loops.nearest(q)
        distance, angle = goal.of(np.array([worst])).missing(q)
    nearest = goal.robot.forward_kinematics(q, goal.frame)[:3, 3]
    x, y, z = goal.pose[worst, :3, 3]
    turned = "" if goal.place else f" and {_shown(angle)} rad"
    others = f" {len(out)} of {len(goal.pose)} poses are out of reach." if len(out) > 1 else ""
    raise UnreachableError(
        f"'{goal.robot.name}' does not reach {asked.name(worst)} at ({x:.4g}, {y:.4g}, {z:.4g}) m: "
        f"what comes nearest is ({', '.join(map(_shown, nearest))}) m, {distance:.4g} m"
        f"{turned} away. Move the pose there"
        + (", widen the joints' limits" if np.isfinite(asked.limits).any() else "")
        + f", or give another start.{others}",
        tuple(int(i) for i in np.unravel_index(worst, asked.shape)),
        q,
        distance,
        angle,
    )


def _shown(x: float) -> str:
    """A number without what is only rounding."""
    return f"{x if abs(x) > 1e-6 else 0:.4g}"


def refuse_branch(asked: PoseRequest, branch: str, reached: npt.NDArray[np.bool_]) -> None:
    """Say which pose the branch does not reach, if there is one."""
    (out,) = np.nonzero(~reached)
    if len(out):
        raise InputError(
            f"the branch {branch} of '{asked.goal.robot.name}' does not reach "
            f"{asked.name(int(out[0]))}, though another one does; use branch='nearest'."
        )


def refuse_limits(
    asked: PoseRequest, branch: str, q: Array, allowed: npt.NDArray[np.bool_], arm: list[int]
) -> None:
    """Say which pose is reached beyond the joints' limits only, if there is one."""
    (out,) = np.nonzero(~allowed)
    if not len(out):
        return
    k = int(out[0])
    low, high = (side[arm] for side in asked.limits)
    excess = np.maximum(low - q[k], q[k] - high)
    j = int(np.argmax(excess))
    joint = asked.goal.robot.model.joints[arm[j]]
    which = "every branch" if branch == "nearest" else f"the branch {branch}"
    unit = "rad" if joint.screw.angle else "m"
    raise InputError(
        f"'{asked.goal.robot.name}' reaches {asked.name(k)} only beyond its limits: {which} needs "
        f"joint '{joint.name}' at {q[k, j]:.4g} {unit} (nearest), {excess[j]:.4g} beyond "
        f"[{joint.lower:.4g}, {joint.upper:.4g}]. Move the pose, or use limits=False."
    )


def warn_near_singular(asked: PoseRequest, q: Array) -> None:
    """Warn of the positions that are nearest to a singularity, if any is near one."""
    goal = asked.goal
    if not len(q) or not len(ways := _ways(goal, q)):
        return
    J = asked.robot.kernel("jacobian", frame=goal.frame)(q)[:, ways]
    if goal.loops is None:
        J = J[..., moving(goal)]
    undefined = np.isnan(J).any(axis=(-1, -2))  # of a robot with loops that is itself singular
    smallest = np.linalg.svd(np.nan_to_num(J), compute_uv=False)[:, -1]
    smallest = np.where(undefined, 0.0, smallest)
    k = int(np.argmin(smallest))
    if smallest[k] < NEAR_SINGULAR:
        near = int((smallest < NEAR_SINGULAR).sum())
        more = f" (and {near - 1} more)" if near > 1 else ""
        warn_of_singularity(f"at {asked.name(k)}{more}", goal, float(smallest[k]))


def _ways(goal: Goal, q: Array) -> npt.NDArray[np.intp]:
    """The directions and axes in which the frame can move at all: in a plane two and one. What
    does not move here, nor a little way off, does not."""
    draw = np.random.default_rng(0)
    beside = goal.moved(q, draw.uniform(-0.1, 0.1, (len(q), goal.robot.nv)))
    J = goal.robot.kernel("jacobian", frame=goal.frame)(np.concatenate([q, beside]))
    moves = np.nanmax(np.abs(J), axis=(0, 2)) > 1e-9
    return np.flatnonzero(moves[: 3 if goal.place else 6])


def warn_of_singularity(where: str, goal: Goal, value: float) -> None:
    """Warn of a place where the smallest singular value is small."""
    faster = f"{1 / value:.3g}" if value > 1e-12 else "infinitely many"
    warnings.warn(
        f"{where} '{goal.robot.name}' is near a singularity: the smallest singular value of its "
        f"Jacobian is {value:.3g}, so a joint may have to turn {faster} times as fast as the frame "
        "moves.",
        SingularWarning,
        stacklevel=4,
    )
