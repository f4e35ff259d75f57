"""Valera's equations, in both conventions, beside Mata's."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

import appell
from appell.compile.count import Tally
from appell.equations import gibbs_tensor, gibbs_vector, gibbs_vector_paul
from appell.maths.prepared import prepared
from appell.maths.rotation import AboutX, After, about_z
from appell.maths.vector import Vector
from appell.model.links import far_ends
from appell.model.model import Model

# Sums over at most eight bodies: rounding, with room.
CLOSE = 1e-10
SHAPES = [(0.0, 0.0), (0.0, 0.4), (0.4, 0.0), (0.4, 0.4), (1.0, 1.0)]  # branching, prismatic
EQUATIONS = {"gibbs_vector": gibbs_vector, "gibbs_vector_paul": gibbs_vector_paul}


def robots(n: int) -> list[Model]:
    return [
        tree_of_bodies(n, seed, branching=b, prismatic=p, fixed=0.3, rotors=seed % 2 == 0)
        for seed, (b, p) in enumerate(SHAPES)
    ]


def states(model: Model) -> list[list[float]]:
    return np.random.default_rng(len(model.bodies)).normal(size=(3, len(model.bodies))).tolist()


def assert_close(ours: object, expected: object) -> None:
    ours, expected = np.array(ours, dtype=float), np.array(expected, dtype=float)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


@pytest.mark.parametrize("equations", EQUATIONS.values(), ids=EQUATIONS)
@pytest.mark.parametrize("n", range(1, 9))
def test_joint_forces_are_those_of_the_tensor_notation(equations, n):
    for model in robots(n):
        state = states(model)
        expected = gibbs_tensor.inverse_dynamics(model, *state)
        assert_close(equations.inverse_dynamics(model, *state), expected)


@pytest.mark.parametrize("formulation", EQUATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_kernels_give_the_same_as_the_default(formulation, seed):
    robot = appell.load("random_tree", n=6, seed=seed)
    state = np.random.default_rng(seed).normal(size=(3, 5, 6))
    kernel = robot.kernel("inverse_dynamics", formulation=formulation)
    assert_close(kernel(*state), robot.inverse_dynamics(*state))


@pytest.mark.parametrize("equations", EQUATIONS.values(), ids=EQUATIONS)
def test_every_joint_on_the_base_feels_all_that_it_carries(equations):
    """Bodies on the base are made apart; here they slide and turn, and bear several children."""
    model = tree_of_bodies(7, 5, branching=1.0, prismatic=0.5)
    on_base = {body.joint.kind for body in model.bodies if body.parent == -1}
    bearing = [body.parent for body in model.bodies if body.parent != -1]
    assert on_base == {"revolute", "prismatic"}
    assert len(bearing) > len(set(bearing))
    state = states(model)
    expected = gibbs_tensor.inverse_dynamics(model, *state)
    assert_close(equations.inverse_dynamics(model, *state), expected)


def test_pauls_frames_sit_on_the_axis_of_the_next_joint():
    links = far_ends(tree_of_bodies(5, 2, branching=0.0))
    for link in links[1:]:
        assert link.z == (0, 0, 1)
        assert link.s0 == (0, 0, 0)
    assert links[0].axis != (0, 0, 1)


@pytest.mark.parametrize("vector", [(0.3, -0.7, 1.1), (0, 0, 2.0), (0, 1.5, 2.0)])
def test_a_prepared_rotation_turns_as_its_turns_do(vector):
    turns = After(AboutX(0.6, 0.8), about_z(0.4))
    v = Vector(*vector)
    assert_close(prepared(turns) @ v, turns @ v)
    assert_close(prepared(turns).T @ v, turns.T @ v)


def test_a_prepared_rotation_takes_what_is_fewest():
    def cost(*vector: object) -> tuple[int, int]:
        tally.taken()
        _ = R.T @ Vector(*vector)
        taken = tally.taken()
        return taken.multiplications, taken.additions

    tally = Tally()
    x, y, z = (tally.variable() for _ in range(3))
    R = prepared(After(AboutX(tally.constant(), tally.constant()), about_z(tally.variable())))
    assert tally.taken().multiplications == 4
    assert cost(x, y, z) == (8, 4)
    assert cost(0, 0, z) == (3, 0)
