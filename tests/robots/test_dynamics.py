"""What every robot answers: an arm, one with loops and a wrist have the same methods."""

from __future__ import annotations

from inspect import Parameter, getmembers, isfunction, signature
from weakref import ref

import numpy as np
import pytest

import appell
from appell.model.library import SPHERICAL
from appell.robots.dynamics import Dynamics

ROBOTS = ("two_link", "four_bar", "agile_wrist", "spherical_five_bar")
METHODS = [name for name, _ in getmembers(Dynamics, isfunction) if not name.startswith("_")]


def state(robot):
    """One that is closed and within reach."""
    draw = np.random.default_rng(0)
    if robot.name in SPHERICAL:
        return robot.regular_states(1, draw)[0], draw.normal(size=robot.nv)
    if robot.name == "four_bar":
        q, v = robot.random_states(1)
        return q[0], v[0]
    return draw.normal(size=(2, 2))


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("method", METHODS)
def test_a_robot_may_add_options_but_takes_all_that_every_robot_takes(robot, method):
    common = signature(getattr(Dynamics, method)).parameters
    own = signature(getattr(type(appell.load(robot)), method)).parameters
    assert {name: own[name].kind for name in common} == {n: x.kind for n, x in common.items()}
    assert {n: own[n].default for n in common} == {n: x.default for n, x in common.items()}
    added = [own[name] for name in own if name not in common]
    assert all(x.default is not Parameter.empty for x in added)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_says_what_it_does(name):
    robot = appell.load(name)
    q, v = state(robot)
    M = robot.mass_matrix(q)
    assert M.shape == (robot.nv, robot.nv)
    assert robot.kinetic_energy(q, v) == pytest.approx(v @ M @ v / 2)
    np.testing.assert_allclose(
        robot.bias(q, v), robot.coriolis_matrix(q, v) @ v + robot.gravity(q), atol=1e-9
    )
    np.testing.assert_allclose(robot.with_gravity((0, 0, 0)).gravity(q), 0, atol=1e-12)
    assert robot.gravity(q.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_that_answered_is_freed_with_its_last_name(name):
    """Its fast functions must not keep it alive."""
    robot = appell.load(name)
    q, v = state(robot)
    for one in (q, q[None]):
        robot.gravity(one)
    robot.bias(q, v)
    gone = ref(robot)
    del robot
    assert gone() is None
