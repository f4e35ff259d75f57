"""Inverse kinematics finds positions within limits, and says what it cannot find."""

from __future__ import annotations

import importlib.metadata
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from arms import PLAIN, random_positions

import appell
from appell.control import BRANCHES, SingularWarning, UnreachableError, inverse_kinematics

FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "wrist_3_link"),
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand"),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "link7"),
}


def urdf(name: str) -> Path:
    files = importlib.metadata.files("example-robot-data") or ()
    (found,) = (Path(str(f.locate())) for f in files if str(f).endswith(f"/robots/{name}"))
    return found


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(autouse=True)
def _singularities_are_let_pass():
    """Random poses come near them; tests that ask for the warning catch it themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        yield


def place(robot, q, frame=None):
    return robot.forward_kinematics(q, frame)


# Chosen branches


def test_the_nearest_branch_is_where_one_is(puma):
    """Also where joints are turned more than once."""
    q = np.random.default_rng(0).uniform(-6, 6, (200, 6))
    found = inverse_kinematics(puma, place(puma, q), start=q)
    assert np.abs(found - q).max() < 1e-6  # a stretched elbow turns a rounding into its root
    assert np.median(np.abs(found - q)) < 1e-13


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_named_branch_is_the_one_of_all_eight(puma, branch):
    T = place(puma, random_positions(puma, 20))
    one = inverse_kinematics(puma, T, branch=branch)
    eight = inverse_kinematics(puma, T, branch="all")
    np.testing.assert_allclose(one, eight[:, list(BRANCHES).index(branch)], atol=1e-12)


def limited(folder: Path, **limits: tuple[float, float]) -> appell.Robot:
    text = PLAIN.urdf()
    for joint, (low, high) in limits.items():
        head, tail = text.split(f'name="{joint}"')
        tail = tail.replace('lower="-100" upper="100"', f'lower="{low}" upper="{high}"', 1)
        text = f'{head}name="{joint}"{tail}'
    (folder / "limited.urdf").write_text(text)
    return appell.load(folder / "limited.urdf")


def test_the_nearest_branch_within_the_limits_is_taken(tmp_path):
    robot = limited(tmp_path, j3=(-3.0, -0.2))  # one elbow only
    q = random_positions(robot, 300)
    q[:, 2] = np.random.default_rng(1).uniform(-2.9, -0.3, 300)
    found = inverse_kinematics(robot, place(robot, q), start=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    assert (found[:, 2] >= -3.0).all()
    assert (found[:, 2] <= -0.2).all()
    assert np.abs(place(robot, found) - place(robot, q)).max() < 1e-12


def test_angles_are_turned_into_the_limits(tmp_path):
    robot = limited(tmp_path, j6=(4.0, 11.0))
    q = np.array([0.3, 0.4, -1.0, 0.5, 0.6, 7.5])
    np.testing.assert_allclose(inverse_kinematics(robot, place(robot, q), start=q), q, atol=1e-12)
    far = inverse_kinematics(robot, place(robot, q), start=[*q[:5], 0.0])
    assert 4.0 <= far[5] <= 11.0
    assert np.abs(place(robot, far) - place(robot, q)).max() < 1e-12


def test_a_pose_beyond_all_limits_says_which_joint(tmp_path):
    robot = limited(tmp_path, j1=(-0.5, 0.5), j2=(-0.1, 0.1))
    T = place(robot, [2.0, 1.0, -1.0, 0.5, 0.6, 0.2])
    with pytest.raises(appell.InputError, match=r"beyond its limits: every branch .*joint 'j[12]'"):
        inverse_kinematics(robot, T)
    with pytest.raises(appell.InputError, match=r"the branch left-up-noflip needs joint"):
        inverse_kinematics(robot, T, branch="left-up-noflip")
    free = inverse_kinematics(robot, T, limits=False)
    assert np.abs(place(robot, free) - T).max() < 1e-12


# Any robot


@pytest.mark.parametrize("name", FILES)
def test_other_robots_are_solved_within_their_limits(name):
    file, frame = FILES[name]
    robot = appell.load(urdf(file), physical=False)
    low = np.array([joint.lower for joint in robot.model.joints])
    high = np.array([joint.upper for joint in robot.model.joints])
    draw = np.random.default_rng(4)
    q = draw.uniform(np.clip(low, -np.pi, np.pi), np.clip(high, -np.pi, np.pi), (40, robot.nv))
    T = place(robot, q, frame)
    found = inverse_kinematics(robot, T, frame=frame)
    assert np.abs(place(robot, found, frame) - T).max() < 1e-9
    assert (found >= low).all()
    assert (found <= high).all()
    again = inverse_kinematics(robot, T, frame=frame)
    np.testing.assert_array_equal(found, again)  # what is drawn at random is drawn alike


def test_from_nearby_the_same_position_is_found(puma):
    q = np.random.default_rng(2).uniform(-2, 2, (100, 6))
    smallest = np.linalg.svd(puma.jacobian(q), compute_uv=False)[:, -1]
    q = q[smallest > 0.05]
    found = inverse_kinematics(puma, place(puma, q), start=q + 0.01, method="numeric")
    assert np.abs(found - q).max() < 1e-8


def test_both_methods_reach_the_same_poses(puma):
    T = place(puma, random_positions(puma, 100))
    for method in ("closed", "numeric"):
        q = inverse_kinematics(puma, T, method=method)
        assert np.abs(place(puma, q) - T).max() < 1e-9


def test_coordinates_that_do_not_move_the_frame_stay(tmp_path):
    robot = appell.load(urdf(FILES["panda"][0]))
    fingers = robot.joint_names.index("panda_finger_joint1")
    start = np.zeros(robot.nv)
    start[3], start[fingers] = -1.5, 0.013
    T = place(robot, start + 0.1 * (np.arange(robot.nv) < 7), "panda_hand")
    found = inverse_kinematics(robot, T, start, frame="panda_hand")
    assert found[fingers] == 0.013


def test_a_position_alone_leaves_the_axes_open():
    robot = appell.load("planar_chain", n=3)  # the third joint turns its tip in place
    goal = place(robot, [0.4, 1.1, 0.0])[:3, 3]
    q = inverse_kinematics(robot, goal, start=[0.1, 0.5, 0.7])
    np.testing.assert_allclose(q, [0.4, 1.1, 0.7], atol=1e-9)


def test_shapes_follow_the_poses(puma):
    T = place(puma, random_positions(puma, 6))
    assert inverse_kinematics(puma, T[0]).shape == (6,)
    assert inverse_kinematics(puma, T.reshape(2, 3, 4, 4)).shape == (2, 3, 6)
    assert inverse_kinematics(puma, T[:0]).shape == (0, 6)
    assert inverse_kinematics(puma, T[:0], method="numeric").shape == (0, 6)
    assert inverse_kinematics(puma, T, method="numeric", start=np.zeros((6, 6))).shape == (6, 6)


# Out of reach


@pytest.mark.parametrize("method", ["closed", "numeric"])
@pytest.mark.parametrize(
    ("position", "nearest", "distance"),
    [
        ((1.2, 0.0, 0.0), (0.8784, 0.0, 0.0), 0.3216),  # sqrt((a2 + l)^2 + d3^2) from the shoulder
        ((0.05, 0.0, 0.5), (0.15, 0.0, 0.5), 0.1),  # within the cylinder of radius d3
    ],
)
def test_a_pose_out_of_reach_says_how_far(puma, method, position, nearest, distance):
    T = np.eye(4)
    T[:3, 3] = position
    with pytest.raises(UnreachableError, match="what comes nearest is") as refused:
        inverse_kinematics(puma, T, method=method)
    error = refused.value
    assert error.distance == pytest.approx(distance, abs=1e-4)
    assert error.angle == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(place(puma, error.q)[:3, 3], nearest, atol=1e-4)
    assert f"{distance:g} m and 0 rad" in str(error)


def test_one_bad_pose_of_many_is_named(puma):
    T = place(puma, random_positions(puma, 6)).reshape(2, 3, 4, 4).copy()
    T[1, 2, :3, 3] = [0.0, 2.0, 0.0]
    for method in ("closed", "numeric"):
        with pytest.raises(UnreachableError, match=r"pose \[1, 2\]") as refused:
            inverse_kinematics(puma, T, method=method, restarts=3)
        assert refused.value.index == (1, 2)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.index, again.distance) == ((1, 2), refused.value.distance)
    T[0, 0, :3, 3] = [0.0, 2.0, 0.0]
    with pytest.raises(UnreachableError, match="2 of 6 poses are out of reach"):
        inverse_kinematics(puma, T)


def test_a_branch_that_does_not_reach_where_another_does(tmp_path):
    robot = limited(tmp_path)
    text = (tmp_path / "limited.urdf").read_text().replace("0.0 0.0 0.4", "0.2 0.0 0.4")
    (tmp_path / "limited.urdf").write_text(text)
    robot = appell.load(tmp_path / "limited.urdf")
    T = np.eye(4)
    T[:3, 3] = [1.1, 0.0, 0.4]
    q = inverse_kinematics(robot, T)
    assert np.abs(place(robot, q) - T).max() < 1e-12
    assert np.isnan(inverse_kinematics(robot, T, branch="all")[4:]).all()
    with pytest.raises(appell.InputError, match="right-up-noflip of 'arm' does not reach"):
        inverse_kinematics(robot, T, branch="right-up-noflip")


# Singularities


@pytest.mark.parametrize("q", [[0.3, -0.9, 2.9, 0.4, 0.001, 0.2], [0.3, 0.4, 1.618, 0.4, 0.5, 0.2]])
def test_a_singular_pose_is_warned_of(puma, q):
    smallest = np.linalg.svd(puma.jacobian(q), compute_uv=False)[-1]
    with pytest.warns(SingularWarning, match=f"the smallest singular value .* is {smallest:.3g}"):
        inverse_kinematics(puma, place(puma, q), start=q)


def test_a_regular_pose_is_not_warned_of(puma):
    q = [0.3, -0.9, 2.5, 0.4, 1.0, 0.2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(inverse_kinematics(puma, place(puma, q), start=q), q)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pose": np.eye(3)}, None),
        ({"pose": np.zeros((2, 5))}, r"shape \(2, 5\)"),
        ({"pose": "here"}, "expected numbers"),
        ({"pose": np.full((4, 4), np.nan)}, "NaN"),
        ({"pose": np.diag([1.0, 1.0, -1.0, 1.0])}, "reflection"),
        ({"pose": np.diag([1.0, 1.0, 1.1, 1.0])}, "differs from 1 by 0.21"),
        ({"pose": np.diag([1.0, 1.0, 1.0, 2.0])}, "last row"),
        ({"start": [0.0] * 5}, r"start: expected .* \(6,\); got \(5,\)"),
        ({"start": [np.nan] * 6}, "finite"),
        ({"branch": "up"}, "expected one of nearest, all, left-up-noflip"),
        ({"method": "guess"}, "auto, closed, numeric"),
        ({"tolerance": 0}, "tolerance=0"),
        ({"restarts": -1}, "restarts=-1"),
        ({"frame": "nowhere"}, "no frame 'nowhere'"),
        ({"method": "numeric", "branch": "left-up-flip"}, "only an arm with a spherical wrist"),
        ({"pose": [0.5, 0.2, 0.1], "method": "closed"}, "a position alone"),
    ],
)
def test_nonsense_is_refused(puma, arguments, message):
    given = {"pose": place(puma, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), **arguments}
    if message is None:  # three positions
        with pytest.raises(UnreachableError):
            inverse_kinematics(puma, restarts=0, **given)
        return
    with pytest.raises(appell.InputError, match=message):
        inverse_kinematics(puma, **given)


def test_a_robot_without_a_closed_form_says_why():
    robot = appell.load(urdf(FILES["ur5"][0]))
    with pytest.raises(appell.InputError, match="do not meet in one point"):
        inverse_kinematics(robot, np.eye(4), frame="wrist_3_link", method="closed")


def test_frames_that_stand_still_are_refused():
    robot = appell.load(urdf(FILES["ur5"][0]))
    with pytest.raises(appell.InputError, match="stands still"):
        inverse_kinematics(robot, np.eye(4), frame="base_link")


def test_what_is_no_robot_is_refused():
    with pytest.raises(appell.InputError, match="a NoneType is no robot"):
        inverse_kinematics(None, np.eye(4))


LOOPED = {
    "four_bar": "tool",
    "five_bar": "tool",
    "planar_3rrr": "platform",
    "delta": "platform",
    "stewart_gough": "platform",
    "agile_wrist": None,
}


@pytest.mark.parametrize("name", LOOPED)
@pytest.mark.parametrize("place", [False, True])
def test_robots_with_loops_reach_what_they_reach(name, place):
    robot, frame = appell.load(name), LOOPED[name]
    pose = robot.forward_kinematics(robot.random(3, 5), frame)
    with warnings.catch_warnings(action="ignore", category=SingularWarning):
        q = inverse_kinematics(robot, pose[:, :3, 3] if place else pose, frame=frame)
    missing = np.abs(robot.forward_kinematics(q, frame) - pose)
    assert missing[:, :3, 3].max() < 1e-9
    if not place:
        assert missing.max() < 1e-9
    if isinstance(robot, appell.robots.closed.ClosedRobot):
        assert np.abs(robot.closure(q)).max() < 1e-9


def test_a_robot_with_loops_out_of_reach_says_where_it_comes_nearest_with_its_loops_closed():
    robot = appell.load("five_bar")
    with pytest.raises(UnreachableError) as refused:
        inverse_kinematics(robot, [3.0, 3.0, 0.0], frame="tool", restarts=3)
    q = refused.value.q
    assert np.abs(robot.closure(q)).max() < 1e-9
    missing = robot.forward_kinematics(q, "tool")[:3, 3] - [3.0, 3.0, 0.0]
    assert refused.value.distance == pytest.approx(np.linalg.norm(missing), rel=1e-9)


def test_wheels_have_no_inverse_kinematics():
    with pytest.raises(appell.InputError, match="forbids velocities and not positions"):
        inverse_kinematics(appell.load("rolling_disc"), [1.0, 0.0, 0.3])


def test_a_planar_arm_away_from_its_singularities_is_not_warned_of(recwarn):
    arm = appell.load("planar_chain", n=3)
    place = arm.forward_kinematics([0.3, 0.9, -0.5])[:3, 3]
    inverse_kinematics(arm, place, start=[0.2, 0.8, -0.4])
    assert not recwarn.list
    stretched = arm.forward_kinematics([0.0, 0.0, 0.0])[:3, 3]
    with pytest.warns(SingularWarning):
        inverse_kinematics(arm, 0.9999 * stretched, start=[0.01, 0.02, 0.0])


def built(kind, **options):
    build = appell.Builder("built")
    build.link("one", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0))
    build.joint("first", kind, "world", "one", **options)
    return build


def test_limits_of_joints_that_mimic_others_hold_too():
    build = built("revolute", axis="y", limits=(-0.5, 0.5))
    build.link("two", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.1, 0, 0))
    build.joint(
        "second", "prismatic", "one", "two", pose=(0.1, 0.1, 0), axis="x",
        mimic=("first", 0.5, 0.1), limits=(0, 0.2),
    )  # fmt: skip
    robot = build.robot()
    with pytest.raises(UnreachableError):
        inverse_kinematics(robot, robot.forward_kinematics([0.4]), restarts=3)
    np.testing.assert_allclose(
        inverse_kinematics(robot, robot.forward_kinematics([0.1])), [0.1], atol=1e-9
    )


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_joints_with_quaternions_need_no_start(kind):
    robot = built(kind).robot()
    pose = robot.forward_kinematics(robot.random(4))
    q = inverse_kinematics(robot, pose)
    np.testing.assert_allclose(robot.forward_kinematics(q), pose, atol=1e-9)


def test_a_platform_is_not_put_in_what_is_no_pose():
    platform = appell.load("stewart_gough")
    pose = platform.forward_kinematics(platform.neutral())
    for bad in (2 * pose, pose * [1, 1, -1, 1], pose + np.eye(4, k=1) * 0.2):
        with pytest.raises(appell.InputError, match=r"not a rotation|last row"):
            platform.inverse_kinematics(bad)


def test_laws_refuse_joints_with_quaternions():
    with pytest.raises(appell.InputError, match="joint 'first' of 'built' has a quaternion"):
        appell.control.ComputedTorque(built("spherical").robot(), kp=1, kd=1)
