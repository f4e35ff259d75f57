"""A controlled robot among walls: what it strikes, and what it leans on."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import PDGravity, track
from appell.errors import InputError
from appell.study import run
from appell.study.scenario_file import checked

CHAIN = appell.load("planar_chain")
LAW = PDGravity(CHAIN, kp=40, kd=8)
THERE = [-0.8, -0.5, -0.3]
OPTIONS = {"q0": [-0.2, -0.2, 0.1], "period": 0.005}
FLOOR = appell.walls.Plane((0, 1, 0), -1.2, name="floor")


def test_a_wall_that_is_not_reached_changes_nothing():
    free = track(CHAIN, LAW, THERE, until=0.5, **OPTIONS)
    far = track(CHAIN, LAW, THERE, until=0.5, walls=appell.walls.Plane((0, 1, 0), -9), **OPTIONS)
    np.testing.assert_array_equal(far.q, free.q)
    assert far.impacts == []


def test_an_arm_that_is_sent_below_the_floor_leans_on_it():
    leaning = track(CHAIN, LAW, THERE, until=2.5, walls=FLOOR, restitution=0, **OPTIONS)
    assert leaning.stopped is None
    assert any(x.startswith("link3 strikes floor at 0.6") for x in leaning.warnings)
    q = leaning.q[-1]
    heights = [CHAIN.forward_kinematics(x, "link3")[1, 3] for x in leaning.q]
    assert min(heights) > -1.2 - 1e-9
    assert heights[-1] == pytest.approx(-1.2, abs=1e-9)
    # At rest, the law's torques and the floor's force hold it against gravity: after 2.5 s what is
    # left of its motion is below a hundredth of them.
    force = leaning.reactions[-1][leaning.contacts.index(("link3", "floor"))]
    held = leaning.tau[-1] + CHAIN.jacobian(q, "link3")[1] * force
    np.testing.assert_allclose(held, CHAIN.gravity(q), atol=0.1)
    assert force > 5
    assert leaning.walls == (FLOOR,)


def test_a_scenario_has_a_law_and_walls():
    wall = {"kind": "plane", "normal": [0, 1, 0], "offset": -1.2, "name": "floor"}
    data = {
        "robot": "planar_chain", "start": {"q": OPTIONS["q0"]},
        "task": {"kind": "moves", "moves": [{"to": THERE, "duration": 0.7}], "until": 1.0},
        "law": {"name": "pd-gravity", "kp": 40, "kd": 8}, "walls": [wall],
        "contacts": {"restitution": 0.0}, "sampling": {"period": 0.005},
    }  # fmt: skip
    result = run(checked(data))
    assert any("strikes floor" in text for text in result.warnings)
    with pytest.raises(InputError, match=r"contacts.law: not with a law"):
        run(checked(data | {"contacts": {"law": "poisson"}}))


def test_a_start_behind_a_wall_is_refused():
    with pytest.raises(InputError, match="behind floor"):
        track(CHAIN, LAW, THERE, until=1.0, walls=FLOOR, q0=[-1.5, 0, 0])
