"""A tree of bars that flies in a plane."""

from __future__ import annotations

import numpy as np

from appell.maths.vector import Symmetric, Vector
from appell.model.build import Hinge, assemble
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model

_PARENTS = (0, 1, 2, 3, 2, 5, 6, 5, 5, 9)  # of links 1 to 10; 0 is the slider that carries them
# The eleven points of the paper's figure 4: O1 where link 1 begins, the others at links' ends.
_ENDS = {
    1: "O2",
    2: "O3",
    3: "O4",
    4: "O5",
    5: "O6",
    6: "O7",
    7: "O8",
    8: "O9",
    9: "O10",
    10: "O11",
}
_SECTION = (5.89e-5, 2.94e-5, 2.94e-5)  # moments of inertia per length about a bar's axes, kg m


def ten_link_tree(length: float = 1.0, density: float = 1.0) -> Model:
    """Ten bars in a tree that flies in a vertical plane (Shafei 2018, figure 4 and table 2).

    Coordinates are q1 to q10, each bar's angle to the one that carries it, then X1 and X2, where
    the first bar begins; ``length`` of a bar in m, ``density`` in kg/m.
    """
    mass = length * density
    axial, *across = (length * x for x in _SECTION)
    bar = Inertia.about_com(
        mass,
        Vector(length / 2, 0, 0),
        Symmetric(axial, 0, across[0] + mass * length**2 / 12, 0, 0,
                  across[1] + mass * length**2 / 12),
    )  # fmt: skip
    links = {"reference": NOTHING, "slide": NOTHING, "slider": NOTHING}
    here, end = np.zeros(3), np.array([length, 0.0, 0.0])
    hinges = [
        Hinge("X1", "reference", "slide", Joint("X1", "prismatic"), np.eye(3), here, (1, 0, 0)),
        Hinge("X2", "slide", "slider", Joint("X2", "prismatic"), np.eye(3), here, (0, 1, 0)),
    ]
    for i, parent in enumerate(_PARENTS, start=1):
        links[f"link{i}"] = bar
        carrier, at = (f"link{parent}", end) if parent else ("slider", here)
        hinges.append(Hinge(f"q{i}", carrier, f"link{i}", Joint(f"q{i}"), np.eye(3), at))
    links["O1"] = NOTHING
    hinges.append(Hinge("O1", "link1", "O1", None, np.eye(3), here))
    for i, point in _ENDS.items():
        links[point] = NOTHING
        hinges.append(Hinge(point, f"link{i}", point, None, np.eye(3), end))
    return assemble(
        "ten_link_tree",
        links,
        hinges,
        gravity=(0.0, -9.81, 0.0),
        order=[*(f"q{i}" for i in range(1, 11)), "X1", "X2"],
        points=["O1", *_ENDS.values()],
    )
