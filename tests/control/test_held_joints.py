"""Accelerations while some joints are held."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.control.tracking.held_joints import held_motion
from appell.robots.robot import Robot


@pytest.mark.parametrize("free", list(product([0, 1], repeat=3)))
def test_what_is_held_does_not_accelerate_and_the_rest_does(free):
    model = tree_of_bodies(3, 8, branching=0.5, prismatic=0.4, rotors=True)
    robot = Robot(model)
    q, v, tau = np.random.default_rng(2).normal(size=(3, 3))
    speeds, a, force = np.reshape(held_motion(model, list(q), list(v), list(tau), free), (3, 3))
    np.testing.assert_array_equal(speeds, v)
    held = np.array(free) == 0
    np.testing.assert_array_equal(a[held], 0.0)
    np.testing.assert_array_equal(force[~held], 0.0)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau - force, atol=1e-11)
