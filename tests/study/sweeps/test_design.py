"""Where the points of a study lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from appell.errors import InputError
from appell.study import Study
from appell.study.sweeps.design import Design, square_root
from appell.study.sweeps.study_file import checked_study
from appell.study.sweeps.variable import Variable

THREE = {
    "a": {"uniform": (-1.0, 3.0)},
    "b": {"normal": (2.0, 0.5)},
    "c": {"log_uniform": (0.1, 10.0)},
}


def design(vary=THREE, **options):
    return Design(checked_study({"function": "math:hypot", "vary": vary, **options}))


TOGETHER = [
    {"between": ("a", "b"), "coefficient": 0.6},
    {"between": ("b", "c"), "coefficient": -0.3},
]


@pytest.mark.parametrize(
    ("sampling", "correlated"),
    [("sobol", []), ("latin_hypercube", []), ("random", []), ("saltelli", []),
     ("sobol", TOGETHER), ("latin_hypercube", TOGETHER), ("random", TOGETHER)],
)  # fmt: skip
def test_points_do_not_depend_on_the_block_that_they_are_asked_in(sampling, correlated):
    options = {"points": 8192, "sampling": sampling, "correlated": correlated}
    points = design(seed=5, **options)
    whole = points.values(0, points.count)
    again = design(seed=5, **options)
    alone = [(k, k + 1) for k in range(0, 8192, 97)]
    for first, last in [*alone, (17, 4100), (8000, 8192), (8191, 8192)]:
        some = again.values(first, last)
        for name, x in whole.items():
            assert some[name].tobytes() == x[first:last].tobytes()
    other = design(seed=6, **options).values(0, 64)
    assert not (other["a"] == whole["a"][:64]).any()


@pytest.mark.filterwarnings("ignore:The balance")
def test_sobol_points_are_scipys():
    found = design({"a": {"uniform": (0.0, 1.0)}, "b": {"uniform": (0.0, 1.0)}}, points=100, seed=3)
    expected = qmc.Sobol(2, rng=np.random.default_rng(3)).random(100)
    assert np.allclose(np.stack([*found.values(0, 100).values()], 1), expected, atol=1e-15)


def test_a_latin_hypercube_has_one_point_in_each_stripe():
    a = design(points=50, sampling="latin_hypercube").values(0, 50)["a"]
    assert sorted(np.floor((a + 1) / 4 * 50).astype(int)) == list(range(50))


def test_a_grid_has_every_combination_and_a_list_goes_side_by_side():
    vary = {"a": {"values": ["x", "y"]}, "b": {"linear": (0.0, 1.0, 3)}, "c": {"whole": (4, 5)}}
    found = design(vary, sampling="grid")
    columns = found.values(0, found.count)
    rows = list(zip(*columns.values(), strict=True))
    assert found.count == 12
    assert len(set(rows)) == 12
    assert rows[:3] == [("x", 0.0, 4), ("x", 0.0, 5), ("x", 0.5, 4)]
    beside = {"a": {"values": ["x", "y"]}, "b": {"values": [1.0, 2.0]}}
    listed = design(beside, sampling="list")
    assert list(zip(*listed.values(0, 2).values(), strict=True)) == [("x", 1.0), ("y", 2.0)]


LAWS = [
    ({"uniform": (-1.0, 3.0)}, stats.uniform(-1, 4)),
    ({"log_uniform": (0.1, 10.0)}, stats.loguniform(0.1, 10)),
    ({"normal": (2.0, 0.5)}, stats.norm(2, 0.5)),
    ({"log_normal": (2.0, 0.5)}, stats.lognorm(0.5, scale=2)),
    ({"truncated_normal": (0.0, 1.0, -0.5, 2.0)}, stats.truncnorm(-0.5, 2)),
    ({"truncated_normal": (1.0, 2.0, -5.0, -3.0)}, stats.truncnorm(-3, -2, 1, 2)),
    ({"truncated_normal": (0.0, 1.0, 9.0, 11.0)}, stats.truncnorm(9, 11)),
    ({"truncated_normal": (0.0, 1.0, -39.0, -38.0)}, stats.truncnorm(-39, -38)),
    ({"triangular": (0.0, 1.0, 4.0)}, stats.triang(0.25, 0, 4)),
    ({"triangular": (1.0, 1.0, 4.0)}, stats.triang(0, 1, 3)),
    ({"triangular": (1.0, 4.0, 4.0)}, stats.triang(1, 1, 3)),
    ({"beta": (2.0, 3.0, -1.0, 1.0)}, stats.beta(2, 3, -1, 2)),
    ({"whole": (3, 7)}, stats.randint(3, 8)),
    ({"whole": (0, 5000)}, stats.randint(0, 5001)),
]


@pytest.mark.parametrize(("given", "law"), LAWS)
def test_values_have_the_distribution_that_was_asked_for(given, law):
    values = design({"a": given}, points=4096).values(0, 4096)["a"]
    spread = np.sort(values)
    # Sobol points: one in each of 4096 stripes, and a jump where values are whole numbers.
    jump = max(law.pmf(spread)) if hasattr(law, "pmf") else 0.0
    off = np.abs(law.cdf(spread) - np.arange(1, 4097) / 4096).max()
    assert off < 1.001 * jump + 1.001 / 4096


def test_values_are_scipys():
    u = np.concatenate([[2.0**-53, 1e-9], np.linspace(0.001, 0.999, 200), [1 - 2.0**-53]])
    for given, law in LAWS:
        if not hasattr(law, "pmf"):
            values, expected = Variable(**given).quantile(u), law.ppf(u)
            # Both invert the same function, whose rounding is magnified where it is flat.
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12, err_msg=str(given))


SHAPED = """
import hashlib, sys
from appell.study.sweeps.design import Design
from appell.study.sweeps.study_file import checked_study

