"""Joints that mimic others stop at their own limits, in a simulation and in a written file."""

from __future__ import annotations

import numpy as np
import pytest

import appell

FINGERS = """<robot name="fingers">
  <link name="base"/>
  <link name="left"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="drive" type="revolute"><parent link="base"/><child link="left"/>
    <axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
  <joint name="follow" type="revolute"><parent link="base"/><child link="right"/>
    <origin xyz="0 0.2 0" rpy="0.3 0.2 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.5" effort="99" velocity="99"/>
    <mimic joint="drive" multiplier="-2" offset="0.1"/></joint>
</robot>"""


@pytest.fixture(params=["read", "written again"])
def fingers(request, tmp_path):
    path = tmp_path / "fingers.urdf"
    path.write_text(FINGERS)
    robot = appell.load(path)
    if request.param == "read":
        return robot
    again = tmp_path / "again.urdf"
    robot.to_urdf(again)
    return appell.load(again)


@pytest.mark.parametrize(("torque", "stop"), [(1.0, -0.2), (-1.0, 0.3)])
def test_a_mimicking_joint_stops_at_its_limit(fingers, torque, stop):
    """-2 q + 0.1 reaches 0.5 where q = -0.2, and -0.5 where q = 0.3."""
    run = appell.simulate(fingers, [0.0], until=2.0, torque=[-torque * 5])
    assert run.q[-1, 0] == pytest.approx(stop, abs=1e-9)
    assert run.q.min() >= -0.2 - 1e-9
    assert run.q.max() <= 0.3 + 1e-9
    assert run.impacts[0].points == ("follow",)


def test_a_start_behind_a_mimicking_limit_is_refused(fingers):
    with pytest.raises(appell.InputError, match="follow"):
        appell.simulate(fingers, [0.5], until=1.0)


def test_a_written_file_keeps_the_pose(fingers, tmp_path):
    path = tmp_path / "once more.urdf"
    fingers.to_urdf(path)
    again, q = appell.load(path), np.array([0.17])
    for link in fingers.link_names:
        np.testing.assert_allclose(
            again.forward_kinematics(q, link), fingers.forward_kinematics(q, link), atol=1e-13
        )


def test_a_tracked_arm_stops_at_a_mimicking_limit(fingers):
    from appell.control import ComputedTorque, quintic, track

    run = track(fingers, ComputedTorque(fingers), quintic([0.0], [1.0], 0.5), period=1e-3)
    assert run.impacts[0].points == ("follow",)
    assert run.stopped is None
    assert run.q.max() <= 0.3 + 1e-9
