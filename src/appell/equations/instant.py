"""Joints with quaternions as single joints, seen from the body at this instant.

Three turns can bring a ball joint into any orientation, and three slides and three turns a free
body anywhere, but their angles have a singularity. The dynamics does not: it knows of orientations
only by how vectors are turned. So at every instant the joints are taken anew, all their positions
zero, with axes that are those of the moving body at that instant: the joint's place on its parent
is what the quaternion (and the position) says. The rates v' of these joints are then the body's
angular velocity (and velocity) in its own axes, the speeds v, and their forces the moment (and
force) on it. Positions that are zero fold away when an equation is recorded.

Off that instant v = J v', with J = 1 at it, so accelerations differ: a = a' + dJ v, where
dJ is J's rate. These are quasi-speeds, for which the Gibbs-Appell equations hold as they
are. Coordinates of a ball are the quaternion x, y, z, w; of a free body x, y, z, in its parent's
axes, and the quaternion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from appell.maths.rotation import After, Matrix, as_matrix
from appell.maths.scalar import Scalar
from appell.maths.vector import Tensor, Vector, cross
from appell.model.model import Compound, Model

Rows = list[list[Scalar]]


def quaternion(model: Model, compound: Compound, q: Sequence[Scalar]) -> Sequence[Scalar]:
    """Of a joint, x, y, z, w."""
    end = model.place(compound.speed) + compound.size + 1
    return q[end - 4 : end]


def orientation(p: Sequence[Scalar]) -> Matrix:
    """The rotation of a quaternion x, y, z, w, which may have any length but zero.

    It is scaled by its largest components first, so that no square overflows or loses digits.
    Where even their sum overflows, or its inverse does, the result is not a number.
    """
    x, y, z, w = p
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


def at_this_instant(
    model: Model, states: Mapping[str, Sequence[Scalar]]
) -> tuple[Model, list[Any]]:
    """The model with its joints where the quaternions have brought them, and q, v, a as those of
    single joints."""
    q = states["q"]
    found: dict[str, Any] = {**states, "q": positions(model, q)}
    if "a" in states:
        found["a"] = [a - c for a, c in zip(states["a"], rotating(model, states["v"]), strict=True)]
    return placed(model, q), list(found.values())


def positions(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """Of the single joints."""
    own = enumerate(model.is_coordinate)
    return [q[model.place(k)] if plain else 0 for k, plain in own]


def placed(model: Model, q: Sequence[Scalar]) -> Model:
    """The model with the first body of each compound joint where its coordinates say."""
    bodies = list(model.bodies)
    for c in model.compounds:
        hung, at = model.bodies[c.body], model.place(c.speed)
        R = orientation(quaternion(model, c, q))
        s = hung.s0 + hung.R0 @ _cycled(q[at : at + 3]) if c.free else hung.s0
        bodies[c.body] = replace(hung, R0=as_matrix(After(hung.R0, _seen(R))), s0=s)
    return replace(model, bodies=tuple(bodies))


def _seen(R: Matrix) -> Matrix:
    """The same turn in the axes of a compound joint's first body."""
    x, y, z = map(_cycled, R.rows)
    return Matrix(Tensor(y, z, x))


def _cycled(v: Sequence[Scalar]) -> Vector:
    """CYCLE^T v."""
    x, y, z = v
    return Vector(y, z, x)


