"""robot.equation: the equations as they are written, in the robot's own coordinates."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import sympy

import appell
from appell.equations import gibbs_tensor
from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.hinges import Mimic
from appell.model.library.random import random_description
from appell.robots.robot import Robot

ASKED = ("mass_matrix", "gravity", "bias", "inverse_dynamics", "forward_dynamics", "jacobian",
         "forward_kinematics", "potential_energy", "kinetic_energy", "coriolis_matrix")  # fmt: skip


def robots():
    links, hinges = random_description(
        4, 3, branching=0.3, prismatic=0.3, fixed=0.3, rotors=True, friction=False
    )
    moving = [h.name for h in hinges if h.joint]
    follows = [
        replace(h, mimic=Mimic(moving[0], -1.7, 0.4)) if h.name == moving[2] else h for h in hinges
    ]
    order = [moving[2], moving[0], moving[3], moving[1]]
    return {
        "turned": Robot(assemble("turned", links, hinges)),
        "mimicking": Robot(assemble("mimicking", links, follows)),
        "reordered": Robot(assemble("reordered", links, hinges, order=order)),
        "free": appell.load("free_chain", n=3),
        "puma560": appell.load("puma560"),
    }


@pytest.mark.parametrize("name", ["turned", "mimicking", "reordered", "free", "puma560"])
def test_equations_are_in_the_robots_own_coordinates(name):
    robot = robots()[name]
    draw = np.random.default_rng(0)
    for quantity in ASKED:
        asked = QUANTITIES[quantity]
        frame = robot.link_names[-1] if asked.frame else None
        states = [draw.normal(size=robot.nq if x == "q" else robot.nv) for x in asked.inputs]
        expected = robot.kernel(quantity, frame=frame)(*states)
        size = np.abs(expected).max()
        for formulation in asked.formulations:
            wanted = expected
            equation = robot.equation(quantity, formulation=formulation, frame=frame)
            found = np.array(equation(*(x.tolist() for x in states)), dtype=float)
            if quantity == "coriolis_matrix":  # other factorisations, the same C v
                found, wanted = found @ states[1], expected @ states[1]
            # Rounding of a few bodies, and the condition of M in forward dynamics.
            assert np.abs(found - wanted).max() < 1e-10 * size, (quantity, formulation)


def test_formulas_of_a_robot_with_turned_and_mimicking_joints_are_its_own():
    robot = robots()["mimicking"]
    q = sympy.symbols(f"q:{robot.nq}")
    M = sympy.Matrix(robot.equation("mass_matrix", formulation="gibbs_tensor")(list(q)))
    at = np.random.default_rng(1).normal(size=robot.nq)
    numbers = np.array(M.subs(dict(zip(q, at, strict=True))).evalf(), dtype=float)
    np.testing.assert_allclose(numbers, robot.mass_matrix(at), rtol=0, atol=1e-11)


@pytest.mark.parametrize("formulation", ["gibbs_tensor", "gibbs_lean", "gibbs_vector"])
@pytest.mark.parametrize("name", ["turned", "mimicking", "reordered", "free"])
def test_equations_of_bodies_refuse_coordinates_that_are_not_the_bodies(formulation, name):
    """Called by themselves they would take one coordinate for another, and answer."""
    robot = robots()[name]
    equation = import_module(f"appell.equations.{formulation}").inverse_dynamics
    states = np.random.default_rng(2).normal(size=(3, max(robot.nq, 10))).tolist()
    with pytest.raises(appell.InputError, match=r"robot\.equation"):
        equation(robot.model, *states)


def test_equations_of_bodies_take_coordinates_that_are():
    robot = appell.load("puma560")
    q = np.random.default_rng(3).normal(size=6)
    M = np.array(gibbs_tensor.mass_matrix(robot.model, q.tolist()), dtype=float)
    np.testing.assert_allclose(M, robot.mass_matrix(q), rtol=0, atol=1e-12)


def test_what_is_no_equation_is_refused():
    robot = appell.load("puma560")
    with pytest.raises(appell.InputError, match="no quantity 'mass'"):
        robot.equation("mass")
    with pytest.raises(appell.InputError, match="expected q of 6; got 5"):
        robot.equation("mass_matrix")([0.0] * 5)
    with pytest.raises(appell.InputError, match="expected q of 6, v of 6; got 6"):
        robot.equation("bias")([0.0] * 6)
    with pytest.raises(appell.InputError, match="asked of no frame"):
        robot.equation("mass_matrix", frame="link6")


def test_derivatives_without_an_equation_are_refused():
    """Not answered by the quantity that a kernel would differentiate."""
    ball = appell.Builder("ball").link("a", appell.inertia.sphere(1, 0.1))
    ball.joint("ball", "spherical", "world", "a")
    for robot, forces in ((ball.robot(), ()), (appell.load("two_link"), ("link2",))):
        with pytest.raises(appell.InputError, match="no equation of its own"):
            robot.equation("inverse_dynamics_derivatives", forces=forces)


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_a_vector_of_symbols_is_taken_apart_first(kind):
    casadi = pytest.importorskip("casadi")
    robot, q = appell.load("two_link"), getattr(casadi, kind).sym("q", 2)
    with pytest.raises(appell.InputError, match=f"q of 2; got one {kind}.* casadi.vertsplit"):
        robot.equation("gravity")(q)
    with pytest.raises(appell.InputError, match=r"q of 2; got one float\. Give sequences"):
        robot.equation("gravity")(0.3)
    g = casadi.Function("g", [q], robot.equation("gravity")(casadi.vertsplit(q)))
    x = [0.3, -0.5]
    np.testing.assert_allclose(np.ravel(g(x)), robot.gravity(x), rtol=0, atol=1e-12)
