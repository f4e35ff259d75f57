"""Statistics of sweeps are those of NumPy and SciPy, on random data with all that may be in it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from appell.study import Study
from appell.study.sweeps.results.sensitivity import bootstrap_bounds
from appell.study.sweeps.results.statistics import (
    MOST_LEVELS,
    Numbers,
    between,
    groups,
    means,
    rank_correlations,
    response,
    some_of,
    value_text,
)
from appell.study.sweeps.results.sweep_statistics import percent
from appell.study.sweeps.sweep import Sweep


def numbers(seed, n=2000):
    """Numbers of any size with ties, some of them not finite."""
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=n), rng.integers(-3, 9, n) * 1.0, np.exp(5 * rng.normal(size=n))][seed % 3]
    x[rng.random(n) < 0.05] = np.nan
    x[rng.random(n) < 0.05] = np.inf
    x[rng.random(n) < 0.01] = -np.inf
    return x


SEEDS = range(9)


# Columns


@pytest.mark.parametrize("seed", SEEDS)
def test_spread_is_that_of_numpy(seed):
    x = numbers(seed)
    finite = x[np.isfinite(x)]
    found = Numbers(x).spread
    assert (found.finite, found.infinite) == (len(finite), np.isinf(x).sum())
    assert found.missing == np.isnan(x).sum()
    assert np.isnan(found.mean)  # of both signs of infinity
    assert Numbers(finite).spread.mean == pytest.approx(finite.mean(), rel=1e-12)
    for known in (finite, x[~np.isnan(x)]):
        got, huge = Numbers(known).spread, np.clip(known, -1e300, 1e300)  # NumPy gives NaN for inf
        wanted = np.quantile(huge, [0, 0.05, 0.5, 0.95, 1])
        wanted[np.abs(wanted) > 1e250] *= np.inf
        told = [got.low, got.q05, got.median, got.q95, got.high]
        assert np.allclose(told, wanted, rtol=1e-12, atol=1e-300)


def test_values_that_are_never_reached_are_the_largest():
    never = Numbers([0.0, 0.0, np.inf, np.inf, np.inf]).spread
    assert (never.low, never.median, never.high, never.mean) == (0.0, np.inf, np.inf, np.inf)
    few = Numbers([1.0, 2.0, 3.0, np.inf]).spread
    assert (few.low, few.median, few.high) == (1.0, 2.5, np.inf)
    assert Numbers([1.0, np.inf]).spread.median == np.inf


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("log", [False, True])
def test_histogram_counts_as_numpy_does_and_loses_nothing(seed, log):
    x = numbers(seed)
    kept = x[np.isfinite(x)]
    found = Numbers(x).histogram(log)
    assert found.counts.sum() + found.below + found.above == len(kept)
    assert np.array_equal(found.counts, np.histogram(kept, found.edges)[0])
    assert (np.diff(found.edges) > 0).all()
    assert 1 <= len(found.counts) <= 40
    if log:
        assert np.allclose(np.diff(np.log(found.edges)), np.log(found.edges[1] / found.edges[0]))


def test_a_few_points_far_away_do_not_spoil_a_histogram():
    x = np.concatenate([np.random.default_rng(0).normal(size=10_000), [1e6, -1e9]])
    found = Numbers(x).histogram()
    assert (found.below, found.above) == (1, 1)
    assert -10 < found.edges[0] < found.edges[-1] < 10


def test_empty_constant_and_binary_columns():
    empty = Numbers([np.nan, np.inf])
    assert empty.constant
    assert not empty.binary
    assert empty.spread.median == np.inf
    assert np.isnan(Numbers([np.nan]).spread.median)
    assert empty.histogram().counts.sum() == 0
    assert Numbers([0.1 + 0.2, 0.3]).constant
    assert Numbers([2.0]).histogram().counts.sum() == 1
    assert Numbers([0.0, 1.0, np.nan]).binary
    assert Numbers([1.0, 1.0]).binary
    assert not Numbers([0.0, 1.0, np.inf]).binary
    assert not Numbers([0.0, 1.0, 2.0]).binary
    assert Numbers([0.001, 1.0, 2.0, 1000.0]).wide
    assert not Numbers([0.0, 1.0, 1000.0]).wide


# Responses


@pytest.mark.parametrize("seed", SEEDS)
def test_responses_are_quantiles_of_each_group(seed):
    rng = np.random.default_rng(seed)
    x = [rng.random(2000), rng.integers(0, 7, 2000), rng.normal(size=2000)][seed % 3]
    y = numbers(seed + 1)
    by = groups(x)
    found = response(by, y)
    for k in range(len(by.centre)):
        own = y[(by.code == k) & np.isfinite(y)]
        assert found.counts[k] == len(own)
        wanted = [*np.quantile(own, [0.05, 0.5, 0.95]), own.mean()]
        got = [found.q05[k], found.median[k], found.q95[k], found.mean[k]]
        assert np.allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_groups_have_as_many_points_each_and_the_middle_of_the_variable():
    x = np.random.default_rng(0).normal(size=24_000)
    by = groups(x)
    assert len(by.centre) == MOST_LEVELS
    assert np.bincount(by.code).min() > 900
    medians = [np.median(x[by.code == k]) for k in range(MOST_LEVELS)]
    assert np.allclose(by.centre, medians, atol=1e-3)


def test_values_that_are_no_numbers_are_groups_in_the_order_of_the_study():
    x = np.array(["pd", "ct", "pd", (1.0, 2.0)], dtype=object)
    by = groups(x, ["ct", "pd"])
    assert by.names == ("ct", "pd", "(1, 2)")
    assert by.code.tolist() == [1, 0, 1, 2]


def test_of_many_names_the_rarest_are_others():
    x = np.array([f"n{k}" for k in range(100)] + ["n7"] * 5, dtype=object)
    by = groups(x)
    assert len(by.names) == MOST_LEVELS
    assert by.names[-1] == "others"
    assert by.names[0] == "n7"
    assert np.bincount(by.code).sum() == len(x)


def test_a_group_without_numbers_has_none():
    by = groups(np.array([0, 0, 1, 1]))
    found = response(by, [1.0, 2.0, np.nan, np.inf])
    assert np.isnan([found.median[1], found.mean[1]]).all()
    assert found.counts.tolist() == [2, 0]
    assert np.isnan(means(by, [1.0, 2.0, np.nan, np.inf])[0][1])


def test_variance_between_groups_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 500)
    y = x + rng.normal(size=500)
    parts = [y[x == k] for k in range(4)]
    f = stats.f_oneway(*parts).statistic
    share = between(groups(x), y)
    assert share / (1 - share) * (500 - 4) / 3 == pytest.approx(f, rel=1e-9)
    assert between(groups(x), np.ones(500)) == 0


# Rank correlations


@pytest.mark.parametrize("seed", SEEDS)
def test_rank_correlations_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    variables = [rng.normal(size=2000), rng.integers(0, 5, 2000), rng.random(2000) < 0.3]
    measures = [numbers(seed), numbers(seed + 1) + variables[0], variables[1] * 2.0]
    found = rank_correlations(measures, variables)
    for i, y in enumerate(measures):
        known = ~np.isnan(y)
        for j, x in enumerate(variables):
            wanted = stats.spearmanr(np.asarray(x, float)[known], y[known]).statistic
            assert found[i, j] == pytest.approx(wanted, abs=1e-12)


def test_what_is_constant_or_missing_has_no_rank_correlation():
    x = np.arange(5.0)
    found = rank_correlations([np.ones(5), np.full(5, np.nan), x], [x, np.zeros(5)])
    assert np.isnan(found[:2]).all()
    assert np.isnan(found[2, 1])
    assert found[2, 0] == 1


# The rest


def test_chosen_points_are_the_same_every_time_and_follow_no_grid():
    places = np.arange(100_000)
    chosen = some_of(places, 1000)
    assert np.array_equal(chosen, some_of(places, 1000))
    assert len(np.unique(chosen)) == 1000
    assert (np.diff(chosen) > 0).all()
    assert len(np.unique(chosen % 100)) == 100  # all columns of a grid of 1,000 rows
    assert np.array_equal(some_of(places[:7], 1000), places[:7])


def samples(n, d=3):
    """The Ishigami function at Saltelli's samples."""
    u = stats.qmc.Sobol(2 * d, rng=np.random.default_rng(1)).random(n) * 2 * np.pi - np.pi
    A, B = u[:, :d], u[:, d:]
    points = [A, B, *(np.where(np.arange(d) == k, B, A) for k in range(d))]
    return np.array([np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)
                     for x, y, z in (p.T for p in points)])  # fmt: skip


