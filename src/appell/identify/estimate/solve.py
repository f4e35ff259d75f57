"""Linear estimators: from the joints' triangles to parameters and what is known of them.

Each gives x = prior + P (b - A prior) for the system [A | b] of all joints, with the matrix P, so
that noise of the torques carries over to x the same way for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.identify.base.entries import Places
from appell.identify.estimate.compress import Compressed, stack, triangle
from appell.robots.robot import Array

DETERMINED = 1e-8  # singular values below, of unit columns, are directions the data leave open


@dataclass(frozen=True)
class Triangles:
    """R of [Y_j | tau_j] for each joint, with the unknowns that its columns are, of ``count``;
    ``parts`` are the same by folds."""

    factors: list[Array]
    columns: tuple[Places, ...]
    count: int
    samples: int
    parts: Compressed | None = None

    def system(self, weights: Array | None = None) -> tuple[Array, Array]:
        """The matrix A and the vector b of all joints, each joint times its weight."""
        whole = stack(self.factors, self.columns, self.count, weights)
        return whole[:, :-1], whole[:, -1]

    def squares(self, x: Array) -> Array:
        """The sum of squared residuals of each joint."""
        full = np.append(x, -1.0)
        joints = zip(self.factors, self.columns, strict=True)
        return np.array([np.sum((R @ full[[*places, -1]]) ** 2) for R, places in joints])


@dataclass(frozen=True)
class Solution:
    """``x`` and its covariance, ``noise`` of each joint, the condition number of the columns
    scaled to one, ``open`` directions (unit columns' null space) and what the method chose."""

    x: Array
    covariance: Array
    noise: Array
    condition: float
    open: Array
    chosen: dict[str, Any]


def data_of(parts: Compressed) -> Triangles:
    """The triangles of all folds together."""
    return Triangles(parts.merged(), parts.columns, parts.count, sum(parts.samples), parts)


def only(data: Triangles, unknowns: Places, factor: Array | None = None) -> Triangles:
    """The data of some unknowns, the others taken for zero; their columns times a factor."""
    place = {int(k): i for i, k in enumerate(unknowns)}
    size = np.ones(len(unknowns)) if factor is None else factor
    factors, columns = [], []
    for R, places in zip(data.factors, data.columns, strict=True):
        kept = [i for i, k in enumerate(places) if int(k) in place]
        new = np.array([place[int(places[i])] for i in kept], dtype=int)
        factors.append(triangle(R[:, [*kept, -1]] * np.append(size[new], 1.0)))
        columns.append(new)
    return Triangles(factors, tuple(columns), len(unknowns), data.samples)


def ordinary(data: Triangles, prior: Array, weights: Array | None = None) -> Solution:
    """Least squares by QR with column pivoting; what the data leave open stays at the prior."""
    A, b = data.system(weights)
    P, condition, null = by_qr(A)
    return finished(data, prior + P @ (b - A @ prior), A, P, weights, condition, null)


def weighted(data: Triangles, prior: Array, weights: Array | None = None) -> Solution:
    """Least squares in which each joint counts by its noise: as ordinary least squares leave it,
    and again as the weighted ones do, until it stays."""
    if weights is not None:
        return ordinary(data, prior, weights)
    found = ordinary(data, prior)
    for _ in range(20):
        before = found.noise
        found = ordinary(data, prior, noise_weights(before))
        if np.allclose(found.noise, before, rtol=1e-4, atol=0):
            break
    return found


def noise_weights(noise: Array) -> Array:
    """One by the noise; joints without any count as the best of the others, or all alike."""
    floor = 1e-9 * noise.max(initial=0.0)
    if floor == 0:
        return np.ones_like(noise)
    return noise.max() / np.maximum(noise, floor)


def truncated(
    data: Triangles, prior: Array, weights: Array | None = None, rcond: float | None = None
) -> Solution:
    """The solution by singular values of the unit columns, without those below ``rcond`` of the
    largest."""
    A, b = data.system(weights)
    least = DETERMINED if rcond is None else rcond
    size = column_sizes(A)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    keep = s > least * s[0]
    P = (Vt[keep].T / s[keep]) @ U[:, keep].T / size[:, None]
    x = prior + P @ (b - A @ prior)
    return finished(
        data, x, A, P, weights, float(s[0] / s[keep][-1]), Vt[~keep].T, rank=int(keep.sum())
    )


def pseudo_inverse(
    data: Triangles, matrix: Array, weights: Array | None = None
) -> tuple[Solution, Array]:
    """The shortest vector of standard parameters, whatever the prior; and its base."""
    A, b = data.system(weights)
    wide = A @ matrix
    size = float(np.linalg.norm(wide, 2)) or 1.0
    P = np.linalg.pinv(wide / size, rcond=DETERMINED) / size
    _, condition, null = by_qr(A)
    standard = P @ b
    return finished(data, matrix @ standard, A, matrix @ P, weights, condition, null), standard


def ridge(
    data: Triangles, prior: Array, weights: Array | None = None, strength: float | None = None
) -> Solution:
    """Least squares with a pull towards the prior on the unit columns. Its strength is the one
    that predicts held-out folds best, unless it is given.

    The covariance is that of the error if the prior errs as much as the strength presumes (Bayes).
    """
    A, b = data.system(weights)
    size = column_sizes(A)
    if strength is None:
        tried = np.append(0.0, np.logspace(-12, 2, 43))
        strength = float(tried[np.argmin(_held_out(data, prior, weights, size, tried))])
    U, s, V = _decomposed(A / size)
    P = (V * _damped(s, strength)) @ U.T / size[:, None]
    _, condition, null = by_qr(A)
    x = prior + P @ (b - A @ prior)
    found = finished(data, x, A, P, weights, condition, null, strength=strength)
    spread = float(np.mean(_row_noise(data, found.noise, weights) ** 2))
    kept = np.divide(strength, (s**2 + strength) ** 2, out=np.zeros_like(s), where=s > 0)
    pulled = (V * (spread * kept)) @ V.T / np.outer(size, size)
    return replace(found, covariance=found.covariance + pulled)


def _held_out(
    data: Triangles, prior: Array, weights: Array | None, size: Array, strengths: Array
) -> Array:
    """The squared residuals of each fold by what the others say, for each strength."""
    assert data.parts is not None
    folds = [f for f, n in enumerate(data.parts.samples) if n]
    errors = np.zeros(len(strengths))
    for f in folds:
        others = data.parts.system(weights, [k for k in folds if k != f] or [f])
        left = data.parts.system(weights, [f])
        U, s, V = _decomposed(others[:, :-1] / size)
        along = U.T @ (others[:, -1] - others[:, :-1] @ prior)
        for k, strength in enumerate(strengths):
            x = prior + V @ (_damped(s, strength) * along) / size
            errors[k] += np.sum((left[:, :-1] @ x - left[:, -1]) ** 2)
    return errors


def _decomposed(A: Array) -> tuple[Array, Array, Array]:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return U, np.where(s > DETERMINED * s[0], s, 0.0), Vt.T


def _damped(s: Array, strength: float) -> Array:
    return np.divide(s, s**2 + strength, out=np.zeros_like(s), where=s > 0)


def total(data: Triangles, prior: Array, weights: Array | None = None) -> Solution:
    """Total least squares: all entries of [A | b], its columns scaled to length one, err alike.

    With the smallest singular value s of it, x = (A'A - s^2)^-1 A'b (Golub and Van Loan 1980); the
    covariance is the first order's, s^2 (1 + x'x) (A'A - s^2)^-1 by the number of rows.
    """
    weights = noise_weights(ordinary(data, prior).noise) if weights is None else weights
    A, b = data.system(weights)
    _, condition, null = by_qr(A)
    size, length = column_sizes(A), float(np.linalg.norm(b)) or 1.0
    unit = A / size
    least = float(np.linalg.svd(np.column_stack([unit, b / length]), compute_uv=False)[-1])
    s, V = np.linalg.svd(unit)[1:]
    rank = A.shape[1] - null.shape[1]
    inner = (V[:rank].T / (s[:rank] ** 2 - least**2)) @ V[:rank]
    x = inner @ (unit.T @ b)
    rows = max(data.samples * len(data.factors) - rank, 1)
    spread = (least**2 / rows) * (length**2 + float(x @ x))
    found = finished(data, x / size, A, inner @ unit.T / size[:, None], weights, condition, null)
    return replace(
        found,
        x=x / size + null @ (null.T @ (size * prior)) / size,
        covariance=spread * inner / np.outer(size, size),
        chosen={"error": least / np.sqrt(rows)},
    )


def finished(
    data: Triangles,
    x: Array,
    A: Array,
    P: Array,
    weights: Array | None,
    condition: float,
    null: Array,
    **chosen: Any,
) -> Solution:
    """Noise of each joint from its residuals, and what it makes of x."""
    lengths = [len(R) for R in data.factors]
    joint = np.repeat(np.arange(len(lengths)), lengths)
    used = np.bincount(joint, np.einsum("rk,kr->r", A, P), len(lengths))
    freedom = np.maximum(data.samples - used, 1.0)
    noise = np.sqrt(data.squares(x) / freedom)
    spread = P * _row_noise(data, noise, weights)
    return Solution(x, spread @ spread.T, noise, condition, null, chosen)


def _row_noise(data: Triangles, noise: Array, weights: Array | None) -> Array:
    lengths = [len(R) for R in data.factors]
    return np.repeat(noise if weights is None else noise * weights, lengths)


def by_qr(A: Array) -> tuple[Array, float, Array]:
    """P with P b the least-squares solution, the condition number of the unit columns that count,
    and an orthonormal basis of what is open."""
    from scipy.linalg import qr, solve_triangular

    size = column_sizes(A)
    unit = A / size
    Q, R, order = qr(unit, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > DETERMINED * max(diagonal.max(initial=0.0), 1e-300)).sum())
    P = np.zeros((A.shape[1], len(A)))
    P[order[:rank]] = solve_triangular(R[:rank, :rank], Q[:, :rank].T)
    s, Vt = np.linalg.svd(unit)[1:]
    condition = float(s[0] / s[rank - 1]) if rank else np.inf
    return P / size[:, None], condition, Vt[rank:].T


def column_sizes(A: Array) -> Array:
    """The lengths of the columns; one for those that are nearly zero."""
    size = np.linalg.norm(A, axis=0)
    return np.where(size > 1e-12 * size.max(initial=0.0), size, 1.0)
