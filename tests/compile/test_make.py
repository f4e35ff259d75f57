"""Kernels that are asked for by several threads at once, or while another one is made."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import appell
from appell.compile import cache, kernel, make
from appell.compile.make import kernel_of
from appell.model.model import Model
from appell.simulation.flow import flow

THREADS = 6


@pytest.fixture
def compiled(monkeypatch):
    """The tapes that are compiled while nothing is kept on disk."""
    tapes, plain = [], kernel.compile_tape

    def compile_tape(tape, dtype):
        tapes.append(tape)
        return plain(tape, dtype)

    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(kernel, "compile_tape", compile_tape)
    return tapes


def at_once(*tasks):
    """The results of tasks that begin at the same instant, each in a thread of its own."""
    start = threading.Barrier(len(tasks))

    def run(task):
        start.wait(timeout=60)
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        jobs = [pool.submit(run, task) for task in tasks]
        return [job.result(timeout=120) for job in jobs]


def tree(seed: int) -> Model:
    return appell.load("random_tree", n=5, seed=seed).model


def test_threads_that_share_a_robot_compile_once(compiled):
    robot = appell.Robot(tree(101))
    results = at_once(*[lambda: robot.mass_matrix(np.ones(5))] * THREADS)
    assert len(compiled) == 1
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_threads_with_equal_robots_compile_once(compiled):
    robots = [appell.Robot(tree(102)) for _ in range(THREADS)]
    at_once(*(lambda robot=robot: robot.mass_matrix(np.ones(5)) for robot in robots))
    assert len(compiled) == 1


def test_threads_that_ask_for_different_things_get_them(compiled):
    robot = appell.Robot(tree(103))
    quantities = ("gravity", "mass_matrix", "bias", "forward_dynamics")
    states = [np.ones(5)] * 3
    tasks = [
        lambda f=f, n=n: getattr(robot, f)(*states[:n])
        for f, n in zip(quantities, (1, 1, 2, 3), strict=True)
    ]
    g, M, b, a = at_once(*tasks, lambda: flow(robot)(*states))[:4]
    assert len(compiled) == 5
    np.testing.assert_allclose(M @ a + b, np.ones(5), atol=1e-9)
    assert np.isfinite(g).all()


def test_a_function_of_the_users_is_compiled_once(compiled):
    def equation(x):
        return [7.25 * y for y in x]

    shapes = {"x": (3,)}, {"y": (3,)}
    kernels = at_once(*[lambda: kernel_of("sevenfold", equation, *shapes)] * THREADS)
    assert len(compiled) == 1
    assert [k(np.ones(3)).tolist() for k in kernels] == [[7.25] * 3] * THREADS


def test_an_equation_may_ask_for_kernels_itself(compiled):
    """As a law does that scales its gains by the robot's inertia."""
    robot = appell.Robot(tree(104))

    def equation(x):
        return [robot.mass_matrix(np.zeros(5))[0, 0] * y for y in x]

    made, M = at_once(
        lambda: kernel_of("scaled", equation, {"x": (1,)}, {"y": (1,)}),
        lambda: robot.mass_matrix(np.zeros(5)),
    )
    assert made([2.0])[0] == 2 * M[0, 0]
    assert len(compiled) == 2


def test_kernels_of_the_same_code_have_their_own_values(compiled):
    laws = [
        appell.control.PDGravity(appell.Robot(tree(105)), kp=kp, kd=1.0).kernel(gains=True)
        for kp in (10.0, 20.0)
    ]
    assert len(compiled) == 1
    assert [law.defaults["kp"].tolist() for law in laws] == [[10.0] * 5, [20.0] * 5]
    assert [law.cached for law in laws] == [False, True]


def test_code_is_let_go_with_the_last_kernel_that_runs_it(compiled):
    for _ in range(2):
        appell.Robot(tree(106)).gravity(np.ones(5))
    assert len(compiled) == 2


def test_without_a_cache_a_kernel_is_not_found_again(nothing_kept):
    """What a test compiled of an equation that it broke must not serve the next one."""
    before = set(make._IN_USE)
    robot = appell.Robot(tree(110))
    robot.mass_matrix(np.ones(5))
    assert set(make._IN_USE) <= before
