"""The problems of contacts against all their possible answers, tried one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appell.simulation.contacts.least import (
    Contradiction,
    CoulombFriction,
    Paradox,
    least,
    with_friction,
)
from appell.simulation.contacts.lemke import lemke

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


@given(SEEDS, st.integers(1, 5), st.sampled_from([1, 2]), st.floats(0.0, 1.5), st.booleans())
def test_coulombs_law_holds_in_every_contact(seed, n, tangents, mu, redundant):
    """In a plane and in space, for velocities after an impact, also of more contacts than the
    robot has speeds: within the true cone, and of all forces in it the one that takes most."""
    draw = np.random.default_rng(seed)
    size = n * (1 + tangents)
    speeds = max(2, size // 2) if redundant else size + 2
    R = draw.normal(size=(size, speeds))
    W, w = R @ R.T, R @ draw.normal(size=speeds)
    units = [
        CoulombFriction(tuple(range(n + tangents * i, n + tangents * (i + 1))), i, mu)
        for i in range(n)
    ]
    p, y = with_friction(W, w, range(n), units, np.zeros(size))
    np.testing.assert_allclose(y, W @ p + w, atol=1e-5)
    # 1e-6 is promised, of what stops the largest speed; impulses may be larger, and so y's.
    small = 1e-5 * max(np.abs(p).max(), np.abs(w).max(), 1.0)
    assert (p[:n] >= -small).all()
    assert (y[:n] >= -small).all()
    np.testing.assert_allclose(np.minimum(p[:n], y[:n]), 0, atol=small)
    for unit in units:
        rows = list(unit.rows)
        force, slip, bound = p[rows], y[rows], mu * p[unit.normal]
        assert np.linalg.norm(force) <= bound + small
        assert force @ slip + bound * np.linalg.norm(slip) <= small * max(1.0, np.abs(y).max())


def test_loads_that_could_be_shared_in_any_way_are_shared_evenly():
    """Two points of one rod on a floor, pushed along it: each takes a half."""
    W = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    units = [CoulombFriction((2,), 0, 0.5), CoulombFriction((3,), 1, 0.5)]
    p, y = with_friction(W, np.array([-1.0, -1.0, 0.6, 0.6]), range(2), units, np.zeros(4))
    np.testing.assert_allclose(p, [1, 1, -0.3, -0.3], atol=1e-6)
    np.testing.assert_allclose(y, 0, atol=1e-6)


def test_a_wedge_that_cannot_rebound_is_told():
    """It moves along one line, which friction blocks both ways."""
    d = np.array([[-0.1], [1.0]])
    with pytest.raises(Paradox):
        with_friction(
            d @ d.T, np.array([-0.15, 1.0]), [0], [CoulombFriction((1,), 0, 1.5)], np.zeros(2)
        )
