"""Estimators: exact without noise, as sure as they say with it, and physical where they promise."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import appell
from appell.identify import base_parameters, fit, pseudo_inertia, random_states
from appell.identify.estimate.compress import compress
from appell.identify.estimate.physical import PSEUDO
from appell.identify.estimate.settled import settled, sizes
from appell.identify.estimate.solve import Triangles, total
from appell.model.library.random import random_tree
from appell.robots.robot import Robot

LINEAR = ("qr", "wls", "svd", "pinv", "ridge", "tls")
PHYSICAL = ("sdp", "log_cholesky")
METHODS = (*LINEAR, "irls", *PHYSICAL)
NOISE = np.array([2.0, 1.0, 0.3])


def rubbing(robot: Robot, seed: int) -> Robot:
    """The robot with friction in its joints."""
    draw = np.random.default_rng(seed)
    n = robot.nv
    friction = np.append(draw.uniform(0.2, 1, n), draw.uniform(0.5, 2, n))
    return robot.with_parameters(np.append(robot.parameters, friction), friction=True)


@pytest.fixture(scope="module")
def arm() -> Robot:
    return rubbing(Robot(random_tree(3, 5, branching=0, prismatic=0, fixed=0)), 0)


@pytest.fixture(scope="module")
def prior(arm) -> Robot:
    """What is known of the arm before: a fifth too much, and no friction."""
    return Robot(arm.model).with_parameters(
        np.append(1.2 * arm.parameters, np.zeros(2 * arm.nv)), friction=True
    )


def truth(found, robot) -> np.ndarray:
    flags = {"friction": found.basis.friction, "rotors": found.basis.rotors}
    return found.basis.matrix @ robot.parameters_of(**flags)


def measured(robot, count, seed, noise=None):
    """States, and torques with noise."""
    states = random_states(robot, count, seed)
    tau = robot.inverse_dynamics(*states, friction=True)
    if noise is not None:
        tau = tau + np.random.default_rng(seed + 1000).normal(size=tau.shape) * noise
    return (*states, tau)


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_the_base_is_exact(method, arm, prior):
    found = fit(prior, *measured(arm, 300, 0), method=method, friction=True)
    expected = truth(found, arm)
    assert np.abs(found.base - expected).max() < 1e-10 * np.abs(expected).max()
    assert not found.undetermined
    assert found.residuals.max() < 1e-9


def test_without_noise_the_pumas_base_is_exact():
    puma = rubbing(appell.load("puma560"), 1)
    found = fit(appell.load("puma560"), *measured(puma, 300, 0), friction=True)
    expected = truth(found, puma)
    assert found.basis.count == 36 + 12
    assert (np.abs(found.base - expected) < 1e-10 * np.abs(expected).max()).all()
    assert found.physical
    tau = found.robot.inverse_dynamics(*random_states(puma, 5, 3), friction=True)
    again = puma.inverse_dynamics(*random_states(puma, 5, 3), friction=True)
    assert np.abs(tau - again).max() < 1e-9 * np.abs(again).max()


@pytest.mark.parametrize("method", [m for m in METHODS if m != "tls"])
def test_errors_stay_within_the_confidence_bounds_at_the_claimed_rate(method, arm, prior):
    """Of intervals of 1.96 standard deviations, 95 % hold the truth. Repetitions are independent,
    so the mean over them is known to four of its own standard errors."""
    inside = []
    for seed in range(20 if method in PHYSICAL else 30):
        found = fit(
            prior, *measured(arm, 200, 10 + seed, NOISE), method=method, friction=True, check=False
        )
        error = np.abs(found.base - truth(found, arm))
        inside.append(np.mean(error < 1.96 * found.std))
        assert np.allclose(found.noise, NOISE, rtol=0.35)
        assert found.covariance.shape == (23, 23)
    rate, doubt = np.mean(inside), 4 * np.std(inside) / np.sqrt(len(inside)) + 0.01
    assert rate > 0.95 - doubt
    if method not in (
        "ridge",
        *PHYSICAL,
    ):  # these know more than the noise tells, and may do better
        assert rate < 0.95 + doubt


def test_total_least_squares_stay_within_bounds_where_the_regressor_errs_too():
    draw = np.random.default_rng(0)
    A, x, inside = draw.normal(size=(400, 5)), np.array([1.0, -2, 0.5, 3, 1]), []
    columns = (np.arange(5),)
    for _ in range(60):
        size = 0.05 * np.linalg.norm(A, axis=0) / np.sqrt(400)
        b = A @ x
        noisy = A + draw.normal(size=A.shape) * size
        b = b + draw.normal(size=len(b)) * 0.05 * np.linalg.norm(b) / np.sqrt(400)
        R = np.linalg.qr(np.column_stack([noisy, b]), mode="r")
        found = total(Triangles([R], columns, 5, 400), np.zeros(5))
        spread = np.sqrt(np.diag(found.covariance))
        inside.append(np.mean(np.abs(found.x - x) < 1.96 * spread))
    assert abs(np.mean(inside) - 0.95) < 4 * np.std(inside) / np.sqrt(60) + 0.01


@pytest.mark.parametrize("method", PHYSICAL)
def test_consistent_estimates_are_physical_and_the_others_flagged(method, arm, prior):
    for seed in range(3):
        data = measured(arm, 40, 50 + seed, 20 * NOISE)
        plain = fit(prior, *data, method="wls", friction=True, check=False)
        assert not plain.physical
        assert plain.faults
        with pytest.raises(appell.ModelError, match='method="sdp" or "log_cholesky"'):
            _ = plain.robot
        found = fit(prior, *data, method=method, friction=True, check=False)
        assert found.physical
        tens = found.parameters[: 10 * arm.nv].reshape(-1, 10)
        assert np.linalg.eigvalsh(pseudo_inertia(tens)).min() > -1e-9
        assert (found.parameters[10 * arm.nv :] >= 0).all()
        assert np.allclose(found.robot.parameters_of(friction=True), found.parameters)
        # It is the best such estimate: nearly what the plain one leaves, which is bounded by less.
        assert (found.residuals < 1.5 * plain.residuals).all()


def test_both_consistent_estimates_find_the_same_minimum(arm, prior):
    data = measured(arm, 40, 51, 20 * NOISE)
    first, second = (fit(prior, *data, method=m, friction=True, check=False) for m in PHYSICAL)
    weights = fit(prior, *data, method="wls", friction=True, check=False).noise
    costs = [np.sum((x.residuals / weights) ** 2) for x in (first, second)]
    assert abs(costs[0] - costs[1]) < 1e-3 * costs[0]


def test_outliers_do_little_to_the_robust_estimate(arm, prior):
    q, v, a, tau = measured(arm, 400, 7, NOISE)
    tau[::20] += np.random.default_rng(3).normal(size=tau[::20].shape) * 500
    plain, robust = (
        fit(prior, q, v, a, tau, method=m, friction=True, check=False) for m in ("wls", "irls")
    )
    error = [np.linalg.norm(x.base - truth(x, arm)) for x in (plain, robust)]
    assert error[1] < 0.2 * error[0]
    assert np.allclose(robust.noise, NOISE, rtol=0.3)


def test_what_the_data_do_not_determine_is_named_and_stays_as_it_was(arm, prior):
    """With the last joint locked, nothing tells its link's inertia from that of the one before."""
    q, v, a, _ = measured(arm, 200, 3)
    q[:, 2], v[:, 2], a[:, 2] = 0.4, 0, 0
    tau = arm.inverse_dynamics(q, v, a, friction=True)
    for method in ("qr", "svd", "wls", "log_cholesky"):
        found = fit(prior, q, v, a, tau, method=method, friction=True, check=False)
        assert {"fv3", "fc3"} <= set(found.undetermined)
        assert len(found.undetermined) < found.basis.count
        assert found.residuals.max() < 1e-6
        if method != "log_cholesky":  # a logarithm never is quite zero
            assert abs(found.base[list(found.names).index("fv3")]) < 1e-9


