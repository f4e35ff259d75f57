"""Luh, Walker and Paul's equations, as Lee gives them, beside the Gibbs-Appell ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from batches import tree_of_bodies

import appell
from appell.equations import gibbs_tensor, newton_euler
from appell.maths.vector import ZERO, Vector, cross
from appell.model.inertia import NOTHING
from appell.model.links import far_ends, near_ends
from appell.model.model import Model

# Sums over at most eight bodies: rounding, with room.
CLOSE = 1e-10
SHAPES = [(0.0, 0.0), (0.0, 0.4), (0.4, 0.0), (0.4, 0.4), (1.0, 1.0)]  # branching, prismatic


def robots(n: int) -> list[Model]:
    return [
        tree_of_bodies(n, seed, branching=b, prismatic=p, fixed=0.3, rotors=seed % 2 == 0)
        for seed, (b, p) in enumerate(SHAPES)
    ]


def states(model: Model) -> list[list[float]]:
    return np.random.default_rng(len(model.bodies)).normal(size=(3, len(model.bodies))).tolist()


def assert_close(ours: object, expected: object) -> None:
    ours, expected = np.array(ours, dtype=float), np.array(expected, dtype=float)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


@pytest.mark.parametrize("n", range(1, 9))
def test_joint_forces_are_those_of_gibbs_and_appell(n):
    for model in robots(n):
        state = states(model)
        expected = gibbs_tensor.inverse_dynamics(model, *state)
        assert_close(newton_euler.inverse_dynamics(model, *state), expected)


@pytest.mark.parametrize("ends", [near_ends, far_ends])
def test_links_may_have_their_frames_at_either_end(ends, monkeypatch):
    monkeypatch.setattr(newton_euler, "far_ends", ends)
    for model in robots(6):
        state = states(model)
        expected = gibbs_tensor.inverse_dynamics(model, *state)
        assert_close(newton_euler.inverse_dynamics(model, *state), expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_gives_the_same_as_the_default(seed):
    robot = appell.load("random_tree", n=6, seed=seed)
    state = np.random.default_rng(seed).normal(size=(3, 5, 6))
    kernel = robot.kernel("inverse_dynamics", formulation="newton_euler")
    assert_close(kernel(*state), robot.inverse_dynamics(*state))


def test_a_link_without_mass_needs_no_force():
    model = tree_of_bodies(4, 3)
    bodies = [*model.bodies[:-1], replace(model.bodies[-1], inertia=NOTHING)]
    light = replace(model, bodies=tuple(bodies))
    state = states(light)
    expected = gibbs_tensor.inverse_dynamics(light, *state)
    assert_close(newton_euler.inverse_dynamics(light, *state), expected)


def test_the_relative_acceleration_is_that_of_a_double_cross_product():
    w, dw, r = (Vector(*x) for x in np.random.default_rng(0).normal(size=(3, 3)))
    expected = cross(w, cross(w, r)) + cross(dw, r)
    assert_close(newton_euler.relative(w, dw, w @ w, r), expected)
    assert newton_euler.relative(w, dw, w @ w, ZERO) == ZERO


def test_the_hand_pulls_at_the_tips_only():
    links = far_ends(tree_of_bodies(4, 1, branching=1.0, prismatic=0.0))
    parents = {link.parent for link in links}
    A = [link.rotation(0.0).T for link in links]
    hand = Vector(1.0, 2.0, 3.0)
    f, _ = newton_euler.forces(links, A, [ZERO for _ in links], hand)
    pull = [np.linalg.norm(np.array(x, dtype=float)) for x in f]
    for i in set(range(4)) - parents:
        assert pull[i] == pytest.approx(np.linalg.norm(hand))
    assert len(parents - {-1}) > 0
    for i in parents - {-1}:
        children = [np.array(A[k].T @ f[k]) for k, link in enumerate(links) if link.parent == i]
        assert_close(f[i], sum(children))
