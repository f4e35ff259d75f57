"""Robots made from others: locked, attached, with frames added; in agreement with Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from batches import evaluate
from kinds_of_joints import described as trees

import appell
from appell.model import configuration, edit
from appell.model.build import assemble
from appell.model.edit import described
from appell.model.library.example_robots import example_file
from appell.model.library.random import random_description, random_inertia, random_tree
from appell.model.model import FREE
from appell.simulation.contacts.points import contact_points

CLOSE = 1e-11  # rounding, relative to the largest


def close(found, expected):
    return np.abs(found - expected).max() <= CLOSE * max(np.abs(expected).max(), 1e-3)


def states(model, count=3, seed=0):
    draw = np.random.default_rng(seed)
    q = configuration.random(model, draw, (count,), limited=False)
    return q, *draw.normal(size=(2, count, model.nv))


@pytest.mark.parametrize("name", ["panda", "talos", "tiago_no_hand", "anymal"])
def test_a_model_taken_apart_and_put_together_is_the_same(name):
    model = appell.load(name, physical=False).model
    again = described(model).assembled(model)
    assert [f.name for f in again.frames] == [f.name for f in model.frames]
    assert again.joints == model.joints
    q, v, a = states(model)
    before, after = (evaluate(x, "inverse_dynamics", q, v, a) for x in (model, again))
    assert close(after, before)
    for link in [f.name for f in model.frames][::7]:
        poses = (evaluate(x, "forward_kinematics", q, frame=link) for x in (model, again))
        assert np.allclose(*poses, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_trees_of_every_kind_of_joint_are_put_together_again_and_locked(seed):
    """A locked robot has the energies of the whole one, whose locked joints stand still."""
    links, hinges = trees(3 + seed % 4, seed)
    links["base"] = random_inertia(np.random.default_rng(seed))
    model = assemble(f"kinds {seed}", links, hinges, base=("fixed", "free")[seed % 2])
    q, v, a = states(model)
    again = described(model).assembled(model)
    before, after = (evaluate(x, "inverse_dynamics", q, v, a) for x in (model, again))
    assert close(after, before)
    spans = {}  # of each joint, its places in q and v
    for name in dict.fromkeys(h.joint.name for h in hinges if h.joint):
        v_places = [k for k, j in enumerate(model.joints) if j.name.split(" ")[0] == name]
        q_places = [model.place(k) for k in v_places]
        compound = next((c for c in model.compounds if c.name == name), None)
        if compound:
            start = compound.speed + sum(c.speed < compound.speed for c in model.compounds)
            q_places = [*range(start, start + compound.size + 1)]
        spans[name] = q_places, v_places
    names = [*spans][::2]
    if len(names) == len(spans) and not model.free:
        return  # nothing would move
    q[:] = q[0]
    held = {x: q[0, i] if len(i) > 1 else q[0, i[0]] for x, (i, _) in spans.items() if x in names}
    less = edit.locked(model, held)
    gone_q = [k for x in names for k in spans[x][0]]
    gone_v = [k for x in names for k in spans[x][1]]
    v[:, gone_v] = 0
    here, there = np.delete(q, gone_q, axis=1), np.delete(v, gone_v, axis=1)
    T = evaluate(model, "kinetic_energy", q, v), evaluate(less, "kinetic_energy", here, there)
    assert close(*T)
    g = evaluate(model, "gravity", q), evaluate(less, "gravity", here)
    assert close(np.delete(g[0], gone_v, axis=1), g[1])


@pytest.mark.filterwarnings("ignore:locked")  # beyond limits
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", ["ur5", "talos_arm", "solo12"])
def test_a_locked_robot_is_pinocchios_reduced_model(name, base):
    robot = appell.load(name, base=base, physical=False)
    n = FREE if base == "free" else 0
    joints = robot.joint_names[n:]
    held = {joint: 0.3 * (k + 1) for k, joint in enumerate(joints) if k % 2}
    flyer = (pinocchio.JointModelFreeFlyer(),) if n else ()
    whole = pinocchio.buildModelFromUrdf(str(example_file(name)), *flyer)
    there = pinocchio.neutral(whole)
    for joint, value in held.items():
        there[whole.joints[whole.getJointId(joint)].idx_q] = value
    other = pinocchio.buildReducedModel(whole, [whole.getJointId(x) for x in held], there)
    model = robot.locked(held).model
    left = tuple(x for x in joints if x not in held)
    assert tuple(j.name for j in model.joints[n:]) == left
    iv = [*range(n), *(other.joints[other.getJointId(x)].idx_v for x in left)]
    q, v, a = states(model)
    data = other.createData()
    for i in range(len(q)):
        x, y, z = np.empty(other.nq), np.empty(other.nv), np.empty(other.nv)
        x[[*range(7)] * (n > 0) + [k + (n > 0) for k in iv[n:]]] = q[i]
        y[iv], z[iv] = v[i], a[i]
        wanted = pinocchio.rnea(other, data, x, y, z)[iv]
        assert close(evaluate(model, "inverse_dynamics", q[[i]], v[[i]], a[[i]])[0], wanted)


def test_joints_that_mimic_are_locked_with_their_leader():
    panda = appell.load("panda")
    held = panda.locked({"panda_finger_joint1": 0.02})
    assert held.nv == 7
    q = np.linspace(-1, 1, 7)
    for link in ("panda_leftfinger", "panda_rightfinger"):
        pose = panda.forward_kinematics([*q, 0.02], link)
        assert np.allclose(held.forward_kinematics(q, link), pose, rtol=0, atol=1e-14)


def test_balls_and_free_bases_are_locked_by_quaternions():
    build = appell.Builder("kite", base="free").link("a", appell.inertia.box(1, (1, 2, 3)))
    build.link("b", appell.inertia.box(1, (1, 2, 3))).link("c", appell.inertia.box(1, (3, 2, 1)))
    build.joint("ball", "spherical", "a", "b", (0, 0, 1)).joint(
        "turn", "revolute", "b", "c", (1, 1, 1)
    )
    robot = build.robot()
    q = robot.random(2)
    held = robot.locked({"ball": q[7:11], "free": q[:7]})
    assert held.joint_names == ("turn",)
    pose = robot.forward_kinematics(q, "c")
    assert np.allclose(held.forward_kinematics(q[11:], "c"), pose, rtol=0, atol=1e-14)
    energies = (held.potential_energy([x]) - held.potential_energy([0.0]) for x in (0.5, 1.0))
    base = np.array([[*q[:11], x] for x in (0.0, 0.5, 1.0)])
    wanted = robot.potential_energy(base)
    assert np.allclose([*energies], wanted[1:] - wanted[0])


def test_what_cannot_be_locked_is_refused_by_name():
    panda = appell.load("panda")
    for positions, says in (
        ({"panda_joint9": 0}, "no joint 'panda_joint9' to lock; .*Did you mean 'panda_joint"),
        ({"panda_finger_joint2": 0}, "mimics 'panda_finger_joint1'; lock that one"),
        ({"panda_joint1": "far"}, "joint 'panda_joint1' at 'far'; expected a finite number"),
        (["panda_joint1"], "expected positions by joint"),
    ):
        with pytest.raises(appell.InputError, match=says):
            panda.locked(positions)
    anymal = appell.load("anymal")
    with pytest.raises(appell.InputError, match="joint 'free' is locked as a whole"):
        anymal.locked({"free x": 0})
    with pytest.raises(appell.InputError, match="expected a position and a quaternion"):
        anymal.locked({"free": (0, 0, 0)})
    with pytest.raises(appell.InputError, match="has loops: locked changes a tree"):
        appell.load("four_bar").locked({})


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_an_attached_robot_is_pinocchios_appended_model(base):
    """The arm's base has mass, which counts where it is carried."""
    pose = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    solo = appell.load("solo12", base=base)
    whole = solo.attached(appell.load("xarm7"), "base_link", pose, prefix="arm_")
    assert whole.joint_names == (
        *solo.joint_names,
        *(f"arm_{x}" for x in appell.load("xarm7").joint_names),
    )
    flyer = (pinocchio.JointModelFreeFlyer(),) if base == "free" else ()
    a = pinocchio.buildModelFromUrdf(str(example_file("solo12")), *flyer)
    b = pinocchio.buildModelFromUrdf(str(example_file("xarm7")))
    place = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.4, 0.5, 0.6), np.array([0.1, 0.2, 0.3]))
    on = a.getFrameId("base_link", pinocchio.FrameType.BODY)
    other = pinocchio.appendModel(a, b, on, place)
    n = FREE if base == "free" else 0
    names = [x.removeprefix("arm_") for x in whole.joint_names[n:]]
    joints = [other.joints[other.getJointId(x)] for x in names]
    q, v, acceleration = states(whole.model)
    data = other.createData()
    for x, y, z in zip(q, v, acceleration, strict=True):
        there = [np.empty(other.nq), *np.empty((2, other.nv))]
        iq = [*range(n + (n > 0)), *(j.idx_q for j in joints)]
        iv = [*range(n), *(j.idx_v for j in joints)]
        there[0][iq], there[1][iv], there[2][iv] = x, y, z
        wanted = pinocchio.rnea(other, data, *there)[iv]
        found = evaluate(whole.model, "inverse_dynamics", x[None], y[None], z[None])[0]
        assert close(found, wanted)


