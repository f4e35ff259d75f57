"""Lines and circles: the frame is where it should be, moving as it should."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_inverse_kinematics import FILES, urdf

import appell
from appell.control import BRANCHES, SingularWarning, circle, line, quintic, ramp, trapezoidal
from appell.study.straight_line import run

# The joints' polynomials leave the line by less than the tolerance asked for.
OFF = 1e-10


def pose(position, zyz=(45, 60, 90)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("ZYZ", zyz, degrees=True).as_matrix()
    T[:3, 3] = position
    return T


P0, P1 = pose((0.6, 0.175, 0.25)), pose((0.018, 0.757, 0.0))
TURNED = pose((0.2, 0.6, 0.1), (80, 100, 20))


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(autouse=True)
def _singularities_are_let_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        yield


def test_the_tool_is_on_the_line_and_turns_evenly(puma):
    t = line(puma, P0, TURNED, 2.0, branch="left-up-noflip")
    times = np.linspace(0, 2, 301)
    s = quintic(0, 1, 2.0)(times)[0][:, 0]
    T = puma.forward_kinematics(t(times)[0])
    np.testing.assert_allclose(T[:, :3, 3], P0[:3, 3] + s[:, None] * (TURNED - P0)[:3, 3], atol=OFF)
    whole = Rotation.from_matrix(TURNED[:3, :3] @ P0[:3, :3].T)
    expected = Rotation.from_rotvec(s[:, None] * whole.as_rotvec()).as_matrix() @ P0[:3, :3]
    np.testing.assert_allclose(T[:, :3, :3], expected, atol=10 * OFF)
    assert whole.magnitude() > 0.5


def test_speeds_and_accelerations_are_derivatives(puma):
    for t in (line(puma, P0, TURNED, 2.0), circle(puma, P0, (0.5, 0.1, 0.3), (0.2, 0, 1), 3.0)):
        times, h = np.linspace(0.01, t.duration - 0.01, 2001), 1e-5
        _, v, a = t(times)
        before, after = t(times - h), t(times + h)
        assert np.abs((after[0] - before[0]) / (2 * h) - v).max() < 1e-7
        assert np.abs((after[1] - before[1]) / (2 * h) - a).max() < 1e-5
        assert not np.array([*t(0.0)[1:], *t(t.duration)[1:]]).round(9).any()  # from rest to rest


@pytest.mark.parametrize("branch", BRANCHES)
def test_valeras_line_is_that_of_the_study(puma, branch):
    """The closed form at every sample, beside the joints' polynomials."""
    study = run()
    motion = study.motions[branch]
    start = motion.q[0]
    t = line(puma, P0, P1, timing=ramp(0, 1, study.path.duration), start=start, branch=branch)
    q, v, a = t(study.path.t)
    assert np.abs(q - motion.q).max() < 1e-8
    assert np.abs(v - motion.v).max() < 1e-7
    assert np.abs(a - motion.a).max() < 1e-5


def test_the_tolerance_is_kept(puma):
    coarse = line(puma, P0, P1, 1.0, tolerance=1e-4)
    fine = line(puma, P0, P1, 1.0, tolerance=1e-11)
    times = np.linspace(0, 1, 997)

    def off(t):
        p = puma.forward_kinematics(t(times)[0])[:, :3, 3] - P0[:3, 3]
        way = (P1 - P0)[:3, 3] / np.linalg.norm((P1 - P0)[:3, 3])
        return np.linalg.norm(p - (p @ way)[:, None] * way, axis=1).max()

    assert off(coarse) < 1e-4
    assert off(fine) < 1e-11
    assert len(coarse.path.knots) < len(fine.path.knots)


def test_any_law_of_time_will_do(puma):
    law = trapezoidal(0, 1, 0.8, 3.0)
    t = line(puma, P0, P1, timing=law)
    assert t.duration == law.duration
    p = puma.forward_kinematics(t(np.array([0.5, 1.0]))[0])[:, :3, 3]
    expected = P0[:3, 3] + law(np.array([0.5, 1.0]))[0] * (P1 - P0)[:3, 3]
    np.testing.assert_allclose(p, expected, atol=1e-9)
    with_speeds = quintic(0, 1, 2.0, v0=0.2, v1=0.1)
    assert line(puma, P0, P1, timing=with_speeds).duration == 2.0


@pytest.mark.parametrize("turning", [False, True])
def test_the_tool_is_on_the_circle(puma, turning):
    centre, normal = np.array([0.5, 0.1, 0.3]), np.array([0.2, -0.1, 1.0])
    t = circle(puma, P0, centre, normal, 3.0, turning=turning)
    q, _, _ = t(np.linspace(0, 3, 401))
    T = puma.forward_kinematics(q)
    axis = normal / np.linalg.norm(normal)
    arm = T[:, :3, 3] - centre
    assert np.ptp(arm @ axis) < OFF  # in a plane
    assert np.ptp(np.linalg.norm(arm - (arm @ axis)[:, None] * axis, axis=1)) < OFF
    np.testing.assert_allclose(T[[0, -1]], [P0, P0], atol=1e-12)
    turned = Rotation.from_matrix(T[200, :3, :3] @ P0[:3, :3].T).magnitude()
    assert turned == pytest.approx(np.pi if turning else 0.0, abs=1e-8)
    half = T[200, :3, 3] - centre
    flat = arm[0] - (arm[0] @ axis) * axis
    np.testing.assert_allclose(half - (half @ axis) * axis, -flat, atol=1e-9)


