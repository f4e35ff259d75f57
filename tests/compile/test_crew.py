"""Threads that wait for work: every share is done once, whatever happens to whom."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import appell
from appell.compile import crew as crews
from appell.compile.crew import Crew


@pytest.fixture
def crew():
    made = Crew(3)
    yield made
    made.close()


def test_each_share_is_done_once(crew):
    for count in (1, 2, 3, 50):
        for helpers in (0, 1, 3, 9):
            done: list[int] = []
            crew.run(done.append, count, helpers)
            assert sorted(done) == list(range(count))


def test_helpers_help(crew):
    """Three shares that wait for each other are done at the same time."""
    together = threading.Barrier(3, timeout=20)
    crew.run(lambda _: together.wait(), 3, 2)


def test_whoever_hands_over_does_not_wait_for_those_who_have_not_begun(crew, monkeypatch):
    begun = threading.Event()
    monkeypatch.setattr(crews._Job, "begin", lambda _: begun.wait(20) and False)
    done: list[int] = []
    crew.run(done.append, 5, 2)
    assert done == [0, 1, 2, 3, 4]
    begun.set()


def test_an_error_of_a_helper_is_raised_and_ends_the_work(crew):
    me = threading.current_thread()
    failed = threading.Event()
    done = []

    def work(k):
        if threading.current_thread() is not me:
            failed.set()
            raise ValueError("of a helper")
        failed.wait(20)
        done.append(k)

    with pytest.raises(ValueError, match="of a helper"):
        crew.run(work, 1000, 1)
    assert len(done) < 1000
    crew.run(done.append, 3, 3)  # its thread lives on


def test_an_interrupt_waits_for_helpers(crew):
    """They write into arrays of the caller."""
    me = threading.current_thread()
    helping, helped = threading.Event(), threading.Event()

    def work(_):
        if threading.current_thread() is me:
            helping.wait(20)
            raise KeyboardInterrupt
        helping.set()
        time.sleep(0.05)
        helped.set()

    with pytest.raises(KeyboardInterrupt):
        crew.run(work, 2, 1)
    assert helped.is_set()


def test_a_share_may_hand_over_work_itself(crew):
    done: list[int] = []
    crew.run(lambda _: crew.run(done.append, 4, 3), 4, 3)
    assert sorted(done) == sorted(4 * [0, 1, 2, 3])


def test_many_callers_share_a_crew(crew):
    totals = [0] * 8
    lock = threading.Lock()

    def call(caller):
        def work(k):
            with lock:
                totals[caller] += k

        for _ in range(50):
            crew.run(work, 10, 3)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert totals == [50 * 45] * 8


def test_work_is_done_where_no_thread_can_be_started(crew, monkeypatch):
    """As at the end of a process, or beyond its limits."""

    def refused(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crews.Thread, "start", refused)
    done: list[int] = []
    crew.run(done.append, 5, 3)
    assert done == [0, 1, 2, 3, 4]


def test_threads_end_when_others_are_set():
    def living():
        return {x for x in threading.enumerate() if x.name == "appell"}

    robot = appell.load("puma560")
    q = np.zeros((50_000, 6))
    before = living()
    try:
        for n in (3, 2, 4):
            appell.set_threads(n)
            for _ in range(12):  # among them some in threads
                robot.gravity(q)
    finally:
        appell.set_threads()
    late = time.monotonic() + 20
    while living() - before and time.monotonic() < late:
        time.sleep(0.01)
    assert not living() - before


def test_a_process_ends_while_threads_wait_and_computes_while_it_ends(fresh):
    program = """
import atexit
import numpy as np, appell
appell.set_threads(3)
robot = appell.load("two_link")
q = np.ones((200_000, 2))
def last():
    print(robot.gravity(q)[-1, 0])
atexit.register(last)
for _ in range(8):
    value = robot.gravity(q)
print(value[-1, 0])
"""
    one, other = fresh(program)
    assert one == other