def test_an_arm_with_a_hand_has_the_hands_tip_and_keeps_its_names():
    arm, hand = appell.load("ur5"), appell.load("two_link")
    both = arm.attached(hand, "tool0", prefix="hand_")
    assert both.nv == 8
    assert both.model.tip is None  # the UR5's file has several
    with pytest.raises(appell.ModelError, match=r"both have .*; give the names .* a prefix"):
        hand.attached(hand)
    twice = hand.attached(hand, pose=(0, 0, 1), prefix="second_")
    assert twice.model.tip == f"second_{hand.model.tip}"
    q = np.array([0.1, 0.2, 0.3, 0.4])
    step = np.eye(4)
    step[2, 3] = 1
    pose = hand.forward_kinematics(q[:2]) @ step @ hand.forward_kinematics(q[2:])
    assert np.allclose(twice.forward_kinematics(q), pose, rtol=0, atol=1e-14)
    with pytest.raises(appell.InputError, match="expected a robot without loops"):
        hand.attached(appell.load("four_bar"))


def test_an_armature_is_inertia_at_the_joint():
    ur5 = appell.load("ur5")
    geared = ur5.with_armature({"elbow_joint": 0.4})
    q, v, a = states(ur5.model)
    before, after = (evaluate(x.model, "inverse_dynamics", q, v, a) for x in (ur5, geared))
    k = ur5.joint_names.index("elbow_joint")
    assert np.allclose(after - before, np.where(np.arange(6) == k, 0.4 * a, 0))
    with pytest.raises(appell.InputError, match="no joint 'elbow' that can have a rotor"):
        ur5.with_armature({"elbow": 1})
    with pytest.raises(appell.ModelError, match="rotor = -1"):
        ur5.with_armature({"elbow_joint": -1})


