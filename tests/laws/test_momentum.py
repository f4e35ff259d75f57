"""Centre of mass and momentum of every kind of robot, by the laws that bind them."""

from __future__ import annotations

import numpy as np
import pytest
from batches import answer

import appell
from appell.errors import InputError
from appell.robots.selfcheck import mul, rate

CLOSE = 1e-9  # rounding, of closed robots through the solution for their dependent speeds
NEAR = 1e-7  # of finite differences
ROBOTS = {
    "puma560": {}, "free_chain": {"n": 2}, "tree_of_bars": {}, "agile_wrist": {},
    "redundant_wrist": {}, "four_bar": {}, "five_bar": {}, "rolling_disc": {}, "snakeboard": {},
}  # fmt: skip


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return appell.load(request.param, **ROBOTS[request.param])


def state(robot):
    return robot.states_to_check(1, np.random.default_rng(5))


def close(found, expected, tolerance=CLOSE):
    size = max(np.abs(expected).max(initial=0), 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def test_the_centre_of_mass_moves_by_the_momentum(robot):
    q, v, _ = state(robot)
    V = answer(robot, "centre_of_mass_velocity", q, v)
    close(mul(answer(robot, "centre_of_mass_jacobian", q), v), V)
    close(V, rate(lambda x: answer(robot, "centre_of_mass", x), robot.displaced, q, v), NEAR)
    close(answer(robot, "momentum", q, v)[:, :3], robot.mass() * V)


def test_gravity_acts_in_the_centre_of_mass(robot):
    q, _, _ = state(robot)
    c, J = answer(robot, "centre_of_mass", q), answer(robot, "centre_of_mass_jacobian", q)
    weight = robot.mass() * np.array(robot.model.gravity, dtype=float)
    close(answer(robot, "potential_energy", q), -c @ weight)
    close(answer(robot, "gravity", q), -np.einsum("nij,i->nj", J, weight))


def test_momentum_follows_from_its_matrix_and_changes_by_its_rate(robot):
    q, v, a = state(robot)
    A, dA = answer(robot, "momentum_matrix", q), answer(robot, "momentum_matrix_rate", q, v)
    close(mul(A, v), answer(robot, "momentum", q, v))
    close(dA, rate(lambda x: answer(robot, "momentum_matrix", x), robot.displaced, q, v), NEAR)
    close(mul(A, a) + mul(dA, v), answer(robot, "momentum_rate", q, v, a))


def test_inverse_inertias_undo_inertias(robot):
    q, _, _ = state(robot)
    M, W = answer(robot, "mass_matrix", q), answer(robot, "inverse_mass_matrix", q)
    close(M @ W, np.broadcast_to(np.eye(robot.nv), M.shape), 1e-8)
    link = robot.link_names[-1]
    J = answer(robot, "jacobian", q, frame=link)
    close(answer(robot, "operational_mobility", q, frame=link), J @ W @ np.swapaxes(J, 1, 2))


def test_regressors_give_energies_and_momentum(robot):
    q, v, _ = state(robot)
    p = robot.parameters
    T = answer(robot, "kinetic_energy_regressor", q, v) @ p
    close(T, answer(robot, "kinetic_energy", q, v))
    close(answer(robot, "potential_energy_regressor", q) @ p, answer(robot, "potential_energy", q))
    Mv = mul(answer(robot, "mass_matrix", q), v)
    close(answer(robot, "momentum_regressor", q, v) @ p, Mv)


def test_derivatives_are_along_the_speeds():
    """Of a robot on a free base, whose coordinates have a quaternion."""
    robot = appell.load("free_chain", n=1)
    q, v, a = state(robot)
    link, n = robot.link_names[-1], range(robot.nv)
    for quantity, frame in (("acceleration", link), ("momentum_rate", None)):
        by_q, by_v, by_a = robot.kernel(quantity, frame=frame, wrt=("q", "v", "a"))(q, v, a)
        assert by_q.shape == (1, 6, robot.nv)

        def value(x, y, z, quantity=quantity, frame=frame):
            return answer(robot, quantity, x, y, z, frame=frame)

        for k in n:
            e = np.broadcast_to(np.eye(robot.nv)[k], v.shape)
            close(by_q[..., k], rate(lambda x: value(x, v, a), robot.displaced, q, e), NEAR)
            close(by_v[..., k], rate(lambda y: value(q, y, a), np.add, v, e), NEAR)
            close(by_a[..., k], value(q, v, a + e) - value(q, v, a))


def test_a_fixed_base_gives_all_of_the_momentum_but_what_gravity_gives():
    robot = appell.load("puma560")
    q, v, a = state(robot)
    f = robot.base_wrench(q, v, a)
    weight = robot.mass() * np.array([0, 0, -9.81])
    c = robot.centre_of_mass(q)
    gained = np.concatenate([f[:, :3] + weight, f[:, 3:] - np.cross(c, f[:, :3])], axis=1)
    close(gained, robot.momentum_rate(q, v, a))
    wrenches = robot.joint_wrenches(q, v, a)
    assert wrenches.shape == (1, len(robot.moving_links), 6)
    # About its own axis z, a joint's motor gives the moment, but for what its rotor takes.
    reflected = np.array([joint.reflected for joint in robot.model.joints], dtype=float)
    close(wrenches[..., 5], robot.inverse_dynamics(q, v, a) - reflected * a)


def test_a_robot_without_a_base_keeps_its_momentum():
    robot = appell.load("free_chain", n=2).with_gravity((0, 0, 0))
    q, v, _ = state(robot)
    run = appell.simulate(robot, q[0], 0.3 * v[0], until=1.0, stops=False)
    h = robot.momentum(run.q, run.v)
    close(h, np.broadcast_to(h[0], h.shape), 1e-9)


def test_a_frame_feels_the_inertia_that_it_has():
    robot = appell.load("puma560")
    q, _, _ = state(robot)
    felt = robot.operational_inertia(q[0], "link6")
    close(felt @ robot.operational_inertia(q[0], "link6", inverse=True), np.eye(6))
    part = robot.centre_of_mass(q, "link3")
    heavier = robot.with_payload(2.0, link="link3")
    moved = robot.forward_kinematics(q, "link3")[:, :3, 3]
    m = robot.mass("link3")
    close(heavier.mass("link3"), m + 2)
    close(heavier.centre_of_mass(q, "link3"), (m * part + 2 * moved) / (m + 2))
    close(robot.centre_of_mass_velocity(q, q, "link1"), robot.centre_of_mass_velocity(q, q))
    Y = robot.body_regressor(q, q, q, "link6")
    close(Y @ robot.parameters[50:60], robot.joint_wrenches(q, q, q)[:, -1])


def test_what_has_no_answer_is_refused():
    arm, loop, wrist = map(appell.load, ("two_link", "four_bar", "agile_wrist"))
    for ask, told in (
        (lambda: arm.operational_inertia(np.zeros(2)), "inverse=True"),
        (lambda: loop.joint_wrenches(loop.neutral(), [0], [0]), "share the load"),
        (lambda: wrist.base_wrench(*np.zeros((3, 3))), "share the load"),
        (lambda: wrist.centre_of_mass(np.zeros(3), "platform"), "leave out link='platform'"),
        (lambda: arm.centre_of_mass(np.zeros(2), "nowhere"), "no frame 'nowhere'"),
        (lambda: arm.mass("nowhere"), "no frame 'nowhere'"),
    ):
        with pytest.raises(InputError, match=told):
            ask()
