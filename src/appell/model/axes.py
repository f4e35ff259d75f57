"""Axes and frames as numbers: rotations, exact where they can be, and frames of joints.

Every body gets a frame whose z is its joint's axis, turned about it so that one child of each body
is reached by a rotation about x alone, as in the modified Denavit-Hartenberg convention: an
equation then turns a vector by 8 products instead of 13.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import atan2, cos, hypot, isfinite, sin
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.maths.rotation import AboutX, AboutZ, After, Matrix, Rotation, as_matrix
from appell.maths.scalar import SNAP, snap
from appell.maths.vector import Tensor, Vector
from appell.model.inertia import LARGEST
from appell.model.model import BASE, Joint

Array = npt.NDArray[np.float64]


def as_vector(v: Sequence[float] | Array, size: float = 0.0) -> Vector:
    """Zeros exact: components that are rounding beside the largest, or beside ``size``, the
    largest number of the sums that made the vector."""
    largest = max(size, *(abs(float(x)) for x in v))
    return Vector(*(snap(float(x), SNAP * largest) for x in v))


def as_rotation(R: Array) -> Rotation:
    """A rotation about x or z where the matrix is one, the matrix otherwise."""
    m = [[snap(float(x)) for x in row] for row in R]
    for row in m:
        if row.count(0) == 2:  # a unit vector along an axis
            row[:] = [round(x) for x in row]
    if m[0] == [1, 0, 0]:
        return AboutX(m[1][1], m[2][1])
    if m[2] == [0, 0, 1]:
        return AboutZ(m[0][0], m[1][0])
    # Rz(b) Rx(a): the first column has no z, so neither step needs the full matrix.
    if m[2][0] == 0:
        return After(AboutZ(m[0][0], m[1][0]), AboutX(m[2][2], m[2][1]))
    return Matrix(Tensor(*(Vector(*row) for row in m)))


def exact_rotation(R: Array) -> Array:
    """The rotation nearest to a matrix that is almost one, as a file's or a person's digits give
    it: a step of Newton's to the polar decomposition squares the error. Zeros and ones stay."""
    return np.asarray(R) @ (1.5 * np.eye(3) - 0.5 * np.asarray(R).T @ R)


def as_array(R: Rotation) -> Array:
    """A rotation as an array (3, 3)."""
    return np.array([[*row] for row in as_matrix(R).rows], dtype=float)


def finite(numbers: Sequence[float] | Array, what: str) -> Sequence[float] | Array:
    """The same numbers; refused where one is not finite, or too large."""
    for x in numbers:
        if not isfinite(x) or abs(x) > LARGEST:
            raise ModelError(f"{what}: expected finite numbers of at most {LARGEST:g}, got {x}.")
    return numbers


def gravity_field(name: str, field: Any) -> Vector:
    """A field of gravity that can be."""
    try:
        numbers = np.asarray(field, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (3,):
        raise ModelError(
            f"'{name}': gravity = {field!r}; expected three numbers, x, y, z in m/s^2 (on Earth "
            "0, 0, -9.81)."
        )
    return as_vector(finite(numbers, f"'{name}': gravity"))


def frame_along(axis: Array, joint: str) -> Array:
    """A rotation whose z is the axis; a coordinate axis gives a matrix of zeros and ones."""
    largest = np.abs(axis).max(initial=0.0)
    if axis.shape != (3,) or not np.isfinite(axis).all() or largest == 0:
        raise ModelError(
            f"joint '{joint}': axis {axis.tolist()} has no direction; give three finite numbers, "
            "not all zero."
        )
    z = axis / largest  # its square neither vanishes nor overflows
    z = np.where(np.abs(z) <= SNAP, 0.0, z)
    z /= np.linalg.norm(z)
    if z[2] == 1 and not z[:2].any():
        return np.eye(3)
    x = np.zeros(3)
    # Across the axis, in the plane of its two largest components.
    i, j = sorted(np.argsort(-np.abs(z), kind="stable")[:2])
    x[i], x[j] = (z[j], -z[i])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def from_rpy(rpy: Sequence[float]) -> Array:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = map(cos, rpy), map(sin, rpy)
    R = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.array(R)


def rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll). Roll is what is left once yaw is
    undone, so that both fit each other where neither is well defined."""
    yaw = atan2(R[1, 0], R[0, 0])
    pitch = atan2(-R[2, 0], hypot(R[0, 0], R[1, 0]))
    c, s = cos(yaw), sin(yaw)
    middle = c * R[1] - s * R[0]
    return atan2(-middle[2], middle[1]), pitch, yaw


def about_z_axis(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def planar_frames(
    parents: Sequence[int],
    R0s: Sequence[Array],
    s0s: Sequence[Array],
    joints: Sequence[Joint],
    held: Collection[int] = (),
) -> tuple[list[float], list[float]]:
    """By which angle to turn each body's frame about its z, and what to add to its coordinate.

    With R0 = Rz(b) Rx(a) Rz(d), a parent turned by b and an angle shifted by d plus the body's
    own turn leave Rx(a) alone; what slides as it turns is not shifted. Only one child can ask
    its parent to turn; the one with most descendants does. Those of compound joints are ``held``.
    """
    n = len(parents)
    weight = [1] * n
    for i in reversed(range(n)):
        if parents[i] != BASE:
            weight[parents[i]] += weight[i]
    heir: dict[int, int] = {}
    for i, p in enumerate(parents):
        if p not in heir or weight[i] > weight[heir[p]]:
            heir[p] = i
    turn = [0.0] * n
    angles = [_zxz(R0, s0) for R0, s0 in zip(R0s, s0s, strict=True)]
    for i in range(n):
        if i in held:
            continue
        if i in heir:
            turn[i] = angles[heir[i]][0]
        elif not joints[i].screw.periodic:
            turn[i] = -angles[i][1]
    shifts = [
        (angles[i][1] + turn[i]) * (joints[i].screw.periodic and i not in held) for i in range(n)
    ]
    return turn, [float(np.arctan2(np.sin(x), np.cos(x))) if abs(x) > np.pi else x for x in shifts]


def _zxz(R: Array, s: Array) -> tuple[float, float]:
    """The angles b and d of R = Rz(b) Rx(a) Rz(d)."""
    parallel = hypot(R[2, 0], R[2, 1]) <= SNAP
    if not parallel:
        b = atan2(R[0, 2], -R[1, 2])
    else:  # b is free, and x along the offset keeps its y zero
        b = atan2(s[1], s[0]) if abs(s[1]) > SNAP * hypot(s[0], s[1]) else 0.0
    # The first row of Rz(-b) R is cos d, -sin d, 0. Where the axes are nearly parallel b is known
    # to few digits, but b and d fit each other.
    row = cos(b) * R[0] + sin(b) * R[1]
    d = atan2(-row[1], row[0])
    return (b, d) if parallel else _principal(b, d)


def _principal(b: float, d: float) -> tuple[float, float]:
    """Of the two equal pairs, (b, d) and (b + pi, d + pi) with -a, the one that turns less."""
    if abs(b) > np.pi / 2 + 1e-12:
        return b - np.copysign(np.pi, b), d - np.copysign(np.pi, d)
    return b, d