def test_a_robot_is_printed_as_a_table():
    build = appell.Builder("it", base="free").link("a", mass=2).link("b", mass=1).link("c", mass=1)
    build.link("d", mass=1).link("e").joint("ball", "spherical", "a", "b")
    build.joint("screw", "helical", "b", "c", pitch=0.1, limits=(-1, 2), speed=3, effort=4)
    build.joint("slide", "prismatic", "c", "d", mimic=("screw", 0.5)).joint("w", "fixed", "d", "e")
    lines = [line.split() for line in str(build.robot()).splitlines()]
    assert lines[0][:5] == ["it:", "free", "base,", "12", "coordinates,"]
    assert lines[2:] == [
        ["0-6", "free", "free", "a", "2"],
        ["7-10", "ball", "spherical", "a", "b", "1"],
        [
            *["11", "screw", "helical", "0.1", "m/rad", "-1", "..", "2", "rad", "3", "rad/s"],
            "4",
            "N",
            "m",
            "b",
            "c",
            "1",
        ],
        ["slide", "prismatic,", "0.5", "screw", "+", "0", "c", "d", "1", "e"],
    ]
    assert repr(build.robot()) == "<Robot it: 10 joints, 5 links>"


# Frames


def test_a_frame_stands_for_a_link():
    ur5 = appell.load("ur5")
    pose = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    frame = appell.Frame("tool0", pose)
    named = ur5.with_frame("pen", "tool0", pose)
    assert named.link_names == (*ur5.link_names, "pen")
    q = np.linspace(-1, 1, 6)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pinocchio.rpy.rpyToMatrix(0.4, 0.5, 0.6), pose[:3]
    expected = ur5.forward_kinematics(q, "tool0") @ T
    assert np.allclose(ur5.forward_kinematics(q, frame), expected, rtol=0, atol=1e-15)
    assert np.allclose(named.forward_kinematics(q, "pen"), expected, rtol=0, atol=1e-15)
    assert np.array_equal(ur5.jacobian(q, frame), named.jacobian(q, "pen"))
    assert ur5.kernel("jacobian", frame=frame) is ur5.kernel("jacobian", frame=frame)
    again = appell.control.inverse_kinematics(named, expected, q + 0.1, frame="pen")
    assert np.allclose(named.forward_kinematics(again, "pen"), expected, atol=1e-8)
    with pytest.raises(appell.ModelError, match="has no link 'tool9'"):
        ur5.jacobian(q, appell.Frame("tool9"))
    with pytest.raises(appell.InputError, match="has a frame 'tool0' already"):
        ur5.with_frame("tool0", "tool0")


