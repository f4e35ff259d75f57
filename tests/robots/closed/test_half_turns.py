"""Loops close as they are meant to, never half a turn off."""

from __future__ import annotations

import numpy as np
import pytest
from closed_oracles import place_and_jacobian
from scipy.spatial.transform import Rotation
from test_kinds import N, chain, joined

import appell
from appell.model.build import assemble
from appell.model.inertia import NOTHING
from appell.robots.closed import Loop, Place
from appell.robots.closed.library.parts import bar, hinge

DIRECTED = ["fixed", "prismatic", "revolute", "cylindrical", "planar"]


def error(kind, tree, loop, q):
    """By forward kinematics of the tree: the angle by which the loop's places are turned apart, and
    how far they are apart where they may not be."""
    A, _ = place_and_jacobian(tree, q, loop.a)
    B, _ = place_and_jacobian(tree, q, loop.b)
    R, p = B[:3, :3].T @ A[:3, :3], B[:3, :3].T @ (B[:3, 3] - A[:3, 3])
    apart = {"fixed": p, "revolute": p, "planar": p[2:]}.get(kind, p[:2])
    if kind in ("fixed", "prismatic"):
        angle = Rotation.from_matrix(R).magnitude()
    else:
        angle = np.arctan2(np.linalg.norm(R[2, :2]), R[2, 2])
    return max(angle, np.abs(apart).max())


@pytest.mark.parametrize("kind", DIRECTED)
def test_what_is_assembled_is_closed_by_forward_kinematics(kind):
    tree = chain()
    q0 = np.random.default_rng(3).uniform(-1, 1, N)
    loop = joined(kind, tree, q0)
    robot = appell.close(tree, [loop], guess=q0)
    draw, count = np.random.default_rng(8), 0
    for _ in range(60):
        try:
            q = robot.assemble(draw.uniform(-np.pi, np.pi, N))
        except appell.ModelError:  # said, not silent
            continue
        count += 1
        assert error(kind, tree, loop, q) < 1e-7  # of an angle of which 1e-14 is known as a cosine
    assert count > 50  # most guesses lead to a closed configuration


@pytest.mark.parametrize("kind", DIRECTED)
def test_a_configuration_half_a_turn_off_is_refused(kind):
    """The loop is made for a place turned by half a turn about x: its z points the other way."""
    tree = chain()
    q = np.random.default_rng(3).uniform(-1, 1, N)
    loop = joined(kind, tree, q)
    turned = Rotation.from_euler("xyz", loop.b.rpy) * Rotation.from_euler("x", np.pi)
    other = Place(loop.b.link, loop.b.position, rpy=tuple(turned.as_euler("xyz")))
    robot = appell.close(tree, [Loop(kind, loop.a, other)], guess=q)
    assert error(kind, tree, robot.constraints[0], robot.reference) < 1e-7
    assert np.abs(robot.closure(q)).max() == pytest.approx(2.0, abs=1e-9)
    v = np.zeros(robot.nv)
    for call in (
        lambda: robot.mass_matrix(q),
        lambda: robot.inverse_dynamics(q, v, v),
        lambda: robot.forward_kinematics(q, "link7"),
        lambda: robot.simulate(q, v, until=0.1),
    ):
        with pytest.raises(appell.InputError, match="open by 2"):
            call()


def test_a_guess_that_is_exactly_half_a_turn_off_leads_to_a_closed_configuration():
    """Three bars in a row on a plane, the last one welded to the ground: from the stretched arm
    pointing the wrong way no row tells which way to turn."""
    links = {"base": NOTHING, **{name: bar(1.0, 1.0) for name in ("one", "two", "three", "four")}}
    hinges = [
        hinge("one", "base", "one"),
        hinge("two", "one", "two", (1, 0, 0)),
        hinge("three", "two", "three", (1, 0, 0)),
        hinge("four", "three", "four", (1, 0, 0)),
    ]
    tree = appell.Robot(assemble("row", links, hinges))
    weld = Loop("fixed", Place("world", (0.0, 0.0, 0.0), rpy=(0, 0, np.pi)), "four")
    guess = np.array(
        [0.0, 2 * np.pi / 3, 2 * np.pi / 3, -4 * np.pi / 3]
    )  # a triangle, its end at 0
    robot = appell.close(tree, [weld], guess=guess)
    pose = tree.forward_kinematics(robot.reference, "four")
    np.testing.assert_allclose(pose[:3, 3], 0, atol=1e-10)
    np.testing.assert_allclose(pose[:2, 0], [-1, 0], atol=1e-7)