def test_a_payload_is_found_with_all_ten_parameters(arm):
    load = arm.with_payload(2.5, (0.02, -0.03, 0.1), np.diag([0.02, 0.03, 0.025]), link="link3")
    data = measured(load, 50, 1)
    for method in METHODS:
        found = fit(arm, *data, method=method, payload_link="link3", friction=True)
        assert found.basis.count == 10
        expected = load.parameters_of(friction=True)
        assert np.abs(found.parameters - expected).max() < 1e-8


def test_offsets_of_torques_are_found(arm, prior):
    q, v, a, tau = measured(arm, 200, 4)
    found = fit(prior, q, v, a, tau + [1, -2, 3], friction=True, offset=True)
    assert np.abs(found.extra["offset"] - [1, -2, 3]).max() < 1e-9
    assert np.abs(found.predict(q, v, a) - tau - [1, -2, 3]).max() < 1e-9


@pytest.mark.parametrize("delta", [2.0, None])
def test_stribecks_friction_is_found(arm, prior, delta):
    q, v, a, tau = measured(arm, 1500, 5)
    fs, vs = np.array([3.0, 2, 1]), np.array([0.1, 0.05, 0.2])
    low = fs * np.sign(v) * np.exp(-(np.abs(v / vs) ** (delta or 1.5)))
    found = fit(prior, q, v, a, tau + low, friction=True, stribeck={"delta": delta})
    assert np.allclose(found.extra["stribeck"], fs, rtol=1e-4)
    assert np.allclose(found.extra["speed"], vs, rtol=1e-4)
    assert np.allclose(found.extra["exponent"], delta or 1.5, rtol=1e-4)
    assert np.abs(found.predict(q, v, a) - tau - low).max() < 1e-3


