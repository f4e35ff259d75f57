"""Robots written as URDF: read back by Appell and by Pinocchio they move alike."""

from __future__ import annotations

import errno
import warnings
from dataclasses import replace
from math import inf

import numpy as np
import pinocchio
import pytest
from batches import evaluate

import appell
from appell.model.build import assemble
from appell.model.description.urdf_writer import UrdfWarning, rpy
from appell.model.hinges import Hinge, Mimic
from appell.model.inertia import NOTHING
from appell.model.library.random import random_inertia, random_rotation, random_tree
from appell.model.model import Joint
from appell.robots.robot import Robot


def back(robot, tmp_path):
    """Written and read."""
    return appell.load(robot.to_urdf(tmp_path / "robot.urdf"))


def states(robot, count=5, seed=0):
    rng = np.random.default_rng(seed)
    q, v, a = (rng.uniform(-2, 2, (count, n)) for n in (robot.nq, robot.nv, robot.nv))
    if robot.nq != robot.nv:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return q, v, a


def asked(robot, quantity, *states, frame=None):
    """From the equation itself: nothing has to be compiled."""
    return evaluate(robot.model, quantity, *states, frame=frame)


def assert_same(one, two, *, friction=True):
    assert one.joint_names == two.joint_names
    assert set(one.link_names) == set(two.link_names)
    q, v, a = states(one)
    wanted, got = (asked(robot, "inverse_dynamics", q, v, a) for robot in (one, two))
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())
    if friction:
        np.testing.assert_array_equal(*(asked(robot, "friction", v) for robot in (one, two)))
    for link in one.link_names:
        poses = (asked(robot, "forward_kinematics", q, frame=link) for robot in (one, two))
        np.testing.assert_allclose(*poses, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_come_back(seed, tmp_path):
    kind = {"branching": 0.4, "prismatic": 0.3, "fixed": 0.4, "friction": True}
    robot = Robot(random_tree(5, seed, **kind))
    assert_same(robot, back(robot, tmp_path))


@pytest.mark.parametrize("name", ["puma560", "stanford_arm"])
def test_arms_of_the_library_come_back(name, tmp_path):
    robot = appell.load(name)
    assert_same(robot, back(robot, tmp_path))


def test_a_payload_is_merged_into_its_link(tmp_path):
    robot = appell.load("puma560").with_payload(1.5, (0.1, 0.2, 0.3), (0.01, 0.02, 0.025))
    again = back(robot, tmp_path)
    assert_same(robot, again)
    np.testing.assert_allclose(again.parameters, robot.parameters, rtol=1e-12, atol=1e-13)


def test_pinocchio_reads_the_same_robot(tmp_path):
    tree = random_tree(5, 7, branching=0.4, prismatic=0.3, fixed=0.4, friction=False)
    joints = [replace(j, lower=-3.0, upper=3.0, speed=5.0, effort=70.0) for j in tree.joints]
    by_name = {j.name: j for j in joints}
    bodies = tuple(replace(b, joint=by_name[b.joint.name]) for b in tree.bodies)
    robot = Robot(replace(tree, bodies=bodies, joints=tuple(joints)))
    other = pinocchio.buildModelFromUrdf(str(robot.to_urdf(tmp_path / "robot.urdf")))
    order = [other.joints[other.getJointId(name)].idx_v for name in robot.joint_names]
    data = other.createData()
    for q, v, a in zip(*states(robot), strict=True):
        theirs = [np.empty(5) for _ in range(3)]
        for x, y in zip(theirs, (q, v, a), strict=True):
            x[order] = y
        tau = pinocchio.rnea(other, data, *theirs)[order]
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(other.lowerPositionLimit, -3.0)
    np.testing.assert_array_equal(other.velocityLimit, 5.0)


def test_limits_and_friction_come_back(tmp_path):
    limits = [
        {"lower": -1.0, "upper": 2.0, "speed": 3.0, "effort": 50.0, "viscous": 0.1, "coulomb": 0.2},
        {"lower": -inf, "upper": 1.0},
        {"kind": "prismatic"},
        {"speed": 2.5},
    ]
    rng = np.random.default_rng(0)
    links, hinges = {"base": NOTHING}, []
    for k, given in enumerate(limits):
        above, below = [*links][-1], f"link{k}"
        links[below] = random_inertia(rng)
        joint = Joint(f"joint{k}", **given)
        hinges.append(
            Hinge(joint.name, above, below, joint, random_rotation(rng), rng.normal(size=3))
        )
    robot = Robot(assemble("limited", links, hinges))
    again = back(robot, tmp_path)
    assert again.model.joints == robot.model.joints
    text = (tmp_path / "robot.urdf").read_text()
    assert text.count('type="continuous"') == 1
    pinocchio.buildModelFromXML(text)  # which needs limits of all other joints


def test_mimics_come_back(tmp_path):
    rng = np.random.default_rng(1)
    links = {"base": NOTHING, "a": random_inertia(rng), "b": random_inertia(rng)}
    hinges = [
        Hinge("lead", "base", "a", Joint("lead"), random_rotation(rng), rng.normal(size=3)),
        Hinge(
            "follow", "a", "b", Joint("follow"), random_rotation(rng), rng.normal(size=3),
            mimic=Mimic("lead", -0.5, 0.3),
        ),
    ]  # fmt: skip
    robot = Robot(assemble("mimicking", links, hinges))
    assert_same(robot, back(robot, tmp_path), friction=False)


def test_links_off_their_axis_come_back(tmp_path):
    """Standard Denavit-Hartenberg frames stand at the far end of their links."""
    robot = appell.Robot.from_dh(
        name="far", convention="standard", alpha=[0.3, -0.2], a=[0.4, 0.5], d=[0.1, 0.2],
        mass=[1, 2], com=[[0, 0.1, 0], [0.1, 0, 0]], inertia=[[0.1, 0.1, 0.1]] * 2,
    )  # fmt: skip
    again = back(robot, tmp_path)
    assert {*again.link_names} - {*robot.link_names} == {"link1_on_axis", "link2_on_axis"}
    q, v, a = states(robot)
    np.testing.assert_allclose(
        *(asked(x, "inverse_dynamics", q, v, a) for x in (again, robot)), atol=1e-12
    )
    for link in robot.link_names:
        poses = (asked(x, "forward_kinematics", q, frame=link) for x in (again, robot))
        np.testing.assert_allclose(*poses, atol=1e-12)


def test_what_urdf_has_no_words_for_is_warned_of_and_comes_back(tmp_path):
    robot = Robot(random_tree(3, 2, rotors=True, base="free")).with_gravity((0.5, 0, -1.62))
    with pytest.warns(UrdfWarning, match=r"gravity of .*base is free; the rotors' inertias"):
        again = back(robot, tmp_path)
    assert again.model.free
    assert_same(robot, again, friction=False)
    on_earth = appell.load(tmp_path / "robot.urdf", gravity=(0, 0, -9.81), base="fixed")
    assert not on_earth.model.free
    assert on_earth.model.gravity.z == -9.81


def test_coordinates_in_an_order_of_their_own_come_back(tmp_path):
    robot = appell.load("ten_link_tree")
    with pytest.warns(UrdfWarning, match="the order of its coordinates"):
        again = back(robot, tmp_path)
    assert_same(robot, again)


def test_plain_robots_are_written_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        appell.load("two_link").with_gravity((0, 0, -9.81)).to_urdf(tmp_path / "robot.urdf")


def test_any_rotation_is_written_exactly():
    rng = np.random.default_rng(5)
    from appell.model.axes import from_rpy

    near = [
        from_rpy((r, np.pi / 2 - eps, y))
        for eps in (0, 1e-9, 1e-6)
        for r, y in rng.normal(size=(3, 2))
    ]
    for R in [*near, *(random_rotation(rng) for _ in range(20)), np.eye(3), np.diag([1.0, -1, -1])]:
        np.testing.assert_allclose(from_rpy(rpy(R)), R, atol=3e-16)


def test_what_cannot_be_written_is_refused(tmp_path):
    robot = appell.load("puma560")
    with pytest.raises(appell.ModelError, match=r"written to \.urdf files"):
        robot.to_urdf(tmp_path / "robot.xml")
    with pytest.raises(appell.AppellError, match=r"cannot write .*: No such file"):
        robot.to_urdf(tmp_path / "none" / "robot.urdf")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(appell.InputError, match="has loops"):
        appell.load("four_bar").to_urdf(tmp_path / "robot.urdf")


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    target = tmp_path / "robot.urdf"
    target.write_text("precious")

    def full(self, content):
        self.write_text(content[:100].decode())
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(target), "write_bytes", full)
    with pytest.raises(appell.AppellError, match="the disk is full"):
        appell.load("puma560").to_urdf(target)
    assert [p.name for p in tmp_path.iterdir()] == ["robot.urdf"]
    assert target.read_bytes() == b"precious"
