"""Every closed robot of the library against independent solutions and the laws of physics."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from closed_oracles import (
    PARALLEL,
    WHEELED,
    actuated,
    multipliers,
    rate,
    rows,
    tree_of,
)

import appell
from appell.robots.closed import close
from benchmarks.peers.loops import Loops

ALL = [*PARALLEL, *WHEELED]
STATES = 4


@cache
def drawn(name):
    """A robot, closed configurations, speeds and accelerations."""
    robot = appell.load(name)
    q, v = robot.random_states(STATES, seed=7, spread=0.2)
    return robot, q, v, np.random.default_rng(8).uniform(-1, 1, v.shape)


def largest(x):
    return float(np.abs(x).max())


@pytest.mark.parametrize("name", ALL)
def test_configurations_are_closed_and_far_from_singular(name):
    robot, q, _, _ = drawn(name)
    assert largest(robot.closure(q)) < 1e-12 if robot.closure(q).size else True
    assert np.ptp(q, axis=0).max() > 0.05  # the laws are not tested at one point
    assert all(margin.min() > 0.01 for margin in robot.margins(q))


@pytest.mark.parametrize("name", ALL)
def test_closing_the_tree_finds_the_freedoms_that_the_library_says(name):
    robot = appell.load(name)
    names = {"independent": robot.independent, "actuated": robot.actuated}
    found = close(tree_of(robot), robot.constraints, **names, guess=robot.reference)
    assert found.mechanism == robot.mechanism
    assert close(tree_of(robot), robot.constraints, guess=robot.reference).nv == robot.nv


@pytest.mark.parametrize("name", ALL)
def test_forward_dynamics_is_that_of_lagranges_multipliers(name):
    robot, q, v, _ = drawn(name)
    tau = np.random.default_rng(9).uniform(-1, 1, (STATES, len(robot.actuated)))
    a = robot.forward_dynamics(q, v, tau)
    speeds, all_a = robot.speeds(q, v), robot.accelerations(q, v, a)
    J = robot.assembly.rows(q)
    for k in range(STATES):
        expected, reaction = multipliers(robot, q[k], speeds[k], actuated(robot, tau[k]))
        assert largest(rows(robot, q[k]) @ speeds[k]) < 1e-12
        assert largest(all_a[k] - expected) < 1e-9 * max(1, largest(expected))
        ours = J[k].T @ robot.reactions(q[k], v[k], tau[k])
        assert largest(ours - reaction) < 1e-9 * max(1, largest(reaction))


@pytest.mark.parametrize("name", PARALLEL)
def test_accelerations_are_pinocchios(name):
    robot, q, v, _ = drawn(name)
    tau = np.random.default_rng(9).uniform(-1, 1, (STATES, len(robot.actuated)))
    speeds = robot.speeds(q, v)
    found = robot.accelerations(q, v, robot.forward_dynamics(q, v, tau))
    theirs = Loops(robot)
    for k in range(STATES):
        expected = theirs.accelerations(q[k], speeds[k], actuated(robot, tau[k]))
        # Pinocchio's proximal iterations end at about 1e-10 of the accelerations.
        assert largest(found[k] - expected) < 1e-8 * largest(expected)


@pytest.mark.parametrize("name", ALL)
def test_forces_are_m_a_and_c_v_and_g(name):
    robot, q, v, a = drawn(name)
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q)
    Q = robot.inverse_dynamics(q, v, a, generalised=True)
    sums = np.einsum("kij,kj->ki", M, a) + np.einsum("kij,kj->ki", C, v) + g
    assert largest(Q - sums) < 1e-11 * largest(Q)
    assert largest(robot.bias(q, v) - (Q - np.einsum("kij,kj->ki", M, a))) < 1e-11 * largest(Q)
    assert (np.swapaxes(M, 1, 2) == M).all()
    assert np.linalg.eigvalsh(M).min() > 0
    T = np.einsum("ki,kij,kj->k", v, M, v) / 2
    assert np.allclose(robot.kinetic_energy(q, v), T, rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_dm_dt_minus_2c_is_skew_symmetric(name):
    robot, q, v, _ = drawn(name)
    C, speeds = robot.coriolis_matrix(q, v), robot.speeds(q, v)
    M = robot.unchecked().mass_matrix  # off the loops by the square of the step
    for k in range(STATES):
        S = rate(M, robot.model, q[k], speeds[k], 1e-4) - 2 * C[k]
        assert largest(S + S.T) < 1e-9 * max(1, largest(M(q[k])))


@pytest.mark.parametrize(
    "name", [name for name in ALL if name not in ("rolling_disc", "snakeboard")]
)
def test_forward_dynamics_undoes_inverse_dynamics(name):
    robot, q, v, a = drawn(name)
    tau = robot.inverse_dynamics(q, v, a)
    assert tau.shape == (STATES, len(robot.actuated))
    assert largest(robot.forward_dynamics(q, v, tau) - a) < 1e-10
    assert largest(robot.regressor(q, v, a) @ robot.parameters - tau) < 1e-9 * largest(tau)


@pytest.mark.parametrize("name", ALL)
def test_gravity_is_the_gradient_of_the_potential_and_forces_that_of_the_gibbs_function(name):
    robot, q, v, a = drawn(name)
    free = robot.unchecked()
    g, Q = robot.gravity(q), robot.inverse_dynamics(q, v, a, generalised=True)
    for k in range(STATES):
        for n in range(robot.nv):
            unit = np.eye(robot.nv)[n]
            way = robot.speeds(q[k], unit)
            slope = rate(free.potential_energy, robot.model, q[k], way, 1e-3)
            assert abs(slope - g[k, n]) < 1e-8 * max(1, largest(g))
            # The Gibbs function is quadratic in the accelerations: differences are exact.
            up, down = (robot.gibbs_function(q[k], v[k], a[k] + s * unit) for s in (1, -1))
            assert abs((up - down) / 2 - Q[k, n]) < 1e-9 * max(1, largest(Q), abs(up))


@pytest.mark.parametrize("name", ALL)
def test_the_jacobian_is_how_the_tip_moves(name):
    robot, q, v, _ = drawn(name)
    J, speeds = robot.jacobian(q), robot.speeds(q, v)
    for k in range(STATES):
        T = robot.forward_kinematics(q[k])
        dT = rate(
            lambda x: robot.unchecked().forward_kinematics(x), robot.model, q[k], speeds[k], 1e-3
        )
        W = dT[:3, :3] @ T[:3, :3].T
        twist = np.array([*dT[:3, 3], W[2, 1], W[0, 2], W[1, 0]])
        assert largest(J[k] @ v[k] - twist) < 1e-8


@pytest.mark.parametrize("name", ["five_bar", "stewart_gough"])
def test_other_independent_speeds_describe_the_same_motion(name):
    robot, q, v, _ = drawn(name)
    tau = np.random.default_rng(9).uniform(-1, 1, (STATES, len(robot.actuated)))
    other = robot.described_by(
        robot.actuated if name != "five_bar" else ["left elbow", "right elbow"]
    )
    places = list(other.mechanism.independent)
    speeds, a = robot.speeds(q, v), robot.forward_dynamics(q, v, tau)
    found = other.forward_dynamics(q, speeds[:, places], tau)
    expected = robot.accelerations(q, v, a)
    assert largest(other.accelerations(q, speeds[:, places], found) - expected) < 1e-9
    assert largest(other.inverse_dynamics(q, speeds[:, places], found) - tau) < 1e-9


def test_the_robots_own_check_passes():
    for law in appell.load("five_bar").selfcheck(states=10):
        assert law.passed, law
