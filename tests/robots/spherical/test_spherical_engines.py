"""Spherical parallel robots of many shapes against Pinocchio's trees and by laws of physics."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from scipy.integrate import solve_ivp
from spherical_robots import SHAPES, drawn, jacobian, opened, states, tree

import appell

CLOSE = 1e-9  # what is asked, relative to the largest; near singular states lose some digits


@pytest.fixture(params=SHAPES, scope="module")
def case(request):
    """A robot, its states, its open tree in Pinocchio, and the states as the tree's."""
    robot = drawn(request.param)
    given = states(robot)
    model = tree(robot)
    return robot, given, model, [opened(robot, model, *state) for state in zip(*given, strict=True)]


def near(ours, expected, scale=None):
    expected = np.array(expected)
    size = np.abs(expected if scale is None else scale).max()
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * max(size, 1e-3))


def test_freedoms_are_those_of_the_loops(case):
    """As many as the limbs' joints, less three for each loop."""
    robot, _, model, trees = case
    limbs = robot.model.limbs
    assert robot.nv == sum(limb.joints for limb in limbs) - 3 * (len(limbs) - 1)
    assert len(robot.joint_names) == robot.nv == robot.nq
    data = model.createData()
    for at in trees:
        pinocchio.forwardKinematics(model, data, at.s, at.ds, at.dds)
        pinocchio.updateFramePlacements(model, data)
        pinocchio.computeJointJacobians(model, data, at.s)
        ends = [model.getFrameId(f"end{i}") for i in range(len(limbs))]
        world = pinocchio.LOCAL_WORLD_ALIGNED
        first, *others = (jacobian(model, data, k) for k in ends)
        for k, J in zip(ends[1:], others, strict=True):
            # Closed in position, speed and acceleration.
            np.testing.assert_allclose(data.oMf[k].rotation, data.oMf[ends[0]].rotation, atol=1e-12)
            near((J - first) @ at.slope, np.zeros((3, robot.nv)), np.eye(3))
            a, b = (
                pinocchio.getFrameAcceleration(model, data, x, world).angular for x in (k, ends[0])
            )
            near(a, b)


def test_dynamics_is_that_of_the_tree(case):
    robot, (q, v, a), model, trees = case
    data = model.createData()
    still = np.zeros(model.nv)
    M, g, Q, T, U = [], [], [], [], []
    for at in trees:
        full = pinocchio.crba(model, data, at.s)
        full = np.triu(full) + np.triu(full, 1).T
        M.append(at.slope.T @ full @ at.slope)
        g.append(at.slope.T @ pinocchio.rnea(model, data, at.s, still, still))
        Q.append(at.slope.T @ pinocchio.rnea(model, data, at.s, at.ds, at.dds))
        T.append(pinocchio.computeKineticEnergy(model, data, at.s, at.ds))
        U.append(pinocchio.computePotentialEnergy(model, data, at.s))
    near(robot.mass_matrix(q), M)
    near(robot.kinetic_energy(q, v), T)
    near(robot.potential_energy(q), U)
    bias = np.array(Q) - np.einsum("nij,nj->ni", M, a)
    C = robot.coriolis_matrix(q, v)
    near(np.einsum("nij,nj->ni", C, v) + robot.gravity(q), bias)
    printed = robot.coriolis_matrix(q, v, formulation="printed")
    near(np.einsum("nij,nj->ni", printed - C, v), np.zeros_like(v), bias)
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        near(robot.kernel("generalised_forces", formulation=formulation)(q, v, a), Q)
        near(robot.kernel("bias", formulation=formulation)(q, v), bias)
        near(robot.kernel("gravity", formulation=formulation)(q), g, Q)


def test_torques_do_the_work_of_the_forces(case):
    robot, (q, v, a), _, trees = case
    names = list(robot.model.joint_names)
    driven = [names.index(x) for x in robot.actuated]
    J = np.array([at.slope[driven] for at in trees])
    near(robot.actuator_jacobian(q), J)
    Q = robot.generalised_forces(q, v, a)
    if len(driven) < robot.nv:
        with pytest.raises(appell.InputError, match="freedom and 3 actuators: no torques"):
            robot.inverse_dynamics(q, v, a)
        tau = np.random.default_rng(0).normal(size=(len(q), len(driven)))
        pushed = np.einsum("nij,ni->nj", J, tau)
        expected = np.linalg.solve(robot.mass_matrix(q), (pushed - robot.bias(q, v))[..., None])[
            ..., 0
        ]
        near(robot.forward_dynamics(q, v, tau), expected)
        return
    expected = np.einsum("nij,nj->ni", np.linalg.pinv(np.swapaxes(J, 1, 2)), Q)
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        tau = robot.kernel("inverse_dynamics", formulation=formulation)(q, v, a)
        near(tau, expected)
        back = robot.kernel("forward_dynamics", formulation=formulation)(q, v, tau)
        near(np.einsum("nij,nj->ni", robot.mass_matrix(q), back - a), np.zeros_like(a), Q)
    near(robot.actuator_torques(q, Q), expected)
    near(robot.regressor(q, v, a) @ robot.parameters, expected)


