"""The exponential map of turns and of rigid motions, its inverse, and the derivatives of both.

Quaternions are x, y, z, w; speeds and displacements are in the moving body's axes.

A displacement x moves what it displaces by exp(x); A is the matrix of x -> [x, .]: w~ of a turn w,
and [[w~, v~], [0, w~]] of a motion (v, w). Then exp(A) is how exp(x) changes displacements' axes,
and a small change of x moves exp(x) by J(A) dx in the axes before, by J(-A) dx in those after it,
with J(A) = 1 + A/2! + A^2/3! + ..., so exp(A) = 1 + A J(A). As A^5 + 2 t^2 A^3 + t^4 A = 0, where t
is the angle, the series ends after A^4 (Barfoot, State Estimation for Robotics, section 7.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]

_NEXT = np.array([1, 2, 0])
_SMALL = 1e-4  # rad: below it the square of an angle is nothing beside one
_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # a unit quaternion's inverse
_SERIES = 0.1  # rad: below it, the terms of t^8 are less than rounding


def adjoint(x: Array) -> Array:
    """A of displacements: of turns (..., 3), or of motions (..., 6), linear parts first."""
    w = x[..., -3:]
    A = np.zeros((*x.shape, x.shape[-1]))
    A[..., -3:, -3:] = _skew(w)
    if x.shape[-1] == 6:
        A[..., :3, :3], A[..., :3, 3:] = A[..., 3:, 3:], _skew(x[..., :3])
    return A


def jacobian(A: Array, x: Array) -> Array:
    """J(A) of displacements x: how exp(x) moves with them, in the axes before it."""
    t = np.linalg.norm(x[..., -3:], axis=-1)[..., None, None]
    with np.errstate(all="ignore"):
        s, c = np.sin(t), np.cos(t)
        exact = (
            (4 - t * s - 4 * c) / (2 * t**2),
            (4 * t - 5 * s + t * c) / (2 * t**3),
            (2 - t * s - 2 * c) / (2 * t**4),
            (2 * t - 3 * s + t * c) / (2 * t**5),
        )
    u = t * t
    # The same to t^6, where differences above lose digits.
    series = (
        1 / 2 - u**2 * (1 / 720 - u / 20160),
        1 / 6 - u**2 * (1 / 5040 - u / 181440),
        1 / 24 - u * (1 / 360 - u * (1 / 13440 - u / 907200)),
        1 / 120 - u * (1 / 2520 - u * (1 / 120960 - u / 9979200)),
    )
    J, power = np.zeros_like(A) + np.eye(A.shape[-1]), A
    for near, far in zip(series, exact, strict=True):
        J = J + np.where(t < _SERIES, near, far) * power
        power = power @ A
    return J


def turned_by(p: Array, w: Array) -> Array:
    """The quaternion p after a turn w, a rotation vector in the turning axes."""
    angle = _length(w)
    half = np.where(angle > 0, np.sin(angle / 2) / angle, 0.5)
    step = np.concatenate([half * w, np.cos(angle / 2)], axis=-1)
    return unit_quaternion(_product(unit_quaternion(p), step))


def turn_between(p1: Array, p2: Array) -> Array:
    """The shorter turn from one quaternion to another."""
    step = _product(unit_quaternion(p1) * _BACK.astype(p1.dtype), unit_quaternion(p2))
    step = np.where(step[..., 3:] < 0, -step, step)
    sine, cosine = _length(step[..., :3]), step[..., 3:]
    angle = 2 * np.arctan2(sine, cosine)
    return np.where(sine > 0, angle / sine, 2) * step[..., :3]


def moved_by(q: Array, d: Array) -> Array:
    """The pose q, a position and a quaternion, after a motion d (..., 6)."""
    turn, v, w = unit_quaternion(q[..., 3:]), d[..., :3], d[..., 3:]
    angle = _length(w)
    half = np.where(angle > 0, np.sin(angle / 2) / angle, 0.5)
    bend = np.where(angle > _SMALL, (angle - np.sin(angle)) / angle**3, 1 / 6)
    across = _cross(w, v)
    way = v + 2 * half * half * across + bend * _cross(w, across)
    return np.concatenate([q[..., :3] + _turned(turn, way), turned_by(turn, w)], axis=-1)


def motion_between(q1: Array, q2: Array) -> Array:
    """The motion from one pose to another."""
    back = unit_quaternion(q1[..., 3:]) * _BACK.astype(q1.dtype)
    w, r = turn_between(q1[..., 3:], q2[..., 3:]), _turned(back, q2[..., :3] - q1[..., :3])
    angle = _length(w)
    half = angle / 2
    bend = np.where(angle > _SMALL, (1 - half / np.tan(half)) / angle**2, 1 / 12)
    across = _cross(w, r)
    return np.concatenate([r - across / 2 + bend * _cross(w, across), w], axis=-1)


def unit_quaternion(quaternion: Array) -> Array:
    """Quaternions of length one. They are scaled by a power of two first, which is exact, so that
    no square overflows."""
    largest = np.abs(quaternion).max(axis=-1, keepdims=True)
    scaled = np.ldexp(quaternion, -np.frexp(largest)[1])
    return scaled / _length(scaled)


def _product(p: Array, q: Array) -> Array:
    """The turn q, then p."""
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + _cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - (p[..., :3] * q[..., :3]).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def _turned(quaternion: Array, r: Array) -> Array:
    u = quaternion[..., :3]
    across = _cross(u, r)
    return r + 2 * (quaternion[..., 3:] * across + _cross(u, across))


def _cross(a: Array, b: Array) -> Array:
    """As np.cross, which takes three times as long for a single pair."""
    return (a * b[..., _NEXT] - a[..., _NEXT] * b)[..., _NEXT]


def _length(x: Array) -> Array:
    return np.sqrt((x * x).sum(axis=-1, keepdims=True))


def _skew(w: Array) -> Array:
    S = np.zeros((*w.shape, 3))
    x, y, z = np.moveaxis(w, -1, 0)
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -z, y, -x
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = z, -y, x
    return S
