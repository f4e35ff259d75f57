"""Inertial parameters regrouped across joints: fewer numbers, the same dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from batches import evaluate

from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.inertia import Inertia
from appell.model.library.puma560 import puma560
from appell.model.library.random import random_description, random_tree
from appell.model.regroup import regrouped

SAME = [name for name, asked in QUANTITIES.items() if asked.regroup]


@pytest.mark.parametrize("quantity", SAME)
def test_regrouping_changes_no_dynamics(quantity):
    inputs = QUANTITIES[quantity].inputs
    for seed in range(8):
        model = random_tree(5, seed, branching=0.4, prismatic=0.4, fixed=0.3, rotors=seed % 2 == 0)
        states = np.random.default_rng(seed).normal(size=(len(inputs), 3, 5))
        for formulation in QUANTITIES[quantity].regroup:
            ours, given = (
                evaluate(m, quantity, *states, formulation=formulation)
                for m in (regrouped(model), model)
            )
            np.testing.assert_allclose(ours, given, rtol=0, atol=1e-12 * np.abs(given).max())


@pytest.mark.parametrize("joints", [60, 100, 150])
def test_regrouping_changes_no_dynamics_of_long_chains(joints):
    """What is rounding must not be judged by bounds that grow along the chain."""
    model = random_tree(joints, 0, branching=0, prismatic=0.2)
    states = np.random.default_rng(0).normal(size=(3, 4, joints))
    for quantity, inputs in (("inverse_dynamics", 3), ("mass_matrix", 1)):
        for formulation in QUANTITIES[quantity].regroup:
            ours, given = (
                evaluate(m, quantity, *states[:inputs], formulation=formulation)
                for m in (regrouped(model), model)
            )
            np.testing.assert_allclose(ours, given, rtol=0, atol=1e-12 * np.abs(given).max())


def test_turning_links_are_left_as_laminas_without_mass_and_sliding_ones_without_moments():
    for body in regrouped(random_tree(6, 1, prismatic=0.5)).bodies:
        if body.rho:
            assert (body.mass, body.moment.z) == (0, 0)
            assert body.tensor.zz == body.tensor.xx + body.tensor.yy
        else:
            assert not any(body.tensor)


def test_a_link_alike_in_all_directions_across_its_axis_keeps_only_its_moment_about_it():
    last = regrouped(puma560()).bodies[-1]
    assert [x != 0 for x in last.inertia.parameters] == [False] * 9 + [True]


@pytest.mark.parametrize("heaviest", ["first", "last", "any"])
def test_regrouping_loses_no_digits_between_milligrams_and_tonnes(heaviest):
    """Each joint's torque in parts of itself, against the given parameters in more digits."""
    for seed in range(10):
        draw = np.random.default_rng(seed)
        scale = np.sort(10 ** draw.uniform(-6, 3, 6))
        scale = {"first": scale[::-1], "last": scale, "any": draw.permutation(scale)}[heaviest]
        links, hinges = random_description(
            6, seed, branching=0.0, prismatic=0.3, fixed=0.0, rotors=False, friction=False
        )
        for k, name in zip(scale, list(links)[1:], strict=True):
            links[name] = Inertia.from_parameters(tuple(k * x for x in links[name].parameters))
        model = assemble("uneven", links, hinges)
        states = draw.normal(size=(3, 20, 6))
        torques = evaluate(regrouped(model), "inverse_dynamics", *states)
        exact = evaluate(model, "inverse_dynamics", *states.astype(np.longdouble))
        typical = np.median(np.abs(exact), axis=0)
        # Rounding of float64 in sums over six bodies.
        assert (np.abs(torques - exact) / typical).max() < 1e-13
