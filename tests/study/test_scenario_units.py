"""Numbers of a scenario are in the unit of their joint, and of the file."""

from __future__ import annotations

from math import pi, radians

import numpy as np
import pytest

import appell
from appell.control import Adc, ComputedTorque, track
from appell.errors import InputError
from appell.study import build, run
from appell.study.scenario_file import checked

INERTIA = (
    '<inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
)
LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="5"/>'


def urdf(folder, joints):
    """A chain of joints, each given by its name, its type and more XML."""
    text = '<robot name="r"><link name="l0"/>'
    for k, (name, kind, more) in enumerate(joints, 1):
        text += f'<link name="l{k}">{INERTIA}</link><joint name="{name}" type="{kind}">'
        text += f'<parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 1 0"/>{LIMIT}'
        text += f"{more}</joint>"
    path = folder / "r.urdf"
    path.write_text(text + "</robot>")
    return str(path)


def test_a_spring_on_a_mimic_joint_rests_at_the_angle_of_the_file(tmp_path):
    mimic = '<mimic joint="a" multiplier="-0.5" offset="0.1"/>'
    model = urdf(tmp_path, [("a", "revolute", ""), ("b", "revolute", mimic)])
    data = {"angles": "degrees", "task": {"kind": "fall", "until": 0.1}}
    robot = build(checked(data | {"robot": {"model": model, "springs": {"b": [30, 20]}}})).robot
    expected = appell.load(model).with_springs({"b": (30.0, radians(20))})
    assert np.allclose(robot.gravity([0.3]), expected.gravity([0.3]))


@pytest.mark.parametrize(
    ("kinds", "low", "expected"),
    [
        (["prismatic"], -1.0, -1.0),
        (["revolute"], -90.0, -pi / 2),
        (["revolute", "prismatic"], [-90.0, -0.5], [-pi / 2, -0.5]),
    ],
)
def test_a_converter_of_slides_has_its_range_in_m(tmp_path, kinds, low, expected):
    model = urdf(tmp_path, [(f"j{k}", kind, "") for k, kind in enumerate(kinds)])
    high = [-x for x in low] if isinstance(low, list) else -low
    data = {
        "angles": "degrees",
        "robot": model,
        "task": {"kind": "hold", "until": 0.1},
        "sensors": {"adc": {"bits": 12, "low": low, "high": high}},
    }
    adc = build(checked(data)).options["adc"]
    assert np.allclose(adc.low, expected)
    assert np.allclose(adc.high, np.negative(expected))
    result = run(checked(data))
    assert np.all(np.abs(result.run.measured - result.run.q) <= adc.step)


def test_a_converter_for_other_joints_is_refused():
    robot = appell.load("planar_chain", n=2)
    with pytest.raises(InputError, match="range for 3 joints; expected one, or 2"):
        track(robot, ComputedTorque(robot), [0, 0], until=0.1, adc=Adc(8, [-1, -1, -1], 1))


def test_a_joint_that_follows_others_is_not_set_by_itself(tmp_path):
    mimic = '<mimic joint="a" multiplier="-0.5" offset="0.1"/>'
    model = urdf(tmp_path, [("a", "revolute", ""), ("b", "revolute", mimic)])
    start, task = {"q": {"b": 0.1}}, {"kind": "fall", "until": 0.1}
    with pytest.raises(InputError, match=r"joint 'b' of 'r' follows others.*; expected a\."):
        build(checked({"robot": {"model": model}, "start": start, "task": task}))
