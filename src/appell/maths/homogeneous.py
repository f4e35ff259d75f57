"""Matrices of four rows and columns: homogeneous transformations, and what multiplies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.maths.rotation import Rotation, columns
from appell.maths.scalar import Scalar
from appell.maths.vector import Vector


@dataclass(frozen=True)
class Matrix4:
    """A matrix by its rows; ``@`` multiplies all elements, 64 products and 48 sums."""

    rows: Sequence[Sequence[Scalar]]

    @property
    def T(self) -> Matrix4:
        return type(self)([*zip(*self.rows, strict=True)])

    @property
    def trace(self) -> Scalar:
        (a, _, _, _), (_, b, _, _), (_, _, c, _), (_, _, _, d) = self.rows
        return a + b + c + d

    def __matmul__(self, other: Matrix4) -> Matrix4:
        across = [*zip(*other.rows, strict=True)]
        return type(self)([[dot(row, column) for column in across] for row in self.rows])

    def __rmatmul__(self, row: Sequence[Scalar]) -> list[Scalar]:
        """A row of four numbers times the matrix."""
        return [dot(row, column) for column in zip(*self.rows, strict=True)]


IDENTITY = Matrix4([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
ZEROS = Matrix4([[0] * 4] * 4)


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The scalar product of four numbers and four."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def transformation(R: Rotation, s: Vector) -> Matrix4:
    """The matrix of a frame with axes R and origin s."""
    rows = zip(*columns(R), s, strict=True)
    return Matrix4([*rows, (0, 0, 0, 1)])
