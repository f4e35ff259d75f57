"""Large batches take the fastest way, and give the same bits in all."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import appell
from appell.compile import batches, threads
from appell.compile.measured import Choice, Pace


def used(choice, seconds, calls):
    """The ways picked, each taking its time."""
    picked = []
    for _ in range(calls):
        way = choice.pick()
        picked.append(way)
        choice.learn(way, seconds(way), 1)
    return picked


def test_the_fastest_way_is_used():
    choice = Choice("abc")
    picked = used(choice, {"a": 3.0, "b": 1.0, "c": 2.0}.get, 3000)
    assert picked[:15] == [*"cccccbbbbbaaaaa"]
    assert set(picked[15:45]) == {"b"}
    assert picked[45:60] == picked[:15]  # tried again, and then ever later
    assert picked.count("b") > 2900


def test_what_is_short_is_tried_for_longer():
    """Ten milliseconds, in which threads come to cores of their own."""
    picked = used(Choice("ab"), {"a": 100e-6, "b": 200e-6}.get, 200)
    assert picked[:150] == ["b"] * 50 + ["a"] * 100


def test_of_equal_ways_the_first_is_used():
    picked = used(Choice("ab"), {"a": 1.0, "b": 0.96}.get, 1000)
    assert picked.count("a") > 950


def test_a_disturbance_does_not_count():
    times = iter([50.0, 50.0, 1.0, 50.0, *[1.0] * 100])
    choice = Choice("ab")
    used(choice, lambda way: next(times) if way == "a" else 2.0, 10)
    assert choice.pick() == "a"


def test_a_way_that_becomes_slow_is_left():
    """As threads do, when something else begins to use the other cores."""
    choice = Choice("ab")
    assert used(choice, {"a": 2.0, "b": 1.0}.get, 100)[-1] == "b"
    picked = used(choice, {"a": 2.0, "b": 5.0}.get, 100)
    assert picked[:3] + picked[3:8] + picked[8:13] == ["b"] * 8 + ["a"] * 5
    assert picked[13:].count("b") <= 10


def test_one_way_is_not_tried():
    choice = Choice("a")
    assert not choice.trying
    assert set(used(choice, lambda _: 1.0, 3000)) == {"a"}


def test_another_thread_may_learn_at_the_same_time(monkeypatch):
    """It comes between the look at the way that is tried and the step to the next one."""
    monkeypatch.setattr(Choice, "TRIES", 1)
    monkeypatch.setattr(Choice, "ENOUGH", 0.0)
    others = []

    class Way:
        __hash__ = object.__hash__

        def __eq__(self, other):
            if not others:
                others.append(threading.Thread(target=choice.learn, args=(self, 1.0, 1)))
                others[0].start()
                others[0].join(5)
            return self is other

    choice = Choice([Way(), Way()])
    choice.learn(choice.pick(), 1.0, 1)
    assert len(others) == 1
    assert not others[0].is_alive()
    assert len(set(map(id, used(choice, lambda _: 1.0, 100)))) == 2  # it goes on


@pytest.fixture
def robot():
    return appell.load("puma560")


@pytest.fixture
def states():
    return np.random.default_rng(7).uniform(-3, 3, (3, 40_000, 6))


def test_no_thread_is_started_for_what_is_done_soon(robot, states, monkeypatch):
    """A few microseconds of work; and for no work where one thread is set."""
    monkeypatch.setattr(threads, "_crews", {})
    q, v, a = states
    out = np.empty((100, 6))
    for _ in range(30):
        robot.inverse_dynamics(q[:100], v[:100], a[:100], out=out)
        robot.inverse_dynamics(q[0], v[:100], a[:100])
    appell.set_threads(1)
    try:
        for _ in range(10):
            robot.inverse_dynamics(q, v, a)
        assert not threads._crews
    finally:
        appell.set_threads()


def test_what_a_state_takes_is_learnt(robot, states):
    kernel = robot.kernel("inverse_dynamics")
    for _ in range(10):
        kernel(*states)
    # Between a tenth of what the fastest processor takes and what an interpreter would take.
    assert 1e-9 < kernel._batches._pace.each < 1e-5


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix"])
def test_a_long_batch_is_tried_in_parts_with_the_same_bits(robot, states, quantity, monkeypatch):
    """As if 40,000 states took long: parts are computed in all ways, one after another."""
    monkeypatch.setattr(batches, "_TRIAL", 10e-6)
    monkeypatch.setattr(Choice, "ENOUGH", 0.0)
    appell.set_threads(3)
    try:
        kernel = robot.kernel(quantity)
        given = states[: len(kernel.inputs)]
        kernel._batches._choices.clear()
        picked = []
        pick = Choice.pick

        def seen(choice):
            picked.append(pick(choice))
            return picked[-1]

        monkeypatch.setattr(Choice, "pick", seen)
        together = kernel(*given)
        assert len(picked) > 4
        assert len(set(picked)) == (2 if quantity == "inverse_dynamics" else 4)
        appell.set_threads(1)
        expected = [kernel.bare(*(x[k : k + 100] for x in given)) for k in range(0, 40_000, 100)]
        np.testing.assert_array_equal(together, np.concatenate(expected))
    finally:
        appell.set_threads()


@pytest.mark.parametrize("out", [[], (), np.zeros((40_000, 5)), np.zeros((39_999, 6)), "no"])
def test_an_output_that_does_not_fit_is_refused(robot, states, out):
    with pytest.raises(appell.InputError, match="out= does not fit"):
        robot.inverse_dynamics(*states, out=out)


def test_an_output_may_overlap_an_input(robot, states):
    expected = robot.inverse_dynamics(*states)
    q = states[0].copy()
    assert robot.inverse_dynamics(q, states[1], states[2], out=q) is q
    np.testing.assert_array_equal(q, expected)


def test_no_states_teach_nothing_however_long_they_took():
    pace = Pace(1000)
    before = pace.each
    pace.learn(1.0, 0)
    assert pace.each == before


@pytest.mark.parametrize("batch", [(), (1,), (1, 1), (0,), (2,)])
def test_few_states_are_computed_however_slow_a_machine_is_believed_to_be(batch):
    """As after a call during which the machine stood still."""
    kernel = appell.load("planar_chain", n=2).kernel("mass_matrix")
    q = np.full((*batch, 2), 0.3)
    expected = kernel(q)
    kernel._batches._pace.each = 10.0
    np.testing.assert_array_equal(kernel(q), expected)
    np.testing.assert_array_equal(kernel(q.astype(np.float32)), kernel(q.astype(np.float32)))
    np.testing.assert_array_equal(kernel(q, out=np.empty_like(expected)), expected)