def test_bounds_of_sobol_indices_are_those_of_scipys_bootstrap():
    f = samples(256)
    values = {"f_A": f[0:1], "f_B": f[1:2], "f_AB": f[2:, None, :]}
    spread = stats.sobol_indices(func=values, n=256).bootstrap(n_resamples=2999)
    wanted = np.array([
        np.stack([x.confidence_interval.low, x.confidence_interval.high], axis=-1).reshape(-1, 2)
        for x in (spread.first_order, spread.total_order)
    ]).reshape(-1, 2)  # fmt: skip
    found = bootstrap_bounds(f, 0.95, 2999, np.random.default_rng(0))
    # Both are drawn: ends of 2,999 resamples repeat to about a twentieth of the interval.
    width = np.diff(wanted, axis=1)
    assert (np.abs(found - wanted) < 0.12 * width).all()
    again = bootstrap_bounds(f, 0.95, 2999, np.random.default_rng(0))
    assert np.array_equal(found, again)


def test_bounds_hold_the_exact_indices_of_the_ishigami_function():
    a, b = 7, 0.1
    parts = np.array([0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0, 8 * b**2 * np.pi**8 / 225])
    first = parts[:3] / parts.sum()
    total = np.array([parts[0] + parts[3], parts[1], parts[3]]) / parts.sum()
    found = bootstrap_bounds(samples(2**14), 0.99, 499, np.random.default_rng(0))
    exact = np.concatenate([first, total])
    assert (found[:, 0] <= exact).all()
    assert (exact <= found[:, 1]).all()


