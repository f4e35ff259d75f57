"""Dry friction in the joints: what sticks is still, what turns is slowed, nothing chatters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moves import GOAL, LEE, START, bars

import appell
from appell.control import ComputedTorque, Friction, PDGravity, track
from appell.model.library.random import random_tree
from appell.robots.robot import Robot

PUMA = appell.load("puma560")
ARM = bars(1).with_gravity((0, 0, 0))
INERTIA = 1 / 3
LIMP = PDGravity(ARM, kp=0, kd=0)


def test_a_joint_is_stopped_by_friction_and_stays():
    """v = v0 - F t / J until it stops at J v0 / F, wherever that falls between samples."""
    run = track(ARM, LIMP, [0.0], v0=[1.0], until=1.5, period=0.1, friction=Friction(coulomb=0.4))
    stop = INERTIA / 0.4
    moving = run.t < stop
    np.testing.assert_allclose(run.v[moving, 0], 1 - 1.2 * run.t[moving], atol=1e-12)
    np.testing.assert_array_equal(run.v[~moving], 0.0)
    np.testing.assert_allclose(run.q[~moving, 0], INERTIA / 0.8, atol=1e-12)
    assert len(set(run.q[~moving, 0].tolist())) == 1  # to the last bit


@pytest.mark.parametrize(("way", "level"), [(1, 0.4), (-1, 0.2)])
def test_friction_that_is_another_backwards_stops_it_later(way, level):
    rubs = Friction(coulomb=0.4, coulomb_backwards=0.2)
    run = track(ARM, LIMP, [0.0], v0=[way * 1.0], until=1.8, period=0.1, friction=rubs)
    stop = INERTIA / level
    moving = run.t < stop
    np.testing.assert_allclose(run.v[moving, 0], way * (1 - 3 * level * run.t[moving]), atol=1e-12)
    np.testing.assert_array_equal(run.v[~moving], 0.0)
    np.testing.assert_allclose(run.q[~moving, 0], way * INERTIA / (2 * level), atol=1e-12)
    own = ARM.with_friction(coulomb={"joint1": 0.4}, coulomb_backwards={"joint1": 0.2})
    same = track(own, LIMP, [0.0], v0=[way * 1.0], until=1.8, period=0.1, friction=True)
    np.testing.assert_allclose(same.q, run.q, rtol=0, atol=1e-14)


@pytest.mark.parametrize("push", [0.39, -0.19])
def test_a_push_below_the_level_against_it_moves_nothing(push):
    rubs = Friction(coulomb=0.4, coulomb_backwards=0.2)
    pushed = {"external": lambda t, q, v: np.array([push])}
    run = track(ARM, LIMP, [0.0], until=0.5, period=0.1, friction=rubs, **pushed)
    np.testing.assert_array_equal(run.v, 0.0)
    pushed = {"external": lambda t, q, v: np.array([-push])}
    run = track(ARM, LIMP, [0.0], until=0.5, period=0.1, friction=rubs, **pushed)
    assert bool(run.v[-1, 0]) == (abs(push) > 0.2)


def test_stiction_with_unequal_levels_is_refused():
    rubs = Friction(coulomb=0.4, coulomb_backwards=0.2, stiction=0.5)
    with pytest.raises(appell.errors.InputError, match="stiction"):
        track(ARM, LIMP, [0.0], until=0.5, period=0.1, friction=rubs)


def test_viscous_friction_slows_exponentially():
    run = track(ARM, LIMP, [0.0], v0=[1.0], until=1.0, period=0.1, friction=Friction(viscous=0.2))
    np.testing.assert_allclose(run.v[:, 0], np.exp(-0.6 * run.t), atol=1e-11)


def test_a_joint_at_rest_moves_when_its_stiction_is_exceeded():
    """Pushed by t N m: nothing until it reaches the stiction, then the Coulomb level is left."""
    rubs = Friction(coulomb=0.3, stiction=0.5)
    run = track(
        ARM,
        LIMP,
        [0.0],
        until=1.0,
        period=0.1,
        friction=rubs,
        external=lambda t, q, v: np.array([t]),
    )
    before = run.t <= 0.5
    np.testing.assert_array_equal(run.v[before], 0.0)
    t = run.t[~before]
    expected = ((t**2 - 0.5**2) / 2 - 0.3 * (t - 0.5)) / INERTIA
    np.testing.assert_allclose(run.v[~before, 0], expected, atol=1e-8)


def test_a_swing_against_friction_turns_back_or_stops():
    """On a spring each swing is 2 F / k shorter than the one before it."""
    k, F = 10.0, 0.5
    run = track(
        ARM, LIMP, [0.0], q0=[1.0], until=8.0, period=0.1, friction=Friction(coulomb=F),
        external=lambda t, q, v: -k * q,
    )  # fmt: skip
    turn = np.pi / np.sqrt(k / INERTIA)
    heights = [abs(float(run(j * turn)[0][0])) for j in range(9)]
    np.testing.assert_allclose(heights, 1.0 - 2 * F / k * np.arange(9), atol=1e-8)
    assert run.v[-1, 0] == 0
    assert abs(run.q[-1, 0]) <= F / k


def test_the_robots_own_friction():
    model = random_tree(3, 5, friction=True)
    robot = Robot(model)
    taken = Friction.of(robot)
    np.testing.assert_allclose(taken.viscous, [j.viscous for j in model.joints], atol=1e-12)
    np.testing.assert_allclose(taken.coulomb, [j.coulomb for j in model.joints], atol=1e-12)
    law = ComputedTorque(robot)
    goal = np.array([0.3, -0.2, 0.1])
    own = track(robot, law, goal, q0=np.zeros(3), until=0.5, friction=True)
    same = track(robot, law, goal, q0=np.zeros(3), until=0.5, friction=taken)
    np.testing.assert_array_equal(own.q, same.q)


def test_the_motion_is_that_of_the_simulation_with_friction():
    """Another integrator and another way to find what sticks, on a robot whose joints stop, turn
    back and break loose one after another."""
    model = bars(3).model
    rubbing = tuple(
        replace(b, joint=replace(b.joint, viscous=0.1, coulomb=x))
        for b, x in zip(model.bodies, (2.0, 1.0, 0.5), strict=True)
    )
    robot = Robot(replace(model, bodies=rubbing, joints=tuple(b.joint for b in rubbing)))
    q0 = np.array([-1.2, 0.4, -0.3])
    limp = PDGravity(robot.with_gravity((0, 0, 0)), kp=0, kd=0)
    run = track(robot, limp, q0, until=3.0, period=0.1, friction=True)
    other = appell.simulate(robot, q0, until=3.0, friction=True, stops=False)
    q, v = other(np.minimum(run.t, other.t[-1]))
    np.testing.assert_allclose(run.q, q, atol=1e-7)
    np.testing.assert_allclose(run.v, v, atol=1e-6)
    still = run.v == 0
    assert still[1:].any()
    assert not still[1:].all()


def test_dry_friction_only_takes_energy():
    rubs = Friction(viscous=[0.1, 0.1], coulomb=[3.0, 1.5])
    arm = bars(2)
    limp = PDGravity(arm.with_gravity((0, 0, 0)), kp=0, kd=0)
    run = track(arm, limp, [0.0, 0.3], until=6.0, period=0.05, friction=rubs)
    assert np.diff(run.energy).max() <= 1e-9
    assert (run.v[-1] == 0).all()
    assert run.energy[0] - run.energy[-1] > 1


@pytest.mark.parametrize("stiction", [None, [9.0, 9.0, 6.0, 1.5, 1.5, 0.2]])
def test_a_puma_with_friction_stops_short_of_its_goal(stiction):
    """The dead zone: what is left of the error is too small to move the joint."""
    rubs = Friction([4, 4, 2, 0.5, 0.5, 0.05], [6, 6, 4, 1, 1, 0.1], stiction)
    run = track(PUMA, ComputedTorque(PUMA), LEE, until=4.0, friction=rubs)
    assert np.abs(run.v[-1]).max() < 1e-5  # some joints only come ever closer to rest
    held = run.tau[-1] - PUMA.gravity(run.q[-1])
    level = np.array(rubs.coulomb if stiction is None else stiction)
    assert (np.abs(held) <= level * (1 + 1e-4)).all()
    assert 0.01 < run.final_error < 0.5
    assert np.abs(run.q[-1] - GOAL).max() < np.abs(START - GOAL).max()


def test_joints_without_friction_move_freely_beside_those_with():
    rubs = Friction(coulomb=[50.0, 0.0])
    arm = bars(2)
    limp = PDGravity(arm.with_gravity((0, 0, 0)), kp=0, kd=0)
    run = track(arm, limp, [-1.5, 0.5], until=2.0, period=0.05, friction=rubs)
    np.testing.assert_array_equal(run.v[:, 0], 0.0)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-9)  # the second one swings
    assert np.abs(run.v[:, 1]).max() > 0.5
