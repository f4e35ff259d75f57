"""URDF files are read as they are meant, or refused by an error that names file, line and cure."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.errors import ModelError
from appell.model.description.urdf import read_urdf
from appell.model.model import BASE
from appell.model.parameters import link_inertia

ARM = """\
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>
      <mass value="2"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.003" izz="0.04"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0.5 1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
</robot>
"""

FOREARM = """\
  <link name="fore"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="fore"/>
  </joint>
</robot>
"""

TWO = ARM.replace("</robot>\n", FOREARM)


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "robot.urdf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, f"{old} is {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text


def test_an_inertia_is_about_the_centre_of_mass_in_axes_of_its_own(write):
    model = read_urdf(write(ARM))
    R = Rotation.from_euler("xyz", [0.4, 0.5, -0.6]).as_matrix()
    c = np.array([0.1, -0.2, 0.3])
    about_com = [[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.04]]
    tensor = R @ about_com @ R.T + 2 * (c @ c * np.eye(3) - np.outer(c, c))
    expected = [2, *2 * c, *tensor[np.tril_indices(3)]]
    assert np.allclose(link_inertia(model, model.bodies[0]).parameters, expected, rtol=1e-14)


def test_rpy_turns_about_fixed_x_then_y_then_z(write):
    pose = appell.load(write(ARM)).forward_kinematics([0.7])
    R = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]) * Rotation.from_euler("z", 0.7)
    assert np.allclose(pose[:3, :3], R.as_matrix(), rtol=0, atol=1e-15)
    assert np.allclose(pose[:3, 3], [0, 0.5, 1], rtol=0, atol=1e-15)


def test_a_joint_carries_its_limits_and_friction(write):
    (joint,) = read_urdf(write(ARM)).joints
    assert (joint.lower, joint.upper, joint.speed, joint.effort) == (-1, 2, 3, 4)
    assert (joint.viscous, joint.coulomb) == (0.5, 0.25)


def test_a_continuous_joint_has_no_limits_of_position(write):
    (joint,) = read_urdf(write(ARM.replace("revolute", "continuous"))).joints
    assert (joint.kind, joint.lower, joint.upper, joint.speed) == ("revolute", -inf, inf, 3)


def test_what_a_joint_leaves_out_is_unlimited_and_without_friction(write):
    elbow = read_urdf(write(TWO)).joints[1]
    assert (elbow.lower, elbow.upper, elbow.speed, elbow.effort) == (-inf, inf, inf, inf)
    assert (elbow.viscous, elbow.coulomb) == (0, 0)


def test_of_lower_and_upper_the_missing_one_is_zero(write):
    (joint,) = read_urdf(write(edited(ARM, ('lower="-1"', "")))).joints
    assert (joint.lower, joint.upper) == (0, 2)


@pytest.mark.parametrize("axis", ["0 0 2", "0 0 1e-200", "0\t0\n1e200"])
def test_an_axis_is_a_direction_of_any_length(write, axis):
    assert read_urdf(write(edited(ARM, ("0 0 1", axis)))) == read_urdf(write(ARM))


def test_the_axis_is_x_by_default(write):
    default = read_urdf(write(edited(ARM, ('<axis xyz="0 0 1"/>', ""))))
    assert default == read_urdf(write(edited(ARM, ("0 0 1", "1 0 0"))))


def test_a_link_without_inertial_has_no_mass(write):
    start, end = ARM.index("<inertial>"), ARM.index("</link>")
    (body,) = read_urdf(write(ARM[:start] + ARM[end:])).bodies
    assert not any(body.inertia.parameters)


def test_a_fixed_link_adds_its_mass_and_stays_a_frame(write):
    model = read_urdf(write(TWO.replace("prismatic", "fixed")))
    assert [body.mass for body in model.bodies] == [3]
    assert [frame.name for frame in model.frames] == ["base", "upper", "fore"]
    assert [frame.body for frame in model.frames] == [BASE, 0, 0]


def test_joints_keep_the_order_of_the_file(write):
    branch = TWO.replace('<parent link="upper"/>', '<parent link="base"/>')
    start, end = branch.index('  <joint name="shoulder"'), branch.index('  <link name="fore"')
    last = branch[:start] + branch[end:].replace("</robot>", branch[start:end] + "</robot>")
    names = [[j.name for j in read_urdf(write(text)).joints] for text in (branch, last)]
    assert names == [["shoulder", "elbow"], ["elbow", "shoulder"]]


def test_broken_shapes_and_unknown_elements_change_no_dynamics(write):
    extra = """
      <material name="red"/>
      <transmission name="t"><joint name="shoulder"/></transmission>
      <gazebo reference="upper"><mass value="nonsense"/></gazebo>"""
    shape = '<geometry><mesh filename="file:///no/such.stl" scale="a b c"/></geometry>'
    shapes = f"<visual>{shape}</visual><visual>{shape}</visual><collision>{shape}</collision>"
    text = ARM.replace("</robot>", extra + "</robot>").replace("</link>", shapes + "</link>")
    with pytest.warns(appell.UrdfWarning, match="is not drawn"):
        drawn = read_urdf(write(text))
    assert drawn == read_urdf(write(ARM))


def test_a_namespace_changes_nothing(write):
    text = ARM.replace("<robot", '<robot xmlns="http://drake.mit.edu"')
    assert read_urdf(write(text)) == read_urdf(write(ARM))


def test_gravity_is_an_option_of_load(write):
    robot = appell.load(write(ARM), gravity=(0, 0, 0))
    assert robot.gravity([0.3]) == [0]


def mimicking(*mimics: str) -> str:
    """A robot of prismatic joints j0, j1, ..., each with what it mimics."""
    links = "".join(f'<link name="l{i}"/>' for i in range(len(mimics) + 1))
    joints = "\n".join(
        f'<joint name="j{i}" type="prismatic"><parent link="l{i}"/><child link="l{i + 1}"/>{m}'
        "</joint>"
        for i, m in enumerate(mimics)
    )
    return f'<robot name="hand">\n{links}\n{joints}\n</robot>'


def test_a_chain_of_mimics_follows_its_last_leader(write):
    text = mimicking(
        '<mimic joint="j1" multiplier="2" offset="0.5"/>',
        '<mimic joint="j2" multiplier="-3" offset="0.25"/>',
        "",
    )
    model = read_urdf(write(text))
    assert [joint.name for joint in model.joints] == ["j2"]
    assert [body.ratio for body in model.bodies] == [-6, -3, 1]
    assert [body.shift for body in model.bodies] == [1, 0.25, 0]


def test_a_mimic_without_numbers_is_equality(write):
    model = read_urdf(write(mimicking("", '<mimic joint="j0"/>')))
    assert [(body.ratio, body.shift) for body in model.bodies] == [(1, 0), (1, 0)]


def test_a_fixed_joint_mimics_nothing(write):
    text = mimicking("", '<mimic joint="gone"/>')
    fixed = 'name="j1" type="fixed"'
    assert len(read_urdf(write(edited(text, ('name="j1" type="prismatic"', fixed)))).bodies) == 1


MIMIC_MISTAKES = {
    "not a number": (
        ["", '<mimic joint="j0" multiplier="two"/>'],
        "robot.urdf:4: joint 'j1': <mimic multiplier=\"two\">: expected a finite number",
    ),
    "no leader": (["", "<mimic/>"], "robot.urdf:4: joint 'j1': <mimic> has no joint; write"),
}


@pytest.mark.parametrize(("mimics", "says"), MIMIC_MISTAKES.values(), ids=MIMIC_MISTAKES)
def test_a_mistaken_mimic_is_refused(write, mimics, says):
    with pytest.raises(ModelError) as refused:
        read_urdf(write(mimicking(*mimics)))
    assert says in str(refused.value)


# What mimics what, the joints that are independent then, and what the warning says.
BROKEN_MIMICS = {
    "ring": (
        ['<mimic joint="j1"/>', '<mimic joint="j2"/>', '<mimic joint="j0"/>', ""],
        ["j0", "j1", "j2", "j3"],
        "line 5: joint 'j0' mimics 'j1' mimics 'j2' mimics 'j0'; all of them are independent",
    ),
    "itself": (['<mimic joint="j0"/>', ""], ["j0", "j1"], "line 3: joint 'j0' mimics 'j0'; all"),
    "a follower of a ring": (
        ['<mimic joint="j1" multiplier="3"/>', '<mimic joint="j2"/>', '<mimic joint="j1"/>'],
        ["j1", "j2"],
        "line 5: joint 'j1' mimics 'j2' mimics 'j1'; all",
    ),
    "unknown leader": (
        ["", '<mimic joint="j9"/>'],
        ["j0", "j1"],
        "line 4: joint 'j1' mimics 'j9', which is not there; 'j1' is independent",
    ),
}


@pytest.mark.parametrize(
    ("mimics", "independent", "says"), BROKEN_MIMICS.values(), ids=BROKEN_MIMICS
)
def test_a_mimic_that_cannot_be_followed_leaves_its_joint_independent(
    write, mimics, independent, says
):
    with pytest.warns(appell.UrdfWarning) as told:
        model = read_urdf(write(mimicking(*mimics)))
    assert [joint.name for joint in model.joints] == independent
    (warning,) = told
    assert says in str(warning.message)


def test_a_mimic_of_a_fixed_joint_leaves_its_joint_independent(write):
    text = mimicking("", '<mimic joint="j0"/>').replace("prismatic", "fixed", 1)
    with pytest.warns(appell.UrdfWarning, match="mimics 'j0', which is fixed; 'j1' is independent"):
        assert [joint.name for joint in read_urdf(write(text)).joints] == ["j1"]


def test_mimics_are_independent_on_request(write):
    path = write(mimicking("", '<mimic joint="j0"/>'))
    assert [joint.name for joint in read_urdf(path, mimic=False).joints] == ["j0", "j1"]


# What is changed in ARM, the line where that shows, and what the error says.
MISTAKES = {
    "no robot name": (' name="arm"', "", 1, "<robot> has no name"),
    "no link name": ('link name="upper"', "link", 3, "<link> has no name"),
    "empty joint name": ('"shoulder"', '""', 10, "<joint> has no name"),
    "a link twice": ('name="upper"', 'name="base"', 3, "link 'base': the link on line 2 has"),
    "two inertials": ("</link>", "<inertial/></link>", 9, "again, first on line 4; keep one"),
    "no mass": ('<mass value="2"/>', "", 4, "link 'upper': <inertial> has no <mass>; add one"),
    "no value": (' value="2"', "", 6, "link 'upper': <mass> has no value; write"),
    "five moments": ('iyz="-0.003"', "", 7, "link 'upper': <inertia> has no iyz"),
    "word": ('value="2"', 'value="2kg"', 6, '<mass value="2kg">: expected a finite number'),
    "nan": ('ixx="0.02"', 'ixx="nan"', 7, '<inertia ixx="nan">: expected a finite number'),
    "inf": ('velocity="3"', 'velocity="inf"', 15, "joint 'shoulder': <limit velocity=\"inf\">"),
    "two numbers": ("0 0.5 1", "0 1", 13, '<origin xyz="0 1">: expected 3 finite numbers'),
    "four numbers": ("0.1 0.2 0.3", "1 2 3 4", 13, '<origin rpy="1 2 3 4">: expected 3'),
    "macro's value": ("0 0.5 1", "0 ${y} 1", 13, "expected 3 finite numbers"),
    "negative mass": ('"2"/>', '"-2"/>', 3, "link 'upper': mass = -2 kg"),
    "zero mass": ('"2"/>', '"0"/>', 3, "a link without mass has moments"),
    "not a body": ('izz="0.04"', 'izz="0.06"', 3, "triangle inequality"),
    "negative moment": ('ixx="0.02"', 'ixx="-0.02"', 3, "a principal moment is negative"),
    "no type": (' type="revolute"', "", 10, "joint 'shoulder': <joint> has no type"),
    "unknown type": ('"revolute"', '"hinge"', 10, "type 'hinge' is unknown; expected one of"),
    "no pitch": ('"revolute"', '"helical"', 10, "<joint> has no pitch"),
    "pitch of zero": (
        '"revolute"',
        '"helical" pitch="0"',
        10,
        "its pitch is 0; give one, in m/rad",
    ),
    "no parent": ('<parent link="base"/>', "", 10, "<joint> has no <parent>; add one"),
    "no child": ('<child link="upper"/>', "", 10, "<joint> has no <child>; add one"),
    "unknown parent": ('parent link="base"', 'parent link="bass"', 11, "did you mean 'base'?"),
    "unknown child": ('child link="upper"', 'child link="x"', 12, "the file has base, upper"),
    "no direction": ('xyz="0 0 1"', 'xyz="0 0 0"', 14, "which has no direction; give another"),
    "axis without xyz": ('<axis xyz="0 0 1"/>', "<axis/>", 14, "<axis> has no xyz"),
    "limits exchanged": ('upper="2"', 'upper="-2"', 15, "lower, -1, is above upper, -2; exchange"),
    "negative speed": ('velocity="3"', 'velocity="-3"', 15, 'velocity="-3">: expected 0 or more'),
    "negative effort": ('effort="4"', 'effort="-4"', 15, 'effort="-4">: expected 0 or more'),
    "negative damping": ('"0.5"', '"-0.5"', 16, '<dynamics damping="-0.5">: expected 0 or more'),
    "negative friction": ('"0.25"', '"-1"', 16, '<dynamics friction="-1">: expected 0 or more'),
    "dynamics twice": ("</joint>", "<dynamics/></joint>", 17, "again, first on line 16; keep one"),
}


@pytest.mark.parametrize(("old", "new", "line", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_by_file_and_line(write, old, new, line, says):
    path = write(edited(ARM, (old, new)))
    with pytest.raises(ModelError) as refused:
        read_urdf(path, physical=True)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert says in str(refused.value)


def test_an_inertia_that_no_body_has_is_warned_of_once(write):
    path = write(edited(TWO, ('izz="0.04"', 'izz="0.06"'), ('izz="0.1"', 'izz="0.3"')))
    with pytest.warns(appell.PhysicalWarning) as told:
        assert read_urdf(path).bodies[0].mass == 2
    (warning,) = told
    text = str(warning.message)
    assert text.startswith(f"{path}: inertias that no body can have are taken as they are given.")
    assert "Line 3: link 'upper': mass = 2 kg" in text
    assert "Line 18: link 'fore': mass = 1 kg" in text
    with pytest.raises(ModelError, match="To take it as it is, say physical=False"):
        read_urdf(path, physical=True)
    assert read_urdf(path, physical=False).bodies[0].mass == 2  # silently


CAMERA = """\
  <link name="camera"><inertial><mass value="0.01"/>
    <inertia ixx="1e-6" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="screws" type="fixed"><parent link="upper"/><child link="camera"/></joint>
