"""A new kind of joint is one entry in a table: a thread of a given pitch, and robots with it move
as Pinocchio's JointModelHelicalUnaligned says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from batches import evaluate
from descriptions import about_com
from pinocchio_robot import answers

import appell
from appell.equations.quantities import QUANTITIES
from appell.identify import base_parameters
from appell.model.build import assemble
from appell.model.hinges import Mimic
from appell.model.library.random import random_description, random_inertia
from appell.model.model import KINDS, Screw
from appell.model.regroup import regrouped
from appell.model.units import TURNING, units_of

PITCH = 0.3  # m/rad
CLOSE = 1e-10  # rounding, as in test_random_robots; derivatives of accelerations lose more
JOINTS = {
    "revolute": pinocchio.JointModelRevoluteUnaligned,
    "prismatic": pinocchio.JointModelPrismaticUnaligned,
    "thread": lambda axis: pinocchio.JointModelHelicalUnaligned(axis, PITCH),
}
NAMES = {
    "inverse_dynamics_derivatives": ("dtau_dq", "dtau_dv", "dtau_da"),
    "forward_dynamics_derivatives": ("da_dq", "da_dv", "da_dtau"),
}


@pytest.fixture(autouse=True)
def helical(monkeypatch):
    monkeypatch.setitem(KINDS, "thread", Screw(rho=1, sigma=PITCH))


def described(n, seed, branching=0.3):
    """Links and hinges of a tree, half of whose turning joints are screws."""
    links, hinges = random_description(
        n, seed, branching=branching, prismatic=0.2, fixed=0.2, rotors=True, friction=False
    )
    return links, [as_screw(h) if k % 2 == seed % 2 else h for k, h in enumerate(hinges)]


def as_screw(hinge):
    turns = hinge.joint is not None and hinge.joint.kind == "revolute"
    return replace(hinge, joint=replace(hinge.joint, kind="thread")) if turns else hinge


def in_pinocchio(links, hinges):
    """The same links and hinges; nothing of Appell's build is shared."""
    robot = pinocchio.Model()
    places = {"base": (0, pinocchio.SE3.Identity())}
    for h in hinges:
        on, at = places[h.parent]
        at = at * pinocchio.SE3(h.rotation, h.position)
        if h.joint is not None:
            joint = JOINTS[h.joint.kind](np.array(h.axis, dtype=float))
            on, at = robot.addJoint(on, joint, at, h.name), pinocchio.SE3.Identity()
            robot.armature[robot.joints[on].idx_v] = h.joint.reflected
        places[h.child] = on, at
        robot.appendBodyToJoint(on, pinocchio.Inertia(*about_com(links[h.child])), at)
        robot.addBodyFrame(h.child, on, at, 0)
    return robot


def relative_error(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_every_quantity_by_every_formulation_is_pinocchios(seed):
    # Pinocchio's matrices are right only where a joint's descendants follow it: chains, here.
    links, hinges = described(1 + seed % 5, seed, branching=0.0)
    model = assemble(f"helical {seed}", links, hinges)
    link = hinges[-1].child
    states = np.random.default_rng(seed).normal(size=(4, 3, model.nv))
    names = [joint.name for joint in model.joints]
    expected = answers(in_pinocchio(links, hinges), names, link, *states)
    asked = [x for x in QUANTITIES if x in expected or x in NAMES]
    assert len(asked) == 11
    given = dict(zip(("q", "v", "a", "tau"), states, strict=True))
    for name in asked:
        quantity = QUANTITIES[name]
        arguments = [given[x] for x in quantity.inputs]
        frame = link if quantity.frame else None
        for formulation in quantity.formulations:
            of = regrouped(model) if formulation in quantity.regroup else model
            found = evaluate(of, name, *arguments, formulation=formulation, frame=frame)
            parts = zip(NAMES.get(name, (name,)), found if name in NAMES else (found,), strict=True)
            for part, x in parts:
                bound = 1e-8 if part.startswith("da_") else CLOSE
                error = relative_error(x, expected[part])
                assert error < bound, (name, formulation, part, error)


@pytest.mark.parametrize("base", ["fixed", "free", "planar"])
def test_its_kernels_obey_the_laws_of_physics(base):
    links, hinges = described(4, seed=1)
    links["base"] = random_inertia(np.random.default_rng(0))
    robot = appell.Robot(assemble("thread", links, hinges, base=base))
    assert any(joint.kind == "thread" for joint in robot.model.joints)
    for law in robot.selfcheck(states=20):
        assert law.passed, law


def test_a_joint_may_follow_a_screw_and_a_screw_a_joint():
    links, hinges = described(4, seed=0, branching=0.0)
    moving = [k for k, h in enumerate(hinges) if h.joint is not None]
    leader = hinges[moving[0]]
    for k, ratio in zip(moving[1:3], (2.0, -0.5), strict=True):
        hinges[k] = replace(hinges[k], mimic=Mimic(leader.name, ratio, 0.1))
    robot = appell.Robot(assemble("followed", links, hinges))
    kinds = [robot.model.bodies[k].joint.kind for k in range(3)]
    assert "thread" in kinds
    assert set(kinds) != {"thread"}
    for law in robot.selfcheck(states=20):
        assert law.passed, law


def test_two_turns_apart_a_screw_has_moved_by_two_pitches():
    links, hinges = described(1, seed=0)
    robot = appell.Robot(assemble("screw", links, [as_screw(hinges[0]), *hinges[1:]]))
    first, last = robot.forward_kinematics([[0.3], [0.3 + 4 * np.pi]], "link1")
    np.testing.assert_allclose(last[:3, :3], first[:3, :3], atol=1e-14)
    moved = np.linalg.norm(last[:3, 3] - first[:3, 3])
    assert moved == pytest.approx(4 * np.pi * PITCH, rel=1e-14)
    assert units_of([joint.kind for joint in robot.model.joints], 1) == (TURNING,)


def test_a_simulated_robot_keeps_its_energy():
    links, hinges = described(2, seed=0)
    robot = appell.Robot(assemble("screws", links, hinges))
    run = appell.simulate(robot, robot.random(0), until=1.0, rtol=1e-10, atol=1e-10)
    assert np.ptp(run.kinetic) > 1.0  # J
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()


def test_another_pitch_is_another_kernel(monkeypatch):
    """The same name, another screw: nothing compiled for the first is taken for the second."""
    links, hinges = described(1, seed=0)
    screw = as_screw(hinges[0])
    mass = []
    for pitch in (0.1, 0.2):
        monkeypatch.setitem(KINDS, "thread", Screw(1, pitch))
        hinge = replace(screw, joint=replace(screw.joint))
        robot = appell.Robot(assemble("screw", links, [hinge, *hinges[1:]]))
        mass.append(float(robot.mass_matrix([0.0])[0, 0]))
    total = sum(x.mass for x in links.values())
    assert mass[1] - mass[0] == pytest.approx(total * (0.2**2 - 0.1**2))


def test_the_rules_for_base_parameters_count_as_the_regressor_does():
    for seed in range(4):
        links, hinges = described(3, seed)
        base = base_parameters(appell.Robot(assemble(f"helical {seed}", links, hinges)))
        assert base.agree, (seed, str(base))


def test_what_a_file_cannot_say_is_refused(tmp_path):
    links, hinges = described(2, seed=0)
    robot = appell.Robot(assemble("thread", links, [as_screw(h) for h in hinges]))
    with pytest.raises(appell.ModelError, match="is thread, which a URDF file cannot say"):
        robot.to_urdf(tmp_path / "screw.urdf")
