"""Where a spherical parallel robot can be when its actuators' angles are given.

Unknown are the platform's orientation and the angles of the passive joints; known is that every
limb ends at the platform. What a limb's end is turned against it, as a rotation vector, changes
with a small turn d of the platform and small turns x of the joints by (sum of axes x) - d:
Newton's method. There may be several solutions (of three limbs with three joints at most eight);
they are found from many starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.model.axes import as_array
from appell.model.spherical import CLOSING, SphericalModel
from appell.robots.dynamics import Numbers

if TYPE_CHECKING:
    from appell.robots.spherical.spherical_robot import SphericalRobot

Array = npt.NDArray[np.float64]

_CLOSED = 1e-13  # rad, which rounding leaves
_ACCEPTED = 1e-12
_LARGEST_TURN = 0.5  # rad
_ITERATIONS = 60
_STARTS = 400
_SAME = 1e-6  # rad; two solutions nearer than that are one


class PlatformAssembly(NamedTuple):
    """Coordinates of the robot, and the branch of (34) that each closing limb is on."""

    q: Array
    branch: str


class PlacedLimbs(NamedTuple):
    """Each limb's axes, (N, joints, 3), and how it would have the platform stand, (N, 3, 3)."""

    axes: list[Array]
    R: list[Array]


def limbs(model: SphericalModel, angles: Array) -> PlacedLimbs:
    """All limbs, with given angles of all joints, limb by limb, (N, joints)."""
    from scipy.spatial.transform import Rotation

    turned = iter(angles.T)
    found = PlacedLimbs([], [])
    for limb in model.limbs:
        frame, axes = np.broadcast_to(as_array(limb.base), (len(angles), 3, 3)), []
        for onward in (*(link.bend for link in limb.links), limb.mount.T):
            axes.append(frame[:, :, 2])
            turn = Rotation.from_rotvec(np.outer(next(turned), [0.0, 0.0, 1.0]))
            frame = frame @ turn.as_matrix() @ as_array(onward)
        found.axes.append(np.stack(axes, axis=1))
        found.R.append(frame)
    return found


def closed(model: SphericalModel, R: Array, angles: Array) -> tuple[Array, Array, Array]:
    """Orientations of the platform (N, 3, 3) and angles near those given that close the loops and
    keep the actuators' angles, and what is left open (N,)."""
    from scipy.spatial.transform import Rotation

    R, angles = R.copy(), angles.copy()
    driven = _places(model, model.actuated)
    free = np.setdiff1d(np.arange(angles.shape[1]), driven)
    starts = np.cumsum([0, *(limb.joints for limb in model.limbs)])
    left, active = np.full(len(R), np.inf), np.arange(len(R))
    for _ in range(_ITERATIONS + 1):
        ends, back = limbs(model, angles[active]), np.swapaxes(R[active], 1, 2)
        turned = [Rotation.from_matrix(end @ back).as_rotvec() for end in ends.R]
        slopes = np.zeros((len(active), len(turned), 3, 3 + starts[-1]))
        slopes[..., :3] = -np.eye(3)
        for i, axes in enumerate(ends.axes):
            slopes[:, i, :, 3 + starts[i] : 3 + starts[i + 1]] = np.swapaxes(axes, 1, 2)
        wrong = np.concatenate(turned, axis=1)
        left[active] = np.abs(wrong).max(axis=-1)
        going = left[active] >= _CLOSED
        active, wrong = active[going], wrong[going]
        if not len(active):
            break
        slope = slopes[going].reshape(len(active), -1, 3 + starts[-1])
        slope = slope[..., np.append([0, 1, 2], 3 + free)]
        step = -np.einsum("nij,nj->ni", np.linalg.pinv(slope), wrong)
        size = np.abs(step).max(axis=-1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_TURN / np.maximum(size, 1e-300))
        R[active] = Rotation.from_rotvec(step[:, :3]).as_matrix() @ R[active]
        angles[np.ix_(active, free)] += step[:, 3:]
    return R, angles, left


def _places(model: SphericalModel, joints: Iterable[tuple[int, int]]) -> list[int]:
    """Where joints stand among all, limb by limb."""
    places = {joint: k for k, joint in enumerate(model.joint_names.values())}
    return [places[joint] for joint in joints]


def branches(model: SphericalModel, angles: Array) -> list[str]:
    """The sign of h = (v x w) . u of each closing limb (39): that of its branch."""
    axes, signs = limbs(model, angles).axes, [[""] * len(angles)]
    for i in model.closing:
        u, w, v = np.moveaxis(axes[i][:, -CLOSING:], 1, 0)
        h = np.einsum("ni,ni->n", np.cross(v, w), u)
        signs.append(["-" if x < 0 else "+" for x in h])
    return ["".join(row) for row in zip(*signs, strict=True)]


def coordinates(model: SphericalModel, R: Array, angles: Array, near: Array | None = None) -> Array:
    """The coordinates of states: Euler angles with |q2| at most 90 degrees and angles of at most
    half a turn, or those nearest to some."""
    to = np.zeros((len(R), model.nq)) if near is None else near
    own = [model.joint_names[name] for name in model.coordinates if name in model.joint_names]
    q = angles[:, _places(model, own)]
    if model.carrier is None:
        q2 = np.arcsin(np.clip(-R[:, 2, 0], -1, 1))
        q1, q3 = np.arctan2(R[:, 1, 0], R[:, 0, 0]), np.arctan2(R[:, 2, 1], R[:, 2, 2])
        first = np.stack([q1, q2, q3], axis=-1)
        second = np.stack([q1 + np.pi, np.pi - q2, q3 + np.pi], axis=-1)
        both = [_nearest(x, to[:, :3]) for x in (first, second)]
        far = [np.abs(x - to[:, :3]).sum(axis=-1, keepdims=True) for x in both]
        euler = first if near is None else np.where(far[0] <= far[1], *both)
        return np.hstack([euler, _nearest(q, to[:, 3:])])
    return _nearest(q, to)


