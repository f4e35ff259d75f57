"""Small robots whose motion is known, for the tests of simulation."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from appell.maths.vector import Symmetric, Vector
from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.robots.robot import Robot

G = 9.81
DOWN = (0.0, -G, 0.0)

# Shafei 2018, the symmetric start.
TREE_START = [pi / 6, pi / 6, -2 * pi / 3, pi / 6, pi / 6, -2 * pi / 3, pi / 3, 0, 2 * pi / 3]
TREE_START += [-pi / 3, -(1 + sqrt(3)) / 2, -(1 + sqrt(3)) / 2]


def point_mass(mass: float = 2.0, gravity=DOWN, **joint: float) -> Robot:
    """A ball that slides along x and y; ``joint`` sets friction and limits of both slides."""
    ball = Inertia.about_com(mass, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0))
    links = {"world": NOTHING, "slide": NOTHING, "ball": ball}
    slides = [Joint("x", "prismatic", **joint), Joint("y", "prismatic", **joint)]
    here = np.zeros(3)
    hinges = [
        Hinge("x", "world", "slide", slides[0], np.eye(3), here, (1, 0, 0)),
        Hinge("y", "slide", "ball", slides[1], np.eye(3), here, (0, 1, 0)),
    ]
    return Robot(assemble("point", links, hinges, gravity=gravity, points=["ball"]))


def rail(mass: float = 2.0) -> Robot:
    """A ball on a rail along x, without weight."""
    ball = Inertia.about_com(mass, Vector(0, 0, 0), Symmetric(0, 0, 0, 0, 0, 0))
    slide = Hinge("x", "world", "ball", Joint("x", "prismatic"), np.eye(3), np.zeros(3), (1, 0, 0))
    links = {"world": NOTHING, "ball": ball}
    return Robot(assemble("rail", links, [slide], gravity=(0, 0, 0), points=["ball"]))


def rod(mass: float = 2.0) -> Robot:
    """A uniform rod of 2 m in the plane: x and y of one end, which can touch walls, and its
    angle."""
    third = mass / 3
    body = Inertia.about_com(mass, Vector(1, 0, 0), Symmetric(0, 0, third, 0, 0, third))
    links = {"world": NOTHING, "slide": NOTHING, "end": NOTHING, "rod": body}
    here = np.zeros(3)
    hinges = [
        Hinge("x", "world", "slide", Joint("x", "prismatic"), np.eye(3), here, (1, 0, 0)),
        Hinge("y", "slide", "end", Joint("y", "prismatic"), np.eye(3), here, (0, 1, 0)),
        Hinge("turn", "end", "rod", Joint("turn", "revolute"), np.eye(3), here, (0, 0, 1)),
    ]
    return Robot(assemble("rod", links, hinges, gravity=DOWN, points=["rod"]))


def block(gravity=(0.0, 0.0, -G), corners=4) -> Robot:
    """A free block of 2 kg, 0.4 x 0.2 x 0.1 m; its lower corners can touch walls."""
    inertia = Inertia.about_com(
        2.0,
        Vector(0, 0, 0),
        Symmetric(2 / 12 * 0.05, 0, 2 / 12 * 0.17, 0, 0, 2 / 12 * 0.2),
    )
    links, hinges = {"block": inertia}, []
    places = [(0.2, 0.1), (-0.2, 0.1), (-0.2, -0.1), (0.2, -0.1)][:corners]
    for k, (x, y) in enumerate(places):
        links[f"c{k}"] = NOTHING
        at = np.array([x, y, -0.05])
        hinges.append(Hinge(f"c{k}", "block", f"c{k}", None, np.eye(3), at))
    names = [f"c{k}" for k in range(len(places))]
    return Robot(assemble("block", links, hinges, base="free", gravity=gravity, points=names))