def test_standard_parameters_are_the_nearest_to_the_prior(arm, prior):
    found = fit(prior, *measured(arm, 200, 6), friction=True)
    moved = found.parameters - prior.parameters_of(friction=True)
    null = np.linalg.svd(found.basis.matrix)[2][found.basis.count :]
    assert np.abs(null @ moved).max() < 1e-9  # nothing moved in vain


def test_weights_and_ridge_do_what_they_are_told(arm, prior):
    data = measured(arm, 100, 8, NOISE)
    alike = fit(prior, *data, method="wls", weights=np.ones(3), friction=True, check=False)
    assert np.allclose(alike.base, fit(prior, *data, friction=True, check=False).base)
    pulled = fit(prior, *data, method="ridge", strength=1e8, friction=True, check=False)
    start = pulled.basis.matrix @ prior.parameters_of(friction=True)
    assert np.allclose(pulled.base, start, atol=1e-4 * np.abs(start).max())
    assert fit(prior, *data, method="ridge", friction=True, check=False).chosen["strength"] < 1


def test_blocks_give_what_arrays_give(arm, prior, tmp_path):
    data = measured(arm, 5000, 9, NOISE)
    whole = fit(prior, *data, friction=True, method="wls")

    def blocks():
        for k in range(0, 5000, 700):
            yield tuple(x[k : k + 700] for x in data)

    for given in (blocks(), blocks, list(blocks())):
        found = fit(prior, given, friction=True, method="wls")
        assert found.samples == 5000
        assert np.allclose(found.base, whole.base, rtol=1e-9, atol=1e-12)
        assert np.allclose(found.covariance, whole.covariance, rtol=1e-6, atol=1e-15)
    mapped = []
    for name, x in zip("qvat", data, strict=True):
        np.save(tmp_path / name, x)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    assert np.allclose(fit(prior, *mapped, friction=True, method="wls").base, whole.base)


def test_memory_does_not_grow_with_the_number_of_samples(arm, prior):
    data = measured(arm, 2000, 9, NOISE)
    peaks = []
    for blocks in (20, 60):
        each = (tuple(x.copy() for x in data) for _ in range(blocks))
        tracemalloc.start()
        fit(prior, each, friction=True, check=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Were the samples kept, or their regressors; what threads hold at a time varies by less.
    kept = (60 - 20) * sum(x.nbytes for x in data)
    assert peaks[1] - peaks[0] < kept / 4


def test_block_by_block_qr_keeps_what_normal_equations_lose():
    """Columns that differ by 1e-8: the error of QR is about 1e8 eps, that of normal equations
    1e16 eps, which is all."""
    draw = np.random.default_rng(0)
    A = draw.normal(size=(5000, 1)) + 1e-8 * draw.normal(size=(5000, 4))
    x = np.array([1.0, 2, -1, 3])
    blocks = ((A[k : k + 500],) * 4 for k in range(0, 5000, 500))
    done = compress(
        lambda block: [np.column_stack([block[0], block[0] @ x])], blocks, (np.arange(4),), 4
    )
    R = done.system()
    assert np.abs(np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=1e-14)[0] - x).max() < 1e-5
    normal = np.linalg.lstsq(A.T @ A, A.T @ (A @ x), rcond=None)[0]
    assert np.abs(normal - x).max() > 1e-2


