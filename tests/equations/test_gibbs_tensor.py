"""The page of Mata 2002: its tensors, its steps, its decomposition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations import gibbs_lean, gibbs_tensor
from appell.equations.linear import back_substitute
from appell.equations.quantities import QUANTITIES
from appell.maths.rotation import AboutX, After, about_z, as_matrix
from appell.maths.vector import Symmetric, Vector, Z, cross
from appell.model.inertia import NOTHING
from appell.model.library.random import random_inertia
from appell.model.model import BASE

# Sums over at most eight bodies: rounding, with room.
CLOSE = 1e-12
TURN = After(AboutX(0.6, 0.8), about_z(0.4))


def assert_close(ours: object, expected: object) -> None:
    ours, expected = np.array(ours, dtype=float), np.array(expected, dtype=float)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


@pytest.fixture
def draw():
    return np.random.default_rng(7)


def vectors(draw: np.random.Generator, n: int) -> list[Vector]:
    return [Vector(*map(float, x)) for x in draw.normal(size=(n, 3))]


def symmetric(draw: np.random.Generator) -> Symmetric:
    return Symmetric(*map(float, draw.normal(size=6)))


def skew(v: Vector) -> np.ndarray:
    return np.array([[0, -v.z, v.y], [v.z, 0, -v.x], [-v.y, v.x, 0]])


def test_the_angular_acceleration_tensor_gives_the_acceleration_of_a_point(draw):
    w, dw, r = vectors(draw, 3)
    W = gibbs_tensor.angular_acceleration_tensor(w, dw)
    assert_close(W @ r, cross(dw, r) + cross(w, cross(w, r)))


def test_the_moment_by_eulers_tensor_is_that_of_eulers_equations(draw):
    inertia = random_inertia(draw)
    w, dw = vectors(draw, 2)
    W = gibbs_tensor.angular_acceleration_tensor(w, dw)
    I = inertia.central
    t = gibbs_tensor.inertial_moment(W, gibbs_tensor.euler_tensor(inertia))
    assert_close(t, I @ dw + cross(w, I @ w))


def test_eulers_tensor_is_that_of_the_second_moments_of_the_mass(draw):
    """For a point mass at the centre nothing is left of it, wherever the frame is."""
    heavy = random_inertia(draw)
    point = heavy._replace(tensor=heavy.tensor - heavy.central)
    assert np.abs(gibbs_tensor.euler_tensor(point)).max() < 1e-15
    J = gibbs_tensor.euler_tensor(heavy)
    assert np.linalg.eigvalsh(np.array([[*row] for row in J.tensor])).min() > 0


@pytest.mark.parametrize(
    "R", [TURN, TURN.first, TURN.second, as_matrix(TURN), TURN.T], ids=lambda R: type(R).__name__
)
def test_a_similarity_turns_a_tensor(R, draw):
    S = symmetric(draw)
    matrix = np.array([[*row] for row in as_matrix(R).rows])
    expected = matrix @ np.array([[*row] for row in S.tensor]) @ matrix.T
    assert_close([[*row] for row in gibbs_tensor.similarity(R, S).tensor], expected)


def test_products_of_tensors_are_those_of_their_matrices(draw):
    a, b, r = vectors(draw, 3)
    S = symmetric(draw)
    X = gibbs_tensor.skew_product(a, b)
    assert_close([[*row] for row in X], skew(a) @ skew(b))
    full = np.array([[*row] for row in S.tensor])
    less = full - skew(a) @ skew(b) - (skew(a) @ skew(b)).T
    assert_close([[*row] for row in gibbs_tensor.without_twice(S, X).tensor], less)
    assert_close(gibbs_tensor.quadratic(r, S), np.array(r) @ full @ np.array(r))


def test_the_moment_about_an_axis_is_the_third_component(draw):
    r, f, t, *rest = vectors(draw, 9)
    children = [gibbs_tensor.Child(TURN, *rest[:3]), gibbs_tensor.Child(TURN.T, *rest[3:])]
    whole = gibbs_tensor.carried_moment(r, f, t, children)
    assert gibbs_tensor.carried_moment_about_z(r, f, t, children) == pytest.approx(whole.z)


def test_only_the_third_moment_of_what_hangs_on_the_base_is_made():
    model = tree_of_bodies(6, 2, branching=0.5, prismatic=0.0)
    q = [0.3 * i for i in range(6)]
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    _, gamma, E = gibbs_tensor.composed(model, s)
    _, carried = gibbs_tensor.first_moments(model, R, gamma)
    psi = gibbs_tensor.second_moments(model, R, s, E, carried)
    parents = {body.parent for body in model.bodies}
    bearing = [i for i, body in model.outwards() if body.parent == BASE and i in parents]
    assert bearing
    for i in bearing:
        assert psi[i]._replace(zz=0) == E[i]._replace(zz=0)
        assert psi[i].zz > E[i].zz


def test_arms_and_axes_lead_from_joint_to_joint():
    model = tree_of_bodies(7, 4, branching=0.4, prismatic=0.3)
    q = [0.2 * i - 0.5 for i in range(7)]
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    arms = gibbs_tensor.arms_of_joints(model, R, s)
    axes = gibbs_tensor.axes_of_joints(model, R, gibbs_tensor.third_rows(R))
    for j, path in enumerate(model.ancestors):
        assert list(arms[j]) == list(reversed(path[:-1]))
        for k in path[:-1]:
            arm, axis = arms[j][k], axes[j][k]
            for i in reversed(path[path.index(k) + 1 :]):  # back to the axes of k
                arm, axis = R[i] @ arm, R[i] @ axis
            place = Vector(0, 0, 0)
            for i in reversed(path[path.index(k) + 1 :]):
                place = s[i] + R[i] @ place
            assert_close(arm, place)
            np.testing.assert_allclose(np.array(axis, dtype=float), Z, atol=CLOSE)


def spd(draw: np.random.Generator, paths: list[range] | tuple[tuple[int, ...], ...]) -> np.ndarray:
    """A positive matrix with the pattern of a tree."""
    n = len(paths)
    L = np.zeros((n, n))
    for i, path in enumerate(paths):
        L[i, list(path)] = draw.normal(size=len(path))
    return L.T @ L + np.eye(n) * 0.1


@pytest.mark.parametrize("branching", [0.0, 0.6])
def test_the_decomposition_multiplies_out_and_solves(branching, draw):
    paths = tree_of_bodies(7, 3, branching=branching).ancestors
    D = spd(draw, paths)
    L, inverse = gibbs_tensor.cholesky(D.tolist(), paths)
    unit = np.array(L, dtype=float) + np.eye(7)
    assert_close(unit.T @ np.diag(1 / np.array(inverse)) @ unit, D)
    assert np.array_equal(unit != 0, D * np.tri(7) != 0)  # nothing is filled in
    b = draw.normal(size=7)
    x = back_substitute(L, inverse, b.tolist(), paths)
    np.testing.assert_allclose(D @ x, b, rtol=0, atol=1e-10)


def test_a_body_without_mass_needs_no_centre():
    model = tree_of_bodies(5, 3, branching=0.5)
    bodies = tuple(
        replace(b, inertia=NOTHING) if i in (1, 4) else b for i, b in enumerate(model.bodies)
    )
    light = replace(model, bodies=bodies)
    state = np.random.default_rng(1).normal(size=(3, 5)).tolist()
    expected = gibbs_lean.inverse_dynamics(light, *state)
    assert_close(gibbs_tensor.inverse_dynamics(light, *state), expected)
    expected = gibbs_lean.mass_matrix(light, state[0])
    assert_close(gibbs_tensor.mass_matrix(light, state[0]), expected)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
def test_the_page_takes_bodies_as_they_are(quantity):
    """Regrouped bodies have first moments without mass: there is no centre of mass."""
    asked = QUANTITIES[quantity]
    assert "gibbs_tensor" in asked.formulations
    assert not {"gibbs_tensor", "composite_body"} & asked.regroup
