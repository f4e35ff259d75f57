"""The paper's four methods on the same data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.papers import valera2003_identification as paper


@pytest.mark.parametrize("method", paper.METHODS)
def test_without_noise_the_base_parameters_are_exact(method):
    found = paper.estimate(method, 0.0)
    assert len(found.base) == 36
    assert np.abs(paper.errors(found)).max() < 1e-10


def test_least_squares_are_the_same_however_they_are_computed():
    qr, svd, pinv, ridge = (paper.estimate(m, paper.NOISE) for m in paper.METHODS)
    np.testing.assert_allclose(svd.base, qr.base, atol=1e-9)
    np.testing.assert_allclose(pinv.base, qr.base, atol=1e-9)
    assert np.linalg.norm(pinv.parameters) < np.linalg.norm(qr.parameters)
    assert np.abs(ridge.base - qr.base).max() > 1e-6


def test_noise_leaves_errors_of_the_size_that_the_estimates_tell():
    found = paper.estimate("qr", paper.NOISE)
    z = paper.errors(found) / found.std
    # The noise differs from joint to joint, which plain least squares do not know.
    assert 0.2 < np.sqrt(np.mean(z**2)) < 2


def test_estimates_predict_another_motion_better_than_what_was_believed():
    q, v, a, tau = paper.data(0.0, paper.SEED + 1)
    off = tau - paper.robots()[1].inverse_dynamics(q, v, a)
    before = np.mean(off.std(axis=0) / tau.std(axis=0))
    for method in paper.METHODS:
        assert paper.predicted(paper.estimate(method, paper.NOISE)) < before


def test_the_reproduction_has_the_section(reproduced):
    titles = [table.title for table in reproduced("valera2003").tables]
    assert paper.tables()[0].title in titles


def test_a_wrong_estimate_makes_its_row_fail(monkeypatch):
    """One whose base parameters are off by a hundredth of the largest."""
    estimate = paper.estimate

    def wrong(method, noise):
        found = estimate(method, noise)
        if method != "svd":
            return found
        return replace(found, base=found.base + 0.01 * np.abs(found.base).max())

    monkeypatch.setattr(paper, "estimate", wrong)
    assert [row.what for row in paper.tables()[0].failures] == ["SVD"]


def test_table_and_picture_are_there():
    table, others = paper.tables()
    assert table.compared
    assert not table.failures
    assert not others.compared
    assert [row.what for row in table.rows] == [*paper.METHODS.values()]
    (picture,) = paper.PICTURES
    assert len(picture.draw().panels[0].ticks) > 10
