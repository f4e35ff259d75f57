"""Sobol indices: how much of what a measure does is owed to each variable.

Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics
Communications 181 (2010) 259-270. Indices are those of `scipy.stats.sobol_indices`, which takes
powers of two of samples alone: here those with a failed point are left out. Bounds are those of its
bootstrap (Efron, "Better Bootstrap Confidence Intervals", 1987), whose time here grows with the
number of points, not with its square.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.robots.dynamics import Array

if TYPE_CHECKING:
    from appell.study.sweeps.sweep import Sweep

_LEAST = 16  # samples that say anything
_WEIGHTS = 2**22  # numbers that are drawn at a time


class SobolIndices(NamedTuple):
    """Shares of the variance of a measure, with the bounds of their confidence intervals.

    Attributes:
        variables: Their names.
        first: What each explains by itself, (variables,).
        first_bounds: Low and high, (variables, 2).
        total: What is lost without it, with all that it does together with others.
        total_bounds: Low and high.
        confidence: Confidence level of the bounds.
        samples: Number of samples used, of (variables + 2) points each.
    """

    variables: tuple[str, ...]
    first: Array
    first_bounds: Array
    total: Array
    total_bounds: Array
    confidence: float
    samples: int


def sobol_indices(
    sweep: Sweep, measure: str, *, confidence: float = 0.95, resamples: int = 999, seed: int = 0
) -> SobolIndices:
    """First- and total-order Sobol indices of a measure, from points by ``sampling = "saltelli"``.

    A sample of which a point failed, or has an infinite measure, is left out.

    Args:
        sweep: Results of a sweep.
        measure: Name of the measure.
        confidence: Confidence level of the bounds.
        resamples: Number of resamples of the bootstrap.
        seed: Seed of the bootstrap.

    Returns:
        `SobolIndices`.
    """
    study = sweep.study
    if study.sampling != "saltelli":
        raise InputError(
            f"Sobol indices need sampling = 'saltelli'; this study has {study.sampling!r}."
        )
    names, n = tuple(study.vary), study.points or 0
    d = len(names)
    if len(sweep) != n * (d + 2):
        raise InputError(f"the sweep is not complete: {len(sweep):,} of {n * (d + 2):,} points.")
    f = sweep[measure].reshape(d + 2, n)
    f = f[:, np.isfinite(f).all(axis=0)]
    if f.shape[1] < _LEAST:
        raise InputError(f"{measure}: {f.shape[1]} whole samples; expected {_LEAST} or more.")
    changes = bool(np.ptp(f) > 1e-12 * np.abs(f).max(initial=1e-300))
    if not changes or d == 1:  # nothing is owed to anything, or all to the only variable
        share, bounds = np.full(d, float(changes)), np.full((d, 2), float(changes))
        return SobolIndices(names, share, bounds, share, bounds, confidence, f.shape[1])
    estimate = _indices(_terms(f).mean(axis=0))
    bounds = bootstrap_bounds(f, confidence, resamples, np.random.default_rng(seed))
    return SobolIndices(
        names, estimate[:d], bounds[:d], estimate[d:], bounds[d:], confidence, f.shape[1]
    )


def bootstrap_bounds(
    f: Array, confidence: float, resamples: int, rng: np.random.Generator
) -> Array:
    """Bounds of the first-order indices, then of the total-order ones, (2 variables, 2).

    The indices are ratios of means over the samples, so that resampling is a product of how often
    each sample is drawn with the terms of these means, and leaving one sample out a subtraction.

    Args:
        f: A measure at the samples A, B and the mixed ones, (variables + 2, samples).
        confidence: Confidence level of the bounds.
        resamples: Number of resamples of the bootstrap.
        rng: Draws them.
    """
    from scipy.special import ndtr, ndtri

    terms, n = _terms(f), f.shape[1]
    estimate = _indices(terms.mean(axis=0))
    drawn = np.concatenate([
        _indices(_often(n, some, rng) @ terms / n) for some in _batches(resamples, n)
    ])  # fmt: skip
    apart = _indices((terms.sum(axis=0) - terms) / (n - 1))  # one sample left out
    away = apart.mean(axis=0) - apart
    size = np.sum(away**2, axis=0)
    skewed = np.sum(away**3, axis=0) / (6 * np.where(size > 0, size, 1.0) ** 1.5)
    below = ((drawn < estimate).mean(axis=0) + (drawn <= estimate).mean(axis=0)) / 2
    shift = ndtri(np.clip(below, 0.5 / resamples, 1 - 0.5 / resamples))
    tails = shift + ndtri(np.array([[(1 - confidence) / 2], [(1 + confidence) / 2]]))
    shares = ndtr(shift + tails / (1 - skewed * tails))
    return np.array([np.quantile(x, u) for x, u in zip(drawn.T, shares.T, strict=True)])


def _terms(f: Array) -> Array:
    """The numbers whose means give the indices, one row per sample. The mean of the measure is
    subtracted first, so that no digits are lost."""
    A, B, mixed = (x - f[:2].mean() for x in (f[0], f[1], f[2:]))
    return np.vstack([A + B, A**2 + B**2, B * (mixed - A), (mixed - A) ** 2]).T


def _indices(means: Array) -> Array:
    """First- and total-order indices of the means of A + B, A^2 + B^2 and of each variable's terms,
    (..., 2 variables): Saltelli et al. 2010, table 2 (b) and (f). Samples that are all equal, as
    resamples of a measure that hardly ever changes can be, owe nothing to any variable: zeros."""
    d = (means.shape[-1] - 2) // 2
    variance = (means[..., 1:2] - means[..., 0:1] ** 2 / 2) / 2
    factors = np.repeat([1.0, 0.5], d)
    changes = variance > 1e-12 * means[..., 1:2]
    return np.where(changes, factors * means[..., 2:] / np.where(changes, variance, 1.0), 0.0)


def _batches(resamples: int, n: int) -> list[int]:
    """Numbers of resamples that are drawn at a time, so that they fit into memory."""
    most = max(1, _WEIGHTS // n)
    return [min(most, resamples - k) for k in range(0, resamples, most)]


def _often(n: int, resamples: int, rng: np.random.Generator) -> Array:
    """Counts by which each of n samples is drawn, (resamples, n)."""
    drawn = (np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(resamples))
    return np.array([*drawn], dtype=float)
