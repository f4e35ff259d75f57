"""Shapes of links: read from URDF files, found on disk, kept, and without effect on dynamics."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.compile.identity import identity
from appell.errors import UrdfWarning

DRAWN = """
<robot name="drawn">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <visual>
      <origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/>
      <geometry><box size="0.1 0.2 0.3"/></geometry>
      <material name="red"/>
    </visual>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
  </link>
  <link name="hand">
    <visual>
      <geometry><mesh filename="package://my_robot/meshes/hand.stl" scale="2 2 2"/></geometry>
    </visual>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="wrist" type="fixed">
    <parent link="arm"/><child link="hand"/><origin xyz="0 0 0.4"/>
  </joint>
</robot>
"""


def kinds(robot):
    return [(x.link, x.role, x.kind, x.sizes) for x in robot.model.shapes]


def test_shapes_are_read_with_their_poses_and_colours():
    robot = appell.load(DRAWN)
    assert kinds(robot) == [
        ("base", "visual", "box", (0.1, 0.2, 0.3)),
        ("base", "collision", "sphere", (0.2,)),
        ("arm", "collision", "cylinder", (0.05, 0.4)),
        ("hand", "visual", "mesh", (2.0, 2.0, 2.0)),
    ]
    box = robot.model.shapes[0]
    assert box.colour == (1, 0, 0, 1)
    np.testing.assert_allclose(box.pose[:3, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_array_equal(box.position, [0, 0, 0.1])


def test_shapes_change_neither_equality_nor_the_identity_of_kernels():
    model = appell.load(DRAWN).model
    bare = replace(model, shapes=())
    assert bare == model
    assert identity(bare) == identity(model)


@pytest.mark.parametrize("package_path", [False, True])
def test_a_mesh_of_a_package_is_found_above_the_file_and_by_ros(
    tmp_path, monkeypatch, package_path
):
    package = tmp_path / ("elsewhere" if package_path else "") / "my_robot"
    (package / "meshes").mkdir(parents=True)
    (package / "meshes" / "hand.stl").write_text("")
    (tmp_path / "my_robot" / "urdf").mkdir(parents=True, exist_ok=True)
    file = tmp_path / "my_robot" / "urdf" / "drawn.urdf"
    file.write_text(DRAWN)
    if package_path:
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    assert appell.load(file).model.shapes[-1].path() == package / "meshes" / "hand.stl"


def test_the_meshes_of_an_example_robot_are_there():
    shapes = appell.load("ur5").model.shapes
    assert len(shapes) > 6
    assert all(shape.path() for shape in shapes if shape.kind == "mesh")


def test_shapes_survive_a_file_and_changes_of_the_robot(tmp_path):
    robot = appell.load(DRAWN)
    assert kinds(appell.load(robot.to_urdf(tmp_path / "again.urdf"))) == kinds(robot)
    both = robot.attached(appell.load(DRAWN), "hand", prefix="other_")
    assert kinds(both)[:4] == kinds(robot)
    links = [x[0].removeprefix("other_") for x in kinds(both)[4:]]
    assert links == [x[0] for x in kinds(robot)]
    assert kinds(both.locked({"other_shoulder": 0.0})) == kinds(both)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ('<box size="1 2"/>', "expected 3 finite numbers"),
        ('<sphere radius="-1"/>', "not negative"),
        ("<torus/>", "no shape that is known"),
        ("<mesh/>", "has no filename"),
    ],
)
def test_a_shape_that_cannot_be_read_is_left_out_with_a_warning(broken, says):
    text = DRAWN.replace('<box size="0.1 0.2 0.3"/>', broken)
    with pytest.warns(UrdfWarning, match=says) as caught:
        robot = appell.load(text)
    assert len(caught) == 1
    assert len(robot.model.shapes) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(robot.gravity([0.3]), appell.load(DRAWN).gravity([0.3]))
