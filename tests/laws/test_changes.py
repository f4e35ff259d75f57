"""What changes with a robot's load, gravity, rotors, friction, place and couplings, and what
does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from batches import Uncompiled
from cases import Case, assert_equal, cases, times
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.model.build import assemble
from appell.model.description.dh import link_inertia
from appell.model.hinges import Hinge, Mimic
from appell.model.inertia import NOTHING
from appell.model.library.random import random_rotation
from appell.robots.robot import Robot

SEEDS = st.integers(0, 2**32 - 1)


@given(cases(), SEEDS)
def test_a_payload_is_a_welded_link(case: Case, seed):
    draw = np.random.default_rng(seed)
    mass, com = float(draw.uniform(0.1, 5)), draw.uniform(-0.3, 0.3, 3)
    moments = mass * np.diag([0.02, 0.03, 0.04])
    link = case.hinges[-1].child
    weld = Hinge("weld", link, "load", None, np.eye(3), np.zeros(3))
    links = case.links | {"load": link_inertia("load", mass, com, moments)}
    welded = Robot(assemble("welded", links, [*case.hinges, weld]))
    loaded = case.robot.with_payload(mass, com, moments, link=link)
    state = case.q, case.v, case.a
    assert_equal(loaded.inverse_dynamics(*state), welded.inverse_dynamics(*state))
    assert_equal(loaded.mass_matrix(case.q), welded.mass_matrix(case.q))


@given(cases())
def test_gravity_scales_its_forces_and_nothing_else(case: Case):
    robot = case.robot
    heavier = robot.with_gravity(3 * np.array(robot.model.gravity, dtype=float))
    assert_equal(heavier.gravity(case.q), 3 * robot.gravity(case.q))
    assert_equal(heavier.potential_energy(case.q), 3 * robot.potential_energy(case.q))
    weightless = robot.with_gravity([0, 0, 0])
    assert not weightless.gravity(case.q).any()
    state = case.q, case.v, case.a
    forces = robot.inverse_dynamics(*state)
    assert_equal(weightless.inverse_dynamics(*state), forces - robot.gravity(case.q), size=forces)


@given(cases(rotors=True))
def test_rotors_add_gear_squared_times_their_inertia_to_the_diagonal(case: Case):
    model = case.robot.model
    bare = Robot(
        replace(
            model,
            bodies=tuple(replace(b, joint=replace(b.joint, rotor=0)) for b in model.bodies),
            joints=tuple(replace(j, rotor=0) for j in model.joints),
        )
    )
    felt = np.diag([joint.gear**2 * joint.rotor for joint in model.joints])
    M = case.robot.mass_matrix(case.q)
    assert_equal(M - bare.mass_matrix(case.q), np.broadcast_to(felt, M.shape), size=M)


@given(cases(friction=True))
def test_friction_is_viscous_and_coulomb_and_asked_for(case: Case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    joints = robot.model.joints
    viscous, coulomb = (np.array([getattr(j, k) for j in joints]) for k in ("viscous", "coulomb"))
    friction = viscous * v + coulomb * np.sign(v)
    assert_equal(robot.friction(v), friction)
    without = robot.inverse_dynamics(q, v, a)
    motors = robot.inverse_dynamics(q, v, a, friction=True)
    assert_equal(motors, without + friction)
    assert_equal(
        robot.forward_dynamics(q, v, motors, friction=True), robot.forward_dynamics(q, v, without)
    )
    assert not robot.friction(0 * v).any()


@given(cases(), SEEDS)
def test_turning_the_base_and_gravity_together_changes_no_force(case: Case, seed):
    draw = np.random.default_rng(seed)
    R, s = random_rotation(draw), draw.normal(size=3)
    mount = Hinge("mount", "ground", "base", None, R, s)
    gravity = R @ np.array(case.robot.model.gravity, dtype=float)
    links = {"ground": NOTHING, **case.links}
    turned = Robot(assemble("turned", links, [mount, *case.hinges], gravity=gravity))
    state = case.q, case.v, case.a
    assert_equal(turned.inverse_dynamics(*state), case.robot.inverse_dynamics(*state))
    link = case.hinges[-1].child
    place = np.block([[R, s[:, None]], [np.zeros(3), 1]])
    pose = case.robot.forward_kinematics(case.q, link)
    assert_equal(turned.forward_kinematics(case.q, link), place @ pose)


class Coupled:
    """A robot in which some joints follow others, p = G q + c, and the robot it was made from."""

    def __init__(self, case: Case, seed: int) -> None:
        draw = np.random.default_rng(seed)
        n = case.robot.nv
        leads = draw.random(n) < 0.5
        leads[draw.integers(n)] = True
        leaders = np.flatnonzero(leads)
        self.free = Uncompiled(case.robot.model)
        self.G, self.c = np.zeros((n, len(leaders))), np.zeros(n)
        moving = [h for h in case.hinges if h.joint]
        hinges = {h.name: h for h in case.hinges}
        for i, h in enumerate(moving):
            if leads[i]:
                self.G[i, np.flatnonzero(leaders == i)] = 1
                continue
            k = int(draw.integers(len(leaders)))
            # Ratios of one fold away, so they are drawn besides others.
            ratio, shift = float(draw.choice([1.0, -1.0, draw.normal()])), float(draw.normal())
            self.G[i, k], self.c[i] = ratio, shift
            hinges[h.name] = replace(h, mimic=Mimic(moving[leaders[k]].name, ratio, shift))
        self.robot = Robot(assemble("coupled", case.links, list(hinges.values())))
        self.q, self.v, self.a = draw.normal(size=(3, 4, len(leaders)))
        self.p = self.q @ self.G.T + self.c
        self.dp, self.ddp = self.v @ self.G.T, self.a @ self.G.T

    def reduced(self, X: np.ndarray) -> np.ndarray:
        return self.G.T @ X @ self.G


@st.composite
def couplings(draw: st.DrawFn, **chosen: bool) -> Coupled:
    return Coupled(draw(cases(joints=5, **chosen)), draw(SEEDS))


@given(couplings())
def test_coupled_joints_reduce_forces_and_matrices(x: Coupled):
    robot, free = x.robot, x.free
    state, spread = (x.q, x.v, x.a), (x.p, x.dp, x.ddp)
    forces = free.inverse_dynamics(*spread) @ x.G
    assert_equal(robot.inverse_dynamics(*state), forces)
    M = robot.mass_matrix(x.q)
    assert_equal(M, x.reduced(free.mass_matrix(x.p)))
    assert_equal(robot.coriolis_matrix(x.q, x.v), x.reduced(free.coriolis_matrix(x.p, x.dp)))
    assert_equal(robot.gravity(x.q), free.gravity(x.p) @ x.G)
    assert_equal(times(M, robot.forward_dynamics(x.q, x.v, forces)), times(M, x.a))


@settings(max_examples=10)
@given(couplings())
def test_coupled_joints_reduce_derivatives_and_the_regressor(x: Coupled):
    state, spread = (x.q, x.v, x.a), (x.p, x.dp, x.ddp)
    for ours, full in zip(
        x.robot.inverse_dynamics_derivatives(*state),
        x.free.inverse_dynamics_derivatives(*spread),
        strict=True,
    ):
        assert_equal(ours, x.reduced(full))
    recorded = x.robot.kernel("forward_dynamics", wrt=("q", "v", "tau"))(*state)
    for ours, differentiated in zip(
        x.robot.forward_dynamics_derivatives(*state), recorded, strict=True
    ):
        assert_equal(ours, differentiated)
    assert_equal(x.robot.regressor(*state) @ x.robot.parameters, x.robot.inverse_dynamics(*state))


@given(couplings(friction=True))
def test_coupled_joints_keep_poses_energies_and_friction(x: Coupled):
    robot, free = x.robot, x.free
    link = robot.link_names[-1]
    assert_equal(robot.forward_kinematics(x.q, link), free.forward_kinematics(x.p, link))
    assert_equal(robot.jacobian(x.q, link), free.jacobian(x.p, link) @ x.G)
    assert_equal(robot.kinetic_energy(x.q, x.v), free.kinetic_energy(x.p, x.dp))
    assert_equal(robot.potential_energy(x.q), free.potential_energy(x.p))
    assert_equal(robot.friction(x.v), free.friction(x.dp) @ x.G)
