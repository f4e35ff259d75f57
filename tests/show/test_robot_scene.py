"""What is to be seen of robots, as data: shapes, and where they are."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.errors import UrdfWarning
from appell.model.inertia import Inertia
from appell.model.solids import box, equal_box
from appell.show.viewer.postures import Postures
from appell.show.viewer.robot_scene import RobotScene, body_colour
from appell.show.viewer.triangles import triangles

ROBOTS = (
    "puma560", "stanford_arm", "ten_link_tree", "free_chain", "five_bar", "delta", "stewart_gough",
    "differential_drive", "rolling_disc", "agile_wrist", "ur5", "panda",
)  # fmt: skip


def corners(placed):
    """The corners of all triangles of a shape, in the world."""
    found = np.concatenate([part.vertices for part in triangles(placed.shape)])
    return found @ placed.pose[:3, :3].T + placed.pose[:3, 3]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_moving_body_of_a_robot_is_seen_and_moves_with_its_link(name):
    robot = appell.load(name)
    scene = RobotScene(robot)
    assert {shape.link for shape in scene.shapes} <= set(robot.link_names)
    assert len({shape.link for shape in scene.shapes}) >= len(scene.inertias)
    for q in (robot.neutral(), robot.random(2)):
        poses = dict(zip(robot.link_names, robot.poses(q), strict=True))
        for shape, pose in scene.placed(q):
            np.testing.assert_allclose(pose, poses[shape.link] @ shape.pose, atol=1e-12)
            assert np.isfinite(pose).all()


def test_a_bar_of_a_five_bar_ends_where_the_next_joint_is():
    robot = appell.load("five_bar")
    q = robot.neutral()
    [bar] = [
        x for x in RobotScene(robot).placed(q)
        if x.shape.link == "left arm" and x.shape.kind == "capsule"
    ]  # fmt: skip
    half = bar.shape.sizes[1] / 2
    ends = [bar.pose[:3, 3] + side * half * bar.pose[:3, 2] for side in (-1, 1)]
    for link, end in zip(("left arm", "left forearm"), ends, strict=True):
        joint = robot.forward_kinematics(q, link)[:3, 3]
        np.testing.assert_allclose(end, joint, atol=1e-12)


def test_wheels_touch_the_floor():
    robot = appell.load("rolling_disc")
    [wheel] = RobotScene(robot).placed(robot.neutral())
    assert wheel.shape.kind == "cylinder"
    assert corners(wheel)[:, 2].min() == pytest.approx(0, abs=0.02)  # half its thickness, leaning


def test_arcs_of_a_spherical_robot_lead_from_axis_to_axis():
    """Where an arc ends, the next link of its limb has its axis."""
    robot = appell.load("agile_wrist")
    q = robot.random(3)
    scene = RobotScene(robot)
    [arc] = [
        x for x in scene.placed(q) if x.shape.link == "first1" and x.shape.kind == "arc"
    ]  # fmt: skip
    radius, angle, _ = arc.shape.sizes
    end = arc.pose[:3, :3] @ [0, -np.sin(angle), np.cos(angle)]
    following = robot.poses(q)[robot.link_names.index("second1")]
    np.testing.assert_allclose(end, following[:3, 2], atol=1e-12)
    assert radius == pytest.approx(scene.length)


def test_the_meshes_of_a_file_are_drawn_in_its_colours_and_sizes():
    robot = appell.load("ur5")
    q = robot.neutral()
    placed = RobotScene(robot).placed(q)
    assert {x.shape.kind for x in placed if x.shape.role == "visual"} == {"mesh"}
    all_corners = np.concatenate([corners(x) for x in placed])
    span = all_corners.max(axis=0) - all_corners.min(axis=0)
    assert 0.9 < span[0] < 1.3  # m: a UR5 reaches 0.85 m from its axis, and is thick
    colours = {part.colour for x in placed for part in triangles(x.shape)}
    assert len(colours) > 1


ONE_MESH = """<robot name="r"><link name="base"/><link name="hand">
      <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial><visual><geometry><mesh filename="{}"/></geometry></visual></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="hand"/></joint>
      </robot>"""
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def as_obj():
    lines = [f"v {x:g} {y:g} {z:g}" for x, y, z in CORNERS]
    lines += [f"f {a} {b} {c}" for a, b, c in FACES + 1]
    return "\n".join(lines).encode()


def as_ascii_stl():
    """With normals of zero, which readers compute."""
    text = ["solid tetrahedron"]
    for face in CORNERS[FACES]:
        text += ["facet normal 0 0 0", "outer loop"]
        text += [f"vertex {x:g} {y:g} {z:g}" for x, y, z in face]
        text += ["endloop", "endfacet"]
    return "\n".join([*text, "endsolid tetrahedron", ""]).encode()


def as_binary_stl():
    rows = np.zeros(len(FACES), dtype=[("normal", "<3f4"), ("corners", "<(3,3)f4"), ("own", "<u2")])
    rows["corners"] = CORNERS[FACES]
    return bytes(80) + np.uint32(len(FACES)).tobytes() + rows.tobytes()


def as_dae():
    numbers = " ".join(f"{x:g}" for x in CORNERS.ravel())
    return f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><created>2024-01-01T00:00:00</created><modified>2024-01-01T00:00:00</modified>
    <unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">{numbers}</float_array>
      <technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
        <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>{" ".join(map(str, FACES.ravel()))}</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node>
    </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""".encode()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("hand.obj", as_obj), ("binary.stl", as_binary_stl), ("ascii.stl", as_ascii_stl),
        ("hand.dae", as_dae),
    ],
)  # fmt: skip
def test_a_mesh_of_every_format_is_read_and_scaled(tmp_path, file, content):
    (tmp_path / file).write_bytes(content())
    (tmp_path / "robot.urdf").write_text(ONE_MESH.format(f'{file}" scale="0.1 0.2 -0.1'))
    scene = RobotScene(appell.load(tmp_path / "robot.urdf"))
    [part] = triangles(scene.shapes[0])
    shown = part.vertices[part.faces]
    wanted = (CORNERS * [0.1, 0.2, -0.1])[FACES[:, ::-1]]  # a mirror turns the faces
    assert faces_from_the_first_corner(shown) == faces_from_the_first_corner(wanted)


