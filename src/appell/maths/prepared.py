"""A rotation known in both ways: by its turns about axes, and by its matrix.

Two turns take a general vector by 8 products and 4 sums. Where components are zero by
structure, or only some of the result are wanted, the matrix's elements take fewer.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.maths.rotation import Matrix, Rotation, as_matrix
from appell.maths.scalar import is_zero
from appell.maths.vector import Symmetric, Vector


class Prepared(NamedTuple):
    """A rotation in two forms, of which each vector takes the one that costs less."""

    turns: Rotation
    matrix: Matrix

    @property
    def T(self) -> Prepared:
        return Prepared(self.turns.T, self.matrix.T)

    def __matmul__(self, v: Vector) -> Vector:
        return (self.matrix if any(map(is_zero, v)) else self.turns) @ v

    def congruence(self, S: Symmetric) -> Symmetric:
        return self.turns.congruence(S)


def prepared(R: Rotation) -> Prepared:
    """With the elements of its matrix made: 4 products for a turn about x and one about z."""
    return Prepared(R, as_matrix(R))
