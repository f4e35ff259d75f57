"""Frames of every kind of robot move as their poses change, and external forces do their work."""

from __future__ import annotations

import numpy as np
import pytest
from batches import answer

import appell
from appell.errors import InputError
from appell.robots.selfcheck import mul, rate

CLOSE = 1e-9  # rounding, of closed robots through the solution for their dependent speeds
NEAR = 1e-7  # of finite differences


# One robot or two of each kind; equations of large closed ones take long without a compiler.
ROBOTS = {
    "puma560": {}, "free_chain": {"n": 2}, "tree_of_bars": {}, "agile_wrist": {},
    "redundant_wrist": {}, "four_bar": {}, "five_bar": {}, "rolling_disc": {}, "snakeboard": {},
}  # fmt: skip


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return appell.load(request.param, **ROBOTS[request.param])


def state(robot):
    return robot.states_to_check(1, np.random.default_rng(3))


def close(found, expected, tolerance=CLOSE):
    size = max(np.abs(expected).max(initial=0), 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def views(robot):
    """The last link, as it is seen from the base, in its own axes, and from others."""
    links = robot.link_names
    for to in (None, links[len(links) // 2]):
        for axes in ("base", "local"):
            yield {"frame": links[-1], "axes": axes, "relative_to": to}


def test_velocities_are_the_rates_of_poses(robot):
    q, v, _ = state(robot)
    for view in views(robot):
        to = {**view, "axes": "base"}

        def pose(x, to=to):
            return answer(robot, "forward_kinematics", x, **to)

        V = answer(robot, "velocity", q, v, **view)
        T, dT = pose(q), rate(pose, robot.displaced, q, v)
        R = T[:, :3, :3] if view["axes"] == "local" else np.eye(3)
        moved = np.linalg.solve(np.broadcast_to(R, T[:, :3, :3].shape), dT[:, :3, 3:])
        close(V[:, :3], moved[..., 0], NEAR)
        spin = dT[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2)
        spin = np.swapaxes(np.broadcast_to(R, spin.shape), 1, 2) @ spin @ R
        close(V[:, 3:], np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1), NEAR)


def test_jacobians_and_their_rates_give_velocities_and_accelerations(robot):
    q, v, a = state(robot)
    for view in views(robot):
        J = answer(robot, "jacobian", q, **view)
        dJ = answer(robot, "jacobian_rate", q, v, **view)
        V = answer(robot, "velocity", q, v, **view)
        close(mul(J, v), V)
        turns = rate(lambda x, o=view: answer(robot, "jacobian", x, **o), robot.displaced, q, v)
        close(dJ, turns, NEAR)
        # Classical in axes that rest, spatial in those that turn with the frame.
        which = "acceleration" if view["axes"] == "base" else "spatial_acceleration"
        close(answer(robot, which, q, v, a, **view), mul(J, a) + mul(dJ, v))
        spatial = answer(robot, "spatial_acceleration", q, v, a, **view)
        centripetal = np.cross(V[:, 3:], V[:, :3])
        classical = spatial + np.concatenate([centripetal, 0 * centripetal], axis=1)
        close(answer(robot, "acceleration", q, v, a, **view), classical)


def test_all_poses_are_those_of_each_link(robot):
    q, _, _ = state(robot)
    found = answer(robot, "poses", q)
    assert found.shape == (1, len(robot.link_names), 4, 4)
    for k, link in enumerate(robot.link_names):
        close(found[:, k], answer(robot, "forward_kinematics", q, frame=link))


@pytest.mark.parametrize("axes", ["base", "local"])
def test_external_forces_do_the_work_of_their_wrenches(robot, axes):
    q, v, a = state(robot)
    link = robot.link_names[-1]
    w = np.random.default_rng(4).normal(size=(1, 6))
    options = {"forces": (link,), "axes": axes}
    J = answer(robot, "jacobian", q, frame=link, axes=axes)
    pushed = np.einsum("nij,ni->nj", J, w)
    for quantity, states in (("generalised_forces", (q, v, a)), ("bias", (q, v))):
        found = answer(robot, quantity, *states, w, **options)
        close(found, answer(robot, quantity, *states) - pushed)
    d = robot.system.size("d")
    tau = [np.full((1, d), 0.3)] if d else []
    free, forced = (
        answer(robot, "forward_dynamics", q, v, *tau, *more, **how)
        for more, how in (((), {}), ((w,), options))
    )
    close(mul(answer(robot, "mass_matrix", q), forced - free), pushed, 1e-8)
    power = np.einsum("ni,ni->n", answer(robot, "velocity", q, v, frame=link, axes=axes), w)
    close(np.einsum("ni,ni->n", pushed, v), power)
    if d >= robot.nv:
        torques = answer(robot, "inverse_dynamics", q, v, forced, w, **options)
        close(robot.driven(q, torques), robot.driven(q, tau[0]), 1e-7)


def test_a_payload_weighs_as_the_force_of_its_weight():
    robot = appell.load("puma560")
    q = np.random.default_rng(0).normal(size=(5, 6))
    heavy = robot.with_payload(2.0, (0.1, 0.0, 0.3))
    p = robot.forward_kinematics(q)
    arm = mul(p[:, :3, :3], np.array([0.1, 0.0, 0.3]))
    weight = np.array([0, 0, -2.0 * 9.81])
    w = np.concatenate([np.broadcast_to(weight, (5, 3)), np.cross(arm, weight)], axis=1)
    close(robot.bias(q, 0 * q, forces={"link6": w}), heavy.gravity(q))
    held = robot.inverse_dynamics(q, 0 * q, 0 * q, forces={"link6": w})
    close(held, heavy.gravity(q))
    local = np.concatenate([np.einsum("nij,ni->nj", p[:, :3, :3], x) for x in (w[:, :3], w[:, 3:])])
    local = np.concatenate([local[:5], local[5:]], axis=1)
    close(robot.bias(q, 0 * q, forces={"link6": local}, axes="local"), heavy.gravity(q))


@pytest.mark.parametrize("name", ["two_link", "four_bar", "spherical_five_bar"])
def test_derivatives_know_of_external_forces(name):
    robot = appell.load(name)
    q, v, a = state(robot)
    link = robot.link_names[-1]
    w = np.random.default_rng(4).normal(size=6)
    forces = {link: w}
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a, forces=forces, axes="local")
    along = np.ones_like(v)

    def tau(x):
        return robot.inverse_dynamics(x, v, a, forces=forces, axes="local")

    close(mul(dq, along), rate(tau, robot.displaced, q, along), 1e-6)
    close(dv, robot.inverse_dynamics_derivatives(q, v, a)[1])
    da, _, inverse = robot.forward_dynamics_derivatives(q, v, a, forces=forces)

    def forward(x):
        return robot.forward_dynamics(x, v, a, forces=forces)

    close(mul(da, along), rate(forward, robot.displaced, q, along), 1e-6)
    close(inverse, robot.forward_dynamics_derivatives(q, v, a)[2])


def test_wrenches_broadcast_with_the_state():
    robot = appell.load("two_link")
    q, w = np.ones((4, 1, 2)), np.ones((3, 6))
    tip = robot.link_names[-1]
    found = robot.inverse_dynamics(q, q, q, forces={tip: w})
    assert found.shape == (4, 3, 2)
    assert np.array_equal(found[1, 2], robot.inverse_dynamics(*(q[1, 0],) * 3, forces={tip: w[2]}))
    assert np.array_equal(robot.bias(q, q, forces={}), robot.bias(q, q))
    single = robot.inverse_dynamics(*(q.astype(np.float32),) * 3, forces={tip: w.astype("f4")})
    assert single.dtype == np.float32


def test_what_makes_no_sense_is_refused():
    robot = appell.load("two_link")
    q = np.zeros(2)
    for ask, told in (
        (lambda: robot.jacobian(q, axes="world"), "expected 'base'"),
        (lambda: robot.jacobian(q, ["tip"]), "no frame"),
        (lambda: robot.jacobian(q, relative_to="nowhere"), "no frame 'nowhere'"),
        (lambda: robot.bias(q, q, forces=[1, 2]), "expected wrenches by frame"),
        (lambda: robot.bias(q, q, forces={"nowhere": np.zeros(6)}), "no frame 'nowhere'"),
        (lambda: robot.bias(q, q, forces={"link2": np.zeros(3)}), r"wrench_link2 has shape \(3,\)"),
        (lambda: robot.kernel("regressor", forces=("link2",)), "takes no external forces"),
        (lambda: robot.kernel("gravity", axes="local"), "no axes to choose"),
        (lambda: robot.kernel("gravity", relative_to="link1"), "relative to no frame"),
        (lambda: robot.velocity(q, frame="link2"), "v is missing"),
    ):
        with pytest.raises(InputError, match=told):
            ask()


def test_one_state_of_a_named_frame_is_that_of_the_kernel():
    robot = appell.load("puma560")
    q = np.random.default_rng(0).normal(size=(3, 6))
    for axes in ("base", "local", "mixed"):
        kernel = robot.kernel("jacobian", frame="link6", axes=axes)
        assert kernel is robot.kernel("jacobian", frame="link6", axes=axes)
        assert np.array_equal(robot.jacobian(q[0], "link6", axes=axes), kernel(q)[0])
    assert np.array_equal(robot.poses(q[0]), robot.poses(q)[0])
    assert robot.poses(q[:, None]).shape == (3, 1, 7, 4, 4)
    assert robot.poses(q.astype(np.float32)).dtype == np.float32
