"""Vectors of any length as lists of scalars, and gains: what multiplies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.maths.scalar import Scalar, sign

Scalars = Sequence[Scalar]
Gain = Sequence[Any]  # numbers, one per element, or the rows of a matrix


def times(K: Gain, x: Scalars) -> list[Scalar]:
    """K x, element by element, or the product with a matrix."""
    if isinstance(K[0], list | tuple):
        return [sum((k * y for k, y in zip(row, x, strict=True)), start=0) for row in K]
    return [k * y for k, y in zip(K, x, strict=True)]


def plus(*vectors: Scalars) -> list[Scalar]:
    """The sum of vectors."""
    return [sum(parts[1:], start=parts[0]) for parts in zip(*vectors, strict=True)]


def minus(x: Scalars, y: Scalars) -> list[Scalar]:
    """x - y."""
    return [a - b for a, b in zip(x, y, strict=True)]


def transposed(rows: Sequence[Scalars]) -> list[list[Scalar]]:
    """The columns of a matrix."""
    return [list(column) for column in zip(*rows, strict=True)]


def magnitude(x: Scalar) -> Scalar:
    """|x|."""
    return x * sign(x)


def clipped(x: Scalar, limit: Scalar) -> Scalar:
    """x, or the limit with its sign where x is beyond it: (|x + limit| - |x - limit|) / 2."""
    return (magnitude(x + limit) - magnitude(x - limit)) / 2