def test_an_added_frame_may_touch_a_wall(tmp_path):
    arm = appell.load("ur5").with_frame("tool", "tool0", (0.1, 0, 0))
    floor = appell.walls.Plane((0, 0, 1), -2.0)
    still = np.zeros(6)
    run = appell.simulate(arm, still, still, until=0.05, walls=[floor], points=["tool"])
    assert run.stopped is None
    again = appell.load(arm.to_urdf(tmp_path / "arm.urdf"))
    assert "tool" in again.link_names


def test_points_that_touch_walls_may_be_frames():
    """A free box falls on its corners alone; links' origins are not among the points."""
    size = np.array([0.2, 0.3, 0.4])
    build = appell.Builder("box", base="free").link("box", appell.inertia.box(1.0, size))
    corners = [appell.Frame("box", size / 2 * (x, y, -1)) for x in (-1, 1) for y in (-1, 1)]
    model = build.robot().model
    assert [p.s for p in contact_points(model, corners)] == [c.position for c in corners]
    assert [p.name for p in contact_points(model, corners[0])] == [str(corners[0])]
    assert contact_points(model, {"foot": corners[0]})[-1].name == "foot"


def test_the_grounds_mass_is_kept_for_what_carries_it(tmp_path):
    """A fixed base's inertia takes part in nothing, until the robot is carried or written."""
    links, hinges = random_description(4, 1, branching=0.3, prismatic=0.3, fixed=0.2,
                                       rotors=False, friction=False)  # fmt: skip
    links["base"] = random_inertia(np.random.default_rng(1))
    fixed, free = (assemble("it", links, hinges, base=x) for x in ("fixed", "free"))
    back = appell.load(appell.Robot(fixed).to_urdf(tmp_path / "it.urdf"), base="free").model
    q, v, a = states(free)
    forces = (evaluate(x, "inverse_dynamics", q, v, a) for x in (free, back))
    assert close(*forces)
    assert random_tree(3).ground.mass == 0
