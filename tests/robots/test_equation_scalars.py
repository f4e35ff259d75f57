"""robot.equation on every kind of scalar, of robots of every kind, is what the kernel gives."""

from __future__ import annotations

import warnings
from functools import cache

import casadi
import jax
import numpy as np
import pytest
import sympy

import appell

CLOSE = 1e-11  # relative to the largest: rounding of sums over some twenty bodies


def kinds():
    """A tree with joints of the other kinds."""
    build = appell.Builder("kinds")
    for name in "abcd":
        build.link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6))
    place = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    build.joint("screw", "helical", "world", "a", place, "x", pitch=0.1, stiffness=3.0)
    build.joint("ball", "spherical", "a", "b", place)
    build.joint("turn", "revolute", "b", "c", place, (1, 2, 3))
    return build.joint("follow", "prismatic", "b", "d", place, "y", mimic=("turn", -0.7, 0.2))


@cache
def robot_of(name):
    if name == "kinds":
        return kinds().robot()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.UrdfWarning)
        return appell.load(name, physical=False)


def states(robot):
    draw = np.random.default_rng(0)
    return robot.random(draw), *draw.normal(size=(2, robot.nv))


def error(found, expected):
    found = np.asarray(found, dtype=float).reshape(expected.shape)
    return np.abs(found - expected).max() / np.abs(expected).max()


def on_floats(equation, *x):
    return np.array(equation(*(y.tolist() for y in x)), dtype=float)


def on_object_arrays(equation, *x):
    return np.array(equation(*(y.astype(object) for y in x)), dtype=float)


def on_numbers_of_sympy(equation, *x):
    return np.array(equation(*([sympy.Float(v, 30) for v in y] for y in x)), dtype=float)


def on_casadi(kind, equation, *x):
    symbols = [kind.sym("x", len(y)) for y in x]
    result = casadi.vertcat(*equation(*(casadi.vertsplit(s) for s in symbols)))
    return np.array(casadi.Function("f", symbols, [result])(*x)).ravel()


def on_sx(equation, *x):
    return on_casadi(casadi.SX, equation, *x)


def on_mx(equation, *x):
    return on_casadi(casadi.MX, equation, *x)


ROBOTS = ("ur5", "panda", "solo12", "kinds")
SCALARS = (on_floats, on_object_arrays, on_numbers_of_sympy, on_sx, on_mx)


@pytest.mark.parametrize("scalars", SCALARS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics_on_scalars_of_all_kinds(name, scalars):
    robot = robot_of(name)
    x = states(robot)
    expected = robot.inverse_dynamics(*x)
    assert error(scalars(robot.equation("inverse_dynamics"), *x), expected) < CLOSE


@pytest.mark.parametrize("name", ROBOTS)
def test_the_energy_differentiated_by_jax_is_gravity(name):
    """dU/dq by grad, compiled by jit: g of joints that move along a line."""
    robot = robot_of(name)
    q, *_ = states(robot)
    U, expected = robot.equation("potential_energy"), robot.gravity(q)
    with jax.enable_x64(True):
        both = jax.jit(jax.value_and_grad(lambda q: U(list(q))))
        energy, slope = map(np.array, both(jax.numpy.array(q)))
    assert float(energy) == pytest.approx(float(robot.potential_energy(q)), rel=1e-11)
    along = np.array(robot.model.is_coordinate)
    places = [robot.model.place(k) for k in np.flatnonzero(along)]
    assert np.abs(slope[places] - expected[along]).max() < CLOSE * np.abs(expected).max()


@pytest.mark.parametrize("name", ["kinds"])
def test_inverse_dynamics_compiled_by_jax(name):
    robot = robot_of(name)
    x = states(robot)
    equation = robot.equation("inverse_dynamics")
    with jax.enable_x64(True):
        compiled = jax.jit(lambda *x: jax.numpy.array(equation(*map(list, x))))
        found = np.array(compiled(*map(jax.numpy.array, x)))
    assert error(found, robot.inverse_dynamics(*x)) < CLOSE


def test_formulas_of_sympy_are_the_robots():
    robot = robot_of("kinds")
    q = sympy.symbols(f"q:{robot.nq}")
    U = robot.equation("potential_energy")(list(q))
    at = states(robot)[0]
    found = float(U.subs(dict(zip(q, at.tolist(), strict=True))))
    assert found == pytest.approx(float(robot.potential_energy(at)), rel=1e-11)


def test_a_jacobian_by_casadi_is_the_kernels():
    robot = robot_of("ur5")
    q, v, a = states(robot)
    symbol = casadi.SX.sym("q", 6)
    tau = robot.equation("inverse_dynamics")(casadi.vertsplit(symbol), v.tolist(), a.tolist())
    J = casadi.Function("J", [symbol], [casadi.jacobian(casadi.vertcat(*tau), symbol)])
    expected, *_ = robot.inverse_dynamics_derivatives(q, v, a)
    assert error(np.array(J(q)), expected) < CLOSE
