"""Robots drawn at random move as Pinocchio and MuJoCo say.

Pinocchio is given each robot twice: as the model that Appell's equations see, and as a URDF file
written from the links and hinges, which Appell's build takes no part in. MuJoCo reads the same
links and hinges as MJCF.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product

import mujoco_robot
import numpy as np
import pinocchio_robot
import pytest
from batches import evaluate
from descriptions import mjcf

from appell.equations.quantities import QUANTITIES
from appell.model.build import assemble
from appell.model.library.random import random_description
from appell.model.model import Model
from appell.robot import Robot

STATES = 4

# Rounding of sums over 30 bodies; forward dynamics loses as many digits as the condition of M
# has (up to four here), its derivatives twice that.
CLOSE = 1e-10
CLOSE_DERIVATIVE = 1e-8
DERIVATIVES = ("dtau_dq", "dtau_dv", "dtau_da", "da_dq", "da_dv", "da_dtau")

# The smallest size an error is measured by: what is exactly zero here (velocity forces of a robot
# whose joints all hang on the base) is rounding of about 1e-16 in the other engines.
SMALLEST = 1e-4

# Joints up to which a kernel is compiled; beyond, its equation is evaluated on batches. A kernel of
# 30 joints takes many seconds to compile.
COMPILED = {
    "inverse_dynamics": 30,
    "forward_dynamics": 10,
    "inverse_dynamics_derivatives": 5,
    "forward_dynamics_derivatives": 5,
}
COMPILED_OTHERWISE = 7
COMPILED_WHOLLY = (13, 49, 149)  # seeds of robots of 14, 20 and 30 joints: no limits but one
TOO_LONG = 20  # joints beyond which no derivatives are compiled

ROBOTS = [(1 + seed % 30, seed) for seed in range(210)]


def described(n: int, seed: int):
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


@pytest.mark.parametrize(("n", "seed"), ROBOTS, ids=lambda x: str(x))
def test_random_robots_move_as_other_engines_say(n, seed):
    links, hinges = described(n, seed)
    model = assemble(f"{n} joints", links, hinges)
    state = states(n, seed)
    joints, link = [joint.name for joint in model.joints], hinges[-1].child
    ours = answers(model, chosen_way(model, n, seed), link, *state)
    asked = (joints, link, *state)
    theirs = {
        "Pinocchio": pinocchio_robot.answers(pinocchio_robot.from_model(model), *asked),
        "Pinocchio, URDF": pinocchio_robot.answers(
            pinocchio_robot.from_description(links, hinges), *asked
        ),
        "MuJoCo": mujoco_robot.answers(mjcf(links, hinges), *asked),
    }
    assert not {
        (engine, name): error
        for engine, results in theirs.items()
        for name, error in errors(ours, results).items()
        if error > (CLOSE_DERIVATIVE if name in DERIVATIVES else CLOSE)
    }


@pytest.mark.parametrize("seed", range(60))
def test_robots_built_at_right_angles_move_as_other_engines_say(seed):
    """Parallel and crossing axes, zero offsets: where constants fold away and angles are free."""
    n = 1 + seed % 9
    links, hinges = described(n, seed)
    draw = np.random.default_rng(seed)
    hinges = [
        replace(
            h,
            rotation=draw.choice(CUBE),
            position=draw.choice([0.0, 0.0, 0.3, -1.0], 3),
            axis=draw.choice([-1.0, 1.0]) * np.eye(3)[draw.integers(3)],
        )
        for h in hinges
    ]
    model = assemble(f"{n} joints", links, hinges)
    asked = ([joint.name for joint in model.joints], hinges[-1].child, *states(n, seed))
    ours = answers(model, lambda *a, **k: evaluate(model, *a, **k), *asked[1:])
    theirs = pinocchio_robot.answers(pinocchio_robot.from_description(links, hinges), *asked)
    assert not {
        name: error
        for name, error in errors(ours, theirs).items()
        if error > (CLOSE_DERIVATIVE if name in DERIVATIVES else CLOSE)
    }


def _cube() -> list[np.ndarray]:
    """The 24 rotations of a cube: permutations of the axes with signs."""
    signed = (np.diag(signs) @ np.eye(3)[list(order)]
              for order in permutations(range(3)) for signs in product((1.0, -1.0), repeat=3))  # fmt: skip
    return [R for R in signed if np.linalg.det(R) > 0]


CUBE = np.array(_cube())


def states(n: int, seed: int) -> np.ndarray:
    """q, v, a and tau, each (STATES, n)."""
    draw = np.random.default_rng(seed)
    return draw.normal(size=(4, STATES, n)) * np.array([3.0, 1.0, 1.0, 50.0])[:, None, None]


def chosen_way(model: Model, n: int, seed: int) -> Callable[..., np.ndarray]:
    """A quantity by its compiled kernel, or by its equation where compiling takes too long."""
    robot = Robot(model)

    def by(quantity: str, *state: np.ndarray, frame: str):
        limit = COMPILED.get(quantity, COMPILED_OTHERWISE)
        if seed in COMPILED_WHOLLY:
            limit = TOO_LONG if quantity.endswith("derivatives") else n
        if n <= limit:
            named = {"frame": frame} if QUANTITIES[quantity].frame else {}
            return getattr(robot, quantity)(*state, **named)
        return evaluate(model, quantity, *state, frame=frame)

    return by


def answers(model: Model, by: Callable[..., np.ndarray], link: str, *state: np.ndarray):
    """Every quantity at states q, v, a, tau, as the other engines name them."""
    given = dict(zip(("q", "v", "a", "tau"), state, strict=True))
    results = {}
    for name, asked in QUANTITIES.items():
        result = by(name, *(given[x] for x in asked.inputs), frame=link)
        results |= {name: result} if len(asked.outputs) == 1 else dict(zip(asked.outputs, result))
    results["C v"] = np.einsum("sij,sj->si", results["coriolis_matrix"], given["v"])
    return results


def errors(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, float]:
    """Largest differences, relative to the largest number of each state."""
    found = {}
    for name, result in theirs.items():
        # Parts of the bias forces may cancel: they are measured by the whole.
        whole = theirs["bias"] if name in ("C v", "gravity") else result
        size = np.abs(whole).reshape(STATES, -1).max(1)
        difference = np.abs(ours[name] - result).reshape(STATES, -1).max(1)
        found[name] = float((difference / np.maximum(size, SMALLEST)).max())
    return found
