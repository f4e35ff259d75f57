"""All formulations of a quantity give the same numbers, on trees of turning and sliding joints."""

from __future__ import annotations

import numpy as np
import pytest
from batches import tree_of_bodies

from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.library.random import random_description
from appell.model.model import Model
from appell.model.regroup import regrouped

# Two ways to compute the same number, each a sum over at most eight bodies; accelerations by
# the inverse of the inertia matrix lose some digits more.
CLOSE = 1e-10
ASKED = ["mass_matrix", "forward_dynamics", "inverse_dynamics"]
SHAPES = [(0.0, 0.0), (0.0, 0.4), (0.4, 0.0), (0.4, 0.4), (1.0, 1.0)]  # branching, prismatic


def robots() -> list[Model]:
    return [
        tree_of_bodies(n, 10 * n + seed, branching=b, prismatic=p, fixed=0.3, rotors=seed % 2 == 0)
        for n in range(1, 9)
        for seed, (b, p) in enumerate(SHAPES)
    ]


def assert_all_agree(model: Model, quantity: str, formulations: list[str]) -> None:
    asked = QUANTITIES[quantity]
    state = np.random.default_rng(model.nv).normal(size=(len(asked.inputs), model.nv)).tolist()
    first, *others = (
        np.array(asked.formulations[f](model, *state), dtype=float) for f in formulations
    )
    for name, other in zip(formulations[1:], others, strict=True):
        np.testing.assert_allclose(
            other, first, rtol=0, atol=CLOSE * np.abs(first).max(), err_msg=f"{model.name}: {name}"
        )


@pytest.mark.parametrize("quantity", ASKED)
def test_formulations_agree(quantity):
    for model in robots():
        assert_all_agree(model, quantity, list(QUANTITIES[quantity].formulations))


@pytest.mark.parametrize("quantity", ASKED)
def test_those_that_take_regrouped_models_agree_with_the_others(quantity):
    asked = QUANTITIES[quantity]
    for model in robots():
        state = np.random.default_rng(1).normal(size=(len(asked.inputs), model.nv)).tolist()
        as_it_is = np.array(asked.formulations["gibbs_tensor"](model, *state), dtype=float)
        for name in asked.regroup:
            ours = np.array(asked.formulations[name](regrouped(model), *state), dtype=float)
            np.testing.assert_allclose(ours, as_it_is, rtol=0, atol=CLOSE * np.abs(as_it_is).max())


def test_the_formulations_of_the_papers_are_there():
    papers = {"gibbs_tensor", "composite_body"}
    assert papers <= set(QUANTITIES["mass_matrix"].formulations)
    assert papers | {"articulated_body"} <= set(QUANTITIES["forward_dynamics"].formulations)
    for quantity in ASKED:
        assert next(iter(QUANTITIES[quantity].formulations)) == "gibbs_lean"


def test_the_robots_have_branches_rotors_and_both_kinds_of_joints():
    models = robots()
    assert {j.kind for model in models for j in model.joints} == {"revolute", "prismatic"}
    assert any(model.rotors for model in models)
    parents = [[body.parent for body in model.bodies] for model in models]
    assert any(len(set(p)) < len(p) for p in parents)


def test_a_free_base_is_moved_alike():
    links, hinges = random_description(
        4, 6, branching=0.3, prismatic=0.3, fixed=0.0, rotors=True, friction=False
    )
    links["base"] = links["link1"]
    model = assemble("free", links, hinges, base="free")
    draw = np.random.default_rng(2)
    q = draw.normal(size=model.nq).tolist()
    v, x = draw.normal(size=(2, model.nv)).tolist()
    for quantity, state in (("mass_matrix", (q,)), ("forward_dynamics", (q, v, x))):
        first, *others = (
            np.array(f(model, *state), dtype=float)
            for f in QUANTITIES[quantity].formulations.values()
        )
        for other in others:
            np.testing.assert_allclose(other, first, rtol=0, atol=CLOSE * np.abs(first).max())
