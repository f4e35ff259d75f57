"""Inverse kinematics with tasks: several frames, masks, priorities, free bases and loops."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import appell
from appell.control import (
    CentreOfMassTask,
    FrameTask,
    GazeTask,
    PostureTask,
    SingularWarning,
    UnreachableError,
    inverse_kinematics,
)
from appell.control.kinematics import task_stack
from appell.model.library.example_robots import example_file
from appell.robots.bounded_cache import BoundedCache

HAND = "panda_hand"
FEET = ("left_sole_link", "right_sole_link")
HANDS = ("gripper_left_base_link", "gripper_right_base_link")


@pytest.fixture(scope="module")
def panda():
    return appell.load("panda")


@pytest.fixture(scope="module")
def talos():
    return appell.load("talos", base="free")


def standing(talos):
    """Knees and elbows bent."""
    q = talos.neutral()
    bent = {"leg_{}_3": -0.411, "leg_{}_4": 0.859, "leg_{}_5": -0.448, "arm_{}_4": -1.0}
    for joint, angle in bent.items():
        for side in ("left", "right"):
            q[1 + talos.joint_names.index(f"{joint.format(side)}_joint")] = angle
    q[1 + talos.joint_names.index("arm_left_2_joint")] = 0.3
    q[1 + talos.joint_names.index("arm_right_2_joint")] = -0.3
    return q


def limits(robot):
    return (np.array([getattr(j, side) for j in robot.model.joints]) for side in ("lower", "upper"))


# A humanoid


@pytest.fixture(scope="module")
def reached(talos):
    """Feet where they stand, hands elsewhere, the centre of mass above the feet, and as near to
    the posture as that allows."""
    start = standing(talos)
    feet = {x: talos.forward_kinematics(start, x) for x in FEET}
    hands = {x: talos.forward_kinematics(start, x)[:3, 3] + [0.1, 0.0, 0.1] for x in HANDS}
    middle = (feet[FEET[0]] + feet[FEET[1]])[:3, 3] / 2
    tasks = [
        *(FrameTask(x, T) for x, T in (feet | hands).items()),
        CentreOfMassTask(middle, mask=(1, 1, 0)),
        PostureTask(start),
    ]
    return start, feet, hands, middle, tasks, inverse_kinematics(talos, tasks, start)


def test_pinocchio_finds_hands_feet_and_centre_of_mass_where_they_were_wanted(talos, reached):
    _, feet, hands, middle, _, q = reached
    other = pin.buildModelFromUrdf(str(example_file("talos")), pin.JointModelFreeFlyer())
    data, there = other.createData(), pin.neutral(other)
    there[:7] = q[:7]
    for name, x in zip(talos.joint_names[6:], q[7:], strict=True):
        there[other.joints[other.getJointId(name)].idx_q] = x
    pin.framesForwardKinematics(other, data, there)
    for name, T in feet.items():
        found = data.oMf[other.getFrameId(name)].homogeneous
        np.testing.assert_allclose(found, T, rtol=0, atol=1e-9)
    for name, p in hands.items():
        found = data.oMf[other.getFrameId(name)].translation
        np.testing.assert_allclose(found, p, rtol=0, atol=1e-9)
    com = pin.centerOfMass(other, data, there)
    np.testing.assert_allclose(com[:2], middle[:2], rtol=0, atol=1e-9)
    low, high = limits(talos)
    assert ((q[7:] >= low[6:]) & (q[7:] <= high[6:])).all()


def test_no_motion_that_keeps_the_first_tasks_comes_nearer_to_the_posture(talos, reached):
    start, _, _, _, _, q = reached
    J = np.vstack(
        [
            *(talos.jacobian(q, x) for x in FEET),
            *(talos.jacobian(q, x)[:3] for x in HANDS),
            talos.centre_of_mass_jacobian(q)[:2],
        ]
    )
    low, high = limits(talos)
    inside = np.append(np.ones(6, bool), (q[7:] > low[6:] + 1e-9) & (q[7:] < high[6:] - 1e-9))
    J = J[:, inside]
    e = np.append(np.zeros(6), (start - q)[7:])[inside]
    null = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :]
    assert len(null) > 5
    assert np.abs(e).max() > 0.1
    assert np.abs(null @ e).max() < 1e-4  # a step of 1e-9 rad ends the search, linearly


def test_hands_out_of_reach_are_told(talos, reached):
    start, feet, hands, _, _, _ = reached
    far = {**feet, **{x: p + [2.0, 0.0, 0.0] for x, p in hands.items()}}
    with pytest.raises(
        UnreachableError, match=r"misses .*gripper_left.* by .* m, .*mask"
    ) as refused:
        inverse_kinematics(talos, far, start, restarts=0)
    q = refused.value.q
    missed = [talos.forward_kinematics(q, x)[:3, 3] - far[x] for x in HANDS]
    lost = [talos.forward_kinematics(q, x)[:3, 3] - far[x][:3, 3] for x in FEET]
    expected = np.linalg.norm([*missed, *lost])
    assert refused.value.distance == pytest.approx(expected, rel=1e-6)
    assert refused.value.distance > 0.5


# An arm


def test_masks_in_the_tools_own_axes_leave_its_turn_open(panda):
    draw = np.random.default_rng(2)
    T = panda.forward_kinematics(panda.random(draw, 3), HAND)
    task = FrameTask(HAND, T, mask=(1, 1, 1, 1, 1, 0), axes="local")
    q = inverse_kinematics(panda, task)
    found = panda.forward_kinematics(q, HAND)
    np.testing.assert_allclose(found[:, :, 2:], T[:, :, 2:], rtol=0, atol=1e-8)  # z and the origin
    assert np.abs(found - T).max() > 1e-3


def test_an_arm_with_five_joints_reaches_poses_whose_turn_is_open():
    build = appell.Builder("five")
    before = "world"
    for k, axis in enumerate("zyyyz"):
        build.link(f"l{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0, 0, 0.1))
        pose = (0, 0, 0.3 if k else 0.1)
        build.joint(f"j{k}", "revolute", before, f"l{k}", pose=pose, axis=axis, limits=(-2.5, 2.5))
        before = f"l{k}"
    arm = build.robot()
    pose = arm.forward_kinematics([0.3, 0.5, 0.9, 0.4, 0.0])
    turned = pose.copy()
    turned[:3, :2] = pose[:3, :2] @ [[0.0, -1.0], [1.0, 0.0]]  # about its own z
    task = FrameTask(None, turned, mask=(1, 1, 1, 1, 1, 0), axes="local")
    found = arm.forward_kinematics(inverse_kinematics(arm, task))
    np.testing.assert_allclose(found[:, 2:], pose[:, 2:], rtol=0, atol=1e-8)


def test_frames_relative_to_others_and_gazes(panda):
    seen = panda.forward_kinematics(panda.random(5), HAND, relative_to="panda_link2")
    q = inverse_kinematics(panda, FrameTask(HAND, seen, relative_to="panda_link2"))
    found = panda.forward_kinematics(q, HAND, relative_to="panda_link2")
    np.testing.assert_allclose(found, seen, rtol=0, atol=1e-9)
    point = np.array([0.5, 0.3, 0.1])
    place = np.array([0.3, 0.0, 0.6])
    q = inverse_kinematics(panda, [FrameTask(HAND, place), GazeTask(HAND, point)])
    T = panda.forward_kinematics(q, HAND)
    np.testing.assert_allclose(T[:3, 3], place, rtol=0, atol=1e-9)
    direction = (point - place) / np.linalg.norm(point - place)
    np.testing.assert_allclose(T[:3, 2], direction, rtol=0, atol=1e-9)


def test_targets_broadcast_and_many_points_are_placed(panda):
    draw = np.random.default_rng(3)
    q = panda.random(draw, (2, 3))
    tip = appell.Frame(HAND, (0, 0, 0.1))
    points = {x: panda.forward_kinematics(q, x)[..., :3, 3] for x in (HAND, tip)}
    found = inverse_kinematics(panda, points)
    assert found.shape == (2, 3, panda.nq)
    for x, p in points.items():
        np.testing.assert_allclose(panda.forward_kinematics(found, x)[..., :3, 3], p, atol=1e-8)


def test_the_lowest_priority_yields_to_the_one_above(panda):
    """An elbow's height yields to the hand's pose, and the posture to both."""
    q0 = np.array([0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.8, 0.0])
    T = panda.forward_kinematics(q0, HAND)
    elbow = panda.forward_kinematics(q0, "panda_link4")[:3, 3] + [0.0, 0.0, -5.0]
    tasks = [
        FrameTask(HAND, T),
        FrameTask("panda_link4", elbow, mask=(0, 0, 1), priority=1),
        PostureTask(q0, priority=2),
    ]
    with warnings.catch_warnings(action="ignore", category=SingularWarning):
        q = inverse_kinematics(panda, tasks, q0, limits=False)
    np.testing.assert_allclose(panda.forward_kinematics(q, HAND), T, rtol=0, atol=1e-9)
    height = panda.forward_kinematics(q, "panda_link4")[2, 3]
    assert height < panda.forward_kinematics(q0, "panda_link4")[2, 3] - 0.01
    # The hand leaves one motion free: along it the elbow sinks no further.
    null = np.linalg.svd(panda.jacobian(q, HAND)[:, :7])[2][6:]
    assert np.abs(null @ panda.jacobian(q, "panda_link4")[2, :7]).max() < 1e-5


def test_weights_share_what_cannot_be_reached(panda):
    start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.0])
    one = {"weight": 1.0}, {"weight": 10.0}
    missed = []
    for left, right in (one, one[::-1]):
        tasks = [
            FrameTask(HAND, [0.4, 0.3, 0.4], **left),
            FrameTask("panda_link8", [0.4, -0.3, 0.4], **right),
        ]
        with pytest.raises(UnreachableError) as refused:
            inverse_kinematics(panda, tasks, start, restarts=0)
        missed.append(panda.forward_kinematics(refused.value.q, HAND)[1, 3])
    assert missed[0] < 0 < missed[1]


# Loops, and free bases


def test_a_closed_robot_stays_closed_while_it_serves_two_priorities():
    robot = appell.load("five_bar")
    start = robot.neutral()
    goal = robot.forward_kinematics(robot.random(3), "tool")[:3, 3]
    tasks = [FrameTask("tool", goal, mask=(1, 0, 0)), PostureTask(start)]
    q = inverse_kinematics(robot, tasks, start)
    assert np.abs(robot.closure(q)).max() < 1e-9
    assert robot.forward_kinematics(q, "tool")[0, 3] == pytest.approx(goal[0], abs=1e-9)
    # One freedom is left: no motion along it comes nearer to the posture.
    J = np.vstack([appell.Robot(robot.model).jacobian(q, "tool")[:1], robot.assembly.slopes(q)])
    null = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :]
    assert len(null) == 1
    assert np.abs(null @ (start - q)).max() < 1e-4


def test_a_free_base_moves_to_reach():
    robot = appell.load("free_chain", n=2)
    draw = np.random.default_rng(0)
    frames = robot.link_names[0], robot.link_names[-1]
    there = robot.random(draw)
    poses = {x: robot.forward_kinematics(there, x) for x in frames}
    q = inverse_kinematics(robot, poses)
    for x, T in poses.items():
        np.testing.assert_allclose(robot.forward_kinematics(q, x), T, rtol=0, atol=1e-9)


def free_body() -> appell.Robot:
    build = appell.Builder("free_body").link("body", appell.inertia.sphere(1, 0.1))
    return build.joint("base", "free", "world", "body").robot()


def test_a_start_at_which_errors_have_no_value_is_left_for_others(panda):
    """A gaze at the frame's own origin, and a quaternion of zeros."""
    start = panda.random(1)
    point = panda.forward_kinematics(start, HAND)[:3, 3]
    T = panda.forward_kinematics(inverse_kinematics(panda, GazeTask(HAND, point), start), HAND)
    way = point - T[:3, 3]
    np.testing.assert_allclose(T[:3, 2], way / np.linalg.norm(way), rtol=0, atol=1e-8)
    robot, nowhere = free_body(), np.zeros(7)
    poses = robot.forward_kinematics(robot.random(2, 3))
    q = inverse_kinematics(robot, poses, nowhere)
    np.testing.assert_allclose(robot.forward_kinematics(q), poses, rtol=0, atol=1e-8)
    with pytest.raises(UnreachableError, match=r"has no value .*of zeros.*more restarts"):
        inverse_kinematics(robot, poses, nowhere, restarts=0)


