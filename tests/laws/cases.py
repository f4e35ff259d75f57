"""Robots and states for the laws, drawn by hypothesis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import Inertia
from appell.model.library.random import random_description
from appell.robots.robot import Robot

STATES = 5

# Two ways to compute the same number, each a sum over at most 8 bodies: rounding, with room.
CLOSE = 1e-10


class Case(NamedTuple):
    """A robot, the description it was built from, and states of it, each (STATES, n)."""

    robot: Robot
    links: dict[str, Inertia]
    hinges: list[Hinge]
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@st.composite
def cases(draw: st.DrawFn, joints: int = 6, **chosen: bool) -> Case:
    """Trees of up to so many joints; ``chosen`` fixes rotors or friction."""
    n, seed = draw(st.integers(1, joints)), draw(st.integers(0, 2**32 - 1))
    links, hinges = random_description(
        n,
        seed,
        branching=draw(st.sampled_from([0.0, 0.3, 1.0])),
        prismatic=draw(st.sampled_from([0.0, 0.3, 1.0])),
        fixed=draw(st.sampled_from([0.0, 0.5])),
        rotors=chosen.get("rotors", draw(st.booleans())),
        friction=chosen.get("friction", False),
    )
    states = np.random.default_rng(seed).normal(size=(3, STATES, n))
    return Case(Robot(assemble("case", links, hinges)), links, hinges, *states)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Matrices times vectors, state by state."""
    return np.einsum("...ij,...j->...i", A, x)


def assert_equal(x: np.ndarray, y: np.ndarray, *, size: np.ndarray | None = None) -> None:
    """Equal up to rounding of the largest number, or of another size where they may vanish."""
    largest = np.abs(y if size is None else size).max()
    np.testing.assert_allclose(x, y, rtol=0, atol=CLOSE * max(largest, 1e-4))
