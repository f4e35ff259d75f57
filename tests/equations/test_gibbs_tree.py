"""Shafei's branches beside the whole tree's equations, and his recursions beside his sums."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

import appell
from appell.equations import gibbs_lean, gibbs_tree, lagrange_euler
from appell.maths.homogeneous import Matrix4
from appell.maths.vector import NIL, NULL, ZERO
from appell.model.model import Model
from appell.robots.robot import Robot

# Sums over at most eight bodies, each a product of matrices: rounding, with room.
CLOSE = 1e-10
SHAPES = [(0.0, 0.0), (0.0, 0.4), (0.5, 0.0), (0.5, 0.4), (1.0, 1.0)]  # branching, prismatic


def robots(n: int) -> list[Model]:
    return [
        tree_of_bodies(n, seed, branching=b, prismatic=p, fixed=0.3, rotors=seed % 2 == 0)
        for seed, (b, p) in enumerate(SHAPES)
    ]


def states(model: Model) -> list[list[float]]:
    return np.random.default_rng(len(model.bodies)).normal(size=(3, len(model.bodies))).tolist()


def ten_links() -> Model:
    return appell.load("ten_link_tree").model


def numbers(X: Matrix4) -> np.ndarray:
    return np.array(X.rows, dtype=float)


def assert_close(ours: object, expected: object) -> None:
    ours, expected = np.array(ours, dtype=float), np.array(expected, dtype=float)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


@pytest.mark.parametrize("n", range(1, 9))
def test_added_up_the_branches_are_the_tree(n):
    for model in robots(n):
        q, v, x = states(model)
        assert_close(gibbs_tree.mass_matrix(model, q), gibbs_lean.mass_matrix(model, q))
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            ours, expected = (getattr(e, quantity) for e in (gibbs_tree, gibbs_lean))
            assert_close(ours(model, q, v, x), expected(model, q, v, x))


def test_the_paper_s_flying_tree_is_that_of_the_whole_tree_s_equations():
    model = ten_links().in_bodies
    q, v, x = states(model)
    assert_close(gibbs_tree.mass_matrix(model, q), gibbs_lean.mass_matrix(model, q))
    assert_close(
        gibbs_tree.forward_dynamics(model, q, v, x), gibbs_lean.forward_dynamics(model, q, v, x)
    )


@pytest.mark.parametrize(
    "model",
    [
        ten_links(),
        tree_of_bodies(6, 4, branching=0.5, rotors=True),
        tree_of_bodies(4, 2, branching=0.5, base="free"),
        tree_of_bodies(4, 2, branching=0.5, base="planar"),
    ],
    ids=["ten links", "tree", "free tree", "planar tree"],
)
@pytest.mark.parametrize("quantity", ["mass_matrix", "bias", "forward_dynamics"])
def test_recorded_it_gives_what_the_default_formulation_gives(model, quantity):
    robot, draw = Robot(model), np.random.default_rng(0)
    q, v, tau = (draw.normal(size=(5, size)) for size in (model.nq, model.nv, model.nv))
    if model.free:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    given = {"mass_matrix": (q,), "bias": (q, v), "forward_dynamics": (q, v, tau)}[quantity]
    ours, expected = (
        robot.kernel(quantity, formulation=name)(*given) for name in ("gibbs_tree", "gibbs_lean")
    )
    assert_close(ours, expected)


def test_the_ten_links_are_the_paper_s_four_branches():
    """Section 3.1.3; a link of several branches has its mass in the first."""
    model = ten_links().in_bodies
    branches = gibbs_tree.branches(model, [0.0] * len(model.bodies))
    names = [[body.name for body in branch.bodies] for branch in branches]
    slides = names[0][:2]
    links = [[1, 2, 3, 4], [1, 2, 5, 6, 7], [1, 2, 5, 8], [1, 2, 5, 9, 10]]
    assert names == [[*slides, *(f"link{i}" for i in branch)] for branch in links]
    real = [
        [b.name for b, c in zip(branch.bodies, branch.c, strict=True) if c[3]]
        for branch in branches
    ]
    own = [[1, 2, 3, 4], [5, 6, 7], [8], [9, 10]]
    assert real == [[f"link{i}" for i in branch] for branch in own]
    for branch in branches:
        for c, B1, B2 in zip(branch.c, branch.B1, branch.B2, strict=True):
            if not c[3]:
                assert not any([*c, *B2])
                assert not numbers(B1).any()


def test_recursions_give_the_sums_they_stand_for():
    """F is (36) and P is (38), with transformations between all links as in step 1."""
    for model in robots(5):
        q, _, _ = states(model)
        for branch in gibbs_tree.branches(model, q):
            place = gibbs_tree.placed(branch)
            F = gibbs_tree.moved_moments(branch)
            P = gibbs_tree.turned_moments(branch, place)
            n = len(branch.links)
            EA = [numbers(X) for X in branch.EA]
            B1 = [numbers(X) for X in branch.B1]
            B2 = [np.array(X.tensor, dtype=float) for X in branch.B2]
            for k in range(n):
                for j in range(k + 1):
                    moved = [compound(EA, j, i) @ B1[i] @ compound(EA, k, i).T for i in range(k, n)]
                    turned = [
                        compound(EA, j, i)[:3, :3] @ B2[i] @ compound(EA, k, i)[:3, :3].T
                        for i in range(k, n)
                    ]
                    np.testing.assert_allclose(numbers(F[k][j]), sum(moved), atol=1e-12)
                    np.testing.assert_allclose(np.array(P[k][j], float), sum(turned), atol=1e-12)


def compound(EA: list[np.ndarray], j: int, i: int) -> np.ndarray:
    """T~ from link i to link j."""
    product = np.eye(4)
    for X in EA[j + 1 : i + 1]:
        product = product @ X
    return product


def test_accelerations_of_the_transformations_are_second_differences():
    """Along q + v t + a t^2 / 2; differences of step h err by some h^2 and by rounding / h^2."""
    h = 1e-4
    for model in robots(4):
        q, v, a = (np.array(x) for x in states(model))
        middle, *beside = (
            gibbs_tree.branches(model, (q + v * t + a * t * t / 2).tolist()) for t in (0, -h, h)
        )
        for branch, before, after in zip(middle, *beside, strict=True):
            of = [x[list(branch.links)].tolist() for x in (v, a)]
            ddT = gibbs_tree.accelerations(branch, gibbs_tree.placed(branch), *of)
            for i, ours in enumerate(ddT):
                b, m, e = (
                    compound([np.eye(4), *map(numbers, x.EA)], 0, i + 1)
                    for x in (before, branch, after)
                )
                np.testing.assert_allclose(numbers(ours), (b - 2 * m + e) / h**2, atol=3e-6)


def without_gyroscopic_term(model: Model, state: list[list[float]]) -> np.ndarray:
    """The joint forces as the paper has them: step 4 with no velocity in t."""
    q, v, a = state
    tau: list[float] = [0.0] * len(model.bodies)
    for branch in gibbs_tree.branches(model, q):
        place = gibbs_tree.placed(branch)
        of = [[x[i] for i in branch.links] for x in (v, a)]
        _, dw = gibbs_tree.angular_motion(branch, place, *of)
        ddT = gibbs_tree.accelerations(branch, place, *of)
        rest = [ZERO] * len(dw)
        carried = gibbs_tree.carried(branch, place, ddT, rest, dw)
        part = gibbs_tree.projected(model, branch, place, *carried)
        gibbs_tree.add_vector(tau, branch, part)
    return np.array(tau)


def test_the_gyroscopic_term_is_nothing_in_the_plane_only():
    flat, space = ten_links().in_bodies, tree_of_bodies(5, 2, branching=0.5, prismatic=0.0)
    assert_close(
        without_gyroscopic_term(flat, states(flat)),
        gibbs_lean.inverse_dynamics(flat, *states(flat)),
    )
    expected = np.array(gibbs_lean.inverse_dynamics(space, *states(space)))
    difference = np.abs(without_gyroscopic_term(space, states(space)) - expected).max()
    assert difference > 1e4 * CLOSE * np.abs(expected).max()


def test_it_does_not_matter_how_inertia_is_split_between_the_matrices():
    """With the whole pseudo-inertia in B1 there is nothing to turn."""
    for model in robots(5):
        q, v, a = states(model)
        J = lagrange_euler.pseudo_inertias(model)
        real = [True] * len(J)
        tau, I = [0.0] * len(J), [[0.0] * len(J) for _ in J]
        for branch in gibbs_tree.branches(model, q):
            of = [gibbs_tree.scaled(J[i], 0.5 if real[i] else 0) for i in branch.links]
            branch = branch._replace(B1=of, B2=[NIL] * len(of))
            for i in branch.links:
                real[i] = False
            place = gibbs_tree.placed(branch)
            gibbs_tree.add_vector(tau, branch, gibbs_tree.forces(model, branch, place, v, a))
            P = [[NULL] * len(of)] * len(of)
            part = gibbs_tree.coupled(branch, place, gibbs_tree.moved_moments(branch), P)
            gibbs_tree.add_matrix(I, branch, part)
        rotors = np.array([body.joint.reflected for body in model.bodies], dtype=float)
        assert_close(tau + rotors * a, gibbs_lean.inverse_dynamics(model, q, v, a))
        assert_close(I + np.diag(rotors), gibbs_lean.mass_matrix(model, q))
