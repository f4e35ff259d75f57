"""Joints of every kind in URDF files: read as Pinocchio reads them, written and read back."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio
import pytest
from batches import evaluate
from kinds_of_joints import described

import appell
from appell.model import configuration
from appell.model.build import assemble
from appell.model.library.random import random_inertia

CLOSE = 1e-10  # rounding, relative to the largest


def link(name, k):
    moments = f'ixx="0.{k}1" ixy="0.01" ixz="0.02" iyy="0.{k}2" iyz="-0.01" izz="0.{k}3"'
    inertial = f'<origin xyz="0.1 0.{k} -0.2"/><mass value="{k}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{inertial}</inertial></link>'


def joint(name, kind, parent, child, more=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    place = '<origin xyz="0.3 -0.2 0.1" rpy="0.3 0.2 -0.4"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{place}{more}</joint>'


BODIES = "".join(link(name, k) for k, name in enumerate("abcd", start=1))
SLIDE = '<axis xyz="0.6 0 0.8"/><limit lower="-9" upper="9" effort="9" velocity="9"/>'
TURN = joint("turn", "continuous", "a", "b", '<axis xyz="0 0.6 0.8"/>')
TWO_FREE = f"""<robot name="two"><link name="world"/>{BODIES}
{joint("first", "floating", "world", "a")}{TURN}
{joint("second", "floating", "world", "c")}
{joint("slide", "prismatic", "c", "d", SLIDE)}</robot>"""
PLANAR = f"""<robot name="planar">{BODIES}{TURN}
{joint("table", "planar", "b", "c", '<axis xyz="0 0 1"/>')}
{joint("slide", "prismatic", "c", "d", SLIDE)}</robot>"""


def error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def test_two_floating_bodies_move_as_pinocchios():
    model, other = appell.load(TWO_FREE).model, pinocchio.buildModelFromXML(TWO_FREE)
    draw = np.random.default_rng(1)
    q, v, a = configuration.random(model, draw, (3,)), *draw.normal(size=(2, 3, model.nv))
    data = other.createData()

    def there(q):  # a joint without limits is the cosine and sine of its angle
        return np.concatenate([q[:7], [np.cos(q[7]), np.sin(q[7])], q[8:]])

    wanted = [
        pinocchio.rnea(other, data, there(x), y, z).copy() for x, y, z in zip(q, v, a, strict=True)
    ]
    assert error(evaluate(model, "inverse_dynamics", q, v, a), np.array(wanted)) < CLOSE


def test_a_planar_joint_moves_as_pinocchios():
    """Its speeds are those of the coordinates x, y and the angle; there, of the body's axes."""
    model, other = appell.load(PLANAR).model, pinocchio.buildModelFromXML(PLANAR)
    assert [j.name for j in model.joints] == ["turn", "table x", "table y", "table turn", "slide"]
    draw = np.random.default_rng(1)
    q, v, a = draw.normal(size=(3, 3, 5))
    data, wanted = other.createData(), []
    for x, y, z in zip(q, v, a, strict=True):
        there = [np.cos(x[0]), np.sin(x[0]), *x[1:3], np.cos(x[3]), np.sin(x[3]), x[4]]
        c, s, w = np.cos(x[3]), np.sin(x[3]), y[3]
        G = np.eye(5)
        G[1:3, 1:3] = [[c, s], [-s, c]]
        dG = np.zeros((5, 5))
        dG[1:3, 1:3] = w * np.array([[-s, c], [-c, -s]])
        tau = pinocchio.rnea(other, data, np.array(there), G @ y, G @ z + dG @ y)
        wanted.append(G.T @ tau)
    assert error(evaluate(model, "inverse_dynamics", q, v, a), np.array(wanted)) < CLOSE


def test_the_plane_of_a_planar_joint_is_across_its_axis():
    robot = appell.load(PLANAR.replace('xyz="0 0 1"', 'xyz="0 1 0"'))
    still, moved = np.zeros(5), np.array([0, 0.3, -0.2, 0.5, 0])
    before, after = (robot.forward_kinematics(q, "c") for q in (still, moved))
    step = np.linalg.solve(before, after)
    assert np.isclose(step[1, 3], 0)
    assert np.isclose(np.linalg.norm(step[:3, 3]), np.hypot(0.3, 0.2))
    assert np.allclose(step[:3, 1], [0, 1, 0])


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_every_kind_of_joint_come_back(seed, base, tmp_path):
    links, hinges = described(3 + seed, seed)
    links["base"] = random_inertia(np.random.default_rng(seed))
    robot = appell.Robot(assemble(f"kinds {seed}", links, hinges, base=base))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.UrdfWarning)
        back = appell.load(robot.to_urdf(tmp_path / "tree.urdf"))
    assert back.joint_names == robot.joint_names
    draw = np.random.default_rng(seed)
    q, v, a = robot.random(draw, 3), *draw.normal(size=(2, 3, robot.nv))
    for quantity, states in {"inverse_dynamics": (q, v, a), "potential_energy": (q,)}.items():
        ours, theirs = (evaluate(x.model, quantity, *states) for x in (robot, back))
        assert error(theirs, ours) < CLOSE


def test_a_helical_joint_is_written_with_a_warning(tmp_path):
    screw = joint("screw", "helical", "a", "b", '<axis xyz="0 0 1"/>').replace(
        'type="helical"', 'type="helical" pitch="0.01"'
    )
    robot = appell.load(f'<robot name="press">{link("a", 1)}{link("b", 2)}{screw}</robot>')
    assert robot.joint_kinds == ("helical",)
    with pytest.warns(appell.UrdfWarning, match="joints that are helical, .* refuse it: screw"):
        path = robot.to_urdf(tmp_path / "press.urdf")
    assert appell.load(path).model.joints[0].pitch == 0.01


def test_limits_of_a_floating_joint_are_not_read():
    text = TWO_FREE.replace('<child link="c"/>', '<child link="c"/><limit lower="0" upper="1"/>')
    with pytest.warns(appell.UrdfWarning, match="<limit> of joint 'second', which is floating"):
        appell.load(text)
