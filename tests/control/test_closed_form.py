"""The closed form reaches every pose in eight ways, whatever the arm's build."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from arms import BUILDS, PLAIN, random_positions

import appell
from appell.control import BRANCHES, closed_form, inverse_kinematics
from appell.control.kinematics import spherical_wrist
from appell.control.kinematics.closed_form import has_closed_form, spherical_arm

# A few roundings of lengths of 1 m, in the worst of singular positions some hundred.
POSE = 1e-12


@pytest.fixture(scope="module", params=["puma560", "stanford_arm", *BUILDS])
def robot(request, tmp_path_factory):
    if request.param in BUILDS:
        return BUILDS[request.param].load(tmp_path_factory.mktemp("arms"))
    return appell.load(request.param)


def same(q, p, robot):
    """The largest difference of positions, angles taken on the circle."""
    turns = [joint.kind == "revolute" for joint in robot.model.joints]
    return np.where(turns, np.abs(np.exp(1j * q) - np.exp(1j * p)), np.abs(q - p)).max(axis=-1)


def test_every_branch_that_reaches_reaches_the_pose(robot):
    T = robot.forward_kinematics(random_positions(robot, 2000))
    q, beyond = closed_form(robot)(T)
    assert q.shape == (2000, 8, 6)
    reached = np.repeat(beyond < 1e-14, 2, axis=-1)
    assert reached.any(axis=-1).all()
    error = np.abs(robot.forward_kinematics(q) - T[:, None]).max(axis=(-1, -2))
    assert error[reached].max() < POSE
    assert np.abs(q[reached]).max() <= np.pi  # angles; slides are shorter


def test_the_puma_has_all_eight_branches_at_every_pose():
    robot = appell.load("puma560")
    T = robot.forward_kinematics(random_positions(robot, 20_000, seed=1))
    q, beyond = closed_form(robot)(T)
    assert beyond.max() < 1e-15
    assert np.abs(robot.forward_kinematics(q) - T[:, None]).max() < POSE
    apart = [same(q[:, i], q[:, j], robot) for i in range(8) for j in range(i)]
    assert np.median(apart, axis=1).min() > 0.1


def test_one_branch_is_the_position_that_made_the_pose(robot):
    q = random_positions(robot, 2000)
    found, _ = closed_form(robot)(robot.forward_kinematics(q))
    nearest = np.min([same(found[:, k], q, robot) for k in range(8)], axis=0)
    # A stretched elbow or wrist turns a rounding into its square root.
    assert nearest.max() < 1e-6
    assert np.median(nearest) < 1e-13


def test_branches_are_named_for_where_the_arm_is():
    """Of the PUMA: the shoulder's side, the elbow above or below, the sign of joint 5."""
    robot = appell.load("puma560")
    T = robot.forward_kinematics(random_positions(robot, 500))
    q, _ = closed_form(robot)(T)
    for k, branch in enumerate(BRANCHES.values()):
        base, elbow, wrist = (
            robot.forward_kinematics(q[:, k], f"link{i}")[:, :3, 3] for i in (2, 3, 4)
        )
        axis = robot.forward_kinematics(q[:, k], "link2")[:, :3, 2]
        shoulder = base + 0.15 * axis
        facing = wrist[:, :2] - base[:, :2]
        left = facing[:, 0] * shoulder[:, 1] - facing[:, 1] * shoulder[:, 0]
        assert (np.sign(left) == (1 if branch.shoulder == "left" else -1)).all()
        way = wrist - shoulder
        along = np.hypot(way[:, 0], way[:, 1])
        out = np.einsum("ti,ti->t", elbow[:, :2] - shoulder[:, :2], way[:, :2]) / along
        above = (elbow - shoulder)[:, 2] * along - way[:, 2] * out
        assert (np.sign(above) == (1 if branch.elbow == "up" else -1)).all()
        assert (np.sign(q[:, k, 4]) == (-1 if branch.wrist == "flip" else 1)).all()


@pytest.mark.parametrize(
    "q",
    [
        [0.3, -0.9, 2.9, 0.4, 0.0, 0.2],  # axes 4 and 6 in line
        [0.3, -0.9, 2.9, 0.0, np.pi, 0.0],
        [0.3, 0.4, np.arctan2(0.433, -0.02), 0.4, 0.5, 0.2],  # stretched
        [0.3, 0.4, np.arctan2(0.433, -0.02) - np.pi, 0.4, 0.5, 0.2],  # folded
        [0.0] * 6,
    ],
)
def test_singular_poses_are_reached(q):
    robot = appell.load("puma560")
    T = robot.forward_kinematics(q)
    found, beyond = closed_form(robot)(T)
    reached = np.repeat(beyond < 1e-14, 2)
    assert reached.any()
    assert np.abs(robot.forward_kinematics(found[reached]) - T).max() < POSE


def test_a_wrist_on_the_bases_axis_is_reached(tmp_path):
    robot = PLAIN.load(tmp_path)
    T = np.eye(4)
    T[:3, 3] = [0.0, 0.0, 1.2]
    q, beyond = closed_form(robot)(T)
    assert beyond.max() < 1e-15
    assert np.abs(robot.forward_kinematics(q) - T).max() < POSE


