"""The problems of contacts against all their possible answers, tried one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appell.simulation.least import Contradiction, Friction, least, with_friction
from appell.simulation.lemke import lemke

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(2, 6), st.integers(1, 5))
def test_the_shortest_change_is_the_best_of_all_active_sets(seed, n, m):
    draw = np.random.default_rng(seed)
    U, h = draw.normal(size=(n, m)), draw.normal(size=m)
    if m > n:  # more demands than speeds may contradict each other; these do not
        h = U.T @ draw.normal(size=n) - draw.uniform(0, 1, m)
    if m > 1 and seed % 3 == 0:  # a contact given twice
        U[:, -1], h[-1] = U[:, 0], h[0]
    x, p = least(U, h)
    best = min(
        np.linalg.norm(trial)
        for chosen in product([False, True], repeat=m)
        for trial in [np.linalg.lstsq(U.T[list(chosen)], h[list(chosen)], rcond=None)[0]]
        if (U.T @ trial >= h - 1e-9).all()
    )
    assert np.linalg.norm(x) == pytest.approx(best, rel=1e-8, abs=1e-10)
    assert (U.T @ x >= h - 1e-9).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(U @ p, x, atol=1e-8)
    np.testing.assert_allclose(p * (U.T @ x - h), 0, atol=1e-7)


def test_contacts_that_repeat_each_other_share():
    U = np.ones((1, 4))
    x, p = least(U, np.full(4, 2.0))
    assert x == pytest.approx([2.0])
    np.testing.assert_allclose(p, 0.5)


def test_contradictions_are_told():
    with pytest.raises(Contradiction):
        least(np.array([[1.0, -1.0]]), np.array([1.0, 1.0]))


@given(SEEDS, st.integers(1, 5))
def test_lemke_solves_what_is_positive_definite(seed, n):
    draw = np.random.default_rng(seed)
    A, S = draw.normal(size=(n, n)), draw.normal(size=(n, n))
    M, q = A @ A.T + 0.1 * np.eye(n) + S - S.T, draw.normal(size=n)
    z = lemke(M, q)
    w = M @ z + q
    assert (z >= 0).all()
    assert (w >= -1e-9).all()
    assert z @ w == pytest.approx(0, abs=1e-8)


@given(SEEDS, st.integers(1, 3), st.sampled_from([1, 2]), st.floats(0.0, 1.5))
def test_coulombs_law_holds_in_every_contact(seed, contacts, tangents, mu):
    """In a plane and in space, for velocities after an impact."""
    draw = np.random.default_rng(seed)
    n, size = contacts, contacts * (1 + tangents)
    R = draw.normal(size=(size, size + 2))
    W, w = R @ R.T, draw.normal(size=size)
    units = [
        Friction(tuple(range(n + tangents * i, n + tangents * (i + 1))), i, mu) for i in range(n)
    ]
    low = np.zeros(size)
    p = with_friction(W, w, range(n), units, low)
    y = W @ p + w
    assert (p[:n] >= -1e-8).all()
    assert (y[:n] >= -1e-7).all()
    np.testing.assert_allclose(p[:n] * y[:n], 0, atol=1e-6)
    for unit in units:
        rows = list(unit.rows)
        force, slip, bound = p[rows], y[rows], mu * p[unit.normal]
        assert np.linalg.norm(force) <= bound * 1.09 + 1e-7  # eight directions: 8 % at worst
        if np.linalg.norm(slip) > 1e-6 and tangents == 1:
            np.testing.assert_allclose(force, -bound * np.sign(slip), atol=1e-6)
        assert force @ slip <= 1e-7  # friction takes, never gives
