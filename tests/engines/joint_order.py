"""Other engines number joints in their own order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# Axes that count joints, where not all but the first do.
AXES = {"forward_kinematics": (), "jacobian": (2,)}


def at_states(
    at: Callable[..., dict[str, np.ndarray]], order: Sequence[int], states: Sequence[np.ndarray]
) -> dict[str, np.ndarray]:
    """What ``at(q, v, ...)`` says at each of N states, (N, ...); our joint k is its order[k]."""
    theirs = np.argsort(order)
    found = [at(*(x[theirs] for x in state)) for state in zip(*states, strict=True)]
    results = {name: np.array([x[name] for x in found]) for name in found[0]}
    for name, x in results.items():
        for axis in AXES.get(name, range(1, x.ndim)):
            results[name] = np.take(results[name], order, axis)
    return results
