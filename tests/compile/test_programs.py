"""Programs: tapes in loops, many runs at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from hashlib import sha256

import numpy as np
import pytest

import appell
from appell.compile import threads as threads_of_batches
from appell.compile.measured import Choice
from appell.compile.native import fuses
from appell.compile.program import TURN, Loop, Program, hoisted, joined, tapes
from appell.compile.programs import ProgramKernel, compiled
from appell.compile.trace import Traced, choose, clipped, nearest, trace
from appell.errors import InputError
from appell.maths.scalar import sin

ONE = {"x": (1,)}


def counting(kept=(), first=None):
    """x starts at the input a; each step adds the table's number, twice in a loop of two."""
    start = first or trace(lambda a: a, {"a": (1,)}, ONE)
    add = trace(lambda x, t, turn: [x[0] + turn[0] * t[0]], {**ONE, "t": (1,), TURN: (1,)}, ONE)
    return Program(
        {"a": 1}, {"t": 1}, {}, (start,), (Loop(((1.0,), (10.0,)), (add,)),), (), kept, ("x",)
    )


def run(program, runs, inputs, table, series=None, steps=None, dtype="float64", **how):
    kernel = compiled(program, dtype, "a test")
    return kernel(runs, inputs, table, series or {}, len(table) if steps is None else steps, **how)


@pytest.mark.parametrize("runs", [1, 2, 7, 8, 9, 33])
def test_every_run_counts_by_itself(runs):
    a = np.arange(runs, dtype=float)[:, None]
    _, out = run(counting(), runs, {"a": a}, np.arange(5.0)[:, None])
    assert out["x"] == pytest.approx(a + 11 * 10)


def test_what_is_given_once_is_for_all_runs():
    _, out = run(counting(), 3, {"a": np.array([2.0])}, np.ones((4, 1)))
    assert out["x"].tolist() == [[46.0]] * 3


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_states_are_kept_every_so_many_steps(every):
    kept, out = run(counting(("x",)), 2, {"a": np.zeros(1)}, np.ones((6, 1)), every=every)
    assert kept["x"][:, :, 0].tolist() == [[11.0 * k for k in range(0, 7, every)]] * 2
    assert out["x"].tolist() == [[66.0]] * 2


def test_no_steps_leave_what_was_first():
    _, out = run(counting(), 2, {"a": np.array([5.0])}, np.ones((1, 1)), steps=0)
    assert out["x"].tolist() == [[5.0]] * 2


def test_a_series_has_its_own_numbers_for_every_run_and_step():
    add = trace(lambda x, s: [x[0] + s[0] * s[1]], {**ONE, "s": (2,)}, ONE)
    program = Program({}, {}, {"s": 2}, (trace(lambda: [0.0], {}, ONE),), (add,), (), (), ("x",))
    s = np.random.default_rng(0).normal(size=(5, 4, 2))
    _, out = run(program, 5, {}, np.empty((5, 0)), {"s": s}, steps=4)
    assert out["x"][:, 0] == pytest.approx(s.prod(-1).sum(1), rel=1e-14)


def test_results_may_replace_what_is_read():
    both = {"x": (1,), "y": (1,)}
    swap = trace(lambda x, y: (y, x), both, both)
    start = trace(lambda: ([1.0], [2.0]), {}, both)
    program = Program({}, {}, {}, (start,), (swap,), (), (), ("x", "y"))
    for steps in (1, 2, 3):
        _, out = run(program, 2, {}, np.empty((4, 0)), steps=steps)
        assert out["x"][0, 0] == (2 if steps % 2 else 1)


def test_what_is_the_same_in_all_steps_is_computed_once():
    step = trace(lambda x, a: [x[0] + sin(a[0]) * a[0]], {**ONE, "a": (1,)}, ONE)
    start = trace(lambda: [0.0], {}, ONE)
    program = Program({"a": 1}, {}, {}, (start,), (step,), (), (), ("x",))
    lean = hoisted(program)
    assert [t.counts["sin"] for t in tapes(lean.each)] == [0]
    a = np.linspace(-3, 3, 9)[:, None]
    _, out = run(program, 9, {"a": a}, np.empty((11, 0)), steps=10)
    assert out["x"] == pytest.approx(10 * np.sin(a) * a, rel=1e-14)


def test_neighbouring_tapes_become_one_and_compute_the_same():
    double = trace(lambda x: [2 * x[0]], ONE, {"y": (1,)})
    add = trace(lambda x, y: [x[0] + y[0]], {**ONE, "y": (1,)}, ONE)
    (one,) = joined((double, add))
    assert set(one.outputs) == {"x", "y"}
    start = trace(lambda: [1.0], {}, ONE)
    program = Program({}, {}, {}, (start,), (double, add), (), (), ("x",))
    _, out = run(program, 1, {}, np.empty((6, 0)), steps=5)
    assert out["x"].tolist() == [[3.0**5]]


