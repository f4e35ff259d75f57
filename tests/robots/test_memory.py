"""Where results go, and that bad numbers do not get lost on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import appell
from appell.equations.quantities import QUANTITIES
from appell.model.library.random import random_tree
from appell.robots.robot import Robot

FEW, MANY = 10, 20_000  # states for one thread and for several


@pytest.fixture(scope="module")
def robot():
    return appell.load("puma560")


def states(n: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(3, n, 6))


@pytest.mark.parametrize("n", [FEW, MANY])
def test_several_results_go_to_several_arrays(robot, n):
    given = states(n)
    out = tuple(np.empty((n, 6, 6)) for _ in range(3))
    results = robot.inverse_dynamics_derivatives(*given, out=out)
    for result, array, expected in zip(
        results, out, robot.inverse_dynamics_derivatives(*given), strict=True
    ):
        assert result is array
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: [0.0],
        lambda n: np.empty((n, 5)),
        lambda n: np.empty((n + 1, 6)),
        lambda n: np.empty((n, 6), dtype=int),
        lambda n: (np.empty((n, 6)), np.empty((n, 6))),
        lambda n: np.broadcast_to(0.0, (n, 6)),
        lambda n: (),
    ],
    ids=["list", "too few joints", "too many states", "whole numbers", "two", "read-only", "none"],
)
def test_an_out_that_cannot_take_the_result_is_refused(robot, n, wrong):
    with pytest.raises(appell.InputError, match="inverse_dynamics: out= does not fit"):
        robot.inverse_dynamics(*states(n), out=wrong(n))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_nan_in_any_input_is_seen_in_every_quantity(quantity):
    """An arm that turns and slides, with friction and springs, so that every quantity feels
    something."""
    arm = Robot(random_tree(4, 2, branching=0.0, prismatic=0.25, friction=True))
    arm = arm.with_springs(dict.fromkeys(arm.joint_names, 3.0))
    assert {joint.kind for joint in arm.model.joints} == {"revolute", "prismatic"}
    kernel = arm.kernel(quantity, frame=arm.link_names[-1] if QUANTITIES[quantity].frame else None)
    given = np.random.default_rng(0).normal(size=(len(kernel.inputs), 4))
    for place in np.ndindex(given.shape):
        bad = given.copy()
        bad[place] = np.nan
        results = kernel(*bad)
        parts = results if isinstance(results, tuple) else (results,)
        assert any(np.isnan(x).any() for x in parts), place


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_spoils_its_own_state_only(robot, bad):
    given = states(40)
    expected = robot.inverse_dynamics(*given)
    given[0, 17, 3] = bad
    torques = robot.inverse_dynamics(*given)
    assert np.isnan(torques[17]).any()
    np.testing.assert_array_equal(np.delete(torques, 17, 0), np.delete(expected, 17, 0))


def test_a_kernel_outlives_its_robot():
    kernel, method = appell.load("puma560").kernel("gravity"), appell.load("puma560").gravity
    q = np.linspace(-1, 1, 6)
    np.testing.assert_array_equal(kernel(q), method(q))


def test_threads_that_all_compile_at_once_get_right_answers():
    """Recording and compiling, of robots shared and of robots of one's own."""
    shared = [Robot(random_tree(3, seed)) for seed in range(4)]

    def work(worker: int) -> float:
        worst = 0.0
        for one in [*shared, Robot(random_tree(4, 100 + worker))]:
            q, v, a = np.random.default_rng(worker).normal(size=(3, 5, one.nv))
            tau = one.inverse_dynamics(q, v, a)
            worst = max(worst, np.abs(one.forward_dynamics(q, v, tau) - a).max())
        return worst

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(8))) < 1e-10
