"""The library's mechanisms: inverse kinematics, shapes, side files, and MuJoCo's opinion."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.model.axes import as_array

ROOT = Path(__file__).parents[3]


def poses(n, seed):
    draw = np.random.default_rng(seed)
    T = np.tile(np.eye(4), (n, 1, 1))
    T[:, :3, 3] = [0, 0, 0.7] + draw.uniform(-0.1, 0.1, (n, 3))
    T[:, :3, :3] = Rotation.from_rotvec(draw.uniform(-0.2, 0.2, (n, 3))).as_matrix()
    return T


def test_a_stewart_platform_reaches_poses():
    robot, T = appell.load("stewart_gough"), poses(5, 0)
    q = robot.inverse_kinematics(T)
    assert q.shape == (5, 25)
    assert np.abs(robot.closure(q)).max() < 1e-14
    assert np.abs(robot.forward_kinematics(q) - T).max() < 1e-14
    legs = q[:, robot.coordinates()]
    # Leg 1 by hand: from its foot to its hip.
    foot = 0.6 * np.array([np.cos(np.radians(-12)), np.sin(np.radians(-12)), 0])
    hip = 0.35 * np.array([np.cos(np.radians(-48)), np.sin(np.radians(-48)), 0])
    there = T[:, :3, :3] @ hip + T[:, :3, 3]
    assert np.abs(legs[:, 0] - np.linalg.norm(there - foot, axis=1)).max() < 1e-14


def test_a_delta_reaches_points_and_stays_level():
    robot = appell.load("delta")
    points = [[0.0, 0.0, -0.5], [0.1, -0.05, -0.55], [-0.1, 0.12, -0.45]]
    q = robot.inverse_kinematics(points)
    assert np.abs(robot.closure(q)).max() < 1e-14
    T = robot.forward_kinematics(q)
    assert np.abs(T[:, :3, 3] - points).max() < 1e-15
    assert np.abs(T[:, :3, :3] - np.eye(3)).max() < 1e-15
    assert np.ptp(q[0, robot.coordinates()]) < 1e-12  # the three arms alike in the middle
    with pytest.raises(appell.InputError, match="out of reach"):
        robot.inverse_kinematics([0.0, 0.0, -2.0])


def test_planar_mechanisms_reach_with_any_elbow():
    five, three, four = (appell.load(x) for x in ("five_bar", "planar_3rrr", "four_bar"))
    for elbows in ([-1, 1], [1, 1], [-1, -1], [1, -1]):
        q = five.inverse_kinematics([[0.1, 0.5], [0.2, 0.45]], elbows=elbows)
        assert np.abs(five.closure(q)).max() < 1e-14
        assert (
            np.abs(five.forward_kinematics(q)[:, :2, 3] - [[0.1, 0.5], [0.2, 0.45]]).max() < 1e-14
        )
    for elbows in (1, -1, [1, -1, 1]):
        q = three.inverse_kinematics([0.03, -0.02, 0.2], elbows=elbows)
        assert np.abs(three.closure(q)).max() < 1e-14
        T = three.forward_kinematics(q)
        assert np.allclose([*T[:2, 3], np.arctan2(T[1, 0], T[0, 0])], [0.03, -0.02, 0.2])
    for elbows in (1, -1):
        q = four.inverse_kinematics([1.8, 2.0], elbows=elbows)
        assert np.abs(four.closure(q)).max() < 1e-14
        assert (q[:, 2] == [1.8, 2.0]).all()
    with pytest.raises(
        appell.InputError, match=r"bars of 0.3 and 0.45 m reach from 0.15 to 0.75 m"
    ):
        five.inverse_kinematics([3.0, 0.0])
    with pytest.raises(appell.InputError, match="elbows"):
        five.inverse_kinematics([0.1, 0.5], elbows=2)
    with pytest.raises(appell.InputError, match="no inverse kinematics"):
        appell.load("snakeboard").inverse_kinematics([0.0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("four_bar", {"crank": -1.0}), ("five_bar", {"arm": 0}), ("delta", {"mass": "heavy"}),
        ("stewart_gough", {"spread": 70.0}), ("rolling_disc", {"radius": 0.0}),
        ("four_bar", {"lever": 1.0}), ("four_bar", {"ground": 9.0}), ("five_bar", {"ground": 9.0}),
    ],
)  # fmt: skip
def test_impossible_dimensions_are_refused(name, options):
    with pytest.raises(appell.AppellError, match=name):
        appell.load(name, **options)


# MuJoCo's joints between sites are soft: at rest, its accelerations follow to their softness.


def mujoco_xml(model, sites, pairs):
    """An MJCF of the model's bodies with points joined."""

    def text(x):
        return " ".join(repr(float(v)) for v in x)

    def quat(R):
        return text(np.roll(Rotation.from_matrix(as_array(R)).as_quat(), 1))

    def element(i):
        b = model.bodies[i]
        I = b.inertia
        xx, xy, yy, xz, yz, zz = I.central
        inner = f'<joint name="{b.joint.name}" type="hinge" axis="0 0 1"/>'
        # A slender bar has no moment about itself, which MuJoCo refuses.
        inner += f'<inertial mass="{float(I.mass)!r}" pos="{text(I.com)}" '
        inner += f'fullinertia="{text([xx + 1e-9, yy + 1e-9, zz, xy, xz, yz])}"/>'
        inner += "".join(f'<site name="{name}" pos="{text(p)}"/>' for name, k, p in sites if k == i)
        inner += "".join(element(k) for k, c in enumerate(model.bodies) if c.parent == i)
        place = f'pos="{text(b.s0)}" quat="{quat(b.rotation(b.shift))}"'
        return f'<body name="{b.name}" {place}>{inner}</body>'

    roots = "".join(element(i) for i, b in enumerate(model.bodies) if b.parent == -1)
    joined = "".join(
        f'<connect site1="{a}" site2="{b}" solref="0.004 1" solimp="0.99999 0.99999 0.001 0.5 2"/>'
        for a, b in pairs
    )
    return (
        '<mujoco><compiler angle="radian" inertiafromgeom="false" balanceinertia="false"/>'
        f'<option gravity="{text(model.gravity)}" tolerance="1e-15" iterations="500"/>'
        f"<worldbody>{roots}</worldbody><equality>{joined}</equality></mujoco>"
    )


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_mujoco_accelerates_alike_from_rest(name):
    robot = appell.load(name)
    (loop,) = robot.constraints
    sites, pair = [], []
    for label, place in (("a", loop.a), ("b", loop.b)):
        frame = place.on(robot.model)
        sites.append((label, frame.body, frame.s))
        pair.append(label)
    other = mujoco.MjModel.from_xml_string(mujoco_xml(robot.model, sites, [pair]))
    data = mujoco.MjData(other)
    q = robot.reference
    tau = 0.3 * np.arange(1.0, robot.nv + 1)
    order = [other.joint(joint).dofadr[0] for joint in robot.joint_names]
    data.qpos[order] = q
    data.qfrc_applied[[order[k] for k in robot.mechanism.actuated]] = tau
    mujoco.mj_forward(other, data)
    expected = data.qacc[order]
    still = np.zeros(robot.nv)
    found = robot.accelerations(q, still, robot.forward_dynamics(q, still, tau))
    assert np.abs(found - expected).max() < 1e-3 * np.abs(expected).max()


