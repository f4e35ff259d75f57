"""Other processors have wider or narrower registers: the code must be right for all."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.compile import kernel, plan


def results(robot: appell.Robot, dtype: str) -> list[np.ndarray]:
    q, v, a = np.random.default_rng(5).uniform(-2, 2, (3, 37, robot.nv)).astype(dtype)
    q[7, 1] = 1e12  # beyond the polynomials, in one lane
    return [
        robot.inverse_dynamics(q, v, a),
        robot.inverse_dynamics(q[0], v[0], a[0]),
        robot.mass_matrix(q),
        robot.kinetic_energy(q, v),
        *robot.inverse_dynamics_derivatives(q, v, a),
    ]


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_number_of_lanes_does_not_matter(monkeypatch, dtype, lanes):
    model = appell.load("puma560").model
    expected = results(appell.Robot(model), dtype)
    monkeypatch.setattr(kernel, "lanes", lambda _: lanes)
    for x, y in zip(results(appell.Robot(model), dtype), expected, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.usefixtures("nothing_kept")
def test_cutting_a_tape_into_functions_does_not_matter(monkeypatch):
    model = appell.load("random_tree", n=7, seed=4).model
    whole = results(appell.Robot(model), "float64")
    monkeypatch.setattr(plan, "LENGTH", 40)
    monkeypatch.setattr(plan, "WINDOWS", 3)
    for x, y in zip(results(appell.Robot(model), "float64"), whole, strict=True):
        np.testing.assert_array_equal(x, y)
