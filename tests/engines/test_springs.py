"""Springs in joints: as MuJoCo has them, and as the laws of physics want them."""

from __future__ import annotations

from dataclasses import replace

import mujoco_robot
import numpy as np
import pytest
from batches import evaluate
from descriptions import mjcf
from kinds_of_joints import described

import appell
from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.hinges import Mimic
from appell.model.library.random import random_description, random_inertia, random_tree
from appell.model.model import Joint
from appell.robots.selfcheck import gradient, mul

CLOSE = 1e-10  # relative to the largest entry: rounding, as in test_random_robots


def error(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-3)


def sprung(hinges, draw, share=0.7):
    """The hinges, most of whose single joints have springs."""

    def one(h):
        if not isinstance(h.joint, Joint) or draw.random() > share:
            return h
        return replace(
            h, joint=replace(h.joint, stiffness=draw.uniform(1, 50), rest=draw.uniform(-1, 1))
        )

    return [one(h) for h in hinges]


@pytest.mark.parametrize("seed", range(12))
def test_robots_with_springs_move_as_mujocos_do_by_every_formulation(seed):
    draw = np.random.default_rng(seed)
    links, hinges = random_description(
        2 + seed % 6, seed, branching=0.3, prismatic=0.3, fixed=0.2, rotors=True, friction=False
    )
    hinges = sprung(hinges, draw)
    model = assemble("sprung", links, hinges)
    q, v, a, tau = draw.normal(size=(4, 3, model.nv))
    names = [joint.name for joint in model.joints]
    expected = mujoco_robot.answers(mjcf(links, hinges), names, "link1", q, v, a, tau)
    states = {"q": q, "v": v, "a": a, "tau": tau}
    for name in ("inverse_dynamics", "forward_dynamics", "bias", "gravity", "potential_energy"):
        quantity = QUANTITIES[name]
        given = [states[x] for x in quantity.inputs]
        for formulation in quantity.formulations:
            found = evaluate(model, name, *given, formulation=formulation)
            assert error(found, expected[name]) < CLOSE, (name, formulation)


@pytest.fixture(params=[(seed, base) for seed in range(3) for base in ("fixed", "free")], ids=str)
def tree(request):
    """A tree with joints of every kind, most with springs, some of which mimic others."""
    seed, base = request.param
    draw = np.random.default_rng(seed)
    links, hinges = described(5, seed)
    links["base"] = random_inertia(draw)
    hinges = sprung(hinges, draw, 1.0)
    single = [k for k, h in enumerate(hinges) if isinstance(h.joint, Joint)]
    leader, follower = single[0], single[-1]
    if leader != follower:
        mimic = Mimic(hinges[leader].joint.name, -0.7, 0.3)
        hinges[follower] = replace(hinges[follower], mimic=mimic)
    robot = appell.Robot(assemble(f"sprung {seed}", links, hinges, base=base))
    assert robot.model.springs
    return robot, robot.random(draw, 3), *draw.normal(size=(2, 3, robot.nv))


def test_forces_are_the_slope_of_energies(tree):
    robot, q, v, a = tree
    model = robot.model

    def U(x):
        return evaluate(model, "potential_energy", x)

    g = evaluate(model, "gravity", q)
    slope = gradient(U, robot.integrate, q, robot.nv)
    assert error(g, slope) < 1e-8  # differences of step 1e-3 to the fourth order

    def G(x):
        return evaluate(model, "gibbs_function", q, v, x)

    tau = evaluate(model, "inverse_dynamics", q, v, a)
    assert error(tau, gradient(G, np.add, a, robot.nv)) < 1e-8
    C, M = evaluate(model, "coriolis_matrix", q, v), evaluate(model, "mass_matrix", q)
    assert error(tau, mul(M, a) + mul(C, v) + g) < CLOSE
    Y = evaluate(model, "regressor", q, v, a)
    assert error(tau, Y @ robot.parameters + evaluate(model, "springs", q)) < CLOSE
    back = evaluate(model, "forward_dynamics", q, v, tau)
    assert error(back, a) < 1e-8  # as many digits less as the condition of M has


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_derivatives_of_forces_are_their_slopes(base):
    draw = np.random.default_rng(7)
    model = random_tree(5, 7, base=base)
    names = [b.joint.name for b in model.driven.values()]
    stiff = draw.uniform(1, 50, (len(names), 2))
    robot = appell.Robot(model).with_springs(dict(zip(names, stiff, strict=True)))
    q, v, a = robot.random(draw, 3), *draw.normal(size=(2, 3, robot.nv))
    dq, _, _ = evaluate(robot.model, "inverse_dynamics_derivatives", q, v, a)
    slope = gradient(
        lambda x: evaluate(robot.model, "inverse_dynamics", x, v, a), robot.integrate, q, robot.nv
    )
    assert error(dq, slope) < 1e-7
    tau = draw.normal(size=(3, robot.nv))
    dq, _, _ = evaluate(robot.model, "forward_dynamics_derivatives", q, v, tau)
    slope = gradient(
        lambda x: evaluate(robot.model, "forward_dynamics", x, v, tau), robot.integrate, q, robot.nv
    )
    assert error(dq, slope) < 1e-6


