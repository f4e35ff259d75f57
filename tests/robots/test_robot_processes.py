"""Robots that travel: to copies, files, threads and other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import appell


def test_robots_travel_by_pickle_and_copy(robot, states):
    expected = robot.inverse_dynamics(*states)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), copy.copy(robot)):
        assert other.model == robot.model
        np.testing.assert_array_equal(other.inverse_dynamics(*states), expected)


def _torques(robot, states):
    return robot.inverse_dynamics(*states)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_robots_work_in_other_processes(robot, states, method):
    """After large batches used threads here, too: a forked child has none of them."""
    big = np.zeros((20_000, 6))
    robot.inverse_dynamics(big, big, big)
    with multiprocessing.get_context(method).Pool(2) as pool:
        answers = pool.starmap(_torques, [(robot, states), (robot, np.zeros((3, 20_000, 6)))])
    np.testing.assert_array_equal(answers[0], robot.inverse_dynamics(*states))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_may_fork_while_a_thread_compiles():
    robot = appell.load("random_tree", n=12, seed=987)
    compiling = threading.Thread(target=lambda: robot.mass_matrix(np.zeros(12)))
    compiling.start()
    child = multiprocessing.get_context("fork").Process(target=lambda: robot.gravity(np.zeros(12)))
    child.start()
    child.join(timeout=120)
    compiling.join()
    assert child.exitcode == 0


def test_threads_may_be_set_while_others_compute(robot):
    many = np.zeros((30_000, 6))
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(robot.inverse_dynamics, many, many, many) for _ in range(24)]
        for n in range(24):
            appell.set_threads(1 + n % 4)
        results = [job.result() for job in jobs]
    appell.set_threads()
    for result in results:
        np.testing.assert_array_equal(result, results[0])
