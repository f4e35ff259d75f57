"""tau = Y p with columns for rotors and friction, of trees and of closed robots."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.identify import fit, random_states
from appell.model.library.random import random_tree
from appell.robots.robot import Robot


def close(x, y):
    return np.abs(x - y).max() < 1e-12 * max(np.abs(y).max(), 1)


@pytest.mark.parametrize("base", ["fixed", "free", "planar"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_regressor_with_friction_gives_the_motors_torques(base, seed):
    robot = Robot(
        random_tree(3, seed, prismatic=0.4, fixed=0.3, rotors=seed == 1, friction=True, base=base)
    )
    states = random_states(robot, 9, seed)
    for rotors in (False, True):
        flags = {"friction": True, "rotors": rotors}
        p = robot.parameters_of(**flags)
        Y = robot.regressor(*states, **flags)
        assert Y.shape == (9, robot.nv, len(p))
        assert len(robot.parameter_names(**flags)) == len(p)
        assert close(Y @ p, robot.inverse_dynamics(*states, friction=True))
        plain = robot.regressor(*states, rotors=rotors) @ robot.parameters_of(rotors=rotors)
        assert close(plain, robot.inverse_dynamics(*states))


def test_parameters_make_the_robot_they_were_read_from():
    robot = Robot(random_tree(4, 3, prismatic=0.4, fixed=0.5, rotors=True, friction=True))
    p = robot.parameters_of(friction=True)
    twice = robot.with_parameters(2 * p, friction=True)
    states = random_states(robot, 5)
    assert close(
        twice.inverse_dynamics(*states, friction=True),
        2 * robot.inverse_dynamics(*states, friction=True),
    )
    assert np.allclose(twice.parameters_of(friction=True), 2 * p)


def test_names_say_which_parameter_is_which():
    puma = appell.load("puma560")
    assert puma.parameter_names()[:3] == ("link1.m", "link1.mx", "link1.my")
    assert puma.parameter_names(short=True)[-1] == "Izz6"
    long = puma.parameter_names(friction=True, rotors=True)
    assert long[60] == "joint1.rotor"
    assert long[66] == "joint1.viscous"
    assert long[-1] == "joint6.coulomb"
    assert puma.parameter_names(friction=True, short=True)[-1] == "fc6"


def test_closed_robots_have_the_columns_too():
    loop = appell.load("four_bar")
    friction = np.random.default_rng(0).uniform(0.1, 1, 2 * loop.model.nv)
    loop = loop.with_parameters(np.append(loop.parameters, friction), friction=True)
    q, v = loop.random_states(6)
    a = np.random.default_rng(1).normal(size=v.shape)
    Y = loop.regressor(q, v, a, friction=True)
    tau = loop.inverse_dynamics(q, v, a, friction=True)
    assert close(Y @ loop.parameters_of(friction=True), tau)


def test_the_agile_wrist_has_a_regressor_and_base_parameters():
    wrist = appell.load("agile_wrist")
    states = random_states(wrist, 40)
    tau = wrist.inverse_dynamics(*states)
    assert close(wrist.regressor(*states) @ wrist.parameters, tau)
    assert wrist.parameter_names()[-1] == "platform.Izz"
    assert close(wrist.with_parameters(2 * wrist.parameters).inverse_dynamics(*states), 2 * tau)
    found = fit(wrist, *states, tau, prior=1.1 * wrist.parameters)
    assert close(found.base, found.basis.matrix @ wrist.parameters)
    with pytest.raises(appell.InputError, match="neither friction nor rotors"):
        wrist.regressor(*states, friction=True)
    with pytest.raises(appell.InputError, match="expected 70 finite numbers"):
        wrist.with_parameters(np.ones(7))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(3), "expected 60 finite numbers"),
        (np.full(60, np.nan), "some not finite"),
        (-np.ones(60), "the mass is negative"),
    ],
)
def test_parameters_that_no_robot_has_are_refused(given, message):
    with pytest.raises(appell.AppellError, match=message):
        appell.load("puma560").with_parameters(given)
