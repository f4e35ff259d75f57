"""Walker and Orin's composite bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations import composite_body, gibbs_lean
from appell.equations.composite_body import Composite, composed
from appell.maths.vector import NIL, ZERO, Vector, point_inertia
from appell.model.inertia import NOTHING, Inertia
from appell.model.library.random import random_inertia
from appell.model.model import BASE

# Sums over at most eight bodies: rounding, with room.
CLOSE = 1e-12


def assert_close(ours: object, expected: object) -> None:
    ours, expected = np.array(ours, dtype=float), np.array(expected, dtype=float)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


def test_two_points_turn_about_their_centre_like_their_reduced_mass():
    one, other = Vector(1.0, 2.0, 0.0), Vector(-1.0, 0.5, 3.0)
    M, c, E = composed([Composite(2.0, one, NIL), Composite(6.0, other, NIL)])
    assert M == 8
    assert_close(c, (one * 2.0 + other * 6.0) * (1 / 8))
    assert_close(E, point_inertia(one - other) * 1.5)


def test_several_bodies_weigh_what_their_moments_add_up_to():
    draw = np.random.default_rng(3)
    inertias = [random_inertia(draw) for _ in range(3)]
    total = sum(inertias, start=NOTHING)
    whole = composed([Composite(x.mass, x.com, x.central) for x in inertias])
    assert_close(Inertia.about_com(*whole).parameters, total.parameters)


def test_bodies_without_mass_have_no_centre():
    assert composed([Composite(0, ZERO, NIL)] * 2) == (0, ZERO, NIL)


def test_what_hangs_on_the_base_carries_all():
    model = tree_of_bodies(6, 1, branching=0.0)
    q = [0.1 * i for i in range(6)]
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    carried = composite_body.composites(model, R, s)
    assert model.bodies[0].parent == BASE
    assert_close(carried[0].M, sum(body.mass for body in model.bodies))
    assert carried[5].c == model.bodies[5].inertia.com


@pytest.mark.parametrize("prismatic", [0.0, 0.5, 1.0])
def test_a_column_is_what_a_unit_acceleration_asks_for(prismatic):
    model = tree_of_bodies(6, 8, branching=0.4, prismatic=prismatic, rotors=True)
    still = replace(model, gravity=ZERO)
    q, rest = [0.4 * i - 1 for i in range(6)], [0.0] * 6
    D = np.array(composite_body.mass_matrix(model, q), dtype=float)
    for k, unit in enumerate(np.eye(6).tolist()):
        column = np.array(gibbs_lean.inverse_dynamics(still, q, rest, unit), dtype=float)
        np.testing.assert_allclose(D[:, k], column, rtol=0, atol=CLOSE * np.abs(D).max())


def test_a_tip_without_mass_weighs_nothing():
    model = tree_of_bodies(4, 3, branching=0.0)
    bodies = (*model.bodies[:-1], replace(model.bodies[-1], inertia=NOTHING))
    light = replace(model, bodies=bodies)
    q = [0.3, -0.2, 0.7, 1.0]
    assert_close(composite_body.mass_matrix(light, q), gibbs_lean.mass_matrix(light, q))
