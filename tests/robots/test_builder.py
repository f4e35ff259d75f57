"""Robots built in code: as others describe them, and refused by name where they cannot be."""

from __future__ import annotations

from math import inf

import numpy as np
import pinocchio
import pytest
from batches import evaluate

import appell
from appell.model import configuration

CLOSE = 1e-12  # rounding, relative to the largest
LINKS = tuple("abcdef")


def built(base="fixed"):
    """A tree with joints of every kind."""
    build = appell.Builder("all", base=base, gravity=(1, 2, -9))
    body = appell.inertia.box(2.0, (0.1, 0.2, 0.3), com=(0.1, 0.0, -0.1), rpy=(0.3, 0.1, 0.2))
    for name in ("root", *LINKS, *"ghi"):
        build.link(name, body)
    place = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    build.joint("turn", "revolute", "root", "a", place, "-y", limits=(-1, 2), armature=0.1)
    build.joint("more", "continuous", "a", "b", place, (1, 2, 3), viscous=0.2, coulomb=0.3)
    build.joint("slide", "prismatic", "b", "c", place, speed=3, effort=4)
    build.joint("screw", "helical", "c", "d", place, "x", pitch=0.1)
    build.joint("weld", "fixed", "d", "e", place)
    build.joint("cardan", "universal", "e", "f", place)
    build.joint("tube", "cylindrical", "a", "g", place, (0, 1, 1), limits=[(-1, 1), (0, 1)])
    build.joint("ball", "spherical", "b", "h", place)
    build.joint("fly", "free", "root", "i", place)
    return build


def in_pinocchio(base):
    body = pinocchio.Inertia.FromBox(2.0, 0.1, 0.2, 0.3)
    body = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.3, 0.1, 0.2), np.array([0.1, 0, -0.1])).act(
        body
    )
    place = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.4, 0.5, 0.6), np.array([0.1, 0.2, 0.3]))
    here = pinocchio.SE3.Identity()
    model = pinocchio.Model()
    model.gravity.linear = np.array([1.0, 2, -9])
    root = model.addJoint(0, pinocchio.JointModelFreeFlyer(), here, "free") if base == "free" else 0
    if root:
        model.appendBodyToJoint(root, body, here)
    y, one, slant = (
        np.array([0.0, -1, 0]),
        np.array([1.0, 2, 3]) / 14**0.5,
        np.array([0, 1, 1]) / 2**0.5,
    )
    a = model.addJoint(root, pinocchio.JointModelRevoluteUnaligned(y), place, "turn")
    b = model.addJoint(a, pinocchio.JointModelRevoluteUnaligned(one), place, "more")
    c = model.addJoint(b, pinocchio.JointModelPZ(), place, "slide")
    d = model.addJoint(c, pinocchio.JointModelHX(0.1), place, "screw")
    f = model.addJoint(
        d, pinocchio.JointModelUniversal(np.eye(3)[0], np.eye(3)[1]), place * place, "cardan"
    )
    h = model.addJoint(b, pinocchio.JointModelSpherical(), place, "ball")
    tube = pinocchio.JointModelComposite()
    tube.addJoint(pinocchio.JointModelRevoluteUnaligned(slant), here)
    tube.addJoint(pinocchio.JointModelPrismaticUnaligned(slant), here)
    g = model.addJoint(a, tube, place, "tube")
    i = model.addJoint(root, pinocchio.JointModelFreeFlyer(), place, "fly")
    for joint in (a, b, c, d, f, g, h, i):
        model.appendBodyToJoint(joint, body, here)
    model.appendBodyToJoint(d, body, place)
    model.armature[model.joints[a].idx_v] = 0.1
    return model


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_robot_with_joints_of_every_kind_moves_as_pinocchios(base):
    model, other = built(base).robot().model, in_pinocchio(base)
    names = ["free"] * (base == "free") + [
        "turn", "more", "slide", "screw", "cardan", "tube", "ball", "fly"
    ]  # fmt: skip
    iq, iv = [], []
    for name in names:
        joint = other.joints[other.getJointId(name)]
        iq += range(joint.idx_q, joint.idx_q + joint.nq)
        iv += range(joint.idx_v, joint.idx_v + joint.nv)
    draw = np.random.default_rng(0)
    q = configuration.random(model, draw, (3,), limited=False)
    v, a = draw.normal(size=(2, 3, model.nv))
    data, wanted = other.createData(), []
    for x, y, z in zip(q, v, a, strict=True):
        there = [np.empty(other.nq), *np.empty((2, other.nv))]
        there[0][iq], there[1][iv], there[2][iv] = x, y, z
        wanted.append(pinocchio.rnea(other, data, *there)[iv])
    found = evaluate(model, "inverse_dynamics", q, v, a)
    assert np.abs(found - wanted).max() < CLOSE * np.abs(wanted).max()


