"""Trees with joints of every kind, balls and free bodies anywhere, move as Pinocchio's do."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from batches import evaluate
from kinds_of_joints import described, in_pinocchio, orders

import appell
from appell.model.build import assemble
from appell.model.library.random import random_inertia

CLOSE = 1e-10  # relative to the largest entry: rounding, as in test_random_robots
WORLD = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


def error(found, expected):
    return np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-3)


@pytest.fixture(params=[(seed, base) for seed in range(4) for base in ("fixed", "free")], ids=str)
def both(request):
    seed, base = request.param
    links, hinges = described(3 + seed, seed)
    links["base"] = random_inertia(np.random.default_rng(seed))
    robot = appell.Robot(assemble(f"kinds {seed}", links, hinges, base=base))
    other = in_pinocchio(links, hinges, base == "free")
    assert robot.nq == other.nq
    assert robot.nv == other.nv
    draw = np.random.default_rng(seed)
    q, v, a, tau = robot.random(draw, 4), *draw.normal(size=(3, 4, robot.nv))
    return robot, other, (q, v, a, tau)


def theirs(robot, other, states, ask):
    """What Pinocchio answers in our order, speeds first."""
    iq, iv = orders(other, robot.joint_names)
    data, results = other.createData(), []
    for q, v, a, tau in zip(*states, strict=True):
        there = [np.empty(other.nq), *np.empty((3, other.nv))]
        there[0][iq] = q
        for x, y in zip(there[1:], (v, a, tau), strict=True):
            x[iv] = y
        results.append([np.array(x) for x in ask(data, *there)])
    return [np.array(x) for x in zip(*results, strict=True)], iv


def test_dynamics_are_pinocchios_by_every_formulation(both):
    robot, other, (q, v, a, tau) = both
    pin = pinocchio
    expected, iv = theirs(
        robot, other, (q, v, a, tau),
        lambda data, q, v, a, tau: (
            pin.rnea(other, data, q, v, a).copy(), pin.aba(other, data, q, v, tau).copy(),
            pin.nle(other, data, q, v).copy(), pin.computeGeneralizedGravity(other, data, q).copy(),
            pin.crba(other, data, q).copy(), pin.computePotentialEnergy(other, data, q),
            pin.computeKineticEnergy(other, data, q, v),
        ),
    )  # fmt: skip
    forces, accelerations, bias, gravity, M, U, T = expected
    for quantity, inputs, wanted in (
        ("inverse_dynamics", (q, v, a), forces[:, iv]),
        ("forward_dynamics", (q, v, tau), accelerations[:, iv]),
        ("bias", (q, v), bias[:, iv]),
        ("gravity", (q,), gravity[:, iv]),
        ("mass_matrix", (q,), M[:, iv][:, :, iv]),
        ("potential_energy", (q,), U),
        ("kinetic_energy", (q, v), T),
    ):
        for formulation in robot.system.quantities[quantity].formulations:
            if formulation == "lagrange_euler" and robot.nv > 12:
                continue  # its cost grows with the fourth power
            found = evaluate(robot.model, quantity, *inputs, formulation=formulation)
            assert error(found, wanted) < CLOSE, (quantity, formulation)


def test_frames_are_pinocchios(both):
    robot, other, states = both
    for link in robot.link_names:
        frame = other.getFrameId(link)

        def ask(data, q, *_, frame=frame):
            J = pinocchio.computeFrameJacobian(other, data, q, frame, WORLD).copy()
            pinocchio.framesForwardKinematics(other, data, q)
            return J, data.oMf[frame].homogeneous.copy()

        if frame == other.nframes:
            continue  # the fixed base has none there
        (J, T), iv = theirs(robot, other, states, ask)
        assert error(robot.jacobian(states[0], link), J[:, :, iv]) < CLOSE
        assert error(robot.forward_kinematics(states[0], link), T) < CLOSE


def test_derivatives_are_pinocchios(both):
    robot, other, (q, v, a, tau) = both
    if robot.nv > 14:
        return  # compiling them takes long

    def ask(data, q, v, a, tau):
        by_motion = [x.copy() for x in pinocchio.computeRNEADerivatives(other, data, q, v, a)]
        by_force = [x.copy() for x in pinocchio.computeABADerivatives(other, data, q, v, tau)]
        return (*by_motion, *by_force)

    found, iv = theirs(robot, other, (q, v, a, tau), ask)
    wanted = [x[:, iv][:, :, iv] for x in found]
    by_motion = robot.inverse_dynamics_derivatives(q, v, a)
    by_force = robot.forward_dynamics_derivatives(q, v, tau)
    for k, x in enumerate((*by_motion, *by_force)):
        assert error(x, wanted[k]) < 1e-8, k


def test_the_regressor_gives_the_forces(both):
    robot, _, (q, v, a, _) = both
    forces = robot.inverse_dynamics(q, v, a)
    assert error(robot.regressor(q, v, a) @ robot.parameters, forces) < CLOSE


def test_laws_of_physics_hold(both):
    for law in both[0].selfcheck(states=10):
        assert law.passed, law


def test_configurations_are_pinocchios(both):
    robot, other, (q, v, _, _) = both
    iq, iv = orders(other, robot.joint_names)
    for x, d in zip(q, 0.3 * v, strict=True):
        there, along = np.empty(other.nq), np.empty(other.nv)
        there[iq], along[iv] = x, d
        moved = pinocchio.integrate(other, there, along)
        ours = robot.integrate(x, d)
        assert error(robot.difference(ours, moved[iq]), np.zeros(robot.nv)) < 1e-12
        back = pinocchio.difference(other, there, moved)[iv]
        assert error(robot.difference(x, ours), back) < CLOSE
    assert np.allclose(robot.neutral(), pinocchio.neutral(other)[iq])


def test_a_simulated_robot_keeps_its_energy(both):
    robot, _, (q, v, _, _) = both
    run = appell.simulate(robot, q[0], 0.3 * v[0], until=0.3, stops=False, rtol=1e-10, atol=1e-10)
    assert run.stopped is None
    assert np.ptp(run.energy) < 1e-6 * max(np.abs(run.energy).max(), np.ptp(run.kinetic))


def test_parameters_may_be_inputs(both):
    robot, _, (q, v, a, _) = both
    kernel = robot.kernel("inverse_dynamics", parameters=True)
    assert error(kernel(q, v, a), robot.inverse_dynamics(q, v, a)) < CLOSE
