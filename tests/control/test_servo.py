"""Servo steps: velocities that serve tasks, within limits, by priority, near singularities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import appell
from appell.control import (
    CentreOfMassTask,
    FrameTask,
    GazeTask,
    PostureTask,
    inverse_kinematics,
    servo,
)

HAND, DT = "panda_hand", 0.01
READY = np.array([0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.8, 0.0])
TWIST = np.array([0.1, -0.05, 0.08, 0.2, 0.1, -0.3])


@pytest.fixture(scope="module")
def panda():
    return appell.load("panda")


def bounds(robot, q, dt=DT):
    """Velocities that keep joints within their limits."""
    joints = robot.model.joints
    low, high, speed = np.array([(j.lower, j.upper, j.speed) for j in joints]).T
    return np.maximum((low - q) / dt, -speed), np.minimum((high - q) / dt, speed)


@pytest.mark.parametrize("axes", ["base", "local"])
def test_a_twist_is_done_by_the_smallest_velocities(panda, axes):
    v = servo(panda, READY, FrameTask(HAND, velocity=TWIST, axes=axes), dt=DT)
    J = panda.jacobian(READY, HAND, axes=axes)
    np.testing.assert_allclose(J @ v, TWIST, rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, np.linalg.pinv(J) @ TWIST, rtol=0, atol=1e-11)
    np.testing.assert_allclose(panda.velocity(READY, v, HAND, axes=axes), TWIST, atol=1e-12)


def test_a_lower_priority_uses_the_null_space_only(panda):
    wanted = np.linspace(-0.3, 0.1, 8)
    tasks = [FrameTask(HAND, velocity=TWIST), PostureTask(velocity=wanted)]
    v = servo(panda, READY, tasks, dt=DT)
    J = panda.jacobian(READY, HAND)
    N = np.eye(8) - np.linalg.pinv(J) @ J
    first = np.linalg.pinv(J) @ TWIST
    np.testing.assert_allclose(J @ v, TWIST, rtol=0, atol=1e-12)
    expected = first + np.linalg.pinv(N, rcond=1e-10) @ (wanted - first)
    np.testing.assert_allclose(v, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_what_limits_do_not_allow_is_done_as_well_as_can_be(panda, seed):
    draw = np.random.default_rng(seed)
    q = panda.random(draw)
    tasks = [FrameTask(HAND, velocity=10 * draw.normal(size=6), weight=(1, 1, 1, 0.3, 0.3, 0.3))]
    v = servo(panda, q, tasks, dt=DT, damping=0.0)
    low, high = bounds(panda, q)
    assert (v >= low).all()
    assert (v <= high).all()
    weight = np.array([1, 1, 1, 0.3, 0.3, 0.3])
    A, b = weight[:, None] * panda.jacobian(q, HAND), weight * tasks[0].wanted
    best = lsq_linear(A[:, :7], b, (low[:7], high[:7]), method="bvls", tol=1e-14)
    assert np.linalg.norm(A @ v - b) <= np.linalg.norm(A[:, :7] @ best.x - b) + 1e-9


def test_resolved_rates_lead_to_the_pose_that_inverse_kinematics_finds(panda):
    target = panda.forward_kinematics(READY, HAND)
    target[:3, 3] += [0.1, -0.1, 0.1]
    q, tasks = READY, [FrameTask(HAND, target), PostureTask(READY, gain=5.0)]
    for _ in range(400):
        q = panda.integrate(q, servo(panda, q, tasks, dt=DT) * DT)
    assert np.abs(panda.forward_kinematics(q, HAND) - target).max() < 1e-9
    np.testing.assert_allclose(q, inverse_kinematics(panda, tasks, READY), rtol=0, atol=1e-5)


def test_out_of_reach_the_arm_stretches_and_its_speeds_stay_small(panda):
    q, low, high = READY, *np.array([(j.lower, j.upper) for j in panda.model.joints]).T
    for _ in range(500):
        v = servo(panda, q, FrameTask(HAND, [3.0, 0.0, 0.5]), dt=DT)
        q = panda.integrate(q, v * DT)
        assert ((q >= low - 1e-12) & (q <= high + 1e-12)).all()
    assert np.abs(v).max() < 0.2  # it has come to rest, as near as it gets
    assert panda.forward_kinematics(q, HAND)[0, 3] > 0.7


def test_beyond_a_limit_a_joint_comes_back_as_fast_as_it_may(panda):
    q = READY.copy()
    q[0] = panda.model.joints[0].upper + 0.5
    v = servo(panda, q, FrameTask(HAND, velocity=np.zeros(6)), dt=DT)
    assert v[0] == -panda.model.joints[0].speed
    free = servo(panda, q, FrameTask(HAND, velocity=np.zeros(6)), dt=DT, limits=False)
    assert np.abs(free).max() < 1e-12


def test_own_speed_limits_hold(panda):
    fast = FrameTask(HAND, velocity=10 * TWIST)
    assert np.abs(servo(panda, READY, fast, dt=DT, speed=0.3)).max() == pytest.approx(0.3)


def test_the_centre_of_mass_and_a_gaze_move_as_wanted(panda):
    wanted = np.array([0.02, 0.01, -0.01])
    v = servo(panda, READY, CentreOfMassTask(velocity=wanted), dt=DT)
    np.testing.assert_allclose(panda.centre_of_mass_velocity(READY, v), wanted, atol=1e-12)
    q, point = READY, np.array([0.6, 0.4, 0.0])
    for _ in range(300):
        q = panda.integrate(q, servo(panda, q, GazeTask(HAND, point), dt=DT) * DT)
    T = panda.forward_kinematics(q, HAND)
    np.testing.assert_allclose(
        T[:3, 2], (point - T[:3, 3]) / np.linalg.norm(point - T[:3, 3]), atol=1e-9
    )


def test_loops_stay_closed():
    robot = appell.load("five_bar")
    q = robot.neutral()
    goal = robot.forward_kinematics(robot.random(3), "tool")[:3, 3]
    for _ in range(150):
        v = servo(robot, q, FrameTask("tool", goal, mask=(1, 1, 0)), dt=DT)
        assert v.shape == (robot.nv,)
        q = robot.integrate(q, v * DT)
    assert np.abs(robot.closure(q)).max() < 1e-9
    assert np.abs(robot.forward_kinematics(q, "tool")[:3, 3] - goal).max() < 1e-5


def test_a_wheel_rolls_and_does_not_slip():
    robot = appell.load("rolling_disc")
    q, _ = robot.random_states(1, 2)
    frame = robot.link_names[-1]
    wanted = np.array([0.1, 0.2, 0.0])
    task = FrameTask(frame, velocity=[*wanted, 0, 0, 0], mask=(1, 1, 0, 0, 0, 0))
    v = servo(robot, q[0], task, dt=DT)
    assert np.abs(robot.assembly.rows(q[0]) @ robot.speeds(q[0], v)).max() < 1e-10
    np.testing.assert_allclose(robot.velocity(q[0], v, frame)[:2], wanted[:2], atol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0}, "dt = 0"),
        ({"dt": 0.2}, r"gain of 10/s passes the target"),
        ({"q": np.zeros(3)}, r"q has shape \(3,\); expected \(8,\)"),
        ({"q": np.zeros((2, 8))}, "one state"),
        ({"q": np.full(8, np.nan)}, "finite coordinates"),
        ({"q": "here"}, "expected real numbers"),
        ({"speed": -1}, "greater than zero"),
        ({"damping": np.nan}, "damping = nan; expected a number, zero or more"),
        ({"damping": "x"}, "damping = 'x'; expected a number, zero or more"),
        ({"damping": -0.1}, "damping = -0.1; expected a number, zero or more"),
        ({"robot": None}, "servo: a NoneType is no robot"),
        ({"robot": appell.load("two_link").model}, "servo: a Model is no robot"),
        ({"tasks": [PostureTask(velocity=[1.0])]}, r"expected \(8,\)"),
        ({"tasks": FrameTask(HAND, np.zeros((2, 3)))}, "expected one state's"),
        ({"tasks": {"nowhere": np.eye(4)}}, "no frame 'nowhere'"),
        ({"tasks": [FrameTask(HAND, np.eye(4)), 1]}, "expected FrameTask"),
    ],
)
def test_nonsense_is_refused(panda, change, message):
    tasks = FrameTask(HAND, np.eye(4))
    arguments = {"robot": panda, "q": READY, "tasks": tasks, "dt": DT, **change}
    with pytest.raises(appell.InputError, match=message):
        servo(**arguments)