def test_a_variable_without_effect_has_bounds_of_zero():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 64))
    found = bootstrap_bounds(np.array([A, B, B, A]), 0.95, 199, rng)  # the second does nothing
    assert found[1].tolist() == [0, 0]
    assert found[3].tolist() == [0, 0]
    assert np.isfinite(found).all()


def test_values_and_shares_in_words():
    assert value_text((1.0, np.float64(2.5))) == "(1, 2.5)"
    assert value_text(np.bool_(True)) == "true"
    assert value_text(np.int64(3)) == "3"
    assert value_text(1 / 3) == "0.333333"
    assert value_text("a<b") == "a<b"
    assert [percent(x) for x in (1.0, 0.0, 0.5, 0.931, 1 - 1e-9, 1e-9)] == [
        "100 %", "0 %", "50 %", "93.1 %", "more than 99.9 %", "less than 0.1 %",
    ]  # fmt: skip


# Of a sweep


def made(reasons=(), points=None, **measures):
    """A sweep of a function with these columns."""
    n = len(next(iter(measures.values())))
    study = Study(function="math:hypot", vary={"x": {"uniform": (0, 1)}}, points=points or n)
    why = np.array([*reasons, *[None] * (n - len(reasons))], dtype=object)
    failed = np.array([x is not None for x in why])
    columns = {"point": np.arange(n), "x": np.linspace(0, 1, n), "failed": failed, "reason": why}
    for name, x in measures.items():
        columns[name] = np.where(failed, np.nan, np.asarray(x, dtype=float))
    return Sweep(study, columns)


def test_the_worst_are_those_of_a_full_sort_also_where_many_are_the_same():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1000) * 1.0
    y[::7], y[3::11] = np.inf, np.nan
    found = made(y=y)
    for smallest in (False, True):
        order = np.argsort(y if smallest else -y, kind="stable")
        order = order[~np.isnan(y[order])]
        for count in (0, 1, 10, 400, 5000):
            assert np.array_equal(found.worst("y", count, smallest=smallest), order[:count])


def test_the_verdict_names_failures_success_and_the_worst_point():
    text = made(["broke"], success=[0, 1, 1, 0], worst_error=[9, 0.1, 0.25, 0.2]).statistics.verdict
    assert text == "4 points, 1 failed; success at 66.7 %; worst_error at most 0.25 (point 2)"
    text = made(settling_time=[1.0, np.inf, 2.0], points=8).statistics.verdict
    assert text == (
        "3 of 8 points so far, none failed; settling_time: 1 of 3 never settle (point 1)"
    )
    assert made(["no"], y=[1.0]).statistics.verdict == "1 point, 1 failed"
    text = made(first_violation=[np.inf, 0.5, 0.25]).statistics.verdict
    assert text.endswith("first_violation at least 0.25 (point 2), 1 of 3 exceed no limit")


