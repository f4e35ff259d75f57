"""Kernels that take a robot's numbers: as if the robot had been described with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Mimic
from appell.model.inertia import NOTHING, Inertia
from appell.model.library.random import random_description, random_rotation
from appell.model.parameters import GROUPS
from appell.robots.robot import Robot

N = 4
TRIANGLE = np.tril_indices(3)


def numbers(seed: int) -> dict[str, np.ndarray]:
    """What a kernel takes, drawn at random."""
    draw = np.random.default_rng(seed)
    axes = [random_rotation(draw) for _ in range(2 * N)]
    return {
        "mass": draw.uniform(0.5, 5, N),
        "com": draw.uniform(-0.2, 0.2, (N, 3)),
        "inertia": np.array([(R @ np.diag([0.02, 0.03, 0.04]) @ R.T)[TRIANGLE] for R in axes[:N]]),
        "geometry": np.array([np.column_stack([R, draw.normal(size=3)]).ravel() for R in axes[N:]]),
        "gravity": draw.normal(size=3) * 10,
    }


def robot(given: dict[str, np.ndarray]) -> Robot:
    """A tree of turning and sliding joints described by these numbers."""
    links = {"base": NOTHING}
    for i in range(N):
        links[f"link{i + 1}"] = Inertia.about_com(
            given["mass"][i], Vector(*given["com"][i]), Symmetric(*given["inertia"][i])
        )
    _, hinges = random_description(
        N, 1, branching=0.5, prismatic=0.4, fixed=0.0, rotors=True, friction=False
    )
    places = given["geometry"].reshape(N, 3, 4)
    hinges = [
        replace(h, rotation=place[:, :3], position=place[:, 3])
        for h, place in zip(hinges, places, strict=True)
    ]
    return Robot(assemble("described", links, hinges, gravity=given["gravity"]))


@pytest.fixture
def states():
    return np.random.default_rng(5).normal(size=(3, 6, N))


def assert_equal(x: np.ndarray, y: np.ndarray) -> None:
    """Up to rounding of the largest."""
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(y).max())


def test_the_robot_of_these_tests_has_both_kinds_of_joints_and_a_branch():
    model = robot(numbers(0)).model
    assert {joint.kind for joint in model.joints} == {"revolute", "prismatic"}
    assert len({body.parent for body in model.bodies}) < N


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("group", GROUPS)
def test_a_kernel_given_the_numbers_of_another_robot_answers_for_it(states, group, quantity):
    own, others = numbers(0), numbers(1)
    kernel = robot(own).kernel(quantity, parameters=group)
    np.testing.assert_allclose(kernel.defaults[group], own[group], rtol=1e-12, atol=1e-14)
    other = robot(own | {group: others[group]})
    assert_equal(kernel(*states, others[group]), getattr(other, quantity)(*states))


def test_all_numbers_may_be_given_at_once_and_in_batches(states):
    both = [numbers(0), numbers(1)]
    kernel = robot(numbers(2)).kernel("inverse_dynamics", parameters=True)
    stacked = {group: np.stack([x[group] for x in both]) for group in GROUPS}
    q, v, a = states[:, :, None]
    torques = kernel(q, v, a, **stacked)
    for k, given in enumerate(both):
        assert_equal(torques[:, k], robot(given).inverse_dynamics(*states))


@pytest.mark.parametrize("group", ["mass", "gravity"])
def test_forces_change_by_their_derivative_by_what_they_are_linear_in(states, group):
    own, other = numbers(0), numbers(1)
    arm = robot(own)
    slope = arm.kernel("inverse_dynamics", parameters=group, wrt=group)(*states)
    forces = arm.kernel("inverse_dynamics", parameters=group)
    change = forces(*states, other[group]) - forces(*states)
    assert_equal(slope @ (other[group] - own[group]), change)


@pytest.mark.parametrize("group", GROUPS)
def test_welded_links_and_coupled_joints_are_counted_in_a_robots_own_numbers(states, group):
    links, hinges = random_description(
        N + 1, 3, branching=0.4, prismatic=0.4, fixed=0.7, rotors=False, friction=False
    )
    follower = next(k for k in reversed(range(len(hinges))) if hinges[k].joint)
    leader = next(h.name for h in hinges if h.joint)
    hinges[follower] = replace(hinges[follower], mimic=Mimic(leader, -0.7, 0.4))
    arm = Robot(assemble("coupled", links, hinges))
    assert arm.nv == N
    kernel = arm.kernel("inverse_dynamics", parameters=group)
    assert_equal(kernel(*states), arm.inverse_dynamics(*states))
