"""Equations on batches: NumPy arrays as their scalars, nothing compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.equations.quantities import QUANTITIES
from appell.model.library.random import random_tree
from appell.model.model import Model
from appell.robots.recipe import equation_of, recipe_for
from appell.robots.robot import Robot


def tree_of_bodies(*arguments: Any, **options: Any) -> Model:
    """A random tree for equations of bodies: q stands for the positions of the bodies' joints."""
    return random_tree(*arguments, **options).in_bodies


def evaluate(
    model: Model, quantity: str, *states: np.ndarray, formulation: str | None = None, frame=None
) -> Any:
    """What the kernel of the quantity gives for states (N, n), from the equation itself."""
    asked = QUANTITIES[quantity]
    equation = asked.formulations[formulation or asked.default(model)]
    extra = (model.frame(frame),) if asked.frame else ()
    results = equation(model, *(list(x.T) for x in states), *extra)
    if len(asked.outputs) == 1:
        return stacked(results, len(states[0]))
    return tuple(stacked(x, len(states[0])) for x in results)


def answer(robot: Any, quantity: str, *states: np.ndarray, **options: Any) -> np.ndarray:
    """What a robot's kernel with these options gives for states (N, n), uncompiled."""
    recipe = recipe_for(robot.system, quantity, regroup=False, **options)
    results = equation_of(robot.system, recipe)(*(list(np.moveaxis(x, -1, 0)) for x in states))
    return stacked(results, len(states[0]))


class Uncompiled:
    """Answers a robot's methods for states (N, n) from its equations."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, quantity: str) -> Any:
        def answer(*states: np.ndarray) -> Any:
            given = len(QUANTITIES[quantity].inputs)  # and then perhaps a frame
            return evaluate(self.model, quantity, *states[:given], frame=(*states, None)[given])

        return answer


class AsWritten(Robot):
    """A robot whose quantities come from its equations as they are written, uncompiled."""

    def _evaluate(self, quantity, arguments, out, options=()):
        names = ("frame", "axes", "relative_to", "forces")
        chosen = dict(zip(names, options, strict=False))
        states = [np.asarray(x, dtype=float) for x in arguments]
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        flat = [np.broadcast_to(x, (*lead, x.shape[-1])).reshape(-1, x.shape[-1]) for x in states]
        results = answer(self, quantity, *flat, **chosen)
        return results.reshape(*lead, *results.shape[1:])

    def _at_once(self, *arguments):
        return None


def stacked(nested: Any, n: int) -> np.ndarray:
    """Lists of arrays (N,), or of numbers that hold for all N, as one array (N, ...)."""
    if isinstance(nested, list):
        return np.stack([stacked(x, n) for x in nested], axis=1)
    return np.broadcast_to(np.asarray(nested, dtype=float), (n,))
