"""Vectors and tensors of space, as small values with operators.

Their components are scalars of any kind, so that a line of code reads like the
line of the paper it cites: ``dds + W @ r``, ``cross(s, f)``, ``axial(W @ J)``.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.maths.scalar import Scalar


class Vector(NamedTuple):
    """A vector of three components; ``@`` is the scalar product."""

    x: Scalar
    y: Scalar
    z: Scalar

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y, -self.z)

    def __mul__(self, k: Scalar) -> Vector:
        return Vector(self.x * k, self.y * k, self.z * k)

    def __rmul__(self, k: Scalar) -> Vector:
        return self * k

    def __matmul__(self, other: Vector) -> Scalar:
        return self.x * other.x + self.y * other.y + self.z * other.z


ZERO = Vector(0, 0, 0)
Z = Vector(0, 0, 1)


def cross(a: Vector, b: Vector) -> Vector:
    """The cross product a x b."""
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


class Tensor(NamedTuple):
    """A tensor of second order, by its rows."""

    x: Vector
    y: Vector
    z: Vector

    @property
    def T(self) -> Tensor:
        return Tensor(*(Vector(*column) for column in zip(*self, strict=True)))

    def __add__(self, other: Tensor) -> Tensor:
        return Tensor(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Tensor) -> Tensor:
        return Tensor(self.x - other.x, self.y - other.y, self.z - other.z)

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(self.x @ v, self.y @ v, self.z @ v)


NULL = Tensor(ZERO, ZERO, ZERO)


def outer(a: Vector, b: Vector) -> Tensor:
    """The tensor a b^T."""
    return Tensor(b * a.x, b * a.y, b * a.z)


class Symmetric(NamedTuple):
    """A symmetric tensor by its lower triangle, row by row."""

    xx: Scalar
    xy: Scalar
    yy: Scalar
    xz: Scalar
    yz: Scalar
    zz: Scalar

    def __add__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Symmetric) -> Symmetric:
        return Symmetric(*(a - b for a, b in zip(self, other, strict=True)))

    def __mul__(self, k: Scalar) -> Symmetric:
        return Symmetric(*(a * k for a in self))

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    @property
    def tensor(self) -> Tensor:
        return Tensor(
            Vector(self.xx, self.xy, self.xz),
            Vector(self.xy, self.yy, self.yz),
            Vector(self.xz, self.yz, self.zz),
        )


NIL = Symmetric(0, 0, 0, 0, 0, 0)


def inertia_product(a: Vector, b: Vector) -> Symmetric:
    """The symmetric part of (a . b) 1 - a b^T, twice: -(a~ b~ + b~ a~).

    For b = a it is twice the inertia of a unit mass at a.
    """
    xx, yy, zz = 2 * (a.x * b.x), 2 * (a.y * b.y), 2 * (a.z * b.z)
    return Symmetric(
        yy + zz,
        -(a.x * b.y + a.y * b.x),
        xx + zz,
        -(a.x * b.z + a.z * b.x),
        -(a.y * b.z + a.z * b.y),
        xx + yy,
    )


def point_inertia(r: Vector) -> Symmetric:
    """The inertia of a unit mass at r about the origin: -r~ r~."""
    xx, yy, zz = r.x * r.x, r.y * r.y, r.z * r.z
    return Symmetric(yy + zz, -(r.x * r.y), xx + zz, -(r.x * r.z), -(r.y * r.z), xx + yy)