def faces_from_the_first_corner(faces):
    """Triangles as a set: the order of corners counts, and not with which one begins."""
    corners = [[tuple(np.round(x, 6).tolist()) for x in face] for face in faces.astype(float)]
    return {tuple(x[(k := x.index(min(x))) :] + x[:k]) for x in corners}


@pytest.mark.parametrize("content", [None, "solid nothing", "\0\1\2"])
def test_a_mesh_that_is_missing_or_broken_is_warned_of_and_a_ball_stands_there(tmp_path, content):
    if content is not None:
        (tmp_path / "hand.stl").write_text(content)
    file = tmp_path / "robot.urdf"
    file.write_text(ONE_MESH.format("hand.stl"))
    [shape] = RobotScene(appell.load(file)).shapes
    with pytest.warns(UrdfWarning, match="'hand'"):
        [part] = triangles(shape)
    assert np.abs(part.vertices).max() < 0.05


def test_the_box_of_an_inertia_has_that_inertia():
    one = box(3.0, (0.1, 0.2, 0.4), com=(0.1, 0, 0), rpy=(0.3, -0.2, 0.5))
    edges, axes = equal_box(one)
    np.testing.assert_allclose(sorted(edges), [0.1, 0.2, 0.4], rtol=1e-12)
    moments = (edges @ edges - edges**2) * one.mass / 12
    central = Inertia.about_com(one.mass, one.com, one.central).central
    xx, xy, yy, xz, yz, zz = central
    tensor = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, tensor, atol=1e-14)


def test_colours_of_thirty_bodies_stay_apart():
    colours = np.array([body_colour(k)[:3] for k in range(30)])
    apart = np.linalg.norm(colours[:, None] - colours, axis=-1) + np.eye(30)
    assert apart.min() > 0.05
    neighbours = np.linalg.norm(np.diff(colours, axis=0), axis=1)
    assert neighbours.min() > 0.3


# Moved by hand


def test_loops_stay_closed_and_a_position_that_cannot_be_closed_leaves_the_last():
    robot = appell.load("five_bar", forearm=0.35)
    postures = Postures(robot)
    assert [knob.name for knob in postures.knobs] == ["left shoulder", "right shoulder"]
    start = postures.q.copy()
    assert postures.turn({0: start[0] - 0.3}) is None
    assert np.abs(robot.closure(postures.q)).max() < 1e-10
    assert postures.q[0] == pytest.approx(start[0] - 0.3, abs=1e-12)
    good = postures.q.copy()
    why = postures.turn({0: np.pi, 1: 0.0})  # the elbows 0.85 m apart, and 0.7 m of forearms
    assert why
    np.testing.assert_array_equal(postures.q, good)


def test_limits_are_those_of_the_joint_and_of_what_mimics_it():
    knobs = {knob.name: knob for knob in Postures(appell.load("panda")).knobs}
    assert len(knobs) == appell.load("panda").nv
    lower = next(j.lower for j in appell.load("panda").model.joints if j.name == "panda_joint4")
    assert knobs["panda_joint4"].low == lower or lower > 0
    assert knobs["panda_joint1"].limited


def test_a_wheel_rolls_its_robot_along():
    robot = appell.load("differential_drive")
    postures = Postures(robot)
    before = robot.poses(postures.q)
    assert postures.turn({k: knob.low / 2 for k, knob in enumerate(postures.knobs)}) is None
    assert np.abs(robot.poses(postures.q) - before).max() > 0.05
    assert np.abs(robot.closure(postures.q)).max(initial=0.0) < 1e-10