def test_an_arc_may_turn_to_another_orientation(puma):
    t = circle(puma, P0, (0.5, 0.1, 0.3), (0, 0, 1), 2.0, angle=-1.0, pose1=TURNED)
    end = puma.forward_kinematics(t.end)
    np.testing.assert_allclose(end[:3, :3], TURNED[:3, :3], atol=1e-12)
    arm = P0[:3, 3] - [0.5, 0.1, 0.25]
    expected = Rotation.from_rotvec([0, 0, -1.0]).apply(arm) + [0.5, 0.1, 0.25]
    np.testing.assert_allclose(end[:3, 3], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_other_robots_follow_lines_within_their_limits(name):
    file, frame = FILES[name]
    robot = appell.load(urdf(file))
    start = np.zeros(robot.nv)
    start[:6] = [0.3, -1.2, 1.4, -1.8, -1.2, 0.8] if name == "ur5" else [0, -0.5, 0, -2, 0, 1.6]
    first = robot.forward_kinematics(start, frame)
    last = first.copy()
    last[:3, 3] += [0.05, 0.2, -0.1]
    last[:3, :3] = Rotation.from_rotvec([0.2, 0.1, -0.3]).as_matrix() @ first[:3, :3]
    t = line(robot, first, last, 1.0, start=start, frame=frame)
    np.testing.assert_allclose(t.start, start, atol=1e-9)
    T = robot.forward_kinematics(t(np.linspace(0, 1, 101))[0], frame)
    np.testing.assert_allclose(T[-1], last, atol=1e-12)
    way = (last - first)[:3, 3] / np.linalg.norm((last - first)[:3, 3])
    p = T[:, :3, 3] - first[:3, 3]
    assert np.abs(p - (p @ way)[:, None] * way).max() < OFF
    times, h = np.linspace(0.01, 0.99, 501), 1e-5
    _, v, a = t(times)
    before, after = t(times - h), t(times + h)
    assert np.abs((after[0] - before[0]) / (2 * h) - v).max() < 1e-7
    assert np.abs((after[1] - before[1]) / (2 * h) - a).max() < 1e-4
    # The curvature of a redundant arm's motion is smooth, too: no bumps at the nodes.
    assert np.abs(np.diff(a, axis=0)).max() < 0.05 * np.abs(a).max()


def through_a_stretched_wrist(puma):
    T = puma.forward_kinematics([0.3, -0.9, 2.9, 0.4, 0.0, 0.2])
    first, last = T.copy(), T.copy()
    way = np.array([0.05, 0.08, 0.02])
    first[:3, 3] -= way
    last[:3, 3] += way
    return first, last


def test_a_line_through_a_singularity_is_refused(puma):
    first, last = through_a_stretched_wrist(puma)
    with pytest.raises(appell.InputError, match=r"singular|does not follow beyond|nodes"):
        line(puma, first, last, 1.0, start=[0.3, -0.9, 2.9, 0.4, 0.1, 0.2])


def test_a_line_near_a_singularity_is_warned_of(puma):
    first, last = through_a_stretched_wrist(puma)
    turn = Rotation.from_rotvec([0.015, 0.0, 0.0]).as_matrix()
    for T in (first, last):
        T[:3, :3] = turn @ T[:3, :3]
    with pytest.warns(SingularWarning, match="of the line 'puma560' is near a singularity"):
        line(puma, first, last, 1.0, start=[0.3, -0.9, 2.9, 0.4, 0.1, 0.2], tolerance=1e-6)


def test_a_line_that_leaves_the_reach_is_refused(puma):
    with pytest.raises(appell.InputError, match=r"does not follow beyond s = 0\.\d+"):
        line(puma, P0, pose((1.2, 0.0, 0.0)), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda robot: line(robot, P0, P0, 1.0), "the same"),
        (lambda robot: line(robot, P0, P1), "either duration or timing"),
        (lambda robot: line(robot, P0, P1, 1.0, timing=ramp(0, 1, 1)), "either duration"),
        (lambda robot: line(robot, P0, P1, 0.0), "duration = 0"),
        (lambda robot: line(robot, P0, P1, timing=ramp(0, 2, 1)), "from 0 to 1"),
        (lambda robot: line(robot, P0, P1, timing=ramp([0, 0], [1, 1], 1)), "one number"),
        (lambda robot: line(robot, P0[:3], P1, 1.0), r"pose0 has shape \(3, 4\)"),
        (lambda robot: line(robot, P0 * 1.1, P1, 1.0), "orthonormal"),
        (lambda robot: line(robot, P0, P1, 1.0, branch="all"), "one branch"),
        (lambda robot: line(robot, P0, P1, 1.0, tolerance=0), "tolerance = 0"),
        (lambda robot: circle(robot, P0, (0, 0), (0, 0, 1), 1.0), "a centre"),
        (lambda robot: circle(robot, P0, (0, 0, 0), (0, 0, 0), 1.0), "not zero"),
        (lambda robot: circle(robot, P0, P0[:3, 3], (0, 0, 1), 1.0), "radius"),
        (lambda robot: circle(robot, P0, (0.5, 0, 0), (0, 0, 1), 1.0, angle=0), "angle=0"),
        (
            lambda robot: circle(
                robot, P0, (0.5, 0, 0), (0, 0, 1), 1.0, turning=True, pose1=P1
            ),
            "either turning",
        ),
    ],
)  # fmt: skip
def test_nonsense_is_refused(puma, make, message):
    with pytest.raises(appell.InputError, match=message):
        make(puma)