def test_a_lower_gaze_turns_round_from_straight_behind():
    build = appell.Builder("camera").link("neck", appell.inertia.sphere(1, 0.1))
    build.link("head", appell.inertia.sphere(1, 0.1))
    build.joint("pan", "revolute", "world", "neck", axis="z")
    build.joint("tilt", "revolute", "neck", "head", axis="y")
    tasks = [
        PostureTask([0.0, 0.0], joints=["tilt"], priority=0),
        GazeTask("head", [-2.0, 0.0, 0.0], axis=(1, 0, 0), priority=1),
    ]
    pan, tilt = inverse_kinematics(build.robot(), tasks, [0.0, 0.0])
    assert tilt == pytest.approx(0.0, abs=1e-9)
    assert np.cos(pan) == pytest.approx(-1, abs=1e-9)


def test_kernels_of_tasks_at_ever_new_places_are_let_go(monkeypatch):
    robot = free_body()
    monkeypatch.setattr(BoundedCache, "most", 2)
    for x in (0.1, 0.2, 0.3):
        point = FrameTask(appell.Frame("body", (x, 0, 0)), [0.0, 0.0, 0.0])
        q = inverse_kinematics(robot, [point, FrameTask("body", [1.0, 0, 0], mask=(0, 0, 1))])
        place = robot.forward_kinematics(q)[:3] @ [x, 0, 0, 1]
        np.testing.assert_allclose(place, 0, rtol=0, atol=1e-8)
    assert len(task_stack._KNOWN[robot].kernels) <= 2
    assert len(task_stack._KNOWN[robot].stacks) <= 2


