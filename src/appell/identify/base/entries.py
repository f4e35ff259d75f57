"""The regressor's entries that matter, compiled: independent columns, and of these what is not
zero, joint by joint.

A joint's force depends only on what it carries, so its rows leave out the columns of the links
before it; what is left is written densely, in half the memory of the whole regressor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.compile.make import kernel_of
from appell.equations.quantities import QUANTITIES, regressor_named
from appell.identify.base.states import random_states
from appell.robots.robot import Array, Robot, is_tree

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Entries:
    """``of(q, v, a)``, (N, entries): joint j's rows are its part ``cuts[j]``, whose columns are
    ``columns[j]`` of those asked for."""

    of: Callable[..., Array]
    cuts: tuple[slice, ...]
    columns: tuple[Places, ...]
    count: int
    compiled: bool

    def rows(self, entries: Array, joint: int) -> Array:
        return entries[:, self.cuts[joint]]


def entries(robot: Any, columns: tuple[int, ...], friction: bool, rotors: bool) -> Entries:
    """Of the standard parameters in these columns."""
    states = random_states(robot, 8, seed=1)
    Y = robot.regressor(*states, friction=friction, rotors=rotors)[..., columns]
    there = np.abs(Y).max(axis=0) > 0
    by_joint = tuple(np.flatnonzero(row) for row in there)
    ends = np.cumsum([0, *map(len, by_joint)])
    cuts = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
    places = [(j, columns[k]) for j, row in enumerate(by_joint) for k in row]
    if is_tree(robot):
        of = _compiled(robot, places, regressor_named(friction, rotors))
    else:
        rows, where = (np.array([p[k] for p in places], dtype=int) for k in (0, 1))

        def of(q: Array, v: Array, a: Array) -> Array:
            return robot.regressor(q, v, a, friction=friction, rotors=rotors)[:, rows, where]

    return Entries(of, cuts, by_joint, len(columns), is_tree(robot))


def _compiled(robot: Robot, places: list[tuple[int, int]], name: str) -> Callable[..., Array]:
    model, quantity = robot.model, QUANTITIES[name]
    equation = quantity.formulations[quantity.default(model)]
    inputs = {"q": (model.nq,), "v": (model.nv,), "a": (model.nv,)}
    outputs = {"entries": (len(places),)}

    def of_state(q: Any, v: Any, a: Any) -> Any:
        Y = equation(model, q, v, a)
        return [Y[j][k] for j, k in places]

    return kernel_of(f"{name}'s entries", of_state, inputs, outputs)
