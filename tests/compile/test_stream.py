"""Wide results that go past the caches are the same, wherever they are written."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.compile.batches import _LARGE
from appell.compile.emit import gufunc_loop
from appell.compile.lower import REALS
from appell.compile.measured import Choice

N = 10_003  # of mass matrices: more than two megabytes, and not a whole number of lanes


@pytest.fixture(autouse=True, params=["through the caches", "past them"])
def _ways(request, monkeypatch):
    """Whatever is faster here: results are written in the first way, or in the last."""
    which = 0 if request.param == "through the caches" else -1
    monkeypatch.setattr(Choice, "pick", lambda choice: choice._ways[which])


@pytest.fixture(scope="module")
def robot():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def q():
    return np.random.default_rng(3).uniform(-3, 3, (N, 6))


@pytest.fixture(scope="module")
def expected(robot, q):
    """A few at a time: these stay in the caches."""
    return np.concatenate([robot.mass_matrix(q[k : k + 100]) for k in range(0, N, 100)])


def test_wide_results_stream_and_narrow_ones_do_not(robot):
    wide, narrow = (robot.kernel(x).tape() for x in ("mass_matrix", "inverse_dynamics"))
    huge = appell.load("planar_chain", n=40).kernel("mass_matrix").tape()
    assert N * 36 * 4 < _LARGE < N * 36 * 8
    assert len(robot.kernel("mass_matrix")._batches._writing) == 2
    assert len(robot.kernel("inverse_dynamics")._batches._writing) == 1
    for real in REALS.values():
        assert gufunc_loop.streams(wide, real, 8)
        assert not gufunc_loop.streams(narrow, real, 8)
        assert not gufunc_loop.streams(huge, real, 8)


def test_rows_of_any_width_stream(q):
    """Of 25 numbers, of which no whole number fills a line; in both precisions."""
    robot = appell.load("planar_chain", n=5)
    states = np.concatenate([q, q[::-1]])[:, :5]
    for kind in (np.float64, np.float32):
        many = robot.mass_matrix(states.astype(kind))
        few = [robot.mass_matrix(x.astype(kind)) for x in np.array_split(states, 200)]
        np.testing.assert_array_equal(many, np.concatenate(few))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("offset", range(0, 64, 16))
def test_narrow_rows_too(kind, offset):
    """Of four numbers, of which a pass of the loop makes a line of the caches or two."""
    robot = appell.load("two_link")
    count = _LARGE // (4 * np.dtype(kind).itemsize) + 3
    states = np.random.default_rng(5).uniform(-3, 3, (count, 2)).astype(kind)
    room = np.full(4 * count + 32, np.nan, kind)
    start = (-room.ctypes.data % 64 + offset) // room.itemsize
    out = room[start : start + 4 * count].reshape(count, 2, 2)
    kernel = robot.kernel("mass_matrix", dtype=kind)
    kernel(states, out=out)
    np.testing.assert_array_equal(out, kernel.bare(states))
    assert np.isnan(room[:start]).all()
    assert np.isnan(room[start + 4 * count :]).all()


@pytest.mark.parametrize("offset", range(8))
def test_results_may_begin_anywhere(robot, q, expected, offset):
    room = np.full(N * 36 + 16, np.nan)
    start = (-room.ctypes.data % 64) // 8 + offset
    out = room[start : start + N * 36].reshape(N, 6, 6)
    assert robot.mass_matrix(q, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert np.isnan(room[:start]).all()
    assert np.isnan(room[start + N * 36 :]).all()


def test_results_may_lie_apart(robot, q, expected):
    room = np.zeros((N, 2, 6, 6))
    robot.mass_matrix(q, out=room[:, 1])
    np.testing.assert_array_equal(room[:, 1], expected)
    assert not room[:, 0].any()


def test_inputs_may_lie_anyhow(robot, q, expected):
    np.testing.assert_array_equal(robot.mass_matrix(np.asfortranarray(q)), expected)


def test_in_threads_too(robot, q, expected):
    appell.set_threads(2)
    try:
        np.testing.assert_array_equal(robot.mass_matrix(np.tile(q, (4, 1)))[-N:], expected)
    finally:
        appell.set_threads()


def test_several_results_and_single_precision(robot, q):
    v, a = np.cos(q), np.sin(q)
    for kind in (np.float64, np.float32):
        states = [x.astype(kind) for x in (q, v, a)]
        many = robot.inverse_dynamics_derivatives(*states)
        few = robot.inverse_dynamics_derivatives(*(x[-7:] for x in states))
        for x, y in zip(many, few, strict=True):
            assert x.dtype == kind
            np.testing.assert_array_equal(x[-7:], y)
