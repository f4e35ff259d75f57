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
    viscous, coulomb = joint_friction(model)
    v = np.array([1.0, -2.0, 0.5, -0.1])
    taken = viscous * v + coulomb * np.sign(v)
    np.testing.assert_allclose(taken, appell.Robot(model).friction(v), rtol=1e-12)
