"""The closed form puts the tool where it is asked to, in eight ways."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.study.puma_kinematics import (
    beyond_reach,
    inverse_kinematics,
    puma_arm,
    skeleton,
)
from appell.study.puma_line import PumaLine
from appell.study.straight_line import straight_path


@pytest.fixture(scope="module")
def robot():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def random_q():
    return np.random.default_rng(0).uniform(-np.pi, np.pi, (500, 6))


def same_angle(q, p):
    return np.abs(np.exp(1j * q) - np.exp(1j * p)).max(axis=-1)


def test_every_branch_reaches_every_reachable_pose(robot, random_q):
    T = robot.forward_kinematics(random_q)
    for branch in BRANCHES.values():
        q = inverse_kinematics(puma_arm(robot), T[:, :3, 3], T[:, :3, :3], branch)
        assert np.abs(robot.forward_kinematics(q) - T).max() < 1e-12  # a few roundings of 1 m


def test_one_branch_gives_back_the_angles_that_made_the_pose(robot, random_q):
    T = robot.forward_kinematics(random_q)
    found = [
        inverse_kinematics(puma_arm(robot), T[:, :3, 3], T[:, :3, :3], branch)
        for branch in BRANCHES.values()
    ]
    nearest = np.min([same_angle(q, random_q) for q in found], axis=0)
    # A stretched elbow or wrist turns a rounding into its square root.
    assert nearest.max() < 1e-6


def test_names_say_where_shoulder_elbow_and_wrist_are(robot, random_q):
    T = robot.forward_kinematics(random_q)
    for branch in BRANCHES.values():
        q = inverse_kinematics(puma_arm(robot), T[:, :3, 3], T[:, :3, :3], branch)
        base, shoulder, elbow, _, wrist = np.moveaxis(skeleton(puma_arm(robot), q), 1, 0)
        facing = wrist[:, :2] - base[:, :2]
        left = facing[:, 0] * shoulder[:, 1] - facing[:, 1] * shoulder[:, 0]
        assert (np.sign(left) == (1 if branch.shoulder == "left" else -1)).all()
        way = wrist - shoulder
        along = np.hypot(way[:, 0], way[:, 1])
        out = np.einsum("ti,ti->t", elbow[:, :2] - shoulder[:, :2], way[:, :2]) / along
        above = (elbow - shoulder)[:, 2] * along - way[:, 2] * out
        assert (np.sign(above) == (1 if branch.elbow == "up" else -1)).all()
        assert (np.sign(q[:, 4]) == (-1 if branch.wrist == "flip" else 1)).all()


def test_reach_is_what_forward_kinematics_reaches(robot, random_q):
    arm = puma_arm(robot)
    p = robot.forward_kinematics(random_q)[:, :3, 3]
    assert (beyond_reach(arm, p) < 1e-12).all()
    stretched = [0.0, 0.3, np.arctan2(*arm.fore), 0.0, 0.0, 0.0]
    edge = robot.forward_kinematics(stretched)[:3, 3]
    assert beyond_reach(arm, edge) == pytest.approx(0.0, abs=1e-12)
    assert beyond_reach(arm, edge * 1.1) == pytest.approx(0.1 * np.linalg.norm(edge))
    assert beyond_reach(arm, np.array([0.05, 0.0, 0.5])) == pytest.approx(0.1)


def test_the_skeleton_ends_where_forward_kinematics_puts_the_wrist(robot, random_q):
    corners = skeleton(puma_arm(robot), random_q)
    assert np.abs(corners[:, -1] - robot.forward_kinematics(random_q)[:, :3, 3]).max() < 1e-12


def test_euler_angles_turn_about_z_then_y_then_z():
    def about(axis, degrees):
        c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        return np.array({"z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
                         "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]]}[axis])  # fmt: skip

    R = straight_path(PumaLine(orientation=(45.0, 60.0, -90.0))).R
    assert np.abs(R - about("z", 45) @ about("y", 60) @ about("z", -90)).max() < 1e-15


@pytest.mark.parametrize("name", ["stanford_arm", "planar_chain"])
def test_other_arms_are_refused(name):
    with pytest.raises(appell.InputError, match="not built like the PUMA"):
        puma_arm(appell.load(name))
