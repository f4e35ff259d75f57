"""A random tree with joints of every kind, here and in Pinocchio, in the same state."""

from __future__ import annotations

import numpy as np
from batches import answer
from kinds_of_joints import described, in_pinocchio, orders

import appell
from appell.model.build import assemble
from appell.model.library.random import random_inertia


def error(found, expected):
    return np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1)


class BothEngines:
    """A random tree here and in Pinocchio, in the same state."""

    def __init__(self, seed, base):
        links, hinges = described(2 + seed % 5, seed)
        draw = np.random.default_rng(seed)
        links["base"] = random_inertia(draw)
        self.robot = appell.Robot(assemble(f"kinds {seed}", links, hinges, base=base))
        self.other = in_pinocchio(links, hinges, base == "free")
        self.data = self.other.createData()
        n = self.robot.nv
        self.q = self.robot.random(draw, 1)
        self.v = draw.normal(size=(1, n))
        iq, self.iv = orders(self.other, self.robot.joint_names)
        self.there = [np.empty(self.other.nq), np.empty(n)]
        self.there[0][iq] = self.q
        self.there[1][self.iv] = self.v[0]

    def ask(self, quantity, *states, **options):
        return answer(self.robot, quantity, *states, **options)[0]
