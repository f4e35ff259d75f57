"""The fastest motion along a path: as fast as an optimiser finds it, and within its limits."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from test_task_space import P0, P1, pose

import appell
from appell.control import line, quintic, spline, time_optimal

TORQUE = np.array([150.0, 150.0, 80.0, 20.0, 20.0, 10.0])


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def path(puma):
    return line(puma, P0, P1, 8.6, branch="left-up-noflip")


def optimised(robot, path, torque, speed, intervals):
    """The duration that IPOPT finds: x = s'^2 at the nodes is what it chooses, the torques at the
    middle of each interval are limited.

    M, C and g are asked for one by one, and not through inverse dynamics.
    """
    s = np.linspace(0, path.path.length, intervals + 1)
    h = s[1] - s[0]
    q, q1, q2 = path.path(s[:-1] + h / 2)
    M, g = robot.mass_matrix(q), robot.gravity(q)
    C = robot.coriolis_matrix(q, q1)
    a = np.einsum("kij,kj->ki", M, q1)
    b = np.einsum("kij,kj->ki", M, q2) + np.einsum("kij,kj->ki", C, q1)

    problem = casadi.Opti()
    x = problem.variable(intervals + 1)
    u = (x[1:] - x[:-1]) / (2 * h)
    middle = (x[1:] + x[:-1]) / 2
    for j in range(robot.nv):
        tau = a[:, j] * u + b[:, j] * middle + g[:, j]
        problem.subject_to(problem.bounded(-torque[j], tau, torque[j]))
        problem.subject_to(q1[:, j] ** 2 * middle <= speed**2)
    problem.subject_to(x[0] == 0)
    problem.subject_to(x[-1] == 0)
    problem.subject_to(x[1:-1] >= 1e-8)
    speeds = casadi.sqrt(x + 1e-14)
    problem.minimize(casadi.sum1(2 * h / (speeds[1:] + speeds[:-1])))
    problem.set_initial(x, 0.1)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-9})
    problem.solve()
    return float(problem.value(problem.f))


@pytest.mark.parametrize("speed", [100.0, 3.0])
def test_the_pumas_line_takes_as_long_as_an_optimiser_finds(puma, path, speed):
    ours = time_optimal(puma, path, TORQUE, speed)
    assert ours.duration == pytest.approx(optimised(puma, path, TORQUE, speed, 300), rel=0.01)


def test_a_longer_way_with_other_limits_too(puma):
    other = line(puma, P0, pose((0.2, 0.6, 0.1), (80, 100, 20)), 1.0, branch="right-down-flip")
    torque = 0.8 * TORQUE
    ours = time_optimal(puma, other, torque, 10.0)
    assert ours.duration == pytest.approx(optimised(puma, other, torque, 10.0, 300), rel=0.01)


@pytest.mark.parametrize("speed", [100.0, 3.0])
def test_limits_are_kept_and_used_all_the_time(puma, path, speed):
    fast = time_optimal(puma, path, TORQUE, speed)
    q, v, a = fast(np.linspace(0, fast.duration, 20_001)[1:-1])
    torque = np.abs(puma.inverse_dynamics(q, v, a)) / TORQUE
    # They are kept at the nodes; between them the path bends a little.
    assert torque.max() < 1 + 1e-4
    assert np.abs(v).max() < speed * (1 + 1e-4)
    used = np.maximum(torque.max(axis=1), np.abs(v).max(axis=1) / speed)
    assert np.quantile(used, 0.02) > 0.99


def test_it_stays_on_the_path_from_rest_to_rest(puma, path):
    fast = time_optimal(puma, path, TORQUE)
    np.testing.assert_allclose(fast.start, path.start, atol=1e-12)
    np.testing.assert_allclose(fast.end, path.end, atol=1e-12)
    assert not fast(0.0)[1].any()
    assert np.abs(fast(fast.duration)[1]).max() < 1e-6
    p = puma.forward_kinematics(fast(np.linspace(0, fast.duration, 501))[0])[:, :3, 3] - P0[:3, 3]
    way = (P1 - P0)[:3, 3] / np.linalg.norm((P1 - P0)[:3, 3])
    assert np.abs(p - (p @ way)[:, None] * way).max() < 1e-9


def test_speeds_and_accelerations_are_derivatives(puma, path):
    fast = time_optimal(puma, path, TORQUE)
    t, h = np.linspace(0, fast.duration, 5001)[1:-1], 1e-7
    _, v, a = fast(t)
    before, after = fast(t - h), fast(t + h)
    assert np.abs((after[0] - before[0]) / (2 * h) - v).max() < 1e-5
    wrong = np.abs((after[1] - before[1]) / (2 * h) - a).max(axis=-1) > 1e-3
    assert wrong.mean() < 0.01  # accelerations jump from interval to interval


def test_it_converges_with_the_grid(puma, path):
    durations = [time_optimal(puma, path, TORQUE, points=n).duration for n in (250, 500, 1000)]
    assert abs(durations[1] - durations[2]) < 0.7 * abs(durations[0] - durations[1])
    assert abs(durations[1] / durations[2] - 1) < 2e-3


def test_a_point_mass_on_a_line_is_bang_bang():
    """One joint about the vertical: t = 2 sqrt(way I / torque)."""
    robot = appell.load("planar_chain", n=1).with_gravity((0.0, 0.0, 0.0))
    inertia = float(robot.mass_matrix([0.0])[0, 0])
    fast = time_optimal(robot, quintic(0.0, 2.0, 1.0), torque=3.0)
    assert fast.duration == pytest.approx(2 * np.sqrt(2.0 * inertia / 3.0), rel=1e-6)


def test_accelerations_alone_may_be_limited(puma, path):
    fast = time_optimal(puma, path, speed=2.0, acceleration=8.0)
    _, v, a = fast(np.linspace(0, fast.duration, 20_001)[1:-1])
    assert np.abs(v).max() < 2.0 * (1 + 1e-4)
    assert np.abs(a).max() < 8.0 * (1 + 1e-4)


def test_what_the_motors_cannot_hold_they_swing_through(puma):
    """Stretched out the arm is too heavy for joint 2, but not when it arrives with speed."""
    lift = quintic([0, np.pi / 2, np.pi / 2, 0, 0, 0], [0, -np.pi / 2, np.pi / 2, 0, 0, 0], 1.0)
    held = np.abs(puma.gravity(lift.path(np.linspace(0, 1, 101))[0])[:, 1])
    torque = [1000.0, 0.97 * held.max(), 1000.0, 1000.0, 1000.0, 1000.0]
    fast = time_optimal(puma, lift, torque, points=1000)
    q, v, a = fast(np.linspace(0, fast.duration, 5001)[1:-1])
    assert (np.abs(puma.inverse_dynamics(q, v, a)) / torque).max() < 1 + 1e-3
    with pytest.raises(appell.InputError, match="no motion from rest to rest"):
        time_optimal(puma, lift, [1000.0, 0.6 * held.max(), 1000.0, 1000.0, 1000.0, 1000.0])


def test_any_path_will_do(puma):
    through = spline([[0.0] * 6, [0.5, -0.5, 0.5, 0, 0.2, 0], [1.0] * 6], [0, 1, 2], ends="natural")
    fast = time_optimal(puma, through, TORQUE)
    q, v, a = fast(np.linspace(0, fast.duration, 5001)[1:-1])
    assert (np.abs(puma.inverse_dynamics(q, v, a)) / TORQUE).max() < 1 + 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"torque": [1.0] * 6}, r"joint 'joint2' needs .* to hold the arm"),
        ({"torque": None}, "no joint's torque or acceleration is limited"),
        ({"torque": 0.0}, "torque = 0"),
        ({"torque": [1.0] * 5}, r"torque has shape \(5,\)"),
        ({"speed": -1.0}, "speed = -1"),
        ({"points": 5}, "points=5"),
        ({"path": quintic([0.0], [1.0], 1.0)}, "moves 1 joints"),
        ({"path": quintic(np.zeros(6), np.ones(6), 1).then(quintic(np.ones(6), np.zeros(6), 1))},
         "one piece"),
        ({"path": spline([[0.0] * 6, [1.0] * 6], [0, 1])}, "stands still at s = 0"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(puma, path, arguments, message):
    given = {"path": path, "torque": TORQUE, **arguments}
    with pytest.raises(appell.InputError, match=message):
        time_optimal(puma, given.pop("path"), **given)
