"""Validation: errors as they are defined, on data of its own."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.identify import Data, cross_validate, fit, validate

NOISE = 0.05


@pytest.fixture(scope="module")
def robot():
    return appell.load("two_link")


def made(robot, parameters, seed, samples=300):
    """Data of a robot with other parameters, and noise."""
    rng = np.random.default_rng(seed)
    q, v, a = rng.uniform(-2, 2, (3, samples, 2))
    tau = robot.regressor(q, v, a) @ parameters + NOISE * rng.normal(size=(samples, 2))
    return Data(np.arange(samples) * 0.01, q, v, a, tau)


@pytest.fixture(scope="module")
def heavier(robot):
    links = robot.parameters.reshape(-1, 10) * [[1.2], [0.85]]
    return links.ravel()


def test_an_estimate_foretells_to_the_noise_and_the_nominal_model_does_not(robot, heavier):
    used, held_out = made(robot, heavier, 1), made(robot, heavier, 2)
    found = validate(fit(robot, *used.states, method="qr"), held_out)
    assert (found.errors.rms < 1.2 * NOISE).all()
    assert (found.nominal.rms > 5 * NOISE).all()
    assert (found.better > 5).all()
    error = held_out.tau - found.predicted
    np.testing.assert_allclose(found.errors.rms, np.sqrt((error**2).mean(axis=0)))
    np.testing.assert_allclose(found.errors.worst, np.abs(error).max(axis=0))
    r2 = 1 - (error**2).mean(axis=0) / held_out.tau.var(axis=0)
    np.testing.assert_allclose(found.errors.r2, r2)
    assert "better than the nominal model" in repr(found)


def test_cross_validation_holds_out_every_stretch(robot, heavier):
    data = made(robot, heavier, 3)
    errors = cross_validate(robot, data, folds=4, method="qr")
    assert errors.shape == (4, 2)
    np.testing.assert_allclose(errors, NOISE, rtol=0.3)
    broken = Data(data.t, data.q, data.v, data.a, data.tau.copy())
    broken.tau[:75] += 5.0  # the first stretch is of another robot
    worse = cross_validate(robot, broken, folds=4, method="qr", check=False)
    assert (worse[0] > 2.0).all()


def test_what_does_not_fit_is_refused(robot, heavier):
    found = fit(robot, *made(robot, heavier, 1).states)
    with pytest.raises(appell.InputError, match="expected a Fit and Data"):
        validate(found, "data.csv")
    other = Data(*(np.zeros((3, 4)) for _ in range(5)))
    with pytest.raises(appell.InputError, match="4 joints"):
        validate(found, other)
