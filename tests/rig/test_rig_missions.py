"""Missions of one's own: what they may be, and how what they may not be ends."""

from __future__ import annotations

import numpy as np
import pytest
from rigs import END, PUMA, START, run, way

from appell.errors import InputError
from appell.rig import State
from appell.rig.controller.controller import Phase

STILL = np.zeros(6)


class Stay:
    """Where it begins, but for what ``other`` says after 100 cycles."""

    law = None

    def __init__(self, start=START, other=None):
        self.start, self.other = start, other

    def at(self, k, q):
        if k > 200:
            return None
        usual = self.start, STILL, STILL
        return usual if self.other is None or k <= 100 else self.other()


@pytest.mark.parametrize(
    "other", [None, lambda: (START.tolist(), [0] * 6, [0] * 6), lambda: [START, STILL, STILL]]
)
def test_arrays_and_lists_are_references(other):
    report = run(trajectory=Stay(other=other))
    assert report.ok, report.reason


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: (START[:3], STILL, STILL), "mission: at gave (array("),
        (lambda: (START, STILL), "expected three arrays of 6 finite numbers"),
        (lambda: 5, "mission: at gave 5; expected three arrays"),
        (lambda: (START * np.nan, STILL, STILL), "6 finite numbers"),
        (lambda: (START, STILL, ["a"] * 6), "controller: "),
        (
            lambda: (START + 0.5, STILL, STILL),
            "mission: the reference of joint 1 is 0.5 rad, a jump from 0",
        ),
        (
            lambda: (START + 100, STILL, STILL),
            "mission: the reference of joint 1 is 100 rad, beyond the machine's range",
        ),
        (lambda: 1 / 0, "controller: ZeroDivisionError"),
    ],
)
def test_what_is_no_reference_is_a_fault_at_once(other, words):
    report = run(trajectory=Stay(other=other))
    assert report.state is State.FAULT
    assert words in report.reason
    assert report.stands
    assert report.log.complete
    following = report.log["cycle"][report.log["phase"] == Phase.FOLLOW]
    assert report.states[-1].cycle == following[0] + 101


class NoLaw:
    start = START
    at = Stay.at


class BadLaw(Stay):
    law = "law"


@pytest.mark.parametrize(
    ("mission", "words"),
    [
        (Stay, "Stay is a class; expected a mission made by it"),
        (NoLaw(), r"NoLaw has no law; expected a mission with start \(None, or 6 positions\), law"),
        (BadLaw(), r"BadLaw\.law = 'law'; expected None, or a Law"),
        (Stay(START + 100), "the trajectory takes joint 1 from 100"),
        (Stay(START[:3]), r"Stay\.start"),
        (Stay(START * np.nan), r"Stay\.start"),
    ],
)
def test_what_is_no_mission_is_refused(mission, words):
    with pytest.raises(InputError, match=words):
        run(trajectory=mission)


def test_the_way_of_a_trajectory_is_the_same_by_a_mission_of_ones_own():
    class Along:
        law, start = None, START

        def at(self, k, q):
            t = k * PUMA.period
            return None if k > 900 else tuple(way()(min(t, way().duration)))

    own, plain = run(trajectory=Along()), run()
    np.testing.assert_allclose(own.log["q"][-1], END, atol=0.03)
    assert own.ok
    assert plain.ok
    on = min(len(own.log), len(plain.log)) - 300
    np.testing.assert_allclose(own.log["q"][:on], plain.log["q"][:on], atol=1e-9)
