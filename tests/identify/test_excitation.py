"""Excitations: within their limits, from rest to rest, and better than chance."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.identify import Box, HalfSpace, excite
from appell.identify.excitation.basis import fourier, splines
from appell.identify.excitation.observation import Observation
from appell.identify.excitation.problem import Problem
from appell.identify.excitation.spectral import CRITERIA
from appell.robots.robot import Robot

SMALL = {"duration": 4.0, "harmonics": 4, "position": 1.5, "speed": 3.0}
SHORT = {"starts": 1, "iterations": 30, "random": 15}


@pytest.fixture(scope="module")
def robot():
    return appell.load("two_link")


@pytest.fixture(scope="module")
def limited(robot):
    """With every kind of limit."""
    limits = {"acceleration": 12.0, "torque": (120.0, 115.0)}
    far = (1.0, 0.0, 0.0)
    room = [
        HalfSpace("link2", (0, 2, 0), -0.8, far),
        Box("link2", (0.3, -9, -1), (9, np.inf, 1), far),
    ]
    return excite(robot, **SMALL, **SHORT, **limits, workspace=room, friction=True), limits


@pytest.mark.parametrize("harmonics", [2, 4])
@pytest.mark.parametrize("make", [fourier, lambda T, n: splines(T, 2 * n + 1)])
def test_bases_are_periodic_at_rest_and_their_own_derivatives(make, harmonics):
    basis = make(3.0, harmonics)
    q, v, a = basis(np.array([0.0, 3.0]))
    np.testing.assert_allclose(q[0], q[1], atol=1e-12)
    np.testing.assert_allclose(v, 0, atol=1e-12)
    np.testing.assert_allclose(a, 0, atol=1e-11)
    t, h = np.linspace(0.1, 2.9, 23), 1e-5
    (q0, v0, _), (_, v, a), (q1, v1, _) = (basis(t + d) for d in (-h, 0, h))
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-6)
    assert np.linalg.matrix_rank(basis(np.linspace(0, 3, 50))[0]) == basis.d == 2 * harmonics - 1


@pytest.mark.parametrize("kind", ["fourier", "spline"])
@pytest.mark.parametrize("criterion", ["condition", "d_optimal"])
def test_an_optimised_motion_is_better_than_the_best_of_many_random_ones(robot, kind, criterion):
    found = excite(robot, kind=kind, criterion=criterion, **SMALL, **SHORT)
    if criterion == "condition":
        assert found.condition < 0.9 * found.compared.best < found.compared.median
    else:
        assert found.log_det > found.compared.log_dets.max() + 0.1


def test_it_keeps_within_every_limit_on_a_fine_grid(robot, limited):
    found, limits = limited
    t = np.linspace(0, found.duration, 20_011)
    q, v, a = found(t)
    assert np.abs(q).max() <= 1.5
    assert np.abs(v).max() <= 3.0
    assert np.abs(a).max() <= limits["acceleration"]
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert (np.abs(tau).max(axis=0) <= limits["torque"]).all()
    pose = robot.forward_kinematics(q, "link2")
    point = pose[:, :3, 3] + pose[:, :3, 0]
    assert point[:, 1].min() >= -0.4
    assert point[:, 0].min() >= 0.3
    used = [*found.used.values()]
    assert max(used) > 0.9  # limits are there to be used
    assert max(used) <= 1


def test_it_starts_and_ends_at_rest_and_can_go_on(limited):
    found, _ = limited
    for t in (0.0, found.duration):
        _, v, a = found(t)
        np.testing.assert_allclose([v, a], 0, atol=1e-11)
    np.testing.assert_allclose(found.start, found.end, atol=1e-13)
    twice = found.periods(2)
    assert twice.duration == 2 * found.duration
    t = np.linspace(0, found.duration, 7)[1:-1]
    np.testing.assert_allclose(twice(t + found.duration)[0], found(t)[0], atol=1e-12)


def test_its_condition_is_that_of_the_regressor(robot):
    found = excite(robot, **SMALL, **SHORT, friction=True)
    q, v, a = found((np.arange(4000) + 0.5) / 4000 * found.duration)
    columns = appell.identify.base_parameters(robot, friction=True).columns
    W = robot.regressor(q, v, a, friction=True)[:, :, columns].reshape(-1, len(columns))
    assert np.linalg.cond(W) == pytest.approx(found.condition, rel=0.02)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_gradient_is_that_of_the_criterion(robot, criterion):
    import casadi

    basis = fourier(4.0, 4)
    limits = excite(robot, **SMALL, starts=1, iterations=1, random=1).limits
    of = Observation(robot, basis, np.ones(2), friction=True, rotors=False)
    problem = Problem(of, limits, CRITERIA[criterion])
    f = casadi.Function("f", [problem.x], [problem.objective])
    slope = casadi.Function("g", [problem.x], [casadi.gradient(problem.objective, problem.x)])
    x = np.random.default_rng(3).normal(size=problem.x.numel())
    by_differences = [float(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))]
    np.testing.assert_allclose(np.array(slope(x)).ravel(), by_differences, rtol=1e-4, atol=1e-6)


def test_the_smooth_condition_number_bounds_the_true_one():
    s = np.sort(np.random.default_rng(0).lognormal(sigma=2, size=30))[::-1]
    value, slope = CRITERIA["condition"](s)
    true = np.log(s[0] / s[-1])
    assert true <= value <= true + 2 * np.log(30) / 12
    for k in (0, 10, 29):
        h = np.where(np.arange(30) == k, 1e-6 * s[k], 0)
        difference = (CRITERIA["condition"](s + h)[0] - CRITERIA["condition"](s - h)[0]) / 2
        assert difference == pytest.approx(slope[k] * 1e-6 * s[k], rel=1e-3, abs=1e-12)


def test_limits_are_the_models_own(robot):
    joints = [replace(j, lower=-1, upper=0.5, speed=2, effort=60) for j in robot.model.joints]
    bodies = tuple(replace(b, joint=j) for b, j in zip(robot.model.bodies, joints, strict=True))
    own = Robot(replace(robot.model, bodies=bodies, joints=tuple(joints)))
    found = excite(own, duration=4.0, harmonics=3, starts=1, iterations=3, random=3)
    q, v, a = found(np.linspace(0, 4, 2001))
    assert q.min() >= -1
    assert q.max() <= 0.5
    assert np.abs(v).max() <= 2
    assert np.abs(own.inverse_dynamics(q, v, a)).max() <= 60


def test_control_c_keeps_the_best_so_far(robot):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

    def interrupt(step):
        if step.iteration == 5:
            os.kill(os.getpid(), signal.SIGINT)

    found = excite(robot, **SMALL, **(SHORT | {"starts": 3}), progress=interrupt)
    assert found.interrupted
    assert found.condition <= found.compared.best
    assert max(found.used.values()) <= 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_is_told_and_its_errors_are_raised(robot):
    steps = []
    excite(robot, **SMALL, **(SHORT | {"starts": 2, "iterations": 4}), progress=steps.append)
    assert {(s.start, s.starts) for s in steps} == {(1, 2), (2, 2)}

    def broken(step):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        excite(robot, **SMALL, **SHORT, progress=broken)


def test_the_same_seed_gives_the_same_motion(robot):
    short = SHORT | {"iterations": 5}
    one, two, other = (excite(robot, **SMALL, **short, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.x, two.x)
    assert not np.allclose(one.x, other.x)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position": None}, "joint 'joint1' .* give position="),
        ({"speed": None}, "no limit of speed; give speed="),
        ({"position": (1.0, -1.0)}, "expected the lower limit first"),
        ({"position": [1, 2, 3]}, "expected a number or 2"),
        ({"speed": -1}, "greater than zero"),
        ({"duration": 0}, "duration = 0"),
        ({"harmonics": 1}, "expected 2 or more"),
        ({"kind": "square"}, "expected one of fourier, spline"),
        ({"criterion": "best"}, "expected one of condition, d_optimal"),
        ({"torque": 1e-3}, "none of .* keeps within the limits .* times the limit of torque"),
        ({"workspace": Box("hand", (0, 0, 0), (1, 1, 1))}, "no frame 'hand'"),
        ({"workspace": Box("link2", (0, 0, 0), (0, 1, 1))}, "expected room in each direction"),
        ({"workspace": "table"}, "expected Box"),
    ],
)
def test_what_cannot_be_is_refused(robot, change, words):
    with pytest.raises(appell.AppellError, match=words):
        excite(robot, **(SMALL | {"random": 2} | change))


def test_robots_that_are_not_driven_joint_by_joint_are_refused():
    with pytest.raises(appell.InputError, match="free base or loops"):
        excite(appell.load("four_bar"), **SMALL)
