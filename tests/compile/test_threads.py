"""Large batches among threads: the same numbers, and Python goes on meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import appell
from appell.compile.measured import Choice

N = 50_001


@pytest.fixture(autouse=True)
def _all_cores_again(monkeypatch):
    """Batches use threads where they may, even if they are slower here."""
    monkeypatch.setattr(Choice, "pick", lambda choice: choice._ways[-1])
    yield
    appell.set_threads()


@pytest.fixture(scope="module")
def robot():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).uniform(-3, 3, (3, N, 6))


def test_the_number_of_threads_does_not_change_a_bit(robot, states):
    results = []
    for n in (1, 2, 3, 7):
        appell.set_threads(n)
        results.append((robot.inverse_dynamics(*states), robot.mass_matrix(states[0])))
    for torques, matrices in results[1:]:
        np.testing.assert_array_equal(torques, results[0][0])
        np.testing.assert_array_equal(matrices, results[0][1])


def test_outputs_are_written_in_place(robot, states):
    appell.set_threads(3)
    out = np.full((N, 6), np.nan)
    returned = robot.inverse_dynamics(*states, out=out)
    assert returned is out
    np.testing.assert_array_equal(out, robot.inverse_dynamics(*states))


def test_several_outputs_come_from_threads_too(robot, states):
    appell.set_threads(1)
    alone = robot.inverse_dynamics_derivatives(*states)
    appell.set_threads(3)
    for x, y in zip(robot.inverse_dynamics_derivatives(*states), alone, strict=True):
        np.testing.assert_array_equal(x, y)


def test_an_output_that_is_none_is_made(robot, states):
    appell.set_threads(3)
    kernel = robot.kernel("inverse_dynamics_derivatives")
    expected = kernel(*states)
    second = np.empty_like(expected[1])
    made = kernel(*states, out=(None, second, None))
    assert made[1] is second
    for x, y in zip(made, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_batches_broadcast_across_threads(robot, states):
    appell.set_threads(3)
    q = states[0, 0]
    v = states[1].reshape(3, -1, 1, 6)
    a = states[2, :2]
    together = robot.inverse_dynamics(q, v, a)
    assert together.shape == (3, N // 3, 2, 6)
    np.testing.assert_array_equal(together[1, 5, 1], robot.inverse_dynamics(q, v[1, 5, 0], a[1]))


def test_python_runs_while_a_kernel_does(robot, states):
    """The lock is released: another thread takes steps while one call computes."""
    appell.set_threads(1)
    many = np.broadcast_to(states[0, 0], (3_000_000, 6))
    out = np.empty(many.shape)
    started, finished, steps = threading.Event(), threading.Event(), 0

    def compute():
        started.set()
        robot.inverse_dynamics(many, many, many, out=out)
        finished.set()

    worker = threading.Thread(target=compute)
    robot.inverse_dynamics(many[:1], many[:1], many[:1])
    worker.start()
    started.wait()
    while not finished.is_set():
        steps += 1
    worker.join()
    assert steps > 100


def test_threads_may_share_a_robot(states):
    """Even while its kernels are first compiled."""
    robot = appell.load("stanford_arm")
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(robot.forward_dynamics, *states[:, :64]) for _ in range(32)]
        results = [job.result() for job in jobs]
    for result in results:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True])
def test_a_strange_number_of_threads_is_refused(n):
    with pytest.raises(appell.InputError, match="whole number"):
        appell.set_threads(n)
