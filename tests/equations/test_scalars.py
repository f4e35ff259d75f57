"""An equation is written once: on every kind of scalar it gives the same numbers."""

from __future__ import annotations

from typing import Any

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy

from appell.equations import composite, gibbs_tensor
from appell.equations.quantities import QUANTITIES
from appell.model.library.planar import planar_chain
from appell.model.library.random import random_tree
from appell.model.parameters import with_values
from appell.robot import Robot

MODEL = random_tree(3, 4, branching=0.5, prismatic=0.4, fixed=0.5, rotors=True, friction=True)
LINK = MODEL.frames[-1].name
STATES = np.random.default_rng(0).normal(size=(3, 2, 3))  # q, v and a (or tau), two of each

# Rounding, and of single precision some digits more for the inverse of the inertia matrix.
CLOSE = {"float64": 1e-12, "float32": 1e-4}


class Asked:
    """One equation of the robot, as a function of q, v, ... that gives a flat list of scalars."""

    def __init__(self, quantity: str, formulation: str) -> None:
        self.quantity, self.formulation = quantity, formulation
        self.frame = LINK if QUANTITIES[quantity].frame else None
        self.states = STATES[: len(QUANTITIES[quantity].inputs)]

    def __call__(self, *state: Any) -> list[Any]:
        equation = QUANTITIES[self.quantity].formulations[self.formulation]
        extra = (MODEL.frame(self.frame),) if self.frame else ()
        return flat(equation(MODEL, *map(list, state), *extra))


def flat(nested: Any) -> list[Any]:
    if isinstance(nested, list | tuple):
        return [x for part in nested for x in flat(part)]
    return [nested]


def on_floats(asked: Asked) -> np.ndarray:
    return np.array([asked(*state) for state in np.swapaxes(asked.states, 0, 1).tolist()])


def on_numpy_arrays(asked: Asked) -> np.ndarray:
    columns = asked(*np.swapaxes(asked.states, 1, 2))
    return np.stack([np.broadcast_to(x, 2) for x in columns], axis=1)


def on_sympy(asked: Asked) -> np.ndarray:
    symbols = [sympy.symbols(f"{name}:3", real=True) for name in "qva"[: len(asked.states)]]
    function = sympy.lambdify(symbols, asked(*symbols), modules=["math", {"sign": np.sign}])
    return np.array([function(*state) for state in np.swapaxes(asked.states, 0, 1)], dtype=float)


def on_casadi(asked: Asked) -> np.ndarray:
    symbols = [casadi.SX.sym(name, 3) for name in "qva"[: len(asked.states)]]
    results = casadi.vertcat(*asked(*map(casadi.vertsplit, symbols)))
    function = casadi.Function("f", symbols, [results])
    return np.array([function(*state) for state in np.swapaxes(asked.states, 0, 1)])[..., 0]


def on_jax(asked: Asked) -> np.ndarray:
    return np.asarray(_jax(asked)(*asked.states))


def on_jax_compiled(asked: Asked) -> np.ndarray:
    return np.asarray(jax.jit(_jax(asked))(*asked.states))


def _jax(asked: Asked) -> Any:
    def function(*states: jax.Array) -> jax.Array:
        columns = asked(*(jnp.asarray(x).T for x in states))
        return jnp.stack([jnp.broadcast_to(x, 2) for x in columns], axis=1)

    return function


def compiled(asked: Asked, dtype: str = "float64") -> np.ndarray:
    kernel = Robot(MODEL).kernel(
        asked.quantity, formulation=asked.formulation, frame=asked.frame, dtype=dtype
    )
    results = kernel(*asked.states.astype(dtype))
    parts = results if isinstance(results, tuple) else (results,)
    assert {x.dtype.name for x in parts} == {dtype}
    return np.concatenate([x.reshape(2, -1) for x in parts], axis=1)


def compiled_in_float32(asked: Asked) -> np.ndarray:
    return compiled(asked, "float32")


KINDS = [
    on_numpy_arrays,
    on_sympy,
    on_casadi,
    on_jax,
    on_jax_compiled,
    compiled,
    compiled_in_float32,
]


@pytest.fixture(autouse=True)
def _double_precision_in_jax():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("quantity", "formulation"),
    [(name, f) for name, asked in QUANTITIES.items() for f in asked.formulations],
)
def test_every_equation_gives_the_same_on_every_kind_of_scalar(quantity, formulation, kind):
    asked = Asked(quantity, formulation)
    expected = on_floats(asked)
    tolerance = CLOSE["float32" if kind is compiled_in_float32 else "float64"]
    np.testing.assert_allclose(
        kind(asked), expected, rtol=0, atol=tolerance * np.abs(expected).max()
    )


def test_the_robot_of_these_tests_has_all_that_a_robot_can_have():
    assert {joint.kind for joint in MODEL.joints} == {"revolute", "prismatic"}
    assert len({body.parent for body in MODEL.bodies}) < len(MODEL.bodies)  # it branches
    assert len(MODEL.frames) > 1 + len(MODEL.bodies)  # a link is welded on
    assert all(joint.rotor and joint.viscous and joint.coulomb for joint in MODEL.joints)


def test_a_planar_arm_of_two_links_has_the_inertia_matrix_of_the_textbooks():
    """Symbols for every number. Craig, "Introduction to Robotics", section 6.8, has it with point
    masses; Spong, "Robot Modeling and Control", section 7.4, as here."""
    m1, m2, I1, I2, c1, c2, l1, g = sympy.symbols("m1 m2 I1 I2 c1 c2 l1 g", positive=True)
    q1, q2, v1, v2 = sympy.symbols("q1 q2 v1 v2", real=True)
    model = with_values(
        planar_chain(2),
        {
            "mass": [m1, m2],
            "com": [[c1, 0, 0], [c2, 0, 0]],
            "inertia": [[0, 0, I1, 0, 0, I1], [0, 0, I2, 0, 0, I2]],
            "geometry": [[1, 0, 0, x, 0, 1, 0, 0, 0, 0, 1, 0] for x in (0, l1)],
            "gravity": [0, -g, 0],
        },
    )
    D11 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * sympy.cos(q2)) + I1 + I2
    D12 = m2 * (c2**2 + l1 * c2 * sympy.cos(q2)) + I2
    D22 = m2 * c2**2 + I2
    for mass_matrix in (gibbs_tensor.mass_matrix, composite.mass_matrix):
        assert_same(mass_matrix(model, [q1, q2]), [[D11, D12], [D12, D22]])
    h = -m2 * l1 * c2 * sympy.sin(q2)
    C = [[h * v2, h * (v1 + v2)], [-h * v1, 0]]
    assert_same(composite.coriolis_matrix(model, [q1, q2], [v1, v2]), C)
    tip = m2 * c2 * g * sympy.cos(q1 + q2)
    assert_same(
        [gibbs_tensor.gravity(model, [q1, q2])],
        [[(m1 * c1 + m2 * l1) * g * sympy.cos(q1) + tip, tip]],
    )


def assert_same(ours: list[list[Any]], textbook: list[list[Any]]) -> None:
    difference = sympy.Matrix(ours) - sympy.Matrix(textbook)
    assert difference.applyfunc(sympy.simplify).is_zero_matrix
