"""Robots drawn at random move as Pinocchio and MuJoCo say.

Pinocchio is given each robot twice: as the model that Appell's equations see, and as a URDF file
written from the links and hinges, which Appell's build takes no part in. MuJoCo reads the same
links and hinges as MJCF.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import mujoco_robot
import numpy as np
import pinocchio_robot
import pytest
from batches import evaluate
from descriptions import Links, mjcf

from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.library.random import random_description
from appell.model.model import Model
from appell.robots.robot import Robot

STATES = 4

# Rounding of sums over 30 bodies; forward dynamics loses as many digits as the condition of M
# has (up to four here), its derivatives twice that.
CLOSE = 1e-10
CLOSE_DERIVATIVE = 1e-8
DERIVATIVES = ("dtau_dq", "dtau_dv", "dtau_da", "da_dq", "da_dv", "da_dtau")

# The smallest size an error is measured by: what is exactly zero here (velocity forces of a robot
# whose joints all hang on the base) is rounding of about 1e-16 in the other engines.
SMALLEST = 1e-4

# What the engines answer; frames, momentum and the rest are compared in test_beside_pinocchio.py.
ASKED = (
    "inverse_dynamics", "forward_dynamics", "bias", "gravity", "coriolis_matrix", "mass_matrix",
    "kinetic_energy", "potential_energy", "jacobian", "forward_kinematics",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
)  # fmt: skip

# Joints up to which every third robot's kernel is compiled; for others its equation is evaluated on
# batches: a kernel of 30 joints takes seconds to compile, one of its derivatives most of a minute.
COMPILED = {
    "inverse_dynamics": 30,
    "forward_dynamics": 10,
    "inverse_dynamics_derivatives": 4,
    "forward_dynamics_derivatives": 4,
}
COMPILED_OTHERWISE = 6
SAMPLE = (13, 49, 119)  # seeds of robots of 14, 20 and 30 joints that are compiled all the same
SAMPLE_DERIVATIVES = 20

# The 24 rotations of a cube: the axes permuted, with signs.
SIGNED = [
    np.diag(signs) @ np.eye(3)[list(order)]
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
]
CUBE = [R for R in SIGNED if np.linalg.det(R) > 0]


@pytest.mark.parametrize("seed", range(120), ids=lambda seed: f"{seed}, {1 + seed % 30} joints")
def test_random_robots_move_as_other_engines_say(seed):
    assert not disagreements(*random_links_and_hinges(1 + seed % 30, seed), seed)


@pytest.mark.parametrize("seed", range(24))
def test_robots_built_at_right_angles_move_as_other_engines_say(seed):
    """Parallel and crossing axes, zero offsets: where constants fold away and angles are free."""
    links, hinges = random_links_and_hinges(1 + seed % 8, seed)
    draw = np.random.default_rng(seed)
    squared = [
        replace(
            h,
            rotation=draw.choice(CUBE),
            position=draw.choice([0.0, 0.0, 0.3, -1.0], 3),
            axis=draw.choice([-1.0, 1.0]) * np.eye(3)[draw.integers(3)],
        )
        for h in hinges
    ]
    assert not disagreements(links, squared, seed)


def random_links_and_hinges(n: int, seed: int) -> tuple[Links, list[Hinge]]:
    """Chains and trees, with and without sliding joints, welded links and rotors."""
    return random_description(
        n,
        seed,
        branching=(0.0, 0.3, 0.6, 1.0)[seed % 4],
        prismatic=(0.0, 0.25, 0.5, 0.0, 1.0)[seed % 5],
        fixed=(0.0, 0.4)[seed % 2],
        rotors=seed % 3 == 0,
        friction=False,
    )


def disagreements(links: Links, hinges: list[Hinge], seed: int) -> dict[tuple[str, str], float]:
    """Relative errors that rounding does not explain, by engine and quantity."""
    model = assemble(f"random {seed}", links, hinges)
    draw = np.random.default_rng(seed)
    states = draw.normal(size=(4, STATES, model.nv)) * np.reshape([3.0, 1.0, 1.0, 50.0], (4, 1, 1))
    link = hinges[-1].child
    asked = ([joint.name for joint in model.joints], link, *states)
    engines = {
        "Pinocchio": pinocchio_robot.answers(pinocchio_robot.from_model(model), *asked),
        "Pinocchio, from URDF": pinocchio_robot.answers(
            pinocchio_robot.from_description(links, hinges), *asked
        ),
        "MuJoCo": mujoco_robot.answers(mjcf(links, hinges), *asked),
    }
    ours = answers(model, seed, link, *states)
    return {
        (engine, name): error
        for engine, theirs in engines.items()
        for name in theirs
        if (error := relative_error(name, ours, theirs))
        > (CLOSE_DERIVATIVE if name in DERIVATIVES else CLOSE)
    }


def relative_error(name: str, ours: dict, theirs: dict) -> float:
    """The largest difference, in parts of the largest number of its state."""
    # Forces of gravity and velocity may cancel: each is measured by both together.
    whole = theirs["bias" if name in ("C v", "gravity") else name]
    size = np.abs(whole).reshape(STATES, -1).max(1)
    difference = np.abs(ours[name] - theirs[name]).reshape(STATES, -1).max(1)
    return float((difference / np.maximum(size, SMALLEST)).max())


def answers(model: Model, seed: int, link: str, *states: np.ndarray) -> dict[str, np.ndarray]:
    """Every quantity at states q, v, a, tau, by name; derivatives by the names of outputs."""
    robot = Robot(model)
    given = dict(zip(("q", "v", "a", "tau"), states, strict=True))
    results = {}
    for name in ASKED:
        asked = QUANTITIES[name]
        arguments = [given[x] for x in asked.inputs]
        if compiled(name, model.nv, seed):
            result = robot.kernel(name, frame=link if asked.frame else None)(*arguments)
        else:
            result = evaluate(model, name, *arguments, frame=link)
        if len(asked.outputs) == 1:
            results[name] = result
        else:
            results |= dict(zip(asked.outputs, result, strict=True))
    results["C v"] = np.einsum("sij,sj->si", results["coriolis_matrix"], given["v"])
    return results


def compiled(quantity: str, n: int, seed: int) -> bool:
    if seed in SAMPLE:
        return n <= SAMPLE_DERIVATIVES or not quantity.endswith("derivatives")
    return seed // 30 % 3 == seed % 3 and n <= COMPILED.get(quantity, COMPILED_OTHERWISE)
