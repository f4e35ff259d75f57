"""Lemke's algorithm for linear complementarity problems."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from appell.robots.dynamics import Array

Indices = npt.NDArray[np.intp]

_TRIES = 6


def lemke(M: Array, q: Array) -> Array | None:
    """z >= 0 with w = M z + q >= 0 and w z = 0; None where every search ends on a ray.

    Where zeros in q lead the search astray it is repeated with them, and all of q, moved a little:
    the solution then is one of a problem very near.
    """
    if not (q < 0).any():
        return np.zeros(len(q))
    size = float(np.abs(q).max())
    draw = np.random.default_rng(0)
    moved = q / size
    for k in range(_TRIES):
        z = _search(M, moved)
        if z is not None:
            return z * size
        moved = q / size + draw.uniform(0, 10.0 ** (k - 12), len(q))
    return None


def _search(M: Array, q: Array) -> Array | None:
    n = len(q)
    artificial = 2 * n
    # Columns: w (n), z (n), the artificial variable, the right-hand side.
    T = np.hstack([np.eye(n), -M, -np.ones((n, 1)), q[:, None]])
    basis = np.arange(n)
    entering = _pivot(T, basis, int(np.argmin(q)), artificial)
    for _ in range(20 * (n + 1)):
        row = _first_limit(T, basis, entering, artificial)
        if row is None:
            return None
        done = basis[row] == artificial
        entering = _pivot(T, basis, row, entering)
        if done:
            values = np.zeros(2 * n + 1)
            values[basis] = T[:, -1]
            return np.maximum(values[n:artificial], 0)
    return None


def _pivot(T: Array, basis: Indices, row: int, column: int) -> int:
    """Exchange a variable for the basic one of a row; the complement of that one enters next."""
    n = len(T)
    T[row] /= T[row, column]
    others = np.arange(n) != row
    T[others] -= np.outer(T[others, column], T[row])
    leaving, basis[row] = int(basis[row]), column
    return leaving + n if leaving < n else leaving - n


def _first_limit(T: Array, basis: Indices, column: int, artificial: int) -> int | None:
    """The row that first limits the entering variable: of equal ones that of the artificial
    variable, which ends the search, or else the one with the largest pivot."""
    able = np.flatnonzero(T[:, column] > 1e-11)
    if not len(able):
        return None
    ratios = T[able, -1] / T[able, column]
    equal = able[ratios <= ratios.min() + 1e-13]
    last = equal[basis[equal] == artificial]
    return int(last[0] if len(last) else equal[np.argmax(T[equal, column])])
