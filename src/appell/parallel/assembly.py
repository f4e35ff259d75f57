"""Where the platform can be when the actuators' angles are given.

A limb's actuator places its axis w; the platform must carry v_i at the angle alpha2_i from w_i,
for all three limbs. Newton's method turns the platform: a small turn d changes v . w by
d . (v x w). There are at most eight solutions; they are found from many starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from appell.dynamics import Numbers
from appell.errors import InputError
from appell.maths.vector import Z
from appell.model.build import as_array
from appell.model.wrist import Wrist

Array = npt.NDArray[np.float64]

_CLOSED = 1e-13  # v . w - cos alpha2, which rounding leaves
_ACCEPTED = 1e-12
_LARGEST_TURN = 0.5  # rad
_ITERATIONS = 60
_STARTS = 400
_SAME = 1e-6  # rad; two solutions nearer than that are one


class Assembly(NamedTuple):
    """A pose of the platform, and the branch of (34) that each limb is on."""

    q: Array
    branch: str


class Fixed(NamedTuple):
    """A wrist's constant axes, (3, 3) each, a limb a row, and how far v and w are apart."""

    base: Array
    u: Array
    v: Array
    cosine: Array

    @classmethod
    def of(cls, wrist: Wrist) -> Fixed:
        base = np.array([as_array(wrist.base_axes(limb)) for limb in wrist.limbs])
        u = np.array([wrist.base_axes(limb) @ Z for limb in wrist.limbs], dtype=float)
        v = np.array([wrist.platform_axis(limb) for limb in wrist.limbs], dtype=float)
        return cls(base, u, v, np.cos([limb.alpha2 for limb in wrist.limbs]))


def middle_axes(wrist: Wrist, theta: Array) -> Array:
    """w (29) for angles (..., 3): (..., 3, 3), a limb a row."""
    alpha = np.array([limb.alpha1 for limb in wrist.limbs])
    c, s = np.broadcast_to(np.cos(alpha), theta.shape), np.sin(alpha)
    local = np.stack([s * np.sin(theta), -s * np.cos(theta), c], axis=-1)
    return np.einsum("ijk,...ik->...ij", Fixed.of(wrist).base, local)


def closed(wrist: Wrist, theta: Array, start: Array) -> tuple[Array, Array]:
    """Rotations (N, 3, 3) that close the loops, near the start's, and what is left open (N,)."""
    fixed, w = Fixed.of(wrist), middle_axes(wrist, theta)
    R = start.copy()
    for _ in range(_ITERATIONS):
        v = np.einsum("nij,kj->nki", R, fixed.v)
        left = np.einsum("nki,nki->nk", v, w) - fixed.cosine
        if np.abs(left).max(initial=0.0) < _CLOSED:
            break
        turn = -np.einsum("nij,nj->ni", np.linalg.pinv(np.cross(v, w)), left)
        size = np.linalg.norm(turn, axis=-1, keepdims=True)
        turn *= np.minimum(1.0, _LARGEST_TURN / np.maximum(size, 1e-300))
        R = Rotation.from_rotvec(turn).as_matrix() @ R
    v = np.einsum("nij,kj->nki", R, fixed.v)
    left = np.einsum("nki,nki->nk", v, w) - fixed.cosine
    return R, np.abs(left).max(axis=-1)


def branches(wrist: Wrist, theta: Array, R: Array) -> list[str]:
    """The sign of h = (v x w) . u of each limb (39): that of its branch."""
    fixed = Fixed.of(wrist)
    v = np.einsum("nij,kj->nki", R, fixed.v)
    h = np.einsum("nki,ki->nk", np.cross(v, middle_axes(wrist, theta)), fixed.u)
    return ["".join("-" if x < 0 else "+" for x in row) for row in h]


def euler_angles(R: Array, near: Array | None = None) -> Array:
    """q1, q2, q3 of rotations (N, 3, 3): |q2| at most 90 degrees, or those nearest to some."""
    with np.errstate(invalid="ignore"):
        q2 = np.arcsin(np.clip(-R[:, 2, 0], -1, 1))
    q1, q3 = np.arctan2(R[:, 1, 0], R[:, 0, 0]), np.arctan2(R[:, 2, 1], R[:, 2, 2])
    first = np.stack([q1, q2, q3], axis=-1)
    if near is None:
        return first
    second = np.stack([q1 + np.pi, np.pi - q2, q3 + np.pi], axis=-1)
    both = [x + 2 * np.pi * np.round((near - x) / (2 * np.pi)) for x in (first, second)]
    far = [np.abs(x - near).sum(axis=-1, keepdims=True) for x in both]
    return np.where(far[0] <= far[1], *both)


def direct_kinematics(wrist: Wrist, theta: Numbers, start: Numbers) -> Array:
    """Euler angles (..., 3) for actuator angles, from some near them, on the wrist's branch."""
    angles, near = np.broadcast_arrays(_rows("theta", theta), _rows("start", start))
    flat, begin = angles.reshape(-1, 3), near.reshape(-1, 3)
    if not len(flat):
        return np.zeros(angles.shape)
    R, left = closed(wrist, flat, Rotation.from_euler("ZYX", begin).as_matrix())
    q = euler_angles(R, begin)
    for k, (rest, branch) in enumerate(zip(left, branches(wrist, flat, R), strict=True)):
        where = f"direct_kinematics: theta = {flat[k].tolist()} from q = {begin[k].tolist()}"
        if not rest < _ACCEPTED:
            raise InputError(
                f"{where}: the loops do not close, {rest:.1e} is left open; start nearer, or "
                "see assemblies(theta) for the poses there are."
            )
        if branch != wrist.branch:
            raise InputError(
                f"{where}: the pose found, {q[k].tolist()}, is on the branch '{branch}' and "
                f"the robot on '{wrist.branch}'; start nearer, or ask with_branch('{branch}')."
            )
    return q.reshape(angles.shape)


def assemblies(wrist: Wrist, theta: Numbers) -> list[Assembly]:
    """All poses for one set of actuator angles (3,)."""
    angles = _rows("theta", theta)
    if angles.shape != (3,):
        raise InputError(f"assemblies: theta has shape {angles.shape}; expected (3,).")
    start = Rotation.random(_STARTS, rng=np.random.default_rng(0)).as_matrix()
    many = np.broadcast_to(angles, (_STARTS, 3))
    R, left = closed(wrist, many, start)
    found: list[Array] = []
    for one in R[left < _CLOSED]:
        turns = [Rotation.from_matrix(one @ other.T).magnitude() for other in found]
        if not turns or min(turns) > _SAME:
            found.append(one)
    if not found:
        return []
    stacked = np.array(found)
    q = euler_angles(stacked)
    order = np.linalg.norm(q, axis=-1).argsort()
    signs = branches(wrist, many[: len(found)], stacked)
    return [Assembly(q[k], signs[k]) for k in order]


def _rows(name: str, given: Numbers) -> Array:
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape[-1:] != (3,) or not np.isfinite(array).all():
        raise InputError(f"{name} = {given!r}: expected finite angles (..., 3).")
    return array
