"""An equation is written once: on every kind of scalar it gives the same numbers."""

from __future__ import annotations

from typing import Any

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from batches import tree_of_bodies

from appell.equations import composite, composite_body, gibbs_lean, gibbs_tensor
from appell.equations.quantities import QUANTITIES
from appell.model.library.planar import planar_chain
from appell.model.model import Model
from appell.model.parameters import with_values
from appell.robots.robot import Robot

# A branched robot that has all a robot can have, and a chain of two joints for SymPy, whose
# expressions grow with every body they pass.
EVERYTHING = {"prismatic": 0.4, "fixed": 0.5, "rotors": True, "friction": True}
MODEL = tree_of_bodies(3, 41, branching=0.5, **EVERYTHING)
CHAIN = tree_of_bodies(2, 3, branching=0.0, **EVERYTHING)

# Rounding, and of single precision some digits more for the inverse of the inertia matrix.
CLOSE = 1e-12
CLOSE_IN_FLOAT32 = 1e-4

# Infinite for robots of fewer than six joints; of an arm, tests/laws/test_momentum.py has it.
OF_SIX_JOINTS = ("operational_inertia",)


class Asked:
    """One equation of a robot, as a function of q, v, ... that gives a flat list of scalars."""

    def __init__(self, model: Model, quantity: str, formulation: str) -> None:
        self.model, self.quantity, self.formulation = model, quantity, formulation
        self.inputs = QUANTITIES[quantity].inputs
        self.frame = model.frames[-1].name if QUANTITIES[quantity].frame else None
        # Two states of each input, state by state: (2, inputs, n).
        self.states = np.random.default_rng(0).normal(size=(2, len(self.inputs), model.nv))

    def __call__(self, *state: Any) -> list[Any]:
        equation = QUANTITIES[self.quantity].formulations[self.formulation]
        extra = (self.model.frame(self.frame),) if self.frame else ()
        return flat(equation(self.model, *map(list, state), *extra))


def flat(nested: Any) -> list[Any]:
    if isinstance(nested, list | tuple):
        return [x for part in nested for x in flat(part)]
    return [nested]


def on_floats(asked: Asked) -> np.ndarray:
    return np.array([asked(*state) for state in asked.states.tolist()])


def on_numpy_arrays(asked: Asked) -> np.ndarray:
    columns = asked(*np.moveaxis(asked.states, 0, -1))
    return np.stack([np.broadcast_to(x, 2) for x in columns], axis=1)


def on_sympy(asked: Asked) -> np.ndarray:
    symbols = [sympy.symbols(f"{name}:{asked.model.nv}", real=True) for name in asked.inputs]
    results = [sympy.sympify(x) for x in asked(*symbols)]
    numbers = [
        dict(zip(flat(symbols), state, strict=True)) for state in asked.states.reshape(2, -1)
    ]
    return np.array([[float(x.xreplace(n)) for x in results] for n in numbers])


def on_casadi(asked: Asked) -> np.ndarray:
    symbols = [casadi.SX.sym(name, asked.model.nv) for name in asked.inputs]
    results = casadi.vertcat(*asked(*map(casadi.vertsplit, symbols)))
    function = casadi.Function("f", symbols, [results])
    return np.array([function(*state) for state in asked.states])[..., 0]


def on_jax(asked: Asked) -> np.ndarray:
    return np.array([jnp.stack(asked(*state)) for state in jnp.asarray(asked.states)])


def on_jax_compiled(asked: Asked) -> np.ndarray:
    function = jax.jit(lambda *state: jnp.stack(asked(*state))).lower(*asked.states[0])
    function = function.compile({"xla_backend_optimization_level": 0})  # quick
    return np.array([function(*state) for state in asked.states])


def compiled(asked: Asked, dtype: str = "float64") -> np.ndarray:
    kernel = Robot(asked.model).kernel(
        asked.quantity, formulation=asked.formulation, frame=asked.frame, dtype=dtype
    )
    results = kernel(*np.swapaxes(asked.states, 0, 1).astype(dtype))
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
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("quantity", "formulation"),
    [
        (name, f)
        for name, asked in QUANTITIES.items()
        for f in asked.formulations
        if name not in OF_SIX_JOINTS
    ],
)
def test_every_equation_gives_the_same_on_every_kind_of_scalar(quantity, formulation, kind):
    asked = Asked(CHAIN if kind is on_sympy else MODEL, quantity, formulation)
    expected = on_floats(asked)
    tolerance = CLOSE_IN_FLOAT32 if kind is compiled_in_float32 else CLOSE
    np.testing.assert_allclose(
        kind(asked), expected, rtol=0, atol=tolerance * np.abs(expected).max()
    )


def test_the_robot_asked_has_all_that_a_robot_can_have():
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
    for formulation in (gibbs_lean, gibbs_tensor, composite_body):
        assert_same(formulation.mass_matrix(model, [q1, q2]), [[D11, D12], [D12, D22]])
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