# What is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FrameTask(HAND), "give a pose, a point, or a velocity"),
        (lambda: FrameTask(HAND, np.full((4, 4), np.nan)), "NaN"),
        (lambda: FrameTask(HAND, np.eye(4), mask=(1, 1, 1)), r"mask has shape \(3,\); expected"),
        (lambda: FrameTask(HAND, np.eye(4), mask=[0] * 6), "at least one"),
        (lambda: FrameTask(HAND, np.eye(4), mask=[2] * 6), "0 and 1"),
        (lambda: FrameTask(HAND, np.eye(4), axes="tool"), "base, local"),
        (lambda: FrameTask(HAND, np.eye(4), weight=0), "greater than zero"),
        (lambda: FrameTask(HAND, np.eye(4), weight=(1, 2)), "one for each component"),
        (lambda: FrameTask(HAND, np.eye(4), priority=-1), "whole number"),
        (lambda: FrameTask(HAND, np.eye(4), gain=-1), "zero or more"),
        (lambda: FrameTask(HAND, velocity=(1, 2)), r"expected \(6,\)"),
        (lambda: CentreOfMassTask([1, 2]), r"expected \(..., 3\)"),
        (lambda: CentreOfMassTask(), "give a point or a velocity"),
        (lambda: GazeTask(HAND, [1, 2, 3], axis=(0, 0, 0)), "expected a direction"),
        (lambda: PostureTask(), "give q or a velocity"),
        (lambda: PostureTask([0.0], joints="j1"), "names in a list"),
        (lambda: PostureTask([0.0], joints=[]), r"joints = \[\]; expected one or more names"),
        (lambda: PostureTask([0.0], joints=3), "joints = 3; expected one or more names"),
        (lambda: PostureTask([0.0], joints=[["j1"]]), r"\[\['j1'\]\]; expected one or more names"),
    ],
)
def test_tasks_that_mean_nothing_are_refused(make, message):
    with pytest.raises(appell.InputError, match=message):
        make()


