"""The Gibbs-Appell equations by Jacobians, on bodies that turn and move: those of a tree."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations import gibbs_jacobian as by_jacobians
from appell.maths.vector import Vector
from appell.model.axes import as_array
from appell.robots.robot import Robot

CLOSE = 1e-11  # of the largest; rounding


def columns(J):
    return [Vector(*map(float, column)) for column in J.T]


def motions(robot: Robot, q, v) -> list[by_jacobians.BodyMotion]:
    """Each body with its Jacobians in its own axes, and the rates of their components."""
    found = []
    for body in robot.model.bodies:
        frame = robot.model.frame(body.name)
        # From the link's axes and origin, which the robot's methods speak of, to the body's.
        R = robot.forward_kinematics(q, body.name)[:3, :3] @ as_array(frame.R).T
        arm = R @ -np.array(as_array(frame.R) @ as_array(frame.R).T @ [*map(float, frame.s)])
        J = robot.jacobian(q, body.name)
        slope = robot.kernel("jacobian", frame=body.name, wrt="q")(q)
        dJ = slope @ v
        w = J[3:] @ v
        J_D = J[:3] + np.cross(J[3:].T, arm).T
        dJ_D = dJ[:3] + np.cross(dJ[3:].T, arm).T + np.cross(J[3:].T, np.cross(w, arm)).T
        W = np.cross(np.eye(3), w)
        found.append(
            by_jacobians.BodyMotion(
                body.inertia,
                Vector(*(R.T @ [*robot.model.gravity])),
                columns(R.T @ J[3:]),
                columns(R.T @ (dJ[3:] - W @ J[3:])),
                columns(R.T @ J_D),
                columns(R.T @ (dJ_D - W @ J_D)),
            )
        )
    return found


@pytest.fixture(params=[1, 2, 3])
def case(request):
    robot = Robot(tree_of_bodies(4, request.param, branching=0.4, prismatic=0.3))
    q, v, a = np.random.default_rng(request.param).normal(size=(3, 4))
    return robot, motions(robot, q, v), q, v, a


def near(ours, expected):
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


def test_a_tree_has_the_same_matrices(case):
    robot, bodies, q, v, a = case
    near(by_jacobians.mass_matrix(bodies), robot.mass_matrix(q))
    near(by_jacobians.gravity(bodies), robot.gravity(q))
    near(by_jacobians.forces(bodies, v, a), robot.inverse_dynamics(q, v, a))
    near(by_jacobians.kinetic_energy(bodies, v), robot.kinetic_energy(q, v))
    near(by_jacobians.gibbs_function(bodies, v, a), robot.gibbs_function(q, v, a))


@pytest.mark.parametrize(
    "matrix", [by_jacobians.coriolis_matrix, by_jacobians.printed_coriolis_matrix]
)
def test_both_coriolis_matrices_give_the_same_forces(case, matrix):
    robot, bodies, q, v, _ = case
    near(np.array(matrix(bodies, v)) @ v, robot.bias(q, v) - robot.gravity(q))


def test_only_the_default_leaves_a_skew_matrix(case):
    robot, bodies, q, v, _ = case
    rate = robot.kernel("mass_matrix", wrt="q")(q) @ v
    ours = rate - 2 * np.array(by_jacobians.coriolis_matrix(bodies, v))
    printed = rate - 2 * np.array(by_jacobians.printed_coriolis_matrix(bodies, v))
    assert np.abs(ours + ours.T).max() < CLOSE * np.abs(rate).max()
    assert np.abs(printed + printed.T).max() > 1e-3 * np.abs(rate).max()
