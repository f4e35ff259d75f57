"""A chain of bars that flies in space."""

from __future__ import annotations

import numpy as np

from appell.errors import ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model


def free_chain(n: int = 6, length: float = 1.0, mass: float = 1.0, radius: float = 0.05) -> Model:
    """n equal round bars that fly in space: free_chain(n, length=1, mass=1, radius=0.05).

    The first bar is free; each other turns about the end of the one before it, about y and about
    z in turn, all along x at q = 0. The ends, P0 to Pn, can touch walls.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ModelError(f"free_chain(n={n!r}): expected a whole number of bars, at least 1.")
    for name, value in {"length": length, "mass": mass, "radius": radius}.items():
        if not value > 0:
            raise ModelError(f"free_chain({name}={value!r}): expected a positive number.")
    along, across = mass * radius**2 / 2, mass * (3 * radius**2 + length**2) / 12
    bar = Inertia.about_com(
        mass, Vector(length / 2, 0, 0), Symmetric(along, 0, across, 0, 0, across)
    )
    here, end = np.zeros(3), np.array([length, 0.0, 0.0])
    links = {f"bar{i}": bar for i in range(1, n + 1)} | {f"P{i}": NOTHING for i in range(n + 1)}
    hinges = [Hinge("P0", "bar1", "P0", None, np.eye(3), here)]
    for i in range(1, n + 1):
        hinges.append(Hinge(f"P{i}", f"bar{i}", f"P{i}", None, np.eye(3), end))
        if i < n:
            axis = (0.0, 1.0, 0.0) if i % 2 else (0.0, 0.0, 1.0)
            joint = Joint(f"q{i}")
            hinges.append(Hinge(f"q{i}", f"bar{i}", f"bar{i + 1}", joint, np.eye(3), end, axis))
    return assemble(
        f"free_chain({n})", links, hinges, base="free", points=[f"P{i}" for i in range(n + 1)]
    )