def test_joints_have_their_limits_and_drives():
    joints = {j.name: j for j in built().robot().model.joints}
    assert (joints["turn"].lower, joints["turn"].upper, joints["turn"].reflected) == (-1, 2, 0.1)
    assert (joints["more"].viscous, joints["more"].coulomb) == (0.2, 0.3)
    assert (joints["slide"].speed, joints["slide"].effort, joints["slide"].upper) == (3, 4, inf)
    assert (joints["tube turn"].lower, joints["tube slide"].lower) == (-1, 0)


def test_a_planar_joint_and_one_that_mimics():
    build = appell.Builder("table").link("plate", mass=1).link("arm", mass=1, com=(1, 0, 0))
    build.link("tool", mass=1, com=(1, 0, 0))
    build.joint("on", "planar", "world", "plate", axis="z").joint("arm", "revolute", "plate", "arm")
    build.joint("tool", "revolute", "arm", "tool", (1, 0, 0), mimic=("arm", -2, 0.5))
    robot = build.robot(tip="tool", points=["tool"])
    assert robot.joint_names == ("on x", "on y", "on turn", "arm")
    pose = robot.forward_kinematics([0.1, 0.2, 0.3, 0.4])
    angle = 0.3 + 0.4 - 2 * 0.4 + 0.5
    assert np.allclose(pose[:3, 0], [np.cos(angle), np.sin(angle), 0])
    assert np.allclose(pose[:2, 3], [0.1 + np.cos(0.7), 0.2 + np.sin(0.7)])


def test_poses_are_written_in_any_way():
    R = pinocchio.rpy.rpyToMatrix(0.4, 0.5, 0.6)
    place = pinocchio.SE3(R, np.array([0.1, 0.2, 0.3]))
    quaternion = pinocchio.Quaternion(R).coeffs()
    found = []
    for pose in (
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), place.homogeneous, place, [*place.translation, *quaternion]
    ):  # fmt: skip
        build = appell.Builder().link("a", mass=1, com=(1, 0, 0))
        found.append(
            build.joint("j", "revolute", "world", "a", pose).robot().forward_kinematics([0])
        )
    assert np.allclose(found, place.homogeneous, rtol=0, atol=1e-15)


# What is added after a link "a", and what the error says.
ENDS = ("world", "a")
MISTAKES = {
    "no link": (
        lambda b: b.joint("j", "revolute", "world", "hand").robot(),
        "joint 'j' names link",
    ),
    "a twin": (lambda b: b.link("a"), "there is a link 'a' already"),
    "a twin joint": (
        lambda b: b.joint("j", "fixed", *ENDS).joint("j", "fixed", "a", "b"),
        "there is a joint 'j' already",
    ),
    "a kind": (lambda b: b.joint("j", "hinge", *ENDS), "joint 'j': kind = 'hinge'; expected"),
    "an axis": (lambda b: b.joint("j", "revolute", *ENDS, axis="w"), "axis = 'w'; expected x"),
    "a zero axis": (lambda b: b.joint("j", "revolute", *ENDS, axis=(0, 0, 0)), "expected x, y"),
    "a pose": (lambda b: b.joint("j", "fixed", *ENDS, (1, 2)), "joint 'j': pose = .* expected a"),
    "no rotation": (
        lambda b: b.joint("j", "fixed", *ENDS, 2 * np.eye(4)),
        "joint 'j': .* is no pose",
    ),
    "a limit": (
        lambda b: b.joint("j", "revolute", *ENDS, limits=3),
        "limits = 3; expected .lower, upper",
    ),
    "limits": (lambda b: b.joint("j", "universal", *ENDS, limits=(0, 1)), "expected .lower"),
    "limits exchanged": (
        lambda b: b.joint("j", "revolute", *ENDS, limits=(1, 0)),
        "joint 'j': lower limit 1",
    ),
    "no pitch": (lambda b: b.joint("j", "helical", *ENDS), "joint 'j'.* has a pitch"),
    "a pitch": (lambda b: b.joint("j", "revolute", *ENDS, pitch=1), "has no pitch"),
    "a ball's limits": (lambda b: b.joint("j", "spherical", *ENDS, limits=(0, 1)), "takes neither"),
    "both": (lambda b: b.joint("j", "revolute", *ENDS, armature=1, rotor=1), "give either arm"),
    "friction": (lambda b: b.joint("j", "revolute", *ENDS, viscous=-1), "joint 'j': viscous = -1"),
    "a word": (lambda b: b.joint("j", "revolute", *ENDS, viscous="much"), "expected a number"),
    "mimic": (lambda b: b.joint("j", "planar", *ENDS, mimic="k"), "which mimic no other"),
    "no leader": (
        lambda b: b.joint("j", "revolute", *ENDS, mimic="k").robot(),
        "joint 'j' mimics 'k'",
    ),
    "no body": (
        lambda b: b.link("c", mass=1, inertia=(1, 1, 3)).joint("j", "free", "a", "c").robot(),
        "link 'c': .*triangle inequality",
    ),
    "no inertia": (lambda b: b.link("c", (1, 2, 3)), "link 'c': .* is no inertia"),
    "a tip": (lambda b: b.joint("j", "revolute", *ENDS).robot(tip="x"), "there is no link 'x'"),
}


