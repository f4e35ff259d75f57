"""Least squares one after another, within bounds: what comes first is not touched by the rest.

Each level minimises |A v - b| among all v that serve the levels before it as well as can be, with
low <= v <= high; of those that serve them all, the shortest is taken. This is lexicographic least
squares (Escande, Mansard and Wieber 2014). v = v_0 + Z z, the columns of Z being an orthonormal
basis of what the levels before leave free; where a bound is passed, a primal active-set method
(Nocedal and Wright 2006, algorithm 16.3) finds z.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from appell.errors import AppellError
from appell.robots.robot import Array

_RANK = 1e-10  # of the largest number of A: singular values below it are zero
_REGULAR = 1e-6  # singular values above it need no singular value decomposition
_STILL = 1e-12  # of the largest: no step
_STEPS = 50  # per bound


class Level(NamedTuple):
    """Minimise |A v - b|.

    A direction whose singular value s is below ``damping`` is answered by s / damping^2 in place
    of 1 / s: near a singularity v stays bounded, and what is regular stays exact."""

    A: Array
    b: Array
    damping: float = 0.0


def prioritised(levels: Iterable[Level], low: Array, high: Array) -> Array:
    """v, (n,), of levels of which the first comes first."""
    v: Array = np.minimum(np.maximum(0.0, low), high)
    bounded = bool(v.any())  # and then perhaps not the shortest
    Z: Array = np.eye(len(v))
    for A, b, damping in levels:
        Z, rank = _turned(A, Z)
        if not rank:
            continue
        B, c, y = _solved(A @ Z[:, :rank], b - A @ v, damping)
        there: Array = v + Z[:, :rank] @ y
        if (there < low).any() or (there > high).any():
            bounded = True
            M = np.zeros((rank, Z.shape[1]))
            M[:, :rank] = B
            there = _within(M, c, v, Z, low, high)
        v, Z = there, Z[:, rank:]
        if not Z.shape[1]:
            return v
    return _within(np.eye(Z.shape[1]), -(Z.T @ v), v, Z, low, high) if bounded else v


def _turned(A: Array, Z: Array) -> tuple[Array, int]:
    """The basis Z turned so that A feels only the first columns, and how many these are."""
    QR, _, tau, _, _ = scipy.linalg.lapack.dgeqp3((A @ Z).T)
    k = len(tau)
    rank = int((np.abs(QR.diagonal()) > _RANK * np.abs(A).max(initial=0.0)).sum())
    turned: Array = scipy.linalg.lapack.dormqr("R", "N", QR[:, :k], tau, Z, 32 * len(Z))[0]
    return turned, rank


def _solved(B: Array, c: Array, damping: float) -> tuple[Array, Array, Array]:
    """The y that minimises |B y - c|, and a smaller or damped problem with the same solution."""
    k = B.shape[1]
    QR, tau, _, _ = scipy.linalg.lapack.dgeqrf(B)
    c = scipy.linalg.lapack.dormqr("L", "T", QR, tau, c[:, None], 32)[0][:k, 0]
    R = QR[:k] * _upper(k)
    inverse = scipy.linalg.lapack.dtrtri(R)[0]  # dtrtrs would wake the threads of OpenBLAS
    if np.vdot(inverse, inverse) * max(damping, _REGULAR) ** 2 <= 1:  # as 1 / s is at most that
        return R, c, inverse @ c
    U, s, V, _ = scipy.linalg.lapack.dgesdd(R)
    soft = np.maximum(s, damping)
    c = (U.T @ c) * (s / soft)
    return soft[:, None] * V, c, V.T @ (c / soft)


@lru_cache(maxsize=64)
def _upper(k: int) -> Array:
    return np.triu(np.ones((k, k)))


def _within(M: Array, c: Array, v: Array, Z: Array, low: Array, high: Array) -> Array:
    """v + Z z within bounds, z minimising |M z - c|; v is within them."""
    v, working, sides = v.copy(), list[int](), list[int]()
    size = float(np.abs(M).max() * np.abs(c).max(initial=0.0))
    held = high <= low
    free = np.ones(len(v), dtype=bool)
    for _ in range(_STEPS * len(v)):
        p = _least(_square_to(M, Z[working]), c)
        d = Z @ p
        far = np.abs(d)
        moved = free & (far > _STILL * far.max())
        room = np.where(moved, np.where(d > 0, high, low) - v, np.inf)
        room = room / np.where(moved, d, 1.0)
        k = int(room.argmin())
        share = min(1.0, max(0.0, float(room[k])))
        v, c = v + share * d, c - share * (M @ p)
        if share < 1.0:
            working.append(k)
            sides.append(1 if d[k] > 0 else -1)
            free[k] = False
            v[k] = high[k] if d[k] > 0 else low[k]
            continue
        if not working:
            break
        pull = _least(Z[working].T, M.T @ c)  # towards the outside, where positive
        inwards = np.where(held[working], 0.0, -pull * sides)
        j = int(np.argmax(inwards))
        if inwards[j] <= 1e-10 * size:
            break
        free[working[j]] = True
        del working[j], sides[j]
    else:
        raise AppellError(
            "the least-squares problem of these tasks within the joints' bounds was not solved in "
            f"{_STEPS * len(v)} steps; give fewer tasks, or limits=False."
        )
    return np.minimum(np.maximum(v, low), high)


def _square_to(M: Array, rows: Array) -> Array:
    """M without what its rows have along these, which are independent; what is left of them by
    rounding alone is nothing."""
    if not len(rows):
        return M
    Q = scipy.linalg.lapack.dorgqr(*scipy.linalg.lapack.dgeqrf(rows.T)[:2])[0]
    left = M - (M @ Q) @ Q.T
    return left if np.abs(left).max() > _RANK * np.abs(M).max() else np.zeros_like(M)


def _least(A: Array, b: Array) -> Array:
    """The shortest x that minimises |A x - b|."""
    m, n = A.shape
    if not m or not n:
        return np.zeros(n)
    padded = np.zeros(max(m, n))
    padded[:m] = b
    work = 3 * n + 64 * (m + n)
    x: Array = scipy.linalg.lapack.dgelsy(A, padded, np.zeros(n, dtype=np.int32), _RANK, work)[1]
    return x[:n]
