"""Trees of bars that fly in a vertical plane: Shafei 2018."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from appell.errors import ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model

# The tree of the paper's figure 4, and its table 2.
FIGURE_4 = (0, 1, 2, 3, 2, 5, 6, 5, 5, 9)
SECTION = (5.89e-5, 2.94e-5, 2.94e-5)


def ten_link_tree(length: float = 1.0, density: float = 1.0) -> Model:
    """Ten bars in a tree that flies in a vertical plane (Shafei 2018, figure 4 and table 2).

    Coordinates are q1 to q10, each bar's angle to the one that carries it, then X1 and X2, where
    the first bar begins; ``length`` of a bar in m, ``density`` in kg/m.
    """
    return tree_of_bars(FIGURE_4, length, density, SECTION, name="ten_link_tree")


def tree_of_bars(
    parents: Sequence[int] = (0, 1, 1),
    length: float | Sequence[float] = 1.0,
    density: float | Sequence[float] = 1.0,
    section: Sequence[float] | Sequence[Sequence[float]] = (0.0, 0.0, 0.0),
    *,
    name: str = "tree_of_bars",
) -> Model:
    """A tree of uniform bars that flies in a vertical plane, from lengths and mass per length.

    These are the numbers by which Shafei 2018 describes one (table 2).

    ``parents`` has the number of the bar at whose end each bar begins, 0 for those that begin where
    the tree does; bars count from 1. ``length`` l is in m, ``density`` mu in kg/m, and ``section``
    the moments of inertia per length J' about a bar's own axes, along it first, in kg m: one for
    all bars, or one per bar. A bar has the mass mu l, and about its middle the moments J' l, to
    which mu l^3/12 is added across it (equations 15, 16 and 20).

    Coordinates are q1, q2, ..., each bar's angle to the one that carries it, along +x without one,
    then X1 and X2 of the point O1 where the tree begins. The points O2, O3, ... are the bars' ends.
    """
    n = len(_parents(parents))
    lengths, densities = (
        _each(x, n, what) for x, what in ((length, "length"), (density, "density"))
    )
    sections = _sections(section, n)
    links = {"reference": NOTHING, "slide": NOTHING, "slider": NOTHING}
    here = np.zeros(3)
    hinges = [
        Hinge("X1", "reference", "slide", Joint("X1", "prismatic"), np.eye(3), here, (1, 0, 0)),
        Hinge("X2", "slide", "slider", Joint("X2", "prismatic"), np.eye(3), here, (0, 1, 0)),
    ]
    ends = [np.array([x, 0.0, 0.0]) for x in lengths]
    for i, parent in enumerate(parents):
        links[f"link{i + 1}"] = bar(lengths[i], densities[i], sections[i])
        carrier, at = (f"link{parent}", ends[parent - 1]) if parent else ("slider", here)
        joint = Joint(f"q{i + 1}")
        hinges.append(Hinge(joint.name, carrier, f"link{i + 1}", joint, np.eye(3), at))
    places = {"O1": ("link1", here)}
    places |= {f"O{i + 2}": (f"link{i + 1}", end) for i, end in enumerate(ends)}
    for point, (link, at) in places.items():
        links[point] = NOTHING
        hinges.append(Hinge(point, link, point, None, np.eye(3), at))
    return assemble(
        name,
        links,
        hinges,
        gravity=(0.0, -9.81, 0.0),
        order=[*(f"q{i}" for i in range(1, n + 1)), "X1", "X2"],
        points=list(places),
    )


def bar(length: float, density: float, section: Sequence[float]) -> Inertia:
    """A uniform bar along x from its frame's origin: m = mu l (20), and J' l (16) about its middle
    with what its length adds (15)."""
    mass = length * density
    axial, *across = (length * x for x in section)
    y, z = (x + mass * length**2 / 12 for x in across)
    return Inertia.about_com(mass, Vector(length / 2, 0, 0), Symmetric(axial, 0, y, 0, 0, z))


def _parents(parents: Any) -> Sequence[int]:
    if not isinstance(parents, Sequence) or isinstance(parents, str) or not parents:
        raise ModelError(f"parents = {parents!r}; expected the number of the bar before each bar.")
    for i, parent in enumerate(parents, start=1):
        if isinstance(parent, bool) or not isinstance(parent, int) or not 0 <= parent < i:
            raise ModelError(
                f"parents: bar {i} begins at the end of bar {parent!r}; expected 0 for the tree's "
                f"beginning{f' or a bar from 1 to {i - 1}' if i > 1 else ''}."
            )
    return parents


def _each(x: Any, n: int, what: str) -> list[float]:
    """One number per bar."""
    values = [*x] if isinstance(x, Sequence) and not isinstance(x, str) else [x] * n
    if len(values) != n or not all(_positive(value) for value in values):
        raise ModelError(
            f"{what} = {x!r}; expected a positive number, or one for each of {n} bars."
        )
    return [float(value) for value in values]


def _positive(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and x is not True and bool(0 < x < np.inf)


def _sections(section: Any, n: int) -> list[list[float]]:
    """Three moments per bar."""
    try:
        values = np.asarray(section, dtype=float)
        shaped = np.broadcast_to(values, (n, 3)) if values.shape in ((3,), (n, 3)) else None
    except (TypeError, ValueError):
        shaped = None
    if shaped is None or not all(isfinite(x) and x >= 0 for x in shaped.flat):
        raise ModelError(
            f"section = {section!r}; expected three moments per length, in kg m and not negative, "
            f"or three for each of {n} bars."
        )
    return [[float(x) for x in row] for row in shaped]