vary = {given}
design = Design(checked_study({{"function": "math:hypot", "vary": vary, "points": 4096}}))
levels = Design(checked_study({{"function": "math:hypot", "sampling": "grid",
                               "vary": {{"x": {{"logarithmic": (0.003, 70.0, 900)}}}}}}))
for x in (*design.values(0, 4096).values(), *levels.values(0, 900).values()):
    print(hashlib.sha256(x.tobytes()).hexdigest())
"""


def test_values_have_the_same_bits_whatever_instructions_numpy_uses():
    """NumPy's exp, log and power have other last bits with AVX-512."""
    laws = {f"x{k}": given for k, (given, _) in enumerate(LAWS)}
    found = [
        subprocess.run(
            [sys.executable, "-c", SHAPED.format(given=laws)], check=True, capture_output=True,
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": features},
        ).stdout
        for features in ("", " ".join(dispatched()))
    ]  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0].split()) == len(LAWS) + 1


def dispatched():
    """Instructions that NumPy uses here beyond those that it was built for."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def test_logarithmic_levels_are_by_the_same_factor_and_end_where_they_should():
    for low, high, count in ((1e-3, 10.0, 5), (10.0, 0.1, 9), (2.0, 3.0, 2), (5.0, 6.0, 1)):
        levels = Variable(logarithmic=(low, high, count)).levels
        np.testing.assert_allclose(levels, np.geomspace(low, high, count), rtol=1e-15)
        assert levels[0] == low
        assert count == 1 or levels[-1] == high
    assert Variable(logarithmic=(1e-3, 10.0, 5)).levels == (0.001, 0.01, 0.1, 1.0, 10.0)


def test_correlated_variables_go_together_and_keep_their_distributions():
    pairs = [
        {"between": ("a", "b"), "coefficient": 0.8},
        {"between": ("b", "c"), "coefficient": -0.5},
    ]
    found = design(points=8192, correlated=pairs)
    a, b, c = found.values(0, 8192).values()
    normal = [stats.norm.ppf(stats.rankdata(x) / 8193) for x in (a, b, c)]
    expected = np.array([[1, 0.8, 0], [0.8, 1, -0.5], [0, -0.5, 1]])
    assert np.abs(np.corrcoef(normal) - expected).max() < 0.02  # 8192 points: 1 / sqrt(8192)
    assert abs(np.mean(a) - 1) < 0.01
    assert abs(np.std(b) - 0.5) < 0.01


def test_saltellis_points_are_two_samples_and_all_mixtures():
    found = design(points=16, sampling="saltelli")
    A, B, *mixed = np.stack([*found.values(0, found.count).values()], 1).reshape(5, 16, 3)
    for k, AB in enumerate(mixed):
        assert (AB[:, k] == B[:, k]).all()
        assert (np.delete(AB, k, 1) == np.delete(A, k, 1)).all()


WRONG = [
    ({"vary": THREE}, "expected points"),
    ({"vary": {}, "points": 3}, "nothing varies"),
    ({"vary": THREE, "points": 3, "scenario": "x.toml"}, "either scenario or function"),
    ({"vary": {"a": {"uniform": (2.0, 1.0)}}, "points": 3}, "from < to"),
    ({"vary": {"a": {}}, "points": 3}, "expected one of uniform"),
    ({"vary": {"a": {"whole": (0, 1), "normal": (0.0, 1.0)}}, "points": 3}, "normal, whole"),
    ({"vary": {"a": {"unifrom": (0.0, 1.0)}}, "points": 3}, "did you mean 'uniform'"),
    ({"vary": THREE, "sampling": "grid"}, "takes values, linear"),
    ({"vary": {"a": {"values": [1.0]}}, "sampling": "grid", "points": 4}, "as many points as"),
    ({"vary": {"a": {"whole": (0, 1)}, "b": {"whole": (0, 2)}}, "sampling": "list"}, "as many"),
    ({"vary": THREE, "points": 100, "sampling": "saltelli"}, "power of two"),
    ({"vary": THREE, "points": 3, "correlated": [{"between": ("a", "d"), "coefficient": 0.1}]},
     "nothing varies by the name 'd'"),
    ({"vary": THREE, "points": 3, "seeed": 1}, "did you mean 'seed'"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "told"), WRONG)
def test_a_study_that_is_none_says_what_is_wrong(data, told):
    with pytest.raises(InputError, match=told):
        checked_study({"function": "math:hypot", **data})


def test_a_square_root_is_one_also_where_a_variable_is_determined_by_others():
    draw = np.random.default_rng(2)
    for rank in (1, 3, 5):
        rows = draw.normal(size=(5, rank))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        matrix = rows @ rows.T
        L = square_root(matrix)
        assert not np.triu(L, 1).any()
        # Rounding within a pivot that should be zero is divided by no less than 1e-6.
        np.testing.assert_allclose(L @ L.T, matrix, atol=1e-9)


def test_correlations_that_no_numbers_have_are_refused():
    pairs = [
        {"between": (x, y), "coefficient": c}
        for x, y, c in (("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", -0.9))
    ]
    with pytest.raises(InputError, match="eigenvalue"):
        design(points=4, correlated=pairs)


def test_variables_are_frozen_data_that_a_study_writes_and_reads_again():
    study = Study(function="math:hypot", vary={"x": Variable(uniform=(0.0, 1.0))}, points=4)
    again = checked_study(json.loads(study.text()))
    assert again.vary["x"].uniform == (0.0, 1.0)
