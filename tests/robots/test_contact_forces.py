"""Forces within cones of friction are those of another solver."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from appell.robots.contact_cones import Cones, within
from appell.robots.contact_forces import holding

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def problem(seed):
    """Up to five contacts, some without a cone, in units of any size; every third is solvable."""
    draw = np.random.default_rng(seed)
    c, r = draw.integers(1, 6), draw.integers(1, 7)
    A = draw.normal(size=(r, 3 * c)) * 10 ** draw.uniform(-2, 2)
    normal = draw.normal(size=(c, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    mu = np.where(draw.random(c) < 0.85, 10 ** draw.uniform(-1.5, 0.5, c), np.inf)
    b = draw.normal(size=r) * 10 ** draw.uniform(-3, 3)
    if seed % 3 == 0:
        b = A @ (normal * draw.random((c, 1))).ravel()
    return A, b, Cones(normal, mu)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_forces_within_cones_are_clarabels(seed):
    A, b, cones = problem(seed)
    f = within(A, b, cones)
    parts = f.reshape(-1, 3)
    n = (parts * cones.normal).sum(axis=1)
    across = np.linalg.norm(parts - n[:, None] * cones.normal, axis=1)
    limited = np.isfinite(cones.mu)
    assert (across <= cones.mu * n + 1e-12 * np.abs(f).max())[limited].all()
    # The same in units of b.
    size, unit = np.abs(b).max(), np.abs(b).max() / np.linalg.norm(A)
    x = cvxpy.Variable(len(f))
    inside = []
    for k in np.flatnonzero(limited):
        part, N = x[3 * k : 3 * k + 3], cones.normal[k]
        inside.append(cvxpy.norm(part - N * (N @ part)) <= cones.mu[k] * (N @ part))
    missed = A @ x * (unit / size) - b / size
    best = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(missed)), inside).solve("CLARABEL", **TIGHT)
    ours = np.linalg.norm(A @ f - b) / size
    # Forces a million times larger than b asks for count as much as what is missed.
    assert ours < best + 1e-8 + 1e-12 * (np.linalg.norm(f) / unit) ** 2
    if best > 1e-9:
        return
    smallest = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x)), [*inside, missed == 0])
    smallest.solve("CLARABEL")
    assert np.linalg.norm(f / unit) < (1 + 1e-4) * np.sqrt(smallest.value)


@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-5, 1e-8, 0.0])
def test_forces_that_hold_are_as_good_as_contacts_are_independent(near, damping):
    """Two rows at a small angle, in a batch with one of independent rows, and by themselves."""
    draw = np.random.default_rng(0)
    u, w, x = draw.normal(size=(3, 7))
    U = np.stack([np.stack([u, u + near * w], axis=1), np.stack([u, w], axis=1)])
    drift = np.zeros((2, 1))
    f, after = holding(U, x[:, None], drift, damping)
    for k in range(2):
        alone = holding(U[k], x[:, None], drift, damping)
        # Singular values see an angle of 1e-8 to eight digits.
        assert np.abs(alone[1] - after[k]).max() < 1e-7
        left = U[k].T @ after[k] + damping * f[k]
        # What the forces, as large as one by the angle, add up to is rounded.
        assert np.abs(left).max() < 1e-13 * max(100, np.abs(f[k]).max())
    assert np.isfinite(f).all()
    if near == 0.0:
        assert np.abs(f[0, 0] - f[0, 1]).max() < 1e-9 * np.abs(f).max()