def test_worst_points_without_success_and_the_earliest_violations():
    of = made(
        success=[1, 0, 1, 0], first_violation=[np.inf, 2, 1, np.inf], y=[1, 3, 2, 0]
    ).statistics
    assert of.worst("success").tolist() == [1, 3]
    assert of.worst("first_violation").tolist() == [2, 1]
    assert of.worst("y").tolist() == [1, 2, 0, 3]
    assert not of.good
    assert made(success=[1, 1]).statistics.good


def test_reasons_that_differ_in_numbers_alone_are_one():
    reasons = [
        "not finite from 0.25 s on",
        "joint1 is hot",
        "not finite from 1e-3 s on",
        "joint2 is hot",
    ]
    found = made(reasons, y=np.ones(6)).statistics.failures
    assert [(x.total, x.texts, x.points) for x in found] == [
        (2, 2, (0, 2)), (1, 1, (1,)), (1, 1, (3,)),
    ]  # fmt: skip
    assert found[0].reason == reasons[0]


def test_a_summary_is_plain_data():
    found = made(["no"], y=[1.0, 2.0, np.inf, 4.0], success=[0, 1, 1, 0])
    told = found.statistics.summary()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["failed"] == 1
    assert told["reasons"] == {"no": 1}
    assert told["measures"]["y"]["infinite"] == 1
    assert told["measures"]["y"]["high"] == "inf"
    assert told["worst"]["y"][0] == {"point": 2, "value": "inf", "variables": {"x": 2 / 3}}
    assert told["rank_correlations"]["y"]["x"] == pytest.approx(0.5)


def test_differences_of_rollouts_and_exact_runs():
    found = made(y=[1.0, 2.0], settling_time=[np.inf, np.inf])
    pairs = {"point": [0, 1], "y": [[1.0, 1.5], [2.0, 1.9]],
             "settling_time": [[np.inf, np.inf], [np.inf, 0.5]]}  # fmt: skip
    of = Sweep(found.study, found.columns, None, pairs).statistics
    assert of.differences["y"] == (0.5, 0, 1.0, 1.5, 1.9)
    assert of.differences["settling_time"] == (np.inf, 1, np.inf, 0.5, 0.5)


HELD = {
    "robot": "planar_chain",
    "task": {"kind": "hold", "at": (0.1, 0.1, 0.1), "until": 0.1},
    "sampling": {"period": 0.01},
}


@pytest.mark.parametrize(
    ("measure", "rollout", "exact", "warns"),
    [
        ("worst_error", 0.5, 0.51, False),  # 2 %
        ("worst_error", 0.0085, 1.1, True),  # a load left out
        ("worst_error", 1.1, np.nan, True),
        ("final_error", 1e-9, 3e-9, False),  # of errors far below the tolerance
        ("final_error", 1e-3, 3e-3, True),
        ("settling_time", 0.05, 0.06, False),  # a sample late
        ("settling_time", np.inf, 0.06, True),
        ("settling_time", np.inf, np.inf, False),
        ("success", 1.0, 0.0, True),
        ("effort", 0.0, 0.0, False),
    ],
)
def test_rollouts_that_are_not_what_exact_runs_are_are_warned_of(measure, rollout, exact, warns):
    vary = {"law.kp": {"values": (100, 200)}}
    study = Study(scenario=HELD, vary=vary, measures=(measure,), points=2)
    columns = {
        "point": np.arange(2), "law.kp": np.array([100.0, 200.0]), "failed": np.zeros(2, bool),
        "reason": np.full(2, None), measure: np.full(2, rollout),
    }  # fmt: skip
    compared = {"point": [0, 1], measure: [[rollout, rollout], [rollout, exact]]}
    of = Sweep(study, columns, None, compared).statistics
    told = [x for x in of.warnings if x.startswith(f"{measure} at point 1 is {rollout:.4g}")]
    assert len(of.warnings) == len(told) == warns
    assert of.summary()["warnings"] == told
