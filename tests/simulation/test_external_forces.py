"""External forces move a robot, and do the work that its energy gains."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.errors import InputError


def gained(run, link, force, robot):
    """Energy less the work of a constant force."""
    p = robot.forward_kinematics(run.q, link)[:, :3, 3]
    return run.energy - p @ force


@pytest.mark.parametrize("name", ["two_link", "free_chain", "four_bar", "snakeboard"])
def test_a_constant_force_does_the_work_that_the_energy_gains(name):
    robot = appell.load(name, **({"n": 1} if name == "free_chain" else {}))
    q, v, _ = robot.states_to_check(1, np.random.default_rng(1))
    link, force = robot.link_names[-1], np.array([3.0, -2.0, 4.0])
    forces = {link: np.concatenate([force, np.zeros(3)])}
    run = appell.simulate(
        robot, q[0], 0.2 * v[0], until=0.3, stops=False, forces=forces, rtol=1e-10, atol=1e-10
    )
    assert run.stopped is None
    kept = gained(run, link, force, robot)
    assert np.ptp(run.energy) > 1e-3
    assert np.ptp(kept) < 1e-6 * max(np.ptp(run.energy), np.ptp(run.kinetic))
    on = run.resume(until=0.4)
    assert np.ptp(gained(on, link, force, robot)) < 1e-6 * np.ptp(on.energy)


def test_a_moment_turns_a_spherical_robot_as_its_torques_do():
    """A moment on the platform along its local axes is what the torques J^T w are."""
    robot = appell.load("agile_wrist")
    q, _, _ = robot.states_to_check(1, np.random.default_rng(1))
    w = np.array([0, 0, 0, 0.1, -0.2, 0.3])
    J = robot.jacobian(q[0], "platform", axes="local")
    tau = robot.actuator_torques(q[0], J.T @ w)
    a = robot.forward_dynamics(q[0], np.zeros(3), np.zeros(3), forces={"platform": w}, axes="local")
    np.testing.assert_allclose(a, robot.forward_dynamics(q[0], np.zeros(3), tau), rtol=1e-9)
    run = appell.simulate(robot, q[0], until=0.02, forces={"platform": w}, axes="local")
    moved = run.q[-1] - q[0]
    np.testing.assert_allclose(moved, a * 0.02**2 / 2, rtol=0.1, atol=1e-6)


def test_a_force_of_time_and_state_is_that_of_a_spring():
    robot = appell.load("two_link")
    tip, anchor, k = robot.link_names[-1], np.array([0.5, 0.2, 0.0]), 50.0

    def spring(t, q, v):
        pull = k * (anchor - robot.forward_kinematics(q, tip)[:3, 3])
        return {tip: [*pull, 0, 0, 0]}

    run = appell.simulate(robot, [0.3, 0.4], until=0.5, forces=spring, rtol=1e-10, atol=1e-10)
    stretched = robot.forward_kinematics(run.q, tip)[:, :3, 3] - anchor
    total = run.energy + 0.5 * k * (stretched**2).sum(axis=1)
    assert np.ptp(total) < 1e-7 * np.ptp(run.kinetic)


def test_forces_that_make_no_sense_are_refused():
    robot = appell.load("two_link")
    for forces, told in (
        ([1, 2], "expected wrenches by frame"),
        ({"nowhere": np.zeros(6)}, "no frame 'nowhere'"),
        ({"link2": np.zeros(3)}, "that on link2 has shape"),
        (lambda t, q, v: {"link2": np.full(6, np.nan)}, "expected finite numbers"),
        (lambda t, q, v: 1 / 0, "raised ZeroDivisionError"),
    ):
        with pytest.raises(InputError, match=told):
            appell.simulate(robot, [0, 0], until=0.1, forces=forces)
    with pytest.raises(InputError, match="axes = 'there'"):
        appell.simulate(robot, [0, 0], until=0.1, forces={}, axes="there")


@pytest.mark.parametrize("name", ["puma560", "four_bar", "agile_wrist"])
def test_a_tracked_robot_feels_wrenches_as_forces_on_its_speeds(name):
    robot = appell.load(name)
    law = appell.control.PDGravity(robot, kp=20, kd=2)
    q = robot.neutral()
    start = q[list(robot.system.coordinates)]
    link, w = robot.link_names[-1], np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.1])

    def on_speeds(t, q, v):
        return robot.jacobian(q, link, axes="local").T @ w

    how = {"until": 0.05, "q0": q, "stops": False}
    by_frame, by_speeds = (
        appell.control.track(robot, law, start, **how, **forces)
        for forces in ({"forces": {link: w}, "axes": "local"}, {"external": on_speeds})
    )
    assert by_frame.stopped is None
    assert np.abs(by_frame.q[-1] - q).max() > 1e-6
    np.testing.assert_allclose(by_frame.q, by_speeds.q, rtol=0, atol=1e-10)
    with pytest.raises(InputError, match="no frame 'nowhere'"):
        appell.control.track(robot, law, start, **how, forces={"nowhere": w})