def test_tasks_that_do_not_fit_the_robot_are_refused(panda):
    for tasks, message in {
        (FrameTask("nowhere", np.eye(4)),): "no frame 'nowhere'",
        (FrameTask("panda_link0", np.eye(4)),): "stands still",
        (FrameTask(HAND, [0.3, 0, 0.5]), PostureTask([0.0] * 3)): "has 8 numbers",
        (FrameTask(HAND, [0.3, 0, 0.5]), PostureTask([0.0] * 8, joints=["x"])): "no joint 'x'",
        (PostureTask([0.0] * 8),): "none has priority 0",
        (FrameTask(HAND, velocity=[0.0] * 6),): "that is for servo",
        (FrameTask(HAND, np.zeros((2, 3))), GazeTask(HAND, np.zeros((3, 3)))): "broadcast",
        (FrameTask([HAND], np.eye(4)),): "names the frame .*; expected a link's name",
        (GazeTask({}, [1.0, 2.0, 3.0]),): "names the frame {}; expected a link's name",
        (FrameTask(HAND, np.eye(4), relative_to=["a"]),): r"names the frame \['a'\]",
    }.items():
        with pytest.raises(appell.InputError, match=message):
            inverse_kinematics(panda, list(tasks))
    with pytest.raises(appell.InputError, match="name their frames themselves"):
        inverse_kinematics(panda, {HAND: np.eye(4)}, frame=HAND)
    with pytest.raises(appell.InputError, match="expected one or more"):
        inverse_kinematics(panda, {})
    with pytest.raises(appell.InputError, match="'free_body' is a number on a line"):
        inverse_kinematics(free_body(), PostureTask([0.0] * 7, priority=0))
    with pytest.raises(appell.InputError, match="one pose in the base"):
        inverse_kinematics(panda, FrameTask(HAND, np.eye(4), mask=[1] * 6), method="closed")


def test_lines_are_for_robots_whose_rates_are_their_speeds():
    for robot in (appell.load("free_chain", n=1), appell.load("five_bar")):
        pose = np.eye(4)
        with pytest.raises(appell.InputError, match="loops, or joints with quaternions"):
            appell.control.line(robot, pose, pose + np.eye(4, k=3), 1.0)