@pytest.mark.parametrize(("mistake", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_by_name(mistake, says):
    with pytest.raises(appell.AppellError, match=says):
        mistake(appell.Builder("it").link("a", mass=1))


# Inertias of solids


def ten(inertia):
    return np.array(inertia.parameters, dtype=float)


def pinocchio_ten(body):
    return body.toDynamicParameters()


def test_solids_are_pinocchios():
    of, pin = appell.inertia, pinocchio.Inertia
    for ours, theirs in (
        (of.box(2, (0.1, 0.2, 0.3)), pin.FromBox(2, 0.1, 0.2, 0.3)),
        (of.sphere(2, 0.3), pin.FromSphere(2, 0.3)),
        (of.ellipsoid(2, (0.1, 0.2, 0.3)), pin.FromEllipsoid(2, 0.1, 0.2, 0.3)),
        (of.cylinder(2, 0.1, 0.3), pin.FromCylinder(2, 0.1, 0.3)),
        (of.capsule(2, 0.1, 0.3), pin.FromCapsule(2, 0.1, 0.3)),
    ):
        assert np.allclose(ten(ours), pinocchio_ten(theirs), rtol=1e-14, atol=1e-17)
    place = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([1.0, 2, 3]))
    moved = of.cylinder(2, 0.1, 0.3, com=(1, 2, 3), rpy=(0.1, 0.2, 0.3))
    assert np.allclose(ten(moved), pinocchio_ten(place.act(pin.FromCylinder(2, 0.1, 0.3))))


CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * (0.1, 0.2, 0.3)
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6),
    (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip


def test_a_mesh_of_a_box_is_the_box():
    box = ten(appell.inertia.box(2, (0.1, 0.2, 0.3), com=(5.05, 0.1, 0.15)))
    away = CORNERS + (5, 0, 0)
    assert np.allclose(ten(appell.inertia.mesh(away, FACES, 2)), box, rtol=1e-10, atol=1e-13)
    dense = appell.inertia.mesh(away, FACES, density=2 / 0.006)
    assert np.allclose(ten(dense), box, rtol=1e-10, atol=1e-13)


def test_a_mesh_that_encloses_no_body_is_refused():
    mesh = appell.inertia.mesh
    with pytest.raises(appell.InputError, match="3 edges belong to an odd number"):
        mesh(CORNERS, FACES[1:], 1)
    with pytest.raises(appell.InputError, match=r"its volume is -0.006 .* counter-clockwise"):
        mesh(CORNERS, np.array(FACES)[:, ::-1], 1)
    with pytest.raises(appell.InputError, match="beyond the 7 there are"):
        mesh(CORNERS[:7], FACES, 1)
    with pytest.raises(appell.InputError, match="either mass or density"):
        mesh(CORNERS, FACES)
    with pytest.raises(appell.InputError, match=r"vertices of shape \(8, 2\)"):
        mesh(CORNERS[:, :2], FACES, 1)


def test_solids_refuse_what_is_no_length():
    for call in (
        lambda: appell.inertia.box(1, (1, 2)),
        lambda: appell.inertia.sphere(1, -1),
        lambda: appell.inertia.sphere(-1, 1),
        lambda: appell.inertia.cylinder(1, np.nan, 1),
        lambda: appell.inertia.box(1, (1, 1, 1), com=(0, 1)),
    ):
        with pytest.raises(appell.InputError, match="expected"):
            call()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("revolute", {"mimic": 5}, "mimic = 5; expected a joint"),
        ("revolute", {"parent": ["world"]}, "parent = .* expected a name"),
        ("helical", {"pitch": float("nan")}, "pitch = nan; a helical joint has one"),
        ("helical", {"pitch": "a"}, "pitch = 'a'; a helical joint has one"),
        ("spherical", {"pitch": 0.3}, "pitch = 0.3; a helical joint has one"),
        ("revolute", {"axis": "--z"}, "axis = '--z'; expected x, y, z, -x"),
        ("universal", {"axis": ("x", "x")}, "are parallel; expected two that cross"),
    ],
)
def test_joints_that_cannot_be_are_refused(kind, options, message):
    build = appell.Builder("bad")
    build.link("link", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(appell.ModelError, match=message):
        build.joint("joint", kind, **{"parent": "world", "child": "link", **options})
