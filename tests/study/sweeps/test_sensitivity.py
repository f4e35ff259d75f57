"""Sobol indices of a function whose indices are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from appell.errors import InputError
from appell.study import Study, sweep

ISHIGAMI = """
from math import pi, sin

def ishigami(x1, x2, x3):
    return sin(x1) + 7 * sin(x2) ** 2 + 0.1 * x3**4 * sin(x1)
"""


@pytest.fixture
def ishigami(tmp_path, monkeypatch):
    (tmp_path / "ishigami_function.py").write_text(ISHIGAMI)
    monkeypatch.chdir(tmp_path)
    vary = {f"x{k}": {"uniform": (-np.pi, np.pi)} for k in (1, 2, 3)}
    return Study(
        function="ishigami_function:ishigami", vary=vary, sampling="saltelli", points=1024, seed=2
    )


def test_indices_of_the_ishigami_function_are_within_their_bounds(ishigami):
    found = sweep(ishigami)
    assert len(found) == 5 * 1024
    indices = found.indices("ishigami", confidence=0.999)
    a, b, pi4 = 7.0, 0.1, np.pi**4
    parts = np.array([(1 + b * pi4 / 5) ** 2 / 2, a**2 / 8, b**2 * pi4**2 * (1 / 18 - 1 / 50)])
    variance = parts.sum()
    first = np.array([parts[0], parts[1], 0.0]) / variance
    total = np.array([parts[0] + parts[2], parts[1], parts[2]]) / variance
    for exact, bounds in ((first, indices.first_bounds), (total, indices.total_bounds)):
        assert (bounds[:, 0] <= exact).all()
        assert (exact <= bounds[:, 1]).all()
        assert np.ptp(bounds, axis=1).max() < 0.5  # and they say something
    assert indices.samples == 1024


def test_indices_are_those_of_scipy(ishigami):
    results = sweep(ishigami)
    f = results["ishigami"].reshape(5, 1024)
    scipy = stats.sobol_indices(func={"f_A": f[0:1], "f_B": f[1:2], "f_AB": f[2:, None, :]}, n=1024)
    ours = results.indices("ishigami")
    # Sums of 1,024 numbers of the size of one, in another order.
    np.testing.assert_allclose(ours.first, scipy.first_order.ravel(), atol=1e-12)
    np.testing.assert_allclose(ours.total, scipy.total_order.ravel(), atol=1e-12)


def test_samples_with_a_failed_point_are_left_out_and_no_others(ishigami):
    results = sweep(ishigami)
    whole = results.indices("ishigami")
    results.columns["ishigami"][[3, 1500, 4000]] = np.nan
    indices = results.indices("ishigami")
    assert indices.samples == 1021
    assert indices.variables == ("x1", "x2", "x3")
    # Three samples of 1,024 move a mean by some thousandths of the spread of its terms.
    np.testing.assert_allclose(indices.total, whole.total, atol=0.05)


def test_a_measure_that_never_changes_owes_nothing_to_anything(ishigami):
    found = sweep(ishigami)
    found.columns["ishigami"][:] = 3.0
    assert not found.indices("ishigami").total.any()


def test_a_measure_that_changes_at_one_point_alone_has_bounds(ishigami):
    found = sweep(ishigami.model_copy(update={"points": 64}))
    found.columns["ishigami"][:] = 0.0
    found.columns["ishigami"][20] = 1.0  # resamples without this point do not vary
    indices = found.indices("ishigami")
    assert np.isfinite([indices.first_bounds, indices.total_bounds]).all()
    assert repr(found) == "<Sweep of 320 points, 0 failed: ishigami by x1, x2, x3>"


def test_points_by_another_sampling_have_no_indices(ishigami):
    with pytest.raises(InputError, match="'saltelli'"):
        sweep(ishigami.model_copy(update={"sampling": "sobol"})).indices("ishigami")


def test_all_is_owed_to_the_only_variable(ishigami):
    alone = ishigami.model_copy(update={"vary": {"x": ishigami.vary["x1"]}, "function": "math:sin"})
    found = sweep(ishigami.model_copy(update={"points": 16}))
    found.columns["ishigami"] = found["ishigami"][: 3 * 16]
    found.columns["point"] = found["point"][: 3 * 16]
    one = type(found)(alone.model_copy(update={"points": 16}), found.columns)
    assert one.indices("ishigami").total.tolist() == [1.0]
