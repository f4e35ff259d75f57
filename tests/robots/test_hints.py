"""Mistakes that users of other libraries make are answered with our word for it."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

import appell

Q = np.zeros(6)


@pytest.mark.parametrize(
    ("axes", "ours"),
    [
        ("LOCAL_WORLD_ALIGNED", "axes='base'"),
        (pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED, "axes='base'"),
        ("LOCAL", "axes='local'"),
        ("world", "about the world's origin"),
        ("tool", "the frame's\\.$"),
    ],
)
def test_axes_of_pinocchio(axes, ours):
    with pytest.raises(appell.InputError, match=ours):
        appell.load("puma560").velocity(Q, Q, "link6", axes=axes)


@pytest.mark.parametrize("name", ["", "."])
def test_an_empty_name(name):
    with pytest.raises(appell.ModelError, match="names no robot; expected a name that"):
        appell.load(name)


def test_a_quaternion_of_zeros():
    robot = appell.load("free_chain")
    with pytest.raises(appell.InputError, match=r"q0\[3:7\] has length 0.*robot.neutral\(\)"):
        appell.simulate(robot, np.zeros(robot.nq), until=0.1)


def test_a_joint_locked_beyond_its_limits():
    build = appell.Builder("pair").link("a", mass=1.0).link("b", mass=1.0).link("c", mass=1.0)
    build.joint("one", "revolute", "world", "a", limits=(-1, 2))
    build.joint("two", "revolute", "a", "b", limits=(-1, 1), mimic=("one", -2.0))
    robot = build.joint("three", "prismatic", "b", "c").robot()
    with pytest.warns(UserWarning, match="locked") as caught:
        robot.locked({"one": 2.5})
    assert [str(x.message) for x in caught] == [
        "locked: 'one' at 2.5 is beyond the upper limit 2 of joint 'one'.",
        "locked: 'one' at 2.5 is beyond the lower limit -1 of joint 'two'.",
    ]
    assert {x.filename for x in caught} == {__file__}
    robot.locked({"one": 0.5})  # at a limit of the second: no warning


def test_too_many_steps_say_what_fits():
    arm = appell.load("two_link")
    plain = appell.simulate(arm, [0, 0], until=1.0, max_steps=2)
    assert "law" not in plain.stopped
    assert "Radau" in plain.stopped
    driven = appell.simulate(arm, [0, 0], until=1.0, max_steps=2, torque=lambda t, q, v: 0 * v)
    assert "smooth a law that jumps" in driven.stopped