def rotating(model: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """dJ v: what the bodies' axes, turning, take from the accelerations."""
    found: list[Scalar] = [0] * len(v)
    for c in model.compounds:
        first = c.speed + c.size - 3
        w = Vector(*v[first : first + 3])
        found[first : first + 3] = [w.y * w.z, -(w.x * w.z), w.x * w.y]
        if c.free:
            found[c.speed : first] = cross(Vector(*v[c.speed : first]), w)
    return found


def rates(compound: Compound, v: Sequence[Scalar]) -> Rows:
    """dJ of one joint. Turns about x, y and z, in this order, give the angular part; v = R^T p'
    gives -w x v."""
    wx, wy, wz = v[compound.speed + compound.size - 3 : compound.speed + compound.size]
    turns: Rows = [[0, wz, 0], [-wz, 0, 0], [wy, 0, 0]]
    if not compound.free:
        return turns
    slides: Rows = [[0, wz, -wy], [-wz, 0, wx], [wy, -wx, 0]]
    return [*([*row, 0, 0, 0] for row in slides), *([0, 0, 0, *row] for row in turns)]


def coordinate_rates(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """dq/dt: of a quaternion p, half of p times the angular velocity."""
    if not model.compounds:
        return list(v)
    found: list[Scalar] = []
    done = 0
    for c in model.compounds:
        first = c.speed + c.size - 3
        found.extend(v[done : c.speed])
        done = c.speed + c.size
        p = quaternion(model, c, q)
        if c.free:
            found.extend(orientation(p) @ Vector(*v[c.speed : first]))
        (x, y, z, w), (wx, wy, wz) = p, v[first:done]
        found += [
            0.5 * (w * wx + y * wz - z * wy),
            0.5 * (w * wy + z * wx - x * wz),
            0.5 * (w * wz + x * wy - y * wx),
            -0.5 * (x * wx + y * wy + z * wz),
        ]
    return [*found, *v[done:]]


def tangent(model: Model, q: Sequence[Scalar]) -> Rows:
    """dq/dv, (nq, nv): how coordinates change by a small displacement along the speeds."""
    n = range(model.nv)
    columns = [coordinate_rates(model, q, [int(i == k) for i in n]) for k in n]
    return [list(row) for row in zip(*columns, strict=True)]


# What the single joints' results mean for the robot


def acceleration(model: Model, states: Mapping[str, Any], a: Sequence[Scalar]) -> list[Scalar]:
    """The accelerations a from those of the joints."""
    return [x + c for x, c in zip(a, rotating(model, states["v"]), strict=True)]


def in_speeds(model: Model, v: Sequence[Scalar], A: Rows, X: Rows) -> Rows:
    """A - X dJ: the rate of a matrix X that multiplies the speeds, where A is that of the joints;
    and C, where X is M: C v + g is the bias and dM/dt - 2C skew, as for the joints."""
    return _less(A, X, [(c, rates(c, v)) for c in model.compounds])


def derivatives(model: Model, states: Mapping[str, Any], results: Any) -> tuple[Rows, Rows, Rows]:
    """Of joint forces of a robot whose base alone is free, by a small displacement of the base in
    its own axes and of the joints.

    Displacing the base turns gravity g in its axes by g x d, and gravity acts as an
    acceleration -g of the base does: by the first three columns of M.
    """
    dq, dv, M = results
    (base,) = model.compounds
    g = orientation(quaternion(model, base, states["q"])).T @ model.gravity
    turned = [Vector(0, g.z, -g.y), Vector(-g.z, 0, g.x), Vector(g.y, -g.x, 0)]  # g x unit vectors
    dq = [
        [0, 0, 0, *(-(Vector(*m[:3]) @ t) for t in turned), *row[6:]]
        for row, m in zip(dq, M, strict=True)
    ]
    return dq, _less(dv, M, [(base, _rotating_by_v(states["v"]))]), M


def _rotating_by_v(v: Sequence[Scalar]) -> Rows:
    """The derivative of dJ v, of a free base."""
    lx, ly, lz, wx, wy, wz = v[:6]
    return [
        [0, wz, -wy, 0, -lz, ly],
        [-wz, 0, wx, lz, 0, -lx],
        [wy, -wx, 0, -ly, lx, 0],
        [0, 0, 0, 0, wz, wy],
        [0, 0, 0, -wz, 0, -wx],
        [0, 0, 0, wy, wx, 0],
    ]


def _less(A: Rows, M: Rows, blocks: Sequence[tuple[Compound, Rows]]) -> Rows:
    """A - M B, where B has these blocks of compound joints' speeds and zeros elsewhere."""
    found = [list(row) for row in A]
    for c, B in blocks:
        for row, m in zip(found, M, strict=True):
            for j in range(c.size):
                row[c.speed + j] = row[c.speed + j] - sum(
                    (m[c.speed + k] * B[k][j] for k in range(c.size)), start=0
                )
    return found