# A file of loops beside a URDF

URDF = """
<robot name="linkage">
  <link name="ground"/>
  {links}
  <joint name="crank" type="continuous">
    <parent link="ground"/><child link="crank"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="coupler" type="continuous">
    <origin xyz="0.3 0 0"/><parent link="crank"/><child link="coupler"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="rocker" type="continuous">
    <origin xyz="0.9 0 0"/><parent link="ground"/><child link="rocker"/><axis xyz="0 0 1"/>
  </joint>
</robot>
"""
LINK = """<link name="{name}"><inertial><origin xyz="{middle} 0 0"/><mass value="{mass}"/>
<inertia ixx="1e-9" ixy="0" ixz="0" iyy="{across}" iyz="0" izz="{across}"/></inertial></link>"""

LOOPS = {
    "actuated": ["crank"],
    "guess": {"crank": 1.0, "rocker": 2.0},
    "loop": [
        {
            "kind": "revolute",
            "a": {"link": "rocker", "position": [0.7, 0, 0]},
            "b": {"link": "coupler", "position": [0.8, 0, 0], "axis": [0, 0, 1]},
        }
    ],
}

TOML = """
actuated = ["crank"]
guess = {crank = 1.0, rocker = 2.0}

[[loop]]
kind = "revolute"
a = {link = "rocker", position = [0.7, 0, 0]}
b = {link = "coupler", position = [0.8, 0, 0], axis = [0, 0, 1]}
"""