def test_a_mass_on_a_spring_swings_as_a_cosine():
    build = appell.Builder("mass", gravity=(0, 0, 0)).link("mass", mass=2.0, inertia=(1, 1, 1))
    build.joint("rail", "prismatic", "world", "mass", axis="x", stiffness=50.0, rest=0.3)
    run = appell.simulate(build.robot(), [1.0], until=3.0)
    expected = 0.3 + 0.7 * np.cos(5 * run.t)
    np.testing.assert_allclose(run.q[:, 0], expected, rtol=0, atol=1e-6)  # by simulate's rtol


def test_the_energy_of_a_swinging_arm_with_springs_stays():
    robot = appell.load("two_link").with_springs({"joint1": 20.0, "joint2": (8.0, 0.5)})
    run = appell.simulate(robot, [0.3, -0.4], [1.0, 0.5], until=5.0)
    assert np.ptp(run.energy) < 1e-6 * np.abs(run.energy).max()  # by simulate's rtol
    assert np.ptp(robot.springs(run.q)[:, 0]) > 1  # and the springs did take part in it


def test_bare_equations_refuse_what_they_would_leave_out():
    robot = appell.load("two_link")
    bare = appell.equations.gibbs_lean.inverse_dynamics
    assert len(bare(robot.model, [0, 0], [0, 0], [0, 0])) == 2
    with pytest.raises(appell.errors.InputError, match=r"springs.*robot.equation"):
        bare(robot.with_springs({"joint1": 1.0}).model, [0, 0], [0, 0], [0, 0])


def test_springs_on_loops_are_part_of_the_closed_robots_dynamics():
    robot = appell.load("four_bar")
    stiff = robot.with_springs({robot.joint_names[-1]: (30.0, 0.4)})
    assert all(check.passed for check in stiff.selfcheck(10))
    q, v = stiff.random_states(3)
    taken = stiff.inverse_dynamics(q, v, v) - robot.inverse_dynamics(q, v, v)
    assert np.abs(taken).max() > 0.1
    np.testing.assert_allclose(stiff.springs(q), stiff.gravity(q) - robot.gravity(q), atol=1e-10)


ARM = appell.load("two_link").with_springs({"joint1": (20.0, -0.2), "joint2": (8.0, 0.5)})


def test_laws_compensate_springs():
    """M a_r + C v_r + g of laws on a surface; and what laws give where there is no error."""
    from appell.control.laws.feedback import passive_dynamics

    q, v, v_r, a_r = np.random.default_rng(0).normal(size=(4, 2))
    expected = ARM.mass_matrix(q) @ a_r + ARM.coriolis_matrix(q, v) @ v_r + ARM.gravity(q)
    found = passive_dynamics(ARM.model, *(list(x) for x in (q, v, v_r, a_r)))
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-12)
    needed = ARM.inverse_dynamics(q, v, a_r)
    laws = (
        appell.control.ComputedTorque(ARM),
        appell.control.PDGravity(ARM),
        appell.control.Adaptive(ARM),
    )
    for law, expected in zip(laws, (needed, ARM.gravity(q), needed), strict=True):
        state = (law.initial, [0.001]) if law.nstate else ()
        tau = law.kernel()(q, v, q, v, a_r, *state)
        np.testing.assert_allclose(tau[0] if law.nstate else tau, expected, rtol=1e-11)


def test_identification_takes_springs_as_known():
    draw = np.random.default_rng(3)
    q, v, a = draw.normal(size=(3, 200, 2))
    tau = ARM.inverse_dynamics(q, v, a)
    heavier = ARM.with_parameters(1.3 * ARM.parameters)
    fit = appell.identify.fit(heavier, q, v, a, tau)
    assert fit.residuals.max() < 1e-9  # rounding of torques of some 100 N m
    np.testing.assert_allclose(fit.predict(q, v, a), tau, atol=1e-9)