def test_out_of_reach_is_seen_branch_by_branch(tmp_path):
    """With its shoulder before the base's axis, an arm reaches further ahead than over itself."""
    robot = replace(PLAIN, shoulder=(0.2, 0.0, 0.4)).load(tmp_path)
    T = np.eye(4)
    T[:3, 3] = [1.1, 0.0, 0.4]
    _, beyond = closed_form(robot)(T)
    assert (beyond[:2] == 0).all()
    assert (beyond[2:] > 0.1).all()
    T[:3, 3] = [2.0, 0.0, 0.4]
    assert (closed_form(robot)(T)[1] > 0.1).all()


def test_an_arm_without_an_upper_arm_is_refused(tmp_path):
    robot = replace(PLAIN, elbow=(0.0, 0.1, 0.0)).load(tmp_path)
    with pytest.raises(appell.InputError, match="no length"):
        closed_form(robot)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (('rpy="0.0 0.0 0.0"/><axis xyz="0 1 0"/>', 'rpy="0.1 0.0 0.0"/><axis xyz="0 1 0"/>'),
         "axis 2 is not square to axis 1"),
        (('xyz="0.0 0.0 0.0" rpy="0.0 0.0 0.0"/><axis xyz="1 0 0"/>',
          'xyz="0.0 0.1 0.0" rpy="0.0 0.0 0.0"/><axis xyz="1 0 0"/>'), "do not meet in one point"),
        (('xyz="0.0 0.0 0.0" rpy="0.0 0.0 0.0"/><axis xyz="1 0 0"/>',
          'xyz="0.0 0.0 0.0" rpy="0.0 0.0 0.3"/><axis xyz="1 0 0"/>'), "not square in turn"),
    ],
)  # fmt: skip
def test_other_builds_are_refused(tmp_path, edit, reason):
    text = PLAIN.urdf()
    assert edit[0] in text
    (tmp_path / "other.urdf").write_text(text.replace(*edit, 1))
    robot = appell.load(tmp_path / "other.urdf")
    with pytest.raises(appell.InputError, match=reason):
        closed_form(robot)


def test_arms_without_six_joints_are_refused():
    with pytest.raises(appell.InputError, match="six joints"):
        closed_form(appell.load("planar_chain", n=3))


def test_the_equation_gives_the_same_on_floats_and_arrays():
    """What is compiled is what is written."""
    robot = appell.load("puma560")
    arm = spherical_arm(robot).arm
    T = robot.forward_kinematics(random_positions(robot, 20))
    compiled, _ = closed_form(robot)(T)
    arrays, _ = spherical_wrist.inverse_kinematics(arm, np.moveaxis(T, 0, -1))
    np.testing.assert_allclose(np.moveaxis(np.array(arrays), -1, 0), compiled, atol=1e-12)
    floats, _ = spherical_wrist.inverse_kinematics(arm, T[0].tolist())
    np.testing.assert_allclose(floats, compiled[0], atol=1e-12)


def test_the_kernel_can_be_pickled_and_writes_into_given_arrays():
    robot = appell.load("puma560")
    kernel = closed_form(robot)
    T = robot.forward_kinematics(random_positions(robot, 50))
    q, beyond = np.empty((50, 8, 6)), np.empty((50, 4))
    kernel(T, out=(q, beyond))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(T)[0], q)


def test_all_branches_by_the_public_function():
    robot = appell.load("puma560")
    T = robot.forward_kinematics(random_positions(robot, 6)).reshape(2, 3, 4, 4)
    q = inverse_kinematics(robot, T, branch="all")
    assert q.shape == (2, 3, 8, 6)
    assert np.abs(robot.forward_kinematics(q) - T[:, :, None]).max() < POSE


def small(build, k: float):
    """The same arm with all its lengths by k."""
    lengths = ("base_xyz", "shoulder", "elbow", "wrist", "tool_xyz")
    return replace(build, **{x: tuple(k * y for y in getattr(build, x)) for x in lengths})


@pytest.mark.filterwarnings("ignore::appell.control.SingularWarning")
@pytest.mark.parametrize("k", [1e-6, 1.0, 1e4])
def test_reach_and_meeting_axes_are_judged_by_the_arms_own_size(k, tmp_path):
    robot = small(PLAIN, k).load(tmp_path)
    T = robot.forward_kinematics(random_positions(robot, 50))
    back = robot.forward_kinematics(inverse_kinematics(robot, T, limits=False))
    assert np.abs(back - T)[:, :3, :3].max() < POSE
    assert np.abs(back - T)[:, :3, 3].max() < POSE * k
    T[:, 2, 3] = 0.4 * k + 1.003 * k * (0.5 + np.hypot(0.45, 0.03))  # 3 mm too far, of a metre
    T[:, :2, 3] = 0.0
    with pytest.raises(appell.control.UnreachableError):
        inverse_kinematics(robot, T, limits=False, method="closed")
    # The wrist's axes miss each other by a millionth of the arm.
    before, j5, after = small(PLAIN, k).urdf().partition('<joint name="j5"')
    after = re.sub('xyz="[^"]*"', f'xyz="0 0 {1e-6 * k}"', after, count=1)
    (tmp_path / "missing.urdf").write_text(before + j5 + after)
    assert not has_closed_form(appell.load(tmp_path / "missing.urdf"))