def _nearest(x: Array, to: Array) -> Array:
    """Angles turned by whole turns to come near others."""
    return x + 2 * np.pi * np.round((to - x) / (2 * np.pi))


def _state(robot: SphericalRobot, q: Array) -> tuple[Array, Array]:
    """The platform's orientation and all angles at coordinates (N, n); zero of a limb that does
    not reach."""
    from scipy.spatial.transform import Rotation

    model = robot.model
    c, s = robot.kernel("joint_angles")(q)
    angles = np.zeros((len(q), len(model.joint_names)))
    angles[:, _places(model, model.reported)] = np.nan_to_num(np.arctan2(s, c))
    if model.carrier is None:
        R = Rotation.from_euler("ZYX", q[:, :3]).as_matrix()
    else:
        own = [(model.carrier, j) for j in range(model.carried)]
        angles[:, _places(model, own)] = q[:, : model.carried]
        R = limbs(model, angles).R[model.carrier]
    for i, end in enumerate(limbs(model, angles).R):
        last = (i, model.limbs[i].joints - 1)
        if last not in model.actuated and i != model.carrier:
            # By how much the platform is turned about v against the limb's end.
            mount = as_array(model.limbs[i].mount)
            x = mount.T @ np.swapaxes(end, 1, 2) @ R @ mount
            turn = np.arctan2(x[:, 1, 0] - x[:, 0, 1], x[:, 0, 0] + x[:, 1, 1])
            angles[:, _places(model, [last])[0]] = turn
    return R, angles


def direct_kinematics(robot: SphericalRobot, theta: Numbers, start: Numbers) -> Array:
    """Coordinates (..., n) for actuator angles, from some near them, on the robot's branch."""
    model = robot.model
    count = _enough("direct_kinematics", model)
    given, near = _rows("theta", theta, count), _rows("start", start, model.nq)
    shape = np.broadcast_shapes(given.shape[:-1], near.shape[:-1])
    flat = np.broadcast_to(given, (*shape, count)).reshape(-1, count)
    begin = np.broadcast_to(near, (*shape, model.nq)).reshape(-1, model.nq)
    if not len(flat):
        return np.zeros((*shape, model.nq))
    R, angles = _state(robot, begin)
    angles[:, _places(model, model.actuated)] = flat
    R, angles, left = closed(model, R, angles)
    q = coordinates(model, R, angles, begin)
    for k, (rest, branch) in enumerate(zip(left, branches(model, angles), strict=True)):
        where = f"direct_kinematics: theta = {flat[k].tolist()} from q = {begin[k].tolist()}"
        if not rest < _ACCEPTED:
            raise InputError(
                f"{where}: the loops do not close, {rest:.1e} is left open; start nearer, or "
                "see assemblies(theta) for the poses there are."
            )
        if branch != model.branch:
            raise InputError(
                f"{where}: the pose found, {q[k].tolist()}, is on the branch '{branch}' and "
                f"the robot on '{model.branch}'; start nearer, or ask with_branch('{branch}')."
            )
    return q.reshape(*shape, model.nq)


def assemblies(robot: SphericalRobot, theta: Numbers) -> list[PlatformAssembly]:
    """All poses for one set of actuator angles."""
    from scipy.spatial.transform import Rotation

    model = robot.model
    count = _enough("assemblies", model)
    given = _rows("theta", theta, count)
    if given.ndim != 1:
        raise InputError(f"assemblies: theta has shape {given.shape}; expected ({count},).")
    draw = np.random.default_rng(0)
    angles = draw.uniform(-np.pi, np.pi, (_STARTS, len(model.joint_names)))
    angles[:, _places(model, model.actuated)] = given
    R, angles, left = closed(model, Rotation.random(_STARTS, rng=draw).as_matrix(), angles)
    R, angles = R[left < _ACCEPTED], angles[left < _ACCEPTED]
    found: list[int] = []
    for k in range(len(R)):
        turned = [Rotation.from_matrix(R[k] @ R[x].T).magnitude() for x in found]
        others = [np.abs(np.sin((angles[k] - angles[x]) / 2)).max() for x in found]
        if not (np.maximum(turned, others) < _SAME).any():
            found.append(k)
    q, signs = coordinates(model, R[found], angles[found]), branches(model, angles[found])
    return [PlatformAssembly(q[k], signs[k]) for k in np.linalg.norm(q, axis=-1).argsort()]


def _enough(what: str, model: SphericalModel) -> int:
    """How many actuators there are, if their angles determine where the robot is."""
    if len(model.actuated) < model.nv:
        raise InputError(
            f"{what}: '{model.name}' has {model.nv} degrees of freedom, and the angles of its "
            f"{len(model.actuated)} actuators do not determine them; fix more joints."
        )
    return len(model.actuated)


def _rows(name: str, given: Numbers, n: int) -> Array:
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape[-1:] != (n,) or not np.isfinite(array).all():
        raise InputError(f"{name} = {given!r}: expected finite angles (..., {n}).")
    return array
