"""The closed form puts the tool where it is asked to, in eight ways."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.study.puma_kinematics import (
    arm,
    beyond_reach,
    euler_zyz,
    inverse_kinematics,
    rotation_zyz,
    skeleton,
)


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
        q = inverse_kinematics(arm(robot.model), T[:, :3, 3], T[:, :3, :3], branch)
        assert np.abs(robot.forward_kinematics(q) - T).max() < 1e-12  # a few roundings of 1 m


def test_one_branch_gives_back_the_angles_that_made_the_pose(robot, random_q):
    T = robot.forward_kinematics(random_q)
    found = [
        inverse_kinematics(arm(robot.model), T[:, :3, 3], T[:, :3, :3], branch)
        for branch in BRANCHES.values()
    ]
    nearest = np.min([same_angle(q, random_q) for q in found], axis=0)
    # A stretched elbow or wrist turns a rounding into its square root.
    assert nearest.max() < 1e-6


def test_names_say_where_shoulder_elbow_and_wrist_are(robot, random_q):
    T = robot.forward_kinematics(random_q)
    for branch in BRANCHES.values():
        q = inverse_kinematics(arm(robot.model), T[:, :3, 3], T[:, :3, :3], branch)
        base, shoulder, elbow, _, wrist = np.moveaxis(skeleton(robot.model, q), 1, 0)
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
    lengths = arm(robot.model)
    p = robot.forward_kinematics(random_q)[:, :3, 3]
    assert (beyond_reach(lengths, p) < 1e-12).all()
    stretched = [0.0, 0.3, np.arctan2(lengths.d4, lengths.a3), 0.0, 0.0, 0.0]
    edge = robot.forward_kinematics(stretched)[:3, 3]
    assert beyond_reach(lengths, edge) == pytest.approx(0.0, abs=1e-12)
    assert beyond_reach(lengths, edge * 1.1) == pytest.approx(0.1 * np.linalg.norm(edge))
    assert beyond_reach(lengths, np.array([0.05, 0.0, 0.5])) == pytest.approx(0.1)


@pytest.mark.parametrize("flip", [False, True])
def test_euler_angles_give_back_the_rotation(flip):
    R = rotation_zyz(*np.random.default_rng(1).uniform(-3, 3, (3, 100)))
    assert np.abs(rotation_zyz(*euler_zyz(R, flip)) - R).max() < 1e-14


@pytest.mark.parametrize("name", ["stanford_arm", "planar_chain"])
def test_other_arms_are_refused(name):
    with pytest.raises(appell.InputError, match="not built like the PUMA"):
        arm(appell.load(name).model)
