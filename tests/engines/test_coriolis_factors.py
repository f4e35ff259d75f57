"""Other factorisations of the Coriolis matrix: one C v, and which of them are skew."""

from __future__ import annotations

import numpy as np
import pinocchio
import pinocchio_robot
import pytest
from batches import evaluate
from both_engines import BothEngines, error

import appell
from appell.model.library.random import random_tree
from appell.robots.selfcheck import mul, rate

CLOSE = 1e-10  # relative to the largest entry: rounding, as in test_random_robots
SLOPE = 1e-7  # differences of step 1e-3 to the fourth order, of speeds of about 1 rad/s
FACTORS = ("composite", "body", "momentum")


@pytest.fixture(params=[(k, base) for k in range(5) for base in ("fixed", "free")], ids=str)
def both(request):
    return BothEngines(*request.param)


def test_all_give_the_bias(both):
    bias = both.ask("bias", both.q, both.v) - both.ask("gravity", both.q)
    for name in FACTORS:
        C = both.ask("coriolis_matrix", both.q, both.v, formulation=name)
        assert error(C @ both.v[0], bias) < CLOSE, name


def test_each_is_skew_or_not(both):
    model, q, v = both.robot.model, both.q, both.v
    dM = rate(lambda x: evaluate(model, "mass_matrix", x), both.robot.integrate, q, v)
    for name in FACTORS[:-1]:
        S = dM - 2 * evaluate(model, "coriolis_matrix", q, v, formulation=name)
        assert error(S, -np.swapaxes(S, 1, 2)) < SLOPE, name


@pytest.mark.parametrize("seed", range(6))
def test_of_single_joints_they_are_pinocchios_and_what_they_say(seed):
    """Christoffel's is Pinocchio's; "body" and "momentum" are sums over bodies of 6 x 6 matrices,
    here Pinocchio's own; "momentum" is not skew."""
    model = random_tree(5, seed)
    other = pinocchio_robot.from_model(model)
    data = other.createData()
    q, v = np.random.default_rng(seed).normal(size=(2, 1, 5))
    order = [other.joints[other.getJointId(joint.name)].idx_v for joint in model.joints]
    qs, vs = np.empty((2, 5))
    qs[order], vs[order] = q[0], v[0]
    C = pinocchio.computeCoriolisMatrix(other, data, qs, vs).copy()
    pinocchio.computeJointJacobiansTimeVariation(other, data, qs, vs)
    pinocchio.forwardKinematics(other, data, qs, vs)
    sums = {"composite": C, "body": np.zeros((5, 5)), "momentum": np.zeros((5, 5))}
    for i in range(1, other.njoints):
        J, dJ = (
            f(other, data, i, pinocchio.ReferenceFrame.WORLD)
            for f in (pinocchio.getJointJacobian, pinocchio.getJointJacobianTimeVariation)
        )
        V = data.oMi[i].act(data.v[i])
        inertia = data.oMi[i].act(other.inertias[i]).matrix()
        force, motion = V.dualAction, V.action
        sums["body"] += J.T @ (inertia @ dJ + force @ inertia @ J)
        sums["momentum"] += J.T @ (inertia @ dJ + (force @ inertia - inertia @ motion) @ J)
    for name, expected in sums.items():
        found = evaluate(model, "coriolis_matrix", q, v, formulation=name)[0]
        assert error(found, expected[np.ix_(order, order)]) < CLOSE, name
    dM = rate(lambda x: evaluate(model, "mass_matrix", x), np.add, q, v)[0] - 2 * found
    assert np.abs(dM + dM.T).max() > 1e-3


@pytest.mark.parametrize("robot", ["puma560", "four_bar"])
def test_robots_are_asked_by_name(robot):
    robot = appell.load(robot)
    q, v, _ = robot.states_to_check(3, np.random.default_rng(0))
    bias = robot.bias(q, v) - robot.gravity(q)
    first = robot.coriolis_matrix(q, v)
    for name in ("body", "momentum"):
        C = robot.coriolis_matrix(q, v, formulation=name)
        assert error(mul(C, v), bias) < CLOSE
    if robot.nv > 1:
        assert error(C, first) > 1e-3
    with pytest.raises(appell.InputError, match="composite, lagrange_euler, body, momentum"):
        robot.coriolis_matrix(q, v, formulation="skew")
