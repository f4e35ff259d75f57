"""Laws and closed loops by each formulation of the dynamics: the same torques, by other code."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from moves import bars

import appell
from appell.compile.identity import identity
from appell.control import (
    Adaptive,
    CartesianImpedance,
    ComputedTorque,
    Feedforward,
    Friction,
    JointImpedance,
    Law,
    PDGravity,
    PointToPoint,
    SlidingMode,
    Tracking,
    TrackingIntegral,
    quintic,
    track,
)
from appell.control.laws.compiled import of_state
from appell.control.laws.gains import Kind
from appell.equations.quantities import QUANTITIES
from appell.model.library.planar import planar_chain
from appell.model.library.random import random_tree
from appell.robots.robot import Robot

TREE = Robot(random_tree(4, 41, branching=0.5, prismatic=0.4, rotors=True))
ARM = bars(2)
BY = list(QUANTITIES["inverse_dynamics"].formulations)
MOVED_BY = list(QUANTITIES["forward_dynamics"].formulations)


def laws(robot, formulation):
    made = [
        kind(robot, formulation=formulation)
        for kind in (PDGravity, Feedforward, ComputedTorque, PointToPoint, Tracking)
    ]
    made += [kind(robot, formulation=formulation) for kind in (TrackingIntegral, SlidingMode)]
    made.append(JointImpedance(robot, 9.0, formulation=formulation))
    made.append(CartesianImpedance(robot, 9.0, 2.0, frame="link4", formulation=formulation))
    return made


@pytest.mark.parametrize("formulation", BY[1:])
def test_laws_give_the_same_torques_by_every_formulation(formulation):
    states = np.random.default_rng(3).normal(size=(5, TREE.nv))
    for law, usual in zip(laws(TREE, formulation), laws(TREE, None), strict=True):
        tau, expected = law(*states)[0], usual(*states)[0]
        # Sums over four bodies of at most a hundred products each, rounded differently.
        np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_a_formulation_runs_code_of_its_own():
    """By what it costs: the Lagrange-Euler equations take the most operations by far."""
    by = {f: ComputedTorque(TREE, formulation=f) for f in ("newton_euler", "lagrange_euler")}
    lengths = {f: len(law.kernel().tape().steps) for f, law in by.items()}
    assert lengths["lagrange_euler"] > 2 * lengths["newton_euler"]
    assert len({identity("", "", of_state(law, gains=True)) for law in by.values()}) == 2
    usual = ComputedTorque(TREE)
    assert usual.formulation == "gibbs_lean"
    named = ComputedTorque(TREE, formulation="gibbs_lean")
    assert identity("", "", of_state(named, gains=False)) == identity(
        "", "", of_state(usual, gains=False)
    )


def test_the_formulation_is_shown_pickled_and_replaced():
    law = TrackingIntegral(ARM, formulation="gibbs_vector")
    assert repr(law).endswith("ki=1000, formulation=gibbs_vector>")
    again = pickle.loads(pickle.dumps(law))
    assert again.formulation == "gibbs_vector"
    assert replace(again, kp=[70.0, 70.0]).formulation == "gibbs_vector"
    tool = CartesianImpedance(ARM, 1.0, 1.0, formulation="newton_euler")
    assert repr(tool).endswith("formulation=newton_euler>")
    assert Adaptive(ARM).formulation == "gibbs_tensor"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ComputedTorque(ARM, formulation="kane"),
            "ComputedTorque: inverse_dynamics has no formulation 'kane'; it has gibbs_lean, ",
        ),
        (
            lambda: Adaptive(ARM, formulation="newton_euler"),
            "regressor has no formulation 'newton_euler'; it has gibbs_tensor",
        ),
        (
            lambda: track(ARM, ComputedTorque(ARM), [0, 0], until=0.1, formulation="kane"),
            "forward_dynamics has no formulation 'kane'; it has gibbs_lean, ",
        ),
        (
            lambda: track(
                ARM,
                ComputedTorque(ARM),
                [0, 0],
                until=0.1,
                friction=Friction(coulomb=1.0),
                formulation="articulated_body",
            ),
            "'articulated_body' has no mass matrix and bias of its own",
        ),
    ],
)
def test_unknown_formulations_are_refused_with_those_there_are(make, message):
    with pytest.raises(appell.InputError, match=message):
        make()


def test_articulated_bodies_do_not_mimic():
    both = planar_chain(2)
    follower = replace(both.bodies[1], coordinate=0, ratio=0.5)
    finger = Robot(replace(both, bodies=(both.bodies[0], follower), joints=both.joints[:1]))
    with pytest.raises(appell.InputError, match="mimic others, which articulated bodies cannot"):
        track(finger, PDGravity(finger), [0.1], until=0.1, formulation="articulated_body")


def test_a_law_of_ones_own_takes_a_formulation_or_refuses_it():
    def spring(model, q, v, desired, k):
        return [g * (x - y) for g, x, y in zip(k, desired.q, q, strict=True)]

    @dataclass(frozen=True, eq=False, repr=False)
    class Spring(Law):
        k: float = 3.0
        equation = staticmethod(spring)
        gains: ClassVar = {"k": Kind()}

    assert Spring(ARM).formulation is None
    with pytest.raises(appell.InputError, match="its equation takes no formulation"):
        Spring(ARM, formulation="gibbs_vector")


@pytest.mark.parametrize(
    ("formulation", "friction"),
    [
        *((f, False) for f in MOVED_BY[1:]),
        *((f, Friction(viscous=0.1, coulomb=0.4)) for f in MOVED_BY[1:] if f in BY),
    ],
)
def test_an_arm_moves_alike_by_every_formulation(formulation, friction):
    way = quintic([0.0, 0.5], [0.6, -0.4], 0.3)
    runs = [
        track(ARM, ComputedTorque(ARM), way, friction=friction, formulation=f)
        for f in (None, formulation)
    ]
    # The steps are chosen by errors near 1e-11, which rounding moves a little.
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    np.testing.assert_allclose(runs[1].v, runs[0].v, atol=1e-8)


@pytest.mark.parametrize("quantity", ["mass_matrix", "gravity", "forward_dynamics"])
def test_the_papers_recursions_answer_for_joints_that_mimic_others(quantity):
    both = planar_chain(3)
    follower = replace(both.bodies[2], coordinate=1, ratio=0.5)
    finger = Robot(replace(both, bodies=(*both.bodies[:2], follower), joints=both.joints[:2]))
    asked = QUANTITIES[quantity]
    states = np.random.default_rng(2).normal(size=(len(asked.inputs), finger.nv))
    expected = finger.kernel(quantity)(*states)
    for name in ("gibbs_vector", "gibbs_vector_paul", "newton_euler", "lagrange_euler"):
        ours = finger.kernel(quantity, formulation=name)(*states)
        np.testing.assert_allclose(ours, expected, atol=1e-11 * np.abs(expected).max())