</robot>
"""


def test_links_that_are_fixed_to_each_other_are_judged_as_one_body(write):
    carried = read_urdf(write(ARM.replace("</robot>\n", CAMERA)), physical=True)
    assert carried.bodies[0].mass == 2.01
    heavy = CAMERA.replace('"1e-6"', '"1"')
    with pytest.raises(ModelError, match=r"link 'upper': mass = 2.01 kg.* links upper, camera"):
        read_urdf(write(ARM.replace("</robot>\n", heavy)), physical=True)


def test_what_does_not_move_is_not_judged(write):
    camera = CAMERA.replace('parent link="upper"', 'parent link="base"')
    on_the_ground = ARM.replace("</robot>\n", camera)
    assert read_urdf(write(on_the_ground), physical=True).bodies[0].mass == 2
    with pytest.raises(ModelError, match="link 'camera'"):
        read_urdf(write(on_the_ground), physical=True, base="free")


REPAIRS = {
    "the world": (
        [('  <link name="base"/>\n', ""), ('parent link="base"', 'parent link="world"')],
        "line 10: there is no <link> 'world'; it is taken to be the base",
    ),
    "no inertia": ([("<inertia ", "<tensor ")], "line 4: link 'upper' has no <inertia>; it is a"),
    "a prefix": (
        [("</robot>", "<drake:collision_filter_group/></robot>")],
        "line 18: prefixes of names that no namespace is declared for",
    ),
    "a prefix of an attribute": (
        [("<axis ", '<axis drake:of="x" ')],
        "line 14: prefixes of names that no namespace is declared for",
    ),
    "no version": ([("<robot ", "<?xml?><robot ")], "<?xml?> without a version"),
}


@pytest.mark.parametrize(("edits", "says"), REPAIRS.values(), ids=REPAIRS)
def test_a_mistake_that_others_pass_over_is_repaired_with_a_warning(write, edits, says):
    path = write(edited(ARM, *edits))
    with pytest.warns(appell.UrdfWarning) as told:
        model = read_urdf(path)
    assert model.nv == 1
    (warning,) = told
    assert str(warning.message).startswith(f"{path} is read with repairs: ")
    assert says in str(warning.message)


def test_an_undeclared_macro_is_refused(write):
    with pytest.raises(ModelError, match=r"urdf:1: <xacro:arm> is a macro"):
        read_urdf(write('<robot name="r"><xacro:arm/></robot>'))


def test_a_robot_is_read_from_text(write):
    expected = read_urdf(write(ARM))
    assert appell.load(ARM).model == expected
    assert appell.Robot.from_urdf(ARM).model == expected
    declared = '<?xml version="1.0" encoding="utf-16"?>' + ARM
    assert appell.load(declared).model == expected
    with pytest.raises(ModelError, match="text:1: robot '': <robot> has no name"):
        appell.load("<robot/>")
    with pytest.raises(ModelError, match=r"load\('<robot ...>'\).*its options are"):
        appell.load(ARM, colour="red")


def test_another_root_leaves_the_motion_what_it_is(write):
    """On a free base, energies do not depend on which link is the root."""
    path = write(TWO)
    robot, other = (appell.load(path, base="free", root=x) for x in ("upper", "fore"))
    assert other.link_names[0] == "fore"
    draw = np.random.default_rng(3)
    v = draw.normal(size=robot.nv)
    q = robot.random(draw)
    there = np.concatenate([_pose_of(robot.forward_kinematics(q, "fore")), q[7:]])
    J = robot.jacobian(q, "fore") @ v
    R = robot.forward_kinematics(q, "fore")[:3, :3]
    moving = np.concatenate([R.T @ J[:3], R.T @ J[3:], v[6:]])
    assert np.allclose(other.kinetic_energy(there, moving), robot.kinetic_energy(q, v))
    assert np.allclose(other.potential_energy(there), robot.potential_energy(q))
    with pytest.raises(ModelError, match="root = 'fork' is no link; did you mean 'fore'"):
        appell.load(path, root="fork")


def _pose_of(T):
    return np.concatenate([T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()])


# Robots that are no tree: the changes to TWO, and what the error says.
TREES = {
    "a joint twice": (
        [('"elbow"', '"shoulder"')],
        ":20: joint 'shoulder': the joint on line 10 has the same name; change one.",
    ),
    "two parents": (
        [('child link="fore"', 'child link="upper"')],
        ":20: joint 'elbow': its child, link 'upper', already hangs on joint 'shoulder' (line 10)",
    ),
    "two roots": (
        [("</robot>", '<link name="tool"/></robot>')],
        ":1: 'arm' has 2 root links (base",
    ),
    "a loop": (
        [('<parent link="base"/>', '<parent link="fore"/>')],
        ":1: 'arm': joints shoulder, elbow form a loop apart from 'base'",
    ),
    "a ring": (
        [('<parent link="base"/>', '<parent link="fore"/>'), ('  <link name="base"/>\n', "")],
        ":1: 'arm' has 0 root links (every link is a child)",
    ),
    "nothing moves": (
        [('"prismatic"', '"fixed"'), ('"revolute"', '"fixed"')],
        ":1: 'arm' has no moving joint",
    ),
}


@pytest.mark.parametrize(("edits", "says"), TREES.values(), ids=TREES)
def test_what_is_no_tree_of_moving_links_is_refused(write, edits, says):
    path = write(edited(TWO, *edits))
    with pytest.raises(ModelError) as refused:
        read_urdf(path)
    assert f"{path}{says}" in str(refused.value)


# Files that are no robot, and what the error says after the file's name.
FILES = {
    "empty": ("", ": the file has 0 bytes"),
    "blank": (" \n\n", ":3: cannot be read as XML"),
    "text": ("hello", ":1: cannot be read as XML"),
    "cut short": (ARM[:-20], ":17: cannot be read as XML"),
    "binary": (b"\x7fELF\x00\xff", ":1: cannot be read as XML"),
    "another format": ("\n<mujoco/>", ":2: the root element is <mujoco>; expected <robot>."),
    "no links": ('<robot name="r"/>', ":1: robot 'r': there is no <link>"),
    "macros": (
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">\n<xacro:arm/></robot>',
        ":2: <xacro:arm> is a macro; expand the file first",
    ),
    "document type": ("<!DOCTYPE robot>" + ARM, ": the file declares a document type"),
    "entity": (
        '<!DOCTYPE robot [<!ENTITY m "2">]>' + ARM.replace('"2"/>', '"&m;"/>'),
        ": the file declares a document type (<!DOCTYPE>), which may define entities",
    ),
    "deep": ("<a>" * 1000 + "</a>" * 1000, ":1: cannot be read as XML"),
}


@pytest.mark.parametrize(("text", "says"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_robot_is_refused(write, text, says):
    path = write(text)
    with pytest.raises(ModelError) as refused:
        read_urdf(path)
    assert f"{path}{says}" in str(refused.value)


@pytest.mark.parametrize("use", ["<a>&e9;</a>", '<a b="&e9;"/>'], ids=["text", "attribute"])
def test_entities_are_not_multiplied(write, use):
    """Nine entities, each ten of the one before: a gigabyte, if they were expanded."""
    chain = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    with pytest.raises(ModelError, match=r"document type|amplification"):
        read_urdf(write(f'<!DOCTYPE r [<!ENTITY e0 "{"x" * 10}">{chain}]><robot>{use}</robot>'))


def test_no_other_file_is_read(write, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("told")
    entity = f'<!DOCTYPE r [<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    with pytest.raises(ModelError, match="document type") as refused:
        read_urdf(write(f'{entity}<robot name="r"><link name="l">&s;</link></robot>'))
    assert "told" not in str(refused.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(ModelError, match=r"gone\.urdf: there is no such file; give the path"):
        appell.load(tmp_path / "gone.urdf")
    with pytest.raises(ModelError, match="this is a folder; give the path"):
        read_urdf(tmp_path)


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    with pytest.raises(ModelError, match="has 16777217 bytes; a robot's has some, and at most"):
        read_urdf(path)


def test_a_file_that_cannot_be_read_is_refused(write, monkeypatch):
    path = write(ARM)

    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(
        ModelError, match=r"robot\.urdf: the file cannot be read: Permission denied"
    ):
        read_urdf(path)


def test_a_path_with_odd_characters_is_named_as_it_is(tmp_path):
    path = tmp_path / "my rôbot #1 100%.urdf"
    path.write_text(edited(ARM, (' name="arm"', "")), encoding="utf-8")
    with pytest.raises(ModelError) as refused:
        read_urdf(path)
    assert str(refused.value).startswith(f"{path}:1: ")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_the_encoding_is_the_one_declared(write, encoding):
    text = ARM.replace("shoulder", "épaule")
    declared = f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding)
    assert [j.name for j in read_urdf(write(declared)).joints] == ["épaule"]
