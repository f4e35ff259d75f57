"""What inverse kinematics is asked: poses, and from where."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.model.model import BASE
from appell.robots.robot import Array, Numbers, Robot


class Goal(NamedTuple):
    """Poses (N, 4, 4) of a frame; with ``place`` alone its axes do not matter."""

    robot: Robot
    frame: str | None
    pose: Array
    place: bool

    def of(self, chosen: npt.NDArray[np.intp]) -> Goal:
        return self._replace(pose=self.pose[chosen])

    def error(self, q: Array) -> Array:
        """(N, 6): what is missing in m and, as a rotation vector in the base's axes, in rad."""
        T = self.robot.forward_kinematics(q, self.frame)
        linear = self.pose[:, :3, 3] - T[:, :3, 3]
        if self.place:
            return linear
        turn = self.pose[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
        return np.concatenate([linear, rotation_vector(turn)], axis=-1)

    def jacobian(self, q: Array) -> Array:
        J = self.robot.jacobian(q, self.frame)
        return J[:, :3] if self.place else J


class PoseRequest(NamedTuple):
    """What is wanted: poses (N, 4, 4) of a batch of some shape, and from where, (N, n)."""

    goal: Goal
    start: Array
    limits: tuple[Array, Array]
    shape: tuple[int, ...]

    def name(self, k: int) -> str:
        where = tuple(int(i) for i in np.unravel_index(k, self.shape))
        return f"pose {list(where)}" if self.shape else "the pose"


def rotation_vector(R: Array) -> Array:
    """Axis times angle, (..., 3), of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    if not R.size:
        return np.zeros(R.shape[:-1])
    return Rotation.from_matrix(R.reshape(-1, 3, 3)).as_rotvec().reshape(R.shape[:-1])


def moving(goal: Goal) -> npt.NDArray[np.bool_]:
    """Which coordinates move the frame."""
    model = goal.robot.model
    path = model.ancestors[model.frame(goal.frame).body]
    return np.isin(np.arange(model.nv), [model.bodies[i].coordinate for i in path])


def least_singular_values(goal: Goal, q: Array) -> Array:
    """The smallest singular value of the Jacobian of the coordinates that move the frame, (N,)."""
    return np.linalg.svd(goal.jacobian(q)[..., moving(goal)], compute_uv=False)[:, -1]


def read(
    robot: Robot, pose: Numbers, start: Numbers | None, frame: str | None, limited: bool
) -> PoseRequest:
    """What was given, checked."""
    model = robot.model
    if model.free:
        raise InputError(
            f"'{robot.name}' floats: any pose is reached by moving its base, so it has no inverse "
            "kinematics here."
        )
    if robot.nv != model.nv:
        raise InputError(
            f"'{robot.name}' has loops; robot.inverse_kinematics gives its positions where there "
            "is one, robot.assemble(q) closes the loops of any other."
        )
    tip = model.frame(frame)
    if tip.body == BASE:
        raise InputError(f"frame '{tip.name}' stands still; name one that joints move.")
    T, place = _poses(pose)
    low = np.array([joint.lower for joint in model.joints])
    high = np.array([joint.upper for joint in model.joints])
    middle = [_middle(joint.lower, joint.upper) for joint in model.joints]
    if not limited:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    begin = _start(middle if start is None else start, model.nv, T.shape[:-2])
    shape = T.shape[:-2]
    return PoseRequest(
        Goal(robot, frame, T.reshape(-1, 4, 4), place),
        begin.reshape(-1, model.nv).copy(),
        (low, high),
        shape,
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


def refuse_crooked(what: str, T: Array) -> None:
    """Refuse matrices (..., 4, 4) that are not homogeneous."""
    R = T[..., :3, :3]
    crooked = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    if crooked > 1e-6 or (np.linalg.det(R) < 0).any():
        raise InputError(
            f"{what}: its axes are not a rotation: R^T R differs from 1 by {crooked:.3g}, or R is "
            "a reflection; expected orthonormal right-handed axes."
        )
    if np.abs(T[..., 3, :] - [0, 0, 0, 1]).max(initial=0.0) > 1e-9:
        raise InputError(f"{what}: the last row of a homogeneous matrix is 0, 0, 0, 1.")


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
