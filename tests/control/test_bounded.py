"""Least squares by priority within bounds, against NumPy's pseudo-inverse and SciPy's solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from appell.control.kinematics.bounded import Level, prioritised

FREE = np.inf


def problem(seed, bounded=True):
    """Two levels of random, often dependent rows, and bounds of every kind."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 10))
    A0, A1 = (draw.normal(size=(int(draw.integers(1, n + 3)), n)) for _ in range(2))
    if seed % 3 == 0:
        A0[-1], A1[-1] = A0[0], A0[0]
    if seed % 5 == 0:
        A0[:, seed % n] = 0.0
    b0, b1 = 3 * draw.normal(size=len(A0)), 3 * draw.normal(size=len(A1))
    low, high = -draw.uniform(0, 1, n), draw.uniform(0, 1, n)
    if seed % 4 == 0:
        low[0] = high[0] = 0.0
    if seed % 7 == 0:
        low[-1], high[-1] = 0.2, 0.5
    if seed % 11 == 0:
        low[:] = np.minimum(0.0, high)
    if not bounded:
        low, high = np.full(n, -FREE), np.full(n, FREE)
    return A0, b0, A1, b1, low, high


@pytest.mark.parametrize("seed", range(60))
def test_without_bounds_lower_levels_use_the_null_space_of_higher_ones(seed):
    A0, b0, A1, b1, low, high = problem(seed, bounded=False)
    v = prioritised([Level(A0, b0), Level(A1, b1)], low, high)
    first = np.linalg.pinv(A0, rcond=1e-10) @ b0
    _, s, Vt = np.linalg.svd(A0)
    N = Vt[int((s > 1e-10).sum()) :].T  # a basis of the null space
    B = np.where(np.abs(A1 @ N) < 1e-12, 0.0, A1 @ N)  # rows that A0 has, too, are rounding there
    expected = first + N @ np.linalg.pinv(B, rcond=1e-10) @ (b1 - A1 @ first)
    # Random rows are rarely worse conditioned than 1e3.
    np.testing.assert_allclose(v, expected, rtol=0, atol=1e-9 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(200))
def test_within_bounds_no_level_can_be_served_better(seed):
    A0, b0, A1, b1, low, high = problem(seed)
    v = prioritised([Level(A0, b0), Level(A1, b1)], low, high)
    assert (v >= low).all()
    assert (v <= high).all()
    wide = 1e-12  # lsq_linear takes no bounds that are equal
    best = lsq_linear(A0, b0, (low - wide, high + wide), method="bvls", tol=1e-14, max_iter=500)
    assert np.linalg.norm(A0 @ v - b0) <= np.linalg.norm(A0 @ best.x - b0) + 1e-9
    # The second: its gradient is made of what the first holds and of bounds that push back.
    pushes = [*_walls(v, low, high)]
    cone = np.array([*A0, *-A0, *pushes]).reshape(-1, len(v))
    gradient = A1.T @ (A1 @ v - b1)
    assert nnls(cone.T, gradient)[1] < 1e-7 * max(1.0, np.linalg.norm(gradient))
    # Of those that serve both, the shortest.
    cone = np.array([*A0, *-A0, *A1, *-A1, *pushes]).reshape(-1, len(v))
    assert nnls(cone.T, v)[1] < 1e-7


def _walls(v, low, high):
    eye = np.eye(len(v))
    yield from (eye[k] for k in range(len(v)) if v[k] <= low[k] + 1e-12)
    yield from (-eye[k] for k in range(len(v)) if v[k] >= high[k] - 1e-12)


def test_near_a_singularity_speeds_are_bounded_and_regular_directions_exact():
    U, V = (np.linalg.qr(np.random.default_rng(k).normal(size=(3, 3)))[0] for k in range(2))
    free = np.full(3, FREE)
    for s in (0.0, 1e-12, 1e-4, 0.019, 0.02, 0.1):
        A, b = U @ np.diag([1.0, 0.5, s]) @ V.T, np.array([1.0, 2.0, 3.0])
        y = V.T @ prioritised([Level(A, b, 0.02)], -free, free)
        gain = s / max(s, 0.02) ** 2
        np.testing.assert_allclose(y, U.T @ b * [1.0, 2.0, gain], rtol=0, atol=1e-8)
