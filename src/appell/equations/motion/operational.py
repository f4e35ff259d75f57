"""Inertia as a frame feels it: Khatib 1987, "A unified approach for motion and force control"."""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.linear import Paths, back_substitute, dot, factorise, invert
from appell.maths.scalar import Scalar

Rows = list[list[Scalar]]


def operational_mobility(J: Sequence[Sequence[Scalar]], M: Rows, paths: Paths) -> Rows:
    """J M^-1 J^T, 6 x 6: the acceleration of a frame by a unit wrench on it."""
    factors = factorise(M, paths)
    by_wrench = [back_substitute(*factors, row, paths) for row in J]
    lower = [[dot(J[i], by_wrench[j]) for j in range(i + 1)] for i in range(len(J))]
    n = range(len(J))
    return [[lower[max(i, j)][min(i, j)] for j in n] for i in n]


def operational_inertia(J: Sequence[Sequence[Scalar]], M: Rows, paths: Paths) -> Rows:
    """(J M^-1 J^T)^-1: the wrench that a unit acceleration of the frame takes."""
    return invert(operational_mobility(J, M, paths), dense(len(J)))


def dense(n: int) -> list[range]:
    """The paths of a matrix without zeros."""
    return [range(i + 1) for i in range(n)]
