"""Lee's Lagrange-Euler equations beside the Gibbs-Appell ones, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations import composite, gibbs_tensor, lagrange_euler
from appell.maths.homogeneous import Matrix4
from appell.model.model import BASE, Model

# Sums over at most six bodies, each a product of six 4 x 4 matrices: rounding, with room.
CLOSE = 1e-10
SHAPES = [(0.0, 0.0), (0.0, 0.4), (0.4, 0.0), (0.4, 0.4), (1.0, 1.0)]  # branching, prismatic


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


@pytest.mark.parametrize("n", range(1, 7))
def test_joint_forces_are_those_of_gibbs_and_appell(n):
    for model in robots(n):
        state = states(model)
        assert_close(
            lagrange_euler.inverse_dynamics(model, *state),
            gibbs_tensor.inverse_dynamics(model, *state),
        )


@pytest.mark.parametrize("n", [1, 3, 6])
def test_inertia_coriolis_and_gravity_are_those_of_the_other_equations(n):
    for model in robots(n):
        q, v, _ = states(model)
        D, C = lagrange_euler.mass_matrix(model, q), lagrange_euler.coriolis_matrix(model, q, v)
        assert_close(D, gibbs_tensor.mass_matrix(model, q))
        assert_close(lagrange_euler.gravity(model, q), gibbs_tensor.gravity(model, q))
        # Christoffel's matrix is one only; its size may vanish with one joint.
        size = max(np.abs(C).max(), np.abs(D).max())
        difference = np.array(C) - composite.coriolis_matrix(model, q, v)
        assert np.abs(difference).max() <= CLOSE * size


def test_derivatives_of_the_transformations_are_slopes():
    """By central differences, whose error is some h^2 = 1e-10."""
    h = 1e-5
    for model in robots(5):
        q, _, _ = states(model)
        A = lagrange_euler.links(model, q)
        dT = lagrange_euler.derivatives(model, A, lagrange_euler.transforms(model, A))
        for (i, j), ours in dT.items():
            ahead, behind = (
                base_transform(model, [x + step * (k == i) for k, x in enumerate(q)], j)
                for step in (h, -h)
            )
            np.testing.assert_allclose(
                np.array(ours.rows, dtype=float), (ahead - behind) / (2 * h), atol=1e-8
            )


def base_transform(model: Model, q: list[float], j: int) -> np.ndarray:
    T: Matrix4 = lagrange_euler.transforms(model, lagrange_euler.links(model, q))[BASE, j]
    return np.array(T.rows, dtype=float)


def test_the_pseudo_inertia_holds_mass_first_and_second_moments():
    model = tree_of_bodies(2, 7)
    for body, J in zip(model.bodies, lagrange_euler.pseudo_inertias(model), strict=True):
        rows = np.array(J.rows, dtype=float)
        second, moment = rows[:3, :3], np.array(body.moment, dtype=float)
        np.testing.assert_array_equal(rows, rows.T)
        np.testing.assert_array_equal(rows[3], [*moment, body.mass])
        # (2.21): the inertia tensor comes back.
        np.testing.assert_allclose(
            np.trace(second) * np.eye(3) - second, np.array(body.tensor.tensor), rtol=1e-12
        )
