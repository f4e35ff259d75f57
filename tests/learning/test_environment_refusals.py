"""Limits, starts, laws and arrays that are given to environments."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import PDGravity
from appell.errors import InputError

pytest.importorskip("gymnasium")
from appell.learning import Env, Task, VectorEnv, holding

LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="base"/><child link="{1}"/>
<axis xyz="0 0 1"/><limit lower="-{2}" upper="{2}" effort="9" velocity="4"/>{3}</joint>"""


def gripper(limit, mimicking):
    """Two fingers, the second of which turns by -2 times the first."""
    mimic = '<mimic joint="one" multiplier="-2"/>'
    parts = LINK.format("a") + LINK.format("b") + JOINT.format("one", "a", limit, "")
    text = parts + JOINT.format("two", "b", mimicking, mimic)
    return appell.Robot.from_urdf(f'<robot name="gripper"><link name="base"/>{text}</robot>')


@pytest.mark.parametrize(("limit", "mimicking"), [(0.5, 9.0), (2.0, 1.0)])
def test_the_tightest_limit_of_joints_that_move_together_wins(limit, mimicking):
    robot = gripper(limit, mimicking)
    space = VectorEnv(robot, 2, law=PDGravity(robot), task=holding(robot)).single_action_space
    assert space.high.tolist() == [0.5]
    assert space.low.tolist() == [-0.5]


def test_a_start_with_open_loops_is_refused():
    five = appell.load("five_bar")
    wrong = five.neutral() + [0.3, 0, 0, 0]
    task = Task(
        start=lambda rng, count: (np.tile(wrong, (count, 1)), np.zeros((count, 2))),
        reward=lambda q, v, tau, goal: np.zeros(len(q)),
    )
    env = VectorEnv(five, 1, task=task, torque_limit=1.0)
    with pytest.raises(InputError, match=r"Task: start: the loops .* are open by"):
        env.reset(seed=0)


def test_the_callers_arrays_are_copied():
    arm = appell.load("planar_chain", n=2)
    viscous = np.zeros((2, 2))
    env = VectorEnv(arm, 2, task=holding(arm), torque_limit=5.0, viscous=viscous)
    seen = []
    for level in (0.0, 50.0):
        viscous[:] = level
        env.reset(seed=0)
        seen.append(env.step(np.ones((2, 2)))[0])
    assert np.array_equal(*seen)


@pytest.mark.parametrize(("own", "other"), [(2, 3), (3, 2)])
def test_a_law_of_other_joints_is_refused(own, other):
    law = PDGravity(appell.load("planar_chain", n=other))
    with pytest.raises(InputError, match="the law is for"):
        VectorEnv(appell.load("planar_chain", n=own), 2, law=law)


def test_an_action_may_be_a_list():
    env = Env(appell.load("planar_chain", n=2), torque_limit=5.0)
    env.reset(seed=0)
    listed = env.step([0.5, 0.0])[0]
    env.reset(seed=0)
    assert np.array_equal(listed, env.step(np.array([0.5, 0.0]))[0])
    with pytest.raises(InputError, match="step: actions"):
        env.step("x")
