"""Polynomials one after another: what trajectories, paths and laws of time are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.robots.robot import Array


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Between knots k and k + 1 the sum of c[k, j] (x - knots[k])^j; c is (pieces, powers, n).

    Beyond its ends a polynomial has the value at the end, and no derivatives.
    """

    knots: Array
    c: Array

    def __post_init__(self) -> None:
        for array in (self.knots, self.c):
            array.flags.writeable = False

    @property
    def n(self) -> int:
        return int(self.c.shape[2])

    @property
    def length(self) -> float:
        """From the first knot, zero, to the last."""
        return float(self.knots[-1])

    def __call__(self, x: Any) -> tuple[Array, Array, Array]:
        """The value and its first two derivatives, each x.shape + (n,); at a knot, what comes
        after it, and at the end, what comes before."""
        x = np.asarray(x, dtype=float)
        last = len(self.knots) - 2
        within = np.clip(x, 0.0, self.knots[-1])
        k = np.clip(np.searchsorted(self.knots, within, side="right") - 1, 0, last)
        h = (within - self.knots[k])[..., None]
        value, first, second = (np.zeros((*x.shape, self.n)) for _ in range(3))
        for j in reversed(range(self.c.shape[1])):
            second = second * h + 2 * first
            first = first * h + value
            value = value * h + self.c[k, j]
        moving = (within == x)[..., None]
        return value, np.where(moving, first, 0.0), np.where(moving, second, 0.0)


def hermite(knots: Array, values: Sequence[Array]) -> Piecewise:
    """The polynomials of least degree that have these values and derivatives (each (knots, n))
    at both of their ends."""
    h = np.diff(knots)[:, None]
    order = len(values)
    c = np.empty((len(h), 2 * order, values[0].shape[1]))
    factorial = np.cumprod([1.0, *range(1, 2 * order)])
    for j in range(order):
        c[:, j] = values[j][:-1] / factorial[j]
    # What is missing at the far end, derivative by derivative, over powers of the length.
    powers = np.arange(order, 2 * order)
    A = np.array([[factorial[p] / factorial[p - i] for p in powers] for i in range(order)])
    missing = []
    for i in range(order):
        near = sum(
            c[:, j] * factorial[j] / factorial[j - i] * h ** (j - i) for j in range(i, order)
        )
        missing.append((values[i][1:] - near) * h**i)
    high = np.einsum("pi,ikn->kpn", np.linalg.inv(A), np.array(missing))
    c[:, order:] = high / h[:, None, :] ** powers[:, None]
    return Piecewise(np.array(knots, dtype=float), c)