@pytest.fixture
def urdf(tmp_path):
    bars = {"crank": 0.3, "coupler": 0.8, "rocker": 0.7}
    links = "".join(
        LINK.format(name=k, middle=x / 2, mass=2 * x, across=2 * x * x * x / 12)
        for k, x in bars.items()
    )
    path = tmp_path / "linkage.urdf"
    path.write_text(URDF.format(links=links))
    return path


def test_a_urdf_is_closed_by_a_side_file(urdf, tmp_path):
    (tmp_path / "loops.toml").write_text(TOML)
    (tmp_path / "loops.json").write_text(json.dumps(LOOPS))
    gravity = (0, -9.81, 0)
    library = appell.load("four_bar")
    q, v = library.random_states(3, seed=0)
    for name in ("loops.toml", "loops.json"):
        robot = appell.load(urdf, loops=tmp_path / name, gravity=gravity)
        assert robot.independent == robot.actuated == ("crank",)
        found = robot.inverse_dynamics(q, v, v)
        assert np.abs(found - library.inverse_dynamics(q, v, v)).max() < 1e-12


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"loop": [{**LOOPS["loop"][0], "kind": "welded"}]}, r"loop\[1\].kind = \"welded\""),
        ({"loop": [{**LOOPS["loop"][0], "aa": 1}]}, r"loop\[1\].aa: no such entry; did you mean"),
        ({"loop": [{"kind": "revolute", "a": {"link": "rocker"}}]}, r"loop\[1\].b: missing"),
        ({"loop": []}, "there is no loop"),
        ({"loops": []}, r"loops: no such entry; did you mean 'loop'"),
        ({"guess": {"lever": 1.0}}, "names joint 'lever'"),
        ({"guess": {"crank": "one"}}, "guess.crank"),
        ({"actuated": ["lever"]}, "actuated names joint 'lever'"),
        ({"rolling": [{"wheel": {"link": "crank"}, "radius": -1.0}]}, "radius"),
    ],
)
def test_what_is_wrong_with_a_side_file_is_said(urdf, tmp_path, change, says):
    path = tmp_path / "loops.json"
    path.write_text(json.dumps({**LOOPS, **change}))
    with pytest.raises(appell.ModelError, match=says) as problem:
        appell.load(urdf, loops=path)
    assert "loops.json" in str(problem.value)


def test_side_files_that_cannot_be_read_are_named(urdf, tmp_path):
    with pytest.raises(appell.ModelError, match=r"nothing\.toml': No such file"):
        appell.load(urdf, loops=tmp_path / "nothing.toml")
    (tmp_path / "loops.toml").write_text("[[loop")
    with pytest.raises(appell.ModelError, match="is not TOML"):
        appell.load(urdf, loops=tmp_path / "loops.toml")
    (tmp_path / "loops.yaml").write_text("")
    with pytest.raises(appell.ModelError, match=r"\.toml and \.json"):
        appell.load(urdf, loops=tmp_path / "loops.yaml")


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/closed_*.py")), ids=lambda p: p.stem)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
