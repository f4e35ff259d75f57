"""What a model is, what it refuses, and what the library holds."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import pi

import numpy as np
import pytest

import appell
from appell.maths.scalar import snap
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia, check_inertia
from appell.model.library import ROBOTS
from appell.model.model import Joint
from appell.robots.robot import Robot

BAR = {
    "convention": "modified",
    "alpha": [0.0],
    "a": [0.0],
    "d": [0.0],
    "mass": [2.0],
    "com": [[0.5, 0.0, 0.0]],
    "inertia": [[0.01, 0.2, 0.2]],
}


# Inertias


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": [-1.0]}, "link 'link1': mass = -1 kg.*negative"),
        ({"mass": [float("nan")]}, "link 'link1'.*finite"),
        ({"inertia": [[0.01, 0.2, np.inf]]}, "link 'link1'.*finite"),
        ({"mass": [0.0]}, "link 'link1'.*without mass has moments"),
        ({"inertia": [[0.01, 0.2, 0.3]]}, r"link 'link1'.*0\.01.*0\.3.*triangle inequality"),
        ({"inertia": [[-0.01, 0.2, 0.2]]}, "link 'link1'.*principal moment is negative"),
        ({"inertia": [[0.1, 0.5, 0.1, 0, 0, 0.1]]}, "link 'link1'.*negative"),
    ],
)
def test_an_inertia_that_no_body_has_is_refused_with_link_values_and_condition(change, message):
    with pytest.raises(appell.ModelError, match=message):
        Robot.from_dh(**BAR | change)
    if "finite" not in message:
        Robot.from_dh(**BAR | change, physical=False)


def test_limits_of_what_exists_are_accepted():
    """A rod, a disc, a point mass, and a rod whose moments are rounded to six digits."""
    for moments in ([0, 1, 1], [0.5, 0.5, 1.0], [0, 0, 0], [0.0, 0.333333, 0.333334 - 5e-7]):
        Robot.from_dh(**BAR | {"inertia": [moments]})


def test_a_far_off_centre_of_mass_does_not_excuse_a_wrong_inertia():
    far = Inertia.about_com(2.0, Vector(10.0, 0, 0), Symmetric(1e-4, 0, 1e-4, 0, 0, 1e-3))
    with pytest.raises(appell.ModelError, match="triangle"):
        check_inertia("far", far)


def test_inertias_add_and_move_like_point_masses():
    draw = np.random.default_rng(0)
    points, masses = draw.normal(size=(5, 3)), draw.uniform(1, 2, 5)
    R = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    s = draw.normal(size=3)

    def body(r):
        whole = NOTHING
        for x, m in zip(r, masses, strict=True):
            whole = whole + Inertia.about_com(m, Vector(*x), Symmetric(0, 0, 0, 0, 0, 0))
        return whole

    from appell.model.axes import as_rotation, as_vector

    moved = body(points).moved(as_rotation(R), as_vector(s))
    np.testing.assert_allclose(moved.parameters, body(points @ R.T + s).parameters, atol=1e-12)


# Descriptions


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"convention": "craig"}, "'modified'.*'standard'"),
        ({"a": [0.0, 1.0]}, r"a has shape \(2,\); expected 1"),
        ({"d": ["far"]}, "d = .*'far'.*expected 1 numbers"),
        ({"theta": [np.nan]}, "theta of joint 1 is nan"),
        ({"alpha": []}, "at least one joint"),
        ({"kinds": "X"}, "'revolute'.*'prismatic'"),
        ({"inertia": [[1.0, 2.0]]}, r"shape \(2,\)"),
        ({"inertia": [[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]]}, "symmetric"),
        ({"com": [[0.0, 0.0]]}, "com = .*expected x, y, z"),
        ({"gravity": (0, -9.81)}, "gravity = .*expected three numbers"),
        ({"gravity": (0, 0, np.nan)}, "gravity.*finite"),
        ({"alpha": [np.inf]}, "alpha of joint 1 is inf"),
        ({"joint_names": ["a", "b"]}, "joint_names has 2 entries"),
        ({"alpha": 0}, "expected a list"),
        ({"kinds": 5}, "joint kinds"),
        ({"com": [0]}, "expected x, y, z"),
        ({"com": None}, "com"),
        ({"inertia": ["a"]}, "expected numbers"),
        ({"gravity": 9.81}, "expected three numbers"),
        ({"limits": [1]}, "expected lower, upper"),
        ({"gear": [0]}, "gear = 0"),
        ({"link_names": ["base"]}, "'base' is the name"),
        ({"a": [1e200]}, "at most 1e"),
        ({"mass": [1e-320]}, "at most 1e"),
        ({"viscous": [-0.1]}, "joint 'joint1': viscous = -0.1"),
        ({"rotor": [-0.1]}, "joint 'joint1': rotor = -0.1"),
        ({"limits": [(1.0, -1.0)]}, "joint 'joint1': lower limit 1.0"),
        ({"limits": [(np.nan, 1.0)]}, "joint 'joint1': lower limit nan"),
    ],
)
def test_a_wrong_table_is_answered_with_what_was_expected(change, message):
    with pytest.raises(appell.ModelError, match=message):
        Robot.from_dh(**BAR | change)


def test_convention_must_be_said():
    with pytest.raises(TypeError, match="convention"):
        Robot.from_dh(**{k: x for k, x in BAR.items() if k != "convention"})


def test_both_conventions_describe_the_same_arm():
    """An RPR arm, written in Craig's frames and in Paul's; inertias moved between the frames."""
    alpha, a, d, theta = [0.3, -pi / 2, 0.7], [0.2, 0.1, 0.4], [0.5, 0.25, -0.3], [0.1, 0.4, -0.2]
    draw = np.random.default_rng(1)
    com = draw.normal(size=(3, 3)) * 0.1
    mass, moments = [1.0, 2.0, 3.0], [[0.2, 0.3, 0.4]] * 3
    craig = Robot.from_dh(
        convention="modified", alpha=[0.0, *alpha[:2]], a=[0.0, *a[:2]], d=d, theta=theta,
        kinds="RPR", mass=mass, com=com, inertia=moments,
    )  # fmt: skip
    # Paul's frame i is Craig's moved by Tx(a_i) Rx(alpha_i), constant on link i.
    turned, shifted = [], []
    for i in range(3):
        c, s = np.cos(alpha[i]), np.sin(alpha[i])
        R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        shifted.append(R.T @ (com[i] - [a[i], 0, 0]))
        turned.append(R.T @ np.diag(moments[i]) @ R)
    paul = Robot.from_dh(
        convention="standard", alpha=alpha, a=a, d=d, theta=theta, kinds="RPR", mass=mass,
        com=shifted, inertia=turned,
    )  # fmt: skip
    q, v, acc = draw.normal(size=(3, 7, 3))
    expected = craig.inverse_dynamics(q, v, acc)
    np.testing.assert_allclose(paul.inverse_dynamics(q, v, acc), expected, rtol=0, atol=1e-12)
    end = paul.forward_kinematics(q)
    np.testing.assert_allclose(end[:, :3, :3].swapaxes(1, 2) @ end[:, :3, :3],
                               np.broadcast_to(np.eye(3), (7, 3, 3)), atol=1e-14)  # fmt: skip


@pytest.mark.parametrize(
    ("hinges", "message"),
    [
        ([("j", "a", "b"), ("j", "b", "c")], "joint 'j' is given 2 times"),
        ([("j", "a", "b"), ("k", "c", "b")], "child link 'b' is given 2 times"),
        ([("j", "a", "x"), ("k", "a", "b")], "names link 'x', which is not there"),
        ([("j", "a", "b")], "2 root links"),
        ([("j", "b", "c"), ("k", "c", "b")], "form a loop"),
    ],
)
def test_what_is_not_a_tree_is_refused(hinges, message):
    links = dict.fromkeys("abc", NOTHING)
    described = [
        Hinge(name, parent, child, Joint(name), np.eye(3), np.zeros(3))
        for name, parent, child in hinges
    ]
    with pytest.raises(appell.ModelError, match=message):
        assemble("thing", links, described)


def test_a_robot_without_moving_joints_is_refused():
    bolted = [Hinge("weld", "a", "b", None, np.eye(3), np.zeros(3))]
    with pytest.raises(appell.ModelError, match="no moving joint"):
        assemble("statue", {"a": NOTHING, "b": NOTHING}, bolted)


def test_an_axis_without_direction_is_refused():
    hinge = Hinge("j", "a", "b", Joint("j"), np.eye(3), np.zeros(3), axis=(0, 0, 0))
    with pytest.raises(appell.ModelError, match=r"joint 'j': axis .* has no direction"):
        assemble("thing", {"a": NOTHING, "b": NOTHING}, [hinge])


def test_fixed_links_are_merged_and_keep_their_frames():
    draw = np.random.default_rng(4)
    whole = appell.load("random_tree", n=5, seed=8, fixed=1.0)
    assert whole.nv == 5
    assert {f"bracket{i}" for i in range(1, 6)} <= set(whole.link_names)
    q = draw.normal(size=5)
    link, bracket = (whole.forward_kinematics(q, frame=f) for f in ("link2", "bracket2"))
    there = np.linalg.inv(link) @ bracket
    later = [whole.forward_kinematics(q + 1, frame=f) for f in ("link2", "bracket2")]
    np.testing.assert_allclose(np.linalg.inv(later[0]) @ later[1], there, atol=1e-12)


def test_joints_keep_the_order_of_their_description():
    tree = appell.load("random_tree", n=9, seed=2, branching=1.0)
    assert tree.joint_names == tuple(f"joint{i}" for i in range(1, 10))


# Numbers


def test_zeros_and_ones_are_exact():
    assert [snap(x) for x in (6e-17, 1 - 2e-16, -1 + 2e-16, 0.5, 1e-13)] == [0, 1, -1, 0.5, 1e-13]
    assert all(isinstance(snap(x), int) for x in (6e-17, 1 - 2e-16, -1.0, 0.0))
    right_angles = [body.R0 for body in appell.load("puma560").model.bodies]
    assert all(isinstance(x, int) for R in right_angles for x in R)


def test_models_are_frozen():
    model = appell.load("puma560").model
    with pytest.raises(FrozenInstanceError):
        model.name = "other"
    with pytest.raises(FrozenInstanceError):
        model.bodies[0].parent = 3
    with pytest.raises(AttributeError):
        model.bodies[0].inertia.mass = 1.0


# The library


def test_the_library_holds_what_it_says():
    joints = {"puma560": 6, "stanford_arm": 6, "two_link": 2, "planar_chain": 3}
    joints |= {"ten_link_tree": 12, "tree_of_bars": 5, "free_chain": 11, "random_tree": 6}
    assert {name: appell.load(name).nv for name in ROBOTS} == joints
    puma = appell.load("puma560")
    np.testing.assert_array_equal(  # Valera et al. 2003, tables 6 and 7
        puma.parameters.reshape(6, 10)[:, 0], [10.521, 15.781, 8.767, 1.052, 1.052, 0.351]
    )
    np.testing.assert_allclose(puma.parameters[11:14] / 15.781, [0.1398, 0, 0.1491])
    assert [b.joint.kind for b in appell.load("stanford_arm").model.bodies].count("prismatic") == 1
    assert appell.load("planar_chain", n=7).nv == 7


def test_planar_chains_hang_like_a_pendulum():
    """Gravity of one bar: m g l/2 cos q."""
    bar = appell.load("planar_chain", n=1, length=2.0, mass=3.0)
    q = np.linspace(-3, 3, 7)[:, None]
    np.testing.assert_allclose(bar.gravity(q), 3.0 * 9.81 * 1.0 * np.cos(q), atol=1e-12)


def test_random_trees_are_reproducible_and_different():
    one, again, other = (appell.load("random_tree", n=4, seed=s).model for s in (5, 5, 6))
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("puma", {}, "Did you mean 'puma560'"),
        ("ur", {}, r"^.{1,250}Did you mean 'ur\d+e?', 'ur\d+e?' or 'ur\d+e?'\?$"),
        ("nothing_like_it", {}, "no robot 'nothing_like_it'.*`appell list`"),
        ("arm.step", {}, "'.step'"),
        ("missing.urdf", {}, "missing.urdf"),
        ("puma560", {"colour": 1}, "puma560"),
        ("planar_chain", {"n": 0}, "1 or more"),
        ("planar_chain", {"n": 2.5}, "whole number"),
        ("planar_chain", {"mass": -1}, "positive"),
        ("random_tree", {"n": -3}, "1 or more"),
        ("random_tree", {"seed": -1}, "0 or more"),
        ("random_tree", {"branching": 7}, "from 0 to 1"),
        ("PUMA560", {}, "Did you mean 'puma560'"),
        (None, {}, "name of a robot"),
        ("x.urdf", {"colour": 1}, "read_urdf"),
    ],
)
def test_a_robot_that_cannot_be_loaded_is_explained(name, options, message):
    with pytest.raises((appell.ModelError, appell.InputError), match=message):
        appell.load(name, **options)