def test_closed_robots_are_identified():
    loop = appell.load("planar_3rrr")
    q, v = loop.random_states(60)
    a = np.random.default_rng(0).normal(size=v.shape)
    tau = loop.inverse_dynamics(q, v, a)
    found = fit(loop, q, v, a, tau, prior=1.1 * loop.parameters)
    expected = found.basis.matrix @ loop.parameters
    assert found.basis.count == base_parameters(loop).count
    assert np.abs(found.base - expected).max() < 1e-8 * np.abs(expected).max()


def test_a_fit_reads_well(arm, prior):
    found = fit(prior, *measured(arm, 200, 3, NOISE), friction=True, check=False)
    assert repr(found).startswith("<Fit qr of random_tree(3, 5): 23 base parameters")
    table = found.table().splitlines()
    assert len(table) == 2 + found.basis.count
    assert "estimate" in table[0]
    assert found.names[0] in table[1]
    assert (found.relative_std > 0).all()
    assert found.condition > 1


def test_without_cvxpy_the_cure_is_named(arm, prior, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    data = measured(arm, 40, 50, 20 * NOISE)
    with pytest.raises(appell.InputError, match=r"appell\[identify\]"):
        fit(prior, *data, method="sdp", friction=True, check=False)


@pytest.mark.parametrize("method", PHYSICAL)
def test_consistent_estimates_stay_at_the_prior_where_the_data_leave_it_open(method):
    arm = appell.load("two_link")
    q, v, a = random_states(arm, 400)
    noise = np.random.default_rng(0).normal(0, 0.01, (400, 2))
    tau = arm.inverse_dynamics(q, v, a) + noise
    found = fit(arm, q, v, a, tau, method=method)
    free = fit(arm, q, v, a, tau, method="wls")
    assert found.physical
    assert not free.physical
    assert np.allclose(found.base, free.base, rtol=1e-4, atol=1e-5)
    assert np.allclose(found.basis.matrix @ found.parameters, found.base, atol=1e-12)
    assert np.allclose(found.residuals, free.residuals, rtol=1e-5)
    names = arm.parameter_names()
    away = dict(zip(names, np.abs(found.parameters - found.prior), strict=True))
    assert away["link2.Ixx"] < 1e-3
    assert max(away.values()) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_physical_parameters_are_those_that_a_solver_finds(seed):
    cvxpy = pytest.importorskip("cvxpy")
    robot = Robot(random_tree(3, seed, branching=0, prismatic=0, fixed=0))
    K, draw = base_parameters(robot).matrix, np.random.default_rng(seed)
    start = robot.parameters
    prior = (start.reshape(-1, 10) * draw.uniform(0.3, 3, (3, 1))).ravel()
    prior[4::10] *= 0.1  # no body has it
    found = settled(start, K, prior, 3, 0)
    p = cvxpy.Variable(30)
    size = sizes(prior, 3, 0)
    inside = [sum(p[10 * k + c] * PSEUDO[c] for c in range(10)) >> 0 for k in range(3)]
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.norm((p - prior) / size)), [*inside, K @ (p - start) == 0]
    )
    least = problem.solve(solver=cvxpy.CLARABEL)
    assert np.allclose(K @ found, K @ start, atol=1e-10)
    assert np.linalg.eigvalsh(pseudo_inertia(found.reshape(-1, 10))).min() > 0
    assert np.linalg.norm((found - prior) / size) == pytest.approx(least, rel=1e-4)
    assert np.linalg.norm((start - prior) / size) > 1.05 * least
