"""A free body as six joints, seen from the body itself.

Three slides and three turns can carry a body anywhere, but their angles have a
singularity. Its dynamics does not: it depends on where the body is only through the
direction of gravity. So at every instant the six joints are taken anew with the body's
axes at that instant as their base's, all six positions zero, and gravity is turned into
those axes. The joints' rates v' are then the body's velocity and angular velocity in its
own axes, the speeds v of a free robot, and their forces are the force and moment on it.
Positions that are zero fold away when an equation is recorded.

Off that instant v = J v', with J = 1 at it, so accelerations differ: a = a' + dJ v, where
dJ is J's rate. These are quasi-speeds, for which the Gibbs-Appell equations hold as they
are. Coordinates are x, y, z, the quaternion x, y, z, w, and those of the other joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from appell.maths.rotation import Matrix
from appell.maths.scalar import Scalar
from appell.maths.vector import Tensor, Vector, cross
from appell.model.model import Model

Rows = list[list[Scalar]]


def orientation(q: Sequence[Scalar]) -> Matrix:
    """From the body's axes to the world's; the quaternion may have any length but zero.

    It is scaled by its largest components first, so that no square overflows or loses digits.
    Where even their sum overflows, or its inverse does, the result is not a number.
    """
    x, y, z, w = q[3:7]
    scale = 1 / (abs(x) + abs(y) + abs(z) + abs(w))
    x, y, z, w = x * scale, y * scale, z * scale, w * scale
    k = 2 / (x * x + y * y + z * z + w * w)
    kx, ky, kz = k * x, k * y, k * z
    return Matrix(
        Tensor(
            Vector(1 - (ky * y + kz * z), ky * x - kz * w, kz * x + ky * w),
            Vector(ky * x + kz * w, 1 - (kx * x + kz * z), kz * y - kx * w),
            Vector(kz * x - ky * w, kz * y + kx * w, 1 - (kx * x + ky * y)),
        )
    )


def seen_from_base(model: Model, states: Mapping[str, Sequence[Scalar]]) -> tuple[Model, list[Any]]:
    """The model in its base's axes, and q, v, a as those of its joints."""
    q = states["q"]
    found: dict[str, Any] = {**states, "q": [*[0] * 6, *q[7:]]}
    if "a" in states:
        found["a"] = [a - c for a, c in zip(states["a"], rotating(states["v"]), strict=True)]
    return replace(model, gravity=orientation(q).T @ model.gravity), list(found.values())


def rotating(v: Sequence[Scalar]) -> list[Scalar]:
    """dJ v: what the body's axes, turning, take from the acceleration."""
    linear, w = Vector(*v[:3]), Vector(*v[3:6])
    turned = cross(linear, w)
    return [*turned, w.y * w.z, -(w.x * w.z), w.x * w.y, *[0] * (len(v) - 6)]


def rates(v: Sequence[Scalar]) -> Rows:
    """dJ, of which only the first six rows and columns are not zero.

    v = R^T p' gives -w x v; turns about x, y and z, in this order, the angular part.
    """
    wx, wy, wz = v[3:6]
    return [
        [0, wz, -wy, 0, 0, 0],
        [-wz, 0, wx, 0, 0, 0],
        [wy, -wx, 0, 0, 0, 0],
        [0, 0, 0, 0, wz, 0],
        [0, 0, 0, -wz, 0, 0],
        [0, 0, 0, wy, 0, 0],
    ]


def coordinate_rates(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """dq/dt: of a quaternion p, half of p times the angular velocity."""
    if not model.free:
        return list(v)
    x, y, z, w = q[3:7]
    wx, wy, wz = v[3:6]
    turning = [
        0.5 * (w * wx + y * wz - z * wy),
        0.5 * (w * wy + z * wx - x * wz),
        0.5 * (w * wz + x * wy - y * wx),
        -0.5 * (x * wx + y * wy + z * wz),
    ]
    return [*(orientation(q) @ Vector(*v[:3])), *turning, *v[6:]]


# What the joints' results mean for the free robot


def acceleration(model: Model, states: Mapping[str, Any], a: Sequence[Scalar]) -> list[Scalar]:
    return [x + c for x, c in zip(a, rotating(states["v"]), strict=True)]


def coriolis_matrix(v: Sequence[Scalar], C: Rows, M: Rows) -> Rows:
    """C = C' - M dJ: C v + g is the bias and dM/dt - 2C skew, as for the joints."""
    return _minus(C, _times(M, rates(v)))


def potential_energy(model: Model, states: Mapping[str, Any], U: Scalar) -> Scalar:
    mass = sum((body.mass for body in model.bodies), start=0)
    return U - mass * (model.gravity @ Vector(*states["q"][:3]))


def pose(model: Model, states: Mapping[str, Any], T: Rows) -> Rows:
    q = states["q"]
    R, p = orientation(q), Vector(*q[:3])
    columns = [R @ Vector(*(row[k] for row in T[:3])) for k in range(4)]
    columns[3] = columns[3] + p
    return [*([c[i] for c in columns] for i in range(3)), [0, 0, 0, 1]]


def jacobian(model: Model, states: Mapping[str, Any], J: Rows) -> Rows:
    """Its rows in the world's axes."""
    R = orientation(states["q"])
    linear = [R @ Vector(*(row[k] for row in J[:3])) for k in range(len(J[0]))]
    angular = [R @ Vector(*(row[k] for row in J[3:])) for k in range(len(J[0]))]
    return [[x[i] for x in part] for part in (linear, angular) for i in range(3)]


def derivatives(model: Model, states: Mapping[str, Any], results: Any) -> tuple[Rows, Rows, Rows]:
    """Of joint forces, by a small displacement of the base in its own axes and of the joints.

    Displacing the base turns gravity g in its axes by g x d, and gravity acts as an
    acceleration -g of the base does: by the first three columns of M.
    """
    dq, dv, M = results
    g = orientation(states["q"]).T @ model.gravity
    turned = [Vector(0, g.z, -g.y), Vector(-g.z, 0, g.x), Vector(g.y, -g.x, 0)]  # g x unit vectors
    dq = [
        [0, 0, 0, *(-(Vector(*m[:3]) @ t) for t in turned), *row[6:]]
        for row, m in zip(dq, M, strict=True)
    ]
    return dq, _minus(dv, _times(M, _rotating_by_v(states["v"]))), M


def _rotating_by_v(v: Sequence[Scalar]) -> Rows:
    """The derivative of dJ v."""
    lx, ly, lz, wx, wy, wz = v[:6]
    return [
        [0, wz, -wy, 0, -lz, ly],
        [-wz, 0, wx, lz, 0, -lx],
        [wy, -wx, 0, -ly, lx, 0],
        [0, 0, 0, 0, wz, wy],
        [0, 0, 0, -wz, 0, -wx],
        [0, 0, 0, wy, wx, 0],
    ]


def _times(M: Rows, B: Rows) -> Rows:
    """M B, where B's first six rows and columns are given and the others zero."""
    return [
        [sum((row[k] * B[k][j] for k in range(6)), start=0) for j in range(6)] + [0] * (len(M) - 6)
        for row in M
    ]


def _minus(A: Rows, B: Rows) -> Rows:
    return [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(A, B, strict=True)]
