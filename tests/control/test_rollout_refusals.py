"""What a rollout cannot take is refused by an error that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import appell
from appell.control import Law, Noise, PDGravity
from appell.control.laws.gains import ANY
from appell.errors import InputError

CASES = [
    ({"noise": Noise(q=None)}, "expected real numbers"),
    ({"noise": Noise(q="a")}, "expected real numbers"),
    ({"noise": Noise(q=[None, 1])}, "expected real numbers"),
    ({"noise": Noise(q=np.zeros((4, 9)))}, r"shape \(4, 9\)"),
    ({"viscous": "a"}, "expected real numbers"),
    ({"delay": np.zeros(0, int)}, "expected whole numbers"),
    ({"every": 1, "keep": None}, "keep = None; expected one or several of"),
    ({"reduce": 5}, "reduce = 5; expected one or several of"),
    ({"gradient": 5}, "gradient = 5; expected the name of a result"),
    ({"gradient": ["q"]}, "expected the name of a result"),
    ({"gradient": "q", "by": 5}, "by = 5; expected one or several of"),
    ({"tangent": ["q0"]}, "tangent = .*; expected directions"),
    ({"external": lambda t, q, v: [0]}, "external gave 1 entries; expected 2"),
    ({"external": lambda t, q, v: 0.0}, "external gave 0.0; expected 2 numbers"),
    ({"cost": lambda t, q, v, tau: [1.0]}, "cost gave .*; expected one number"),
    ({"cost": lambda t, q, v, tau: None}, "cost gave None; expected one number"),
    ({"cost": "x"}, "cost = 'x'; expected a function of"),
    ({"dt": "0.01"}, "dt = '0.01'; expected a number"),
    ({"stops": "no"}, "stops = 'no'; expected True or False"),
    ({"gains": {"kp": 1.0}}, "for a law, and there is none"),
    ({"runs": 3, "delay": [0, 0]}, "delay is for 2 runs"),
    ({"runs": 3, "tangent": {"q0": np.ones((2, 2))}}, "is for 2 runs; expected one for all, or 3"),
    ({"runs": 3, "tangent": {"q0": np.ones((1, 2))}}, "is for 1 runs; expected one for all, or 3"),
    ({"tangent": {"q0": np.ones((5, 2))}}, "is for 5 runs; expected one for all, or 1"),
]


@pytest.fixture(scope="module")
def arm():
    return appell.load("planar_chain", n=2)


@pytest.mark.parametrize(("how", "told"), CASES)
def test_hostile_arguments_are_refused(arm, how, told):
    with pytest.raises(InputError, match=told):
        appell.rollout(arm, q0=[0.1, 0.2], steps=2, **how)


def test_reductions_that_a_robot_does_not_have_are_refused():
    with pytest.raises(InputError, match="has no actuators"):
        appell.rollout(appell.load("rolling_disc"), steps=2, reduce="effort")
    free = appell.load("free_chain", n=2)
    with pytest.raises(InputError, match="coordinates that are no joints'"):
        appell.rollout(free, None, np.zeros(7), steps=2, reduce="worst_error")
    wrist = appell.load("agile_wrist")
    with pytest.raises(InputError, match="no encoder counts"):
        appell.rollout(wrist, PDGravity(wrist), wrist.neutral(), steps=2, encoder=10)


@pytest.mark.parametrize("how", [{"delay": [0, 0, 0]}, {"noise": Noise(tau=np.zeros((3, 2)))}])
def test_numbers_that_are_zero_count_as_runs(arm, how):
    assert len(appell.rollout(arm, q0=[0.1, 0.2], steps=2, **how)) == 3


@dataclass(frozen=True, eq=False, repr=False)
class Rubbed(Law):
    """A law with a gain whose name is that of an argument of a rollout."""

    viscous: Any = 1.0
    gains: ClassVar = {"viscous": ANY}

    @staticmethod
    def equation(model, q, v, desired, viscous):
        return [b * x for b, x in zip(viscous, v, strict=True)]


def test_derivatives_by_two_things_of_one_name_are_refused(arm):
    how = {"steps": 2, "viscous": [0.5, 0.5], "gains": {"viscous": np.ones(2)}, "gradient": "q"}
    with pytest.raises(InputError, match="'viscous' is the name of the argument and of the law's"):
        appell.rollout(arm, Rubbed(arm), [0.1, 0.2], **how)