def test_joints_move_as_the_trees_do(case):
    robot, (q, v, a), _, trees = case
    model = robot.model
    places = {joint: k for k, joint in enumerate(model.joint_names.values())}
    theta, psi = ([places[x] for x in joints] for joints in (model.actuated, model.passive))
    s, ds, dds = (np.array([at[k] for at in trees]) for k in range(3))
    angles = robot.inverse_kinematics(q)
    for ours, which in zip(angles, (theta, psi), strict=True):
        assert np.abs(np.sin((ours - s[:, which]) / 2)).max(initial=0.0) < 1e-12
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        moved = robot.kernel("joint_motion", formulation=formulation)(q, v, a)
        for ours, expected in zip(moved, (ds, dds), strict=True):
            near(ours, expected[:, theta + psi])
    slopes = np.array([at.slope for at in trees])
    if psi:
        near(robot.passive_jacobian(q), slopes[:, psi], slopes)
    else:
        with pytest.raises(appell.InputError, match="no passive joints between its links"):
            robot.passive_jacobian(q)


def test_laws_of_physics_hold(case):
    robot, (q, v, a), *_ = case
    dM = np.einsum("nijk,nk->nij", robot.kernel("mass_matrix", wrt="q")(q), v)
    skew = dM - 2 * robot.coriolis_matrix(q, v)
    near(skew + np.swapaxes(skew, 1, 2), np.zeros_like(dM), dM)
    near(robot.kernel("potential_energy", wrt="q")(q), robot.gravity(q))
    force = robot.generalised_forces(q, v, a)
    near(robot.kernel("gibbs_function", wrt="a")(q, v, a), force)
    for check in robot.selfcheck(10, 1):
        assert check.passed, check


@pytest.mark.parametrize(
    "shape", ["three limbs", "five-bar linkage", "limb with a joint more", "one limb of one joint"]
)
def test_derivatives_are_those_of_differences(shape):
    robot, h = drawn(shape), 1e-5
    q, v, a = states(robot, 3)
    tau = np.zeros((3, len(robot.actuated)))
    cases = {"forward_dynamics": tau}
    if len(robot.actuated) >= robot.nv:
        cases["inverse_dynamics"] = a
    for name, x in cases.items():
        method = getattr(robot, name)
        found = getattr(robot, f"{name}_derivatives")(q, v, x)
        for which, derivative in enumerate(found):
            for k in range((q, v, x)[which].shape[1]):
                ahead, behind = [[q.copy(), v.copy(), x.copy()] for _ in range(2)]
                ahead[which][:, k] += h
                behind[which][:, k] -= h
                slope = (method(*ahead) - method(*behind)) / (2 * h)
                size = max(1.0, float(np.abs(derivative).max()))
                np.testing.assert_allclose(derivative[..., k], slope, rtol=0, atol=1e-6 * size)


def test_energy_is_kept(case):
    robot, (q, v, _), *_ = case
    tau, n = np.zeros(len(robot.actuated)), robot.nv

    def rates(t, y):
        return np.concatenate([y[n:], robot.kernel("forward_dynamics")(y[:n], y[n:], tau)])

    start = np.argmax(robot.singularity(q))
    run = solve_ivp(
        rates, (0, 0.03), np.append(q[start], 0.3 * v[start]), "DOP853", rtol=1e-12, atol=1e-12
    )
    assert run.success
    q, v = run.y[:n].T, run.y[n:].T
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert np.ptp(robot.kinetic_energy(q, v)) > 1e-6
    assert np.abs(energy - energy[0]).max() < 1e-9


def test_direct_kinematics_finds_the_pose_among_others(case):
    robot, (q, *_), *_ = case
    theta = robot.inverse_kinematics(q).theta
    if len(robot.actuated) < robot.nv:
        with pytest.raises(appell.InputError, match="do not determine them"):
            robot.assemblies(theta[0])
        return
    back = robot.direct_kinematics(theta, q + 1e-3)
    np.testing.assert_allclose(back, q, rtol=0, atol=1e-10)
    poses = robot.assemblies(theta[0])
    apart = [np.abs(np.sin((pose.q - q[0]) / 2)).max() for pose in poses]
    turned = robot.forward_kinematics(q[0])
    on = [robot.with_branch(pose.branch) for pose in poses]
    same = [
        np.abs(x.forward_kinematics(pose.q) - turned).max()
        for x, pose in zip(on, poses, strict=True)
    ]
    assert min(apart) < 1e-9 or min(same) < 1e-9  # Euler angles have two names for a pose
    for x, pose in zip(on, poses, strict=True):
        assert np.abs(np.sin((x.inverse_kinematics(pose.q).theta - theta[0]) / 2)).max() < 1e-9
