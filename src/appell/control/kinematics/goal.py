"""What inverse kinematics is asked: poses, and from where."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.given import refuse_crooked
from appell.model import configuration
from appell.model.limits import limits
from appell.model.model import BASE
from appell.robots.closed.assemble import Assembly
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Array, Numbers, Robot, is_tree


class Goal(NamedTuple):
    """Poses (N, 4, 4) of a frame; with ``place`` alone its axes do not matter. ``loops`` are to be
    closed besides: of a robot that has some, ``robot`` is the tree."""

    robot: Dynamics
    frame: str | None
    pose: Array
    place: bool
    loops: Assembly | None = None

    def of(self, chosen: npt.NDArray[np.intp]) -> Goal:
        return self._replace(pose=self.pose[chosen])

    def error(self, q: Array) -> Array:
        """(N, 6): what is missing in m and, as a rotation vector in the base's axes, in rad; and
        how far the loops are open. NaN where the robot cannot be."""
        T = self.robot.kernel("forward_kinematics", frame=self.frame)(q)
        parts = [self.pose[:, :3, 3] - T[:, :3, 3]]
        if not self.place:
            parts.append(rotation_vector(self.pose[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)))
        if self.loops is not None:
            parts.append(-self.loops.opening(q))
        return np.concatenate(parts, axis=-1)

    def missing(self, q: Array) -> tuple[float, float]:
        """Of one pose, what is missing at q in m and in rad, whether loops are closed or not."""
        e = self._replace(loops=None).error(q[None])[0]
        return float(np.linalg.norm(e[:3])), float(np.linalg.norm(e[3:]))

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates (N, nq) after a step (N, nv)."""
        return configuration.integrate(self.robot.model, q, step)

    def normalised(self, q: Array) -> Array:
        return configuration.normalise(self.robot.model, q)

    def of_speeds(self, x: Any) -> Any:
        """What is known of each coordinate, (N, nq), for each speed, (N, nv)."""
        model = self.robot.model
        return (
            x if self.robot.nq == self.robot.nv else x[:, [model.place(k) for k in range(model.nv)]]
        )

    def jacobian(self, q: Array) -> Array:
        """How much of that a step of the coordinates makes good."""
        J = self.robot.kernel("jacobian", frame=self.frame)(q)[:, : 3 if self.place else 6]
        if self.loops is None:
            return J
        return np.concatenate([J, self.loops.slopes(q)], axis=-2)


class PoseRequest(NamedTuple):
    """What is wanted: poses (N, 4, 4) of a batch of some shape, and from where, (N, n)."""

    robot: Dynamics
    goal: Goal
    start: Array
    limits: tuple[Array, Array]
    shape: tuple[int, ...]

    def name(self, k: int) -> str:
        where = tuple(int(i) for i in np.unravel_index(k, self.shape))
        return f"pose {list(where)}" if self.shape else "the pose"


def rotation_vector(R: Array) -> Array:
    """Axis times angle, (..., 3), of rotation matrices (..., 3, 3); NaN of those that hold one."""
    from scipy.spatial.transform import Rotation

    turn = np.full(R.shape[:-1], np.nan)
    known = np.isfinite(R).all(axis=(-1, -2))
    if known.any():
        turn[known] = Rotation.from_matrix(R[known]).as_rotvec()
    return turn


def moving(goal: Goal) -> npt.NDArray[np.bool_]:
    """Which coordinates move the frame."""
    model = goal.robot.model
    if goal.loops is not None or not isinstance(goal.robot, Robot):
        return np.ones(goal.robot.nv, dtype=bool)
    path = model.ancestors[model.frame(goal.frame).body]
    return np.isin(np.arange(model.nv), [model.bodies[i].coordinate for i in path])


def unmoved(goal: Goal) -> list[int]:
    """The coordinates that do not move the frame."""
    still, model = np.flatnonzero(~moving(goal)), goal.robot.model
    return [model.place(k) for k in still if model.is_coordinate[k]]


def read(
    robot: Dynamics, pose: Numbers, start: Numbers | None, frame: str | None, limited: bool
) -> PoseRequest:
    """What was given, checked."""
    if isinstance(robot, Robot):
        _refuse_robot(robot, frame)
    low, high = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    for limit in limits(robot.model) if isinstance(robot, Robot) else ():
        k, x = limit.coordinate, limit.value  # of a joint that mimics another, too
        if limit.side > 0:
            low[k] = max(low[k], x)
        else:
            high[k] = min(high[k], x)
    if start is None:
        start = robot.neutral()
        if is_tree(robot):
            middle = np.array([_middle(*x) for x in zip(low, high, strict=True)])
            start = np.where(np.isfinite(low) | np.isfinite(high), middle, start)
    if not limited:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    T, place = _poses(pose)
    shape = T.shape[:-2]
    begin = _start(start, robot.nq, shape).reshape(-1, robot.nq).copy()
    tree, loops = robot, None
    if isinstance(robot, ClosedRobot):
        tree, loops = Robot(robot.model), robot.assembly
    goal = Goal(tree, frame, T.reshape(-1, 4, 4), place, loops)
    return PoseRequest(robot, goal, begin, (low, high), shape)


def _refuse_robot(robot: Robot, frame: str | None) -> None:
    model = robot.model
    if model.free and is_tree(robot):
        raise InputError(
            f"'{robot.name}' floats: any pose is reached by moving its base, so it has no inverse "
            "kinematics here."
        )
    tip = model.frame(frame)
    if tip.body == BASE:
        raise InputError(f"frame '{tip.name}' stands still; name one that joints move.")
    for c in robot.constraints if isinstance(robot, ClosedRobot) else ():
        if c.closures < len(c.rows):
            raise InputError(
                f"'{robot.name}': '{c.name}' forbids velocities and not positions, so where it can "
                "be is no matter of inverse kinematics."
            )


def _middle(low: float, high: float) -> float:
    """Of the limits, if there are two; else what is nearest to zero."""
    return (low + high) / 2 if np.isfinite(high - low) else min(max(0.0, low), high)


def _poses(pose: Numbers) -> tuple[Array, bool]:
    """Homogeneous matrices, and whether only their places count."""
    try:
        T = np.array(pose, dtype=float)
    except (TypeError, ValueError):
        raise InputError("pose: expected numbers, (..., 4, 4) or (..., 3).") from None
    if T.shape[-2:] != (4, 4) and T.shape[-1:] != (3,):
        raise InputError(
            f"pose has shape {T.shape}; expected homogeneous matrices (..., 4, 4), or positions "
            "(..., 3)."
        )
    if not np.isfinite(T).all():
        raise InputError("pose holds NaN or infinity; expected finite numbers.")
    if T.shape[-2:] != (4, 4):
        whole = np.broadcast_to(np.eye(4), T.shape[:-1] + (4, 4)).copy()
        whole[..., :3, 3] = T
        return whole, True
    refuse_crooked("pose", T)
    return T, False


def _start(start: Any, n: int, shape: tuple[int, ...]) -> Array:
    try:
        x = np.array(start, dtype=float)
        if x.shape[-1:] == (n,) and np.isfinite(x).all():
            return np.broadcast_to(x, (*shape, n))
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"start: expected finite positions of {n} joints, one set or one per pose, "
        f"{(*shape, n)}; got {np.shape(start)}."
    )