def test_choices_bounds_and_whole_numbers():
    shapes = {"a": (2,)}

    def chosen(a):
        x, y = a
        return [choose(x, y, x, y), clipped(x, -1.0, 1.0), nearest(x)]

    tape = trace(chosen, shapes, {"x": (3,)})
    program = Program({"a": 2}, {}, {}, (tape,), (), (), (), ("x",))
    x = np.array([0.5, 1.5, -2.5, np.nan, 3e15, -0.4, np.inf, 2.0**60])
    y = np.array([1.0, 1.0, np.nan, 1.0, 4e15, -0.4, 0.0, 1.0])
    for dtype in ("float64", "float32"):
        a = np.stack([x, y], 1).astype(dtype)
        _, out = run(program, len(x), {"a": a}, np.empty((1, 0)), steps=0, dtype=dtype)
        p, q = a.T
        np.testing.assert_array_equal(out["x"][:, 0], np.where(p < q, p, q))
        np.testing.assert_array_equal(
            out["x"][:, 1], np.where(p < -1, -1, np.where(p > 1, 1, p)).astype(dtype)
        )
        np.testing.assert_array_equal(out["x"][:, 2], np.round(p))


def test_a_traced_equation_may_not_branch():
    with pytest.raises(InputError, match="branch"):
        trace(lambda x: [1.0] if x[0] else [2.0], ONE, ONE)


def test_numbers_stay_numbers():
    def structure(x):
        assert x[0] * 0 == 0
        assert isinstance(x[0] * 1, Traced)
        assert x[0] + 0 is not None
        return [x[0] * 0 + 3]

    assert trace(structure, ONE, ONE).counts["constant"] == 1


def pendulums() -> str:
    """The hash of some runs of a chain, which every processor with fused operations gives."""
    robot = appell.load("planar_chain")
    q0 = np.random.default_rng(1).uniform(-1, 1, (37, 3))
    found = appell.rollout(robot, None, None, q0, steps=50, every=7)
    digest = sha256()
    for x in (found.q, found.v, *found.path.values()):
        digest.update(np.ascontiguousarray(x).tobytes())
    return digest.hexdigest()


def test_bits_do_not_depend_on_the_width_of_registers():
    """avx2 code has half the lanes of avx512 code."""
    own = pendulums()
    narrow = "avx2" if fuses() else "sse2"  # what does not fuse rounds otherwise
    script = "from tests.compile.test_programs import pendulums; print(pendulums())"
    made = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "APPELL_SIMD": narrow},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert made.stdout.strip() == own


@pytest.fixture
def several_threads(monkeypatch):
    """Work is shared among three, newly started, even where one would be faster."""
    monkeypatch.setattr(threads_of_batches, "_crews", {})
    monkeypatch.setattr(Choice, "pick", lambda choice: choice._ways[-1])
    appell.set_threads(3)
    yield
    appell.set_threads()


def many_runs(**how):
    robot = appell.load("planar_chain")
    q0 = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    return appell.rollout(robot, q0=q0, steps=50, **how)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("how", [{}, {"gradient": "q", "by": "q0"}])
def test_an_error_in_another_thread_is_an_error(monkeypatch, how):
    """As of one that has no memory for a trail: results are not what memory happened to hold."""
    compute, failed = ProgramKernel._compute, threading.Event()

    def failing(kernel, *numbers):
        if threading.current_thread() is not threading.main_thread():
            failed.set()
            raise MemoryError("no room for a trail")
        assert failed.wait(60)
        compute(kernel, *numbers)

    monkeypatch.setattr(ProgramKernel, "_compute", failing)
    with pytest.raises(MemoryError, match="no room for a trail"):
        many_runs(**how)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("how", [{}, {"gradient": "q", "by": "q0"}])
def test_where_no_more_threads_can_be_started_the_others_do_it_all(monkeypatch, how):
    start, asked = threading.Thread.start, []

    def refused(thread):
        asked.append(thread)
        if len(asked) > 1:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        found = many_runs(**how)
    assert len(asked) == 2
    appell.set_threads(1)
    alone = many_runs(**how)
    assert np.array_equal(found.q, alone.q)
    for name, x in alone.gradient.items():
        assert np.array_equal(found.gradient[name], x)


def test_no_thread_is_started_for_what_is_done_soon(monkeypatch):
    monkeypatch.setattr(threads_of_batches, "_crews", {})
    robot = appell.load("planar_chain")
    for _ in range(5):
        appell.rollout(robot, runs=8, steps=5)
    assert not threads_of_batches._crews


def test_what_a_step_takes_is_learnt():
    robot = appell.load("planar_chain", n=2)
    appell.rollout(robot, steps=1)
    kernel = next(x for key, x in robot._kernels.items() if key[0] == "rollout")
    kernel._pace.each = 1.0
    appell.rollout(robot, runs=64, steps=2000)
    # Between a tenth of what the fastest processor takes and what an interpreter would take.
    assert 1e-9 < kernel._pace.each < 1e-4


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_run(threads):
    """Soon, and not when all of it is done: it would take minutes."""
    script = (
        "import appell, numpy as np, sys\n"
        f"appell.set_threads({threads})\n"
        "robot = appell.load('planar_chain')\n"
        "appell.rollout(robot, runs=8, steps=1)\n"
        "print('ready', flush=True)\n"
        "appell.rollout(robot, runs=1_000_000, steps=10_000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in the foreground
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said
