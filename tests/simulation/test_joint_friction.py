"""What sticks and what breaks loose, of joints whose forces are known exactly."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.model.library.random import random_tree
from appell.simulation.friction import joint_friction, sticking


def rods(M, push, coulomb):
    """The motion of joints with inertia M that are pushed: accelerations, and what holds."""

    def motion(direction, stuck):
        free = np.flatnonzero(~stuck)
        forces = push - coulomb * direction
        a = np.zeros(len(push))
        a[free] = np.linalg.solve(M[np.ix_(free, free)], forces[free])
        return a, np.where(stuck, forces - M @ a, 0.0)

    return motion


def settled(M, push, coulomb, stiction=None, **more):
    coulomb = np.asarray(coulomb, dtype=float)
    bound = coulomb if stiction is None else np.asarray(stiction, dtype=float)
    zero, rest = np.zeros(len(push)), np.ones(len(push), dtype=bool)
    return sticking(rods(np.asarray(M), np.asarray(push), coulomb), zero, rest, bound, **more)


def test_what_is_pushed_beyond_its_bound_sets_out_that_way():
    direction, stuck = settled(np.eye(3), [0.5, 2.0, -3.0], [1, 1, 1])
    assert direction.tolist() == [0, 1, -1]
    assert stuck.tolist() == [True, False, False]


def test_stiction_holds_more_than_what_slows_a_joint_that_turns():
    assert settled(np.eye(1), [1.5], [1], [2])[1].tolist() == [True]
    assert settled(np.eye(1), [2.5], [1], [2])[0].tolist() == [1]
    # One that an event let go keeps going, though its stiction would hold it.
    assert settled(np.eye(1), [1.5], [1], [2], loosened={0: 1.0})[0].tolist() == [1]


def test_one_that_sets_out_may_pull_another_loose():
    """The first alone would stay; the second, once loose, drags it along through the inertia."""
    M = np.array([[1.0, 0.9], [0.9, 1.0]])
    direction, stuck = settled(M, [0.0, 5.0], [1.0, 1.0])
    assert direction.tolist() == [-1, 1]
    assert not stuck.any()


def test_one_that_would_set_out_backwards_stays():
    direction, stuck = settled(np.eye(1), [0.5], [1.0], loosened={0: 1.0})
    assert direction.tolist() == [0]
    assert stuck.tolist() == [True]


@pytest.mark.parametrize("seed", range(20))
def test_no_joint_has_more_than_its_bound_and_none_moves_against_its_friction(seed):
    draw = np.random.default_rng(seed)
    L = draw.normal(size=(5, 5))
    M, push, coulomb = L @ L.T + np.eye(5), draw.uniform(-4, 4, 5), draw.uniform(0, 3, 5)
    direction, stuck = settled(M, push, coulomb)
    a, held = rods(M, push, coulomb)(direction, stuck)
    assert (np.abs(held) <= coulomb * (1 + 1e-9)).all()
    assert (direction * a >= -1e-9).all()
    assert (stuck == (direction == 0)).all()


def test_the_friction_of_a_robots_joints():
    model = random_tree(4, 5, friction=True)
    robot = appell.Robot(model).with_friction(coulomb_backwards={"joint2": 0.3, "joint3": 0.9})
    viscous, coulomb, constant = joint_friction(robot.model)
    v = np.array([1.0, -2.0, 0.5, -0.1])
    taken = viscous * v + coulomb * np.sign(v) + constant
    np.testing.assert_allclose(taken, robot.friction(v), rtol=1e-12)


def block(**friction):
    """A block of 2 kg on rails, with a friction of its own."""
    build = appell.Builder("block", gravity=(0, 0, 0))
    build.link("block", mass=2.0, inertia=(1, 1, 1))
    return build.joint("rail", "prismatic", "world", "block", axis="x", **friction).robot()


STILL = 1e-9  # m/s: what holds a joint leaves it the rounding of its forces, and pulls it back
LOPSIDED = block(viscous=0.5, coulomb=3.0, coulomb_backwards=1.0)


@pytest.mark.parametrize("push", [2.9, -0.9, 0.0])
def test_unequal_levels_hold_a_joint_up_to_the_one_against_the_push(push):
    run = appell.simulate(LOPSIDED, [0.0], until=1.0, torque=[push], friction=True)
    assert np.abs(run.q).max() < STILL
    assert np.abs(run.v).max() < STILL


@pytest.mark.parametrize(("push", "level"), [(4.0, 3.0), (-2.0, -1.0), (-1.1, -1.0)])
def test_beyond_it_the_joint_sets_out_against_that_level(push, level):
    """m v' = push - level - viscous v from rest: v = (push - level) / viscous (1 - e^(-t/4 s))."""
    run = appell.simulate(LOPSIDED, [0.0], until=2.0, torque=[push], friction=True)
    expected = (push - level) / 0.5 * (1 - np.exp(-run.t / 4))
    np.testing.assert_allclose(run.v[:, 0], expected, rtol=0, atol=1e-7)  # rtol of simulate: 1e-8


@pytest.mark.parametrize("way", [1, -1])
def test_it_slides_to_rest_against_the_level_of_its_direction(way):
    """Without viscous friction: from v by v^2 / (2 level / m), and stays there."""
    level, speed = {1: 3.0, -1: 1.0}[way], 0.7
    robot = LOPSIDED.with_friction(viscous={"rail": 0.0})
    run = appell.simulate(robot, [0.0], [way * speed], until=2.0, friction=True)
    assert abs(run.v[-1, 0]) < STILL
    np.testing.assert_allclose(run.q[-1, 0], way * speed**2 / (2 * level / 2.0), rtol=1e-7)


def test_a_joint_that_mimics_backwards_rubs_the_other_way():
    build = appell.Builder("pair", gravity=(0, 0, 0))
    build.link("one", mass=1.0, inertia=(1, 1, 1)).link("two", mass=1.0, inertia=(1, 1, 1))
    build.joint("lead", "prismatic", "world", "one", axis="x")
    follows = {"mimic": ("lead", -2.0), "coulomb": 3.0, "coulomb_backwards": 1.0}
    robot = build.joint("follow", "prismatic", "world", "two", axis="x", **follows).robot()
    assert robot.friction([[1.0], [-1.0]]).ravel().tolist() == [2.0, -6.0]
    for push, moves in ((1.9, False), (2.1, True), (-5.9, False), (-6.1, True)):
        run = appell.simulate(robot, [0.0], until=0.1, torque=[push], friction=True)
        assert (abs(run.v[-1, 0]) > STILL) == moves
