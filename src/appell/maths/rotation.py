"""Rotations: about a coordinate axis, by a matrix, and one after another.

Every rotation R answers ``R @ v``, ``R.T`` and ``R.congruence(S)`` = R S R^T.
A rotation about an axis turns a vector by 4 products and 2 sums and a symmetric
tensor by 8 and 8; matrices are multiplied out only where they are constant.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from appell.maths.scalar import Scalar, cos, sin
from appell.maths.vector import Symmetric, Tensor, Vector


@runtime_checkable
class Rotation(Protocol):
    """What every rotation answers."""

    @property
    def T(self) -> Rotation: ...
    def __matmul__(self, v: Vector) -> Vector: ...
    def congruence(self, S: Symmetric) -> Symmetric: ...


class AboutZ(NamedTuple):
    """A rotation about the z axis by the angle whose cosine and sine are c and s."""

    c: Scalar
    s: Scalar

    @property
    def T(self) -> AboutZ:
        return AboutZ(self.c, -self.s)

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(self.c * v.x - self.s * v.y, self.s * v.x + self.c * v.y, v.z)

    def congruence(self, S: Symmetric) -> Symmetric:
        # With e = s (xx - yy) + 2 c xy: the double angle without its sine and cosine.
        c, s = self
        e = s * (S.xx - S.yy) + 2 * c * S.xy
        return Symmetric(
            S.xx - s * e,
            c * e - S.xy,
            S.yy + s * e,
            c * S.xz - s * S.yz,
            s * S.xz + c * S.yz,
            S.zz,
        )


class AboutX(NamedTuple):
    """A rotation about the x axis by the angle whose cosine and sine are c and s."""

    c: Scalar
    s: Scalar

    @property
    def T(self) -> AboutX:
        return AboutX(self.c, -self.s)

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(v.x, self.c * v.y - self.s * v.z, self.s * v.y + self.c * v.z)

    def congruence(self, S: Symmetric) -> Symmetric:
        c, s = self
        e = s * (S.yy - S.zz) + 2 * c * S.yz
        return Symmetric(
            S.xx,
            c * S.xy - s * S.xz,
            S.yy - s * e,
            s * S.xy + c * S.xz,
            c * e - S.yz,
            S.zz + s * e,
        )


class Matrix(NamedTuple):
    """A rotation given by its matrix."""

    rows: Tensor

    @property
    def T(self) -> Matrix:
        return Matrix(self.rows.T)

    def __matmul__(self, v: Vector) -> Vector:
        return self.rows @ v

    def congruence(self, S: Symmetric) -> Symmetric:
        x, y, z = self.rows
        Sx, Sy, Sz = S @ x, S @ y, S @ z
        return Symmetric(x @ Sx, x @ Sy, y @ Sy, x @ Sz, y @ Sz, z @ Sz)


class After(NamedTuple):
    """The rotation ``first @ second``: a vector is turned by the second, then by the first."""

    first: Rotation
    second: Rotation

    @property
    def T(self) -> After:
        return After(self.second.T, self.first.T)

    def __matmul__(self, v: Vector) -> Vector:
        return self.first @ (self.second @ v)

    def congruence(self, S: Symmetric) -> Symmetric:
        return self.first.congruence(self.second.congruence(S))


def about_z(angle: Scalar) -> AboutZ:
    """The turn about z by an angle."""
    return AboutZ(cos(angle), sin(angle))


def added(a: AboutZ, b: AboutZ) -> AboutZ:
    """Both turns about one axis as a single one."""
    return AboutZ(a.c * b.c - a.s * b.s, a.s * b.c + a.c * b.s)


def columns(R: Rotation) -> tuple[Vector, Vector, Vector]:
    """The axes of the turned frame in the fixed one."""
    return R @ Vector(1, 0, 0), R @ Vector(0, 1, 0), R @ Vector(0, 0, 1)


def as_matrix(R: Rotation) -> Matrix:
    """The same rotation, multiplied out."""
    return Matrix(Tensor(*columns(R)).T)
