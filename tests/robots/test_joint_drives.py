"""Springs and friction of joints: how they are given, shown, written, read and refused."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.errors import InputError, ModelError

FIELDS = ("viscous", "coulomb", "coulomb_backwards", "stiffness", "rest")


def built():
    build = appell.Builder("arm")
    for name in "abcd":
        build.link(name, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    build.joint("one", "revolute", "world", "a", axis="y", stiffness=5.0, rest=0.2)
    build.joint("two", "prismatic", "a", "b", coulomb=3.0, coulomb_backwards=1.0, viscous=0.5)
    build.joint("three", "universal", "b", "c", stiffness=[1.0, 2.0], coulomb=2.0)
    return build.joint("four", "revolute", "c", "d", axis="x").robot()


def drives(robot):
    return {j.name: tuple(getattr(j, x) for x in FIELDS) for j in robot.model.joints}


EXPECTED = {
    "one": (0, 0, None, 5, 0.2),
    "two": (0.5, 3, 1, 0, 0),
    "three 1": (0, 2, None, 1, 0),
    "three 2": (0, 2, None, 2, 0),
    "four": (0, 0, None, 0, 0),
}


def test_they_are_built_written_and_read(tmp_path):
    robot = built()
    assert drives(robot) == EXPECTED
    with pytest.warns(appell.UrdfWarning, match="springs of one.*backwards of two"):
        file = robot.to_urdf(tmp_path / "arm.urdf")
    again = appell.load(file)
    assert drives(again) == EXPECTED
    q, v, a = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_allclose(again.springs(q), robot.springs(q), rtol=1e-14)
    np.testing.assert_allclose(
        again.inverse_dynamics(q, v, a, friction=True),
        robot.inverse_dynamics(q, v, a, friction=True),
        rtol=1e-11,
    )


def test_they_are_changed_by_name():
    robot = built().with_springs({"one": 0.0, "four": (7.0, -0.3)})
    assert drives(robot) == EXPECTED | {"one": (0, 0, None, 0, 0), "four": (0, 0, None, 7, -0.3)}
    robot = built().with_friction(
        viscous={"four": 0.1}, coulomb={"two": 4.0, "four": 1.0}, coulomb_backwards={"four": 2.0}
    )
    changed = {"two": (0.5, 4, None, 0, 0), "four": (0.1, 1, 2, 0, 0)}
    assert drives(robot) == EXPECTED | changed
    # With equal levels, a joint has one again.
    assert drives(robot.with_friction(coulomb_backwards={"four": 1.0}))["four"][2] is None


def test_they_stay_with_their_joints_where_models_are_edited():
    robot = built()
    held = robot.locked({"two": 0.1}).attached(robot, "d", prefix="other ")
    expected = {x: y for x, y in EXPECTED.items() if x != "two"}
    assert drives(held) == expected | {f"other {x}": y for x, y in EXPECTED.items()}


def test_a_spring_counts_its_rest_as_the_joint_counts_its_position():
    """Also where the build turns the joint's frame, as it does of this one's parent."""
    robot = built()
    q = np.array([0.2, 0.4, 0.0, 0.0, 1.0])
    assert robot.springs(q).tolist() == [0, 0, 0, 0, 0]
    assert robot.springs(q + 0.1) == pytest.approx([0.5, 0, 0.1, 0.2, 0], rel=1e-14)


def test_friction_is_the_robotics_toolboxs():
    """Corke's Tc = [Tc+, Tc-], Tc- negative: B v + Tc+ forwards, B v + Tc- backwards, nothing at
    rest (roboticstoolbox, Link.friction, there with the opposite sign)."""
    B, Tc = 1.48e-3, [0.395, -0.435]  # of the PUMA's first motor
    build = appell.Builder().link("a", mass=1.0, inertia=(1, 1, 1))
    build.joint(
        "turn", "revolute", "world", "a", viscous=B, coulomb=Tc[0], coulomb_backwards=-Tc[1]
    )
    v = np.array([-2.0, -0.1, 0.0, 0.3, 4.0])
    expected = B * v + np.where(v > 0, Tc[0], np.where(v < 0, Tc[1], 0.0))
    found = build.robot().friction(v[:, None])[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_parameters_of_friction_have_both_levels():
    robot = built()
    names = robot.parameter_names(friction=True)
    assert names[-5:] == tuple(f"{x}.coulomb_backwards" for x in robot.joint_names)
    assert robot.parameter_names(friction=True, short=True)[-5] == "fb1"
    q, v, a = np.random.default_rng(1).normal(size=(3, 20, 5))
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    Y = robot.regressor(q, v, a, friction=True)
    p = robot.parameters_of(friction=True)
    np.testing.assert_allclose(Y @ p + robot.springs(q), tau, rtol=0, atol=1e-11)
    p[-5:] = 1, 2, 3, 4, 5
    other = robot.with_parameters(p, friction=True)
    assert [j.backwards for j in other.model.joints] == [1, 2, 3, 4, 5]
    assert [j.coulomb for j in other.model.joints] == [0, 3, 2, 2, 0]
    fit = appell.identify.fit(robot, q, v, a, other.inverse_dynamics(q, v, a, friction=True),
                              friction=True, check=False)  # fmt: skip
    np.testing.assert_allclose(fit.parameters[-10:], p[-10:], rtol=0, atol=1e-8)


def test_print_shows_them():
    table = str(built())
    assert "5 N m/rad at 0.2 rad" in table
    assert "0.5 v + 3 forwards, 1 backwards" in table
    assert "spring" not in str(appell.load("two_link"))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda r: r.with_springs({"on": 1.0}), "no joint 'on'.*Did you mean 'one'"),
        (lambda r: r.with_springs({"one": -1.0}), "stiffness = -1.0; expected zero or more"),
        (lambda r: r.with_springs({"one": (1.0, 2.0, 3.0)}), r"\(stiffness, rest position\)"),
        (lambda r: r.with_springs({"one": (1.0, np.inf)}), "finite"),
        (lambda r: r.with_springs([1.0]), "springs by joint"),
        (lambda r: r.with_friction(coulomb={"one": -1.0}), "coulomb = -1.0"),
        (lambda r: r.with_friction(coulomb_backwards={"one": -1.0}), "coulomb_backwards = -1.0"),
        (lambda r: r.with_friction(viscous=3), "viscous by joint"),
    ],
)
def test_what_no_joint_can_have_is_refused(change, match):
    with pytest.raises((InputError, ModelError), match=match):
        change(built())


def test_a_ball_takes_no_spring():
    build = appell.Builder().link("a", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="spring"):
        build.joint("ball", "spherical", "world", "a", stiffness=1.0)
