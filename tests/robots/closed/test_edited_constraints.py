"""A constraint that a user wrote is the constraint as it is now."""

from __future__ import annotations

import numpy as np
import pytest

import appell

TIED = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Tied:
    name: str = "tied"
    rows = ("torque of the gear",)
    closures = 0

    def check(self, model): ...
    def position(self, model, q): return []
    def velocity(self, model, q): return lambda v: [v[1] - {ratio} * v[0]]
"""
MASS = """
import appell, mine
tied = appell.close(appell.load("two_link"), [mine.Tied()], independent=["joint1"])
print(*tied.mass_matrix([0.3, 0.2]).ravel())
"""


def test_a_constraint_that_is_edited_is_the_new_one(fresh):
    M = appell.load("two_link").mass_matrix([0.3, 0.2])
    for ratio in (2.0, -1.0):
        (mass,) = fresh(MASS, mine=TIED.format(ratio=ratio))
        speeds = np.array([1.0, ratio])
        assert mass == pytest.approx(speeds @ M @ speeds, rel=1e-9)
