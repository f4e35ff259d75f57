"""A platform that three pairs of rods keep level."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.model.build import assemble
from appell.model.inertia import NOTHING, Inertia
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.library.parts import (
    Array,
    about_z,
    bar,
    closed,
    disc,
    hinge,
    numbers,
    positive,
)
from appell.robots.closed.loops import Loop
from appell.robots.closed.places import Place
from appell.robots.robot import Robot

_ANGLES = (0.0, 2 * pi / 3, 4 * pi / 3)
_SIDES = (-1, 1)


def delta(
    base: float = 0.2,
    arm: float = 0.25,
    forearm: float = 0.6,
    platform: float = 0.06,
    spacing: float = 0.08,
    density: float = 1.0,
    mass: float = 0.5,
) -> ClosedRobot:
    """Clavel's Delta: three driven arms above move a platform that stays level.

    ``base`` and ``platform`` are radii of the circles on which arms and rods are hung; an arm
    carries two rods of length ``forearm``, ``spacing`` apart; lengths in m. ``density`` of arms and
    rods in kg/m, ``mass`` of the platform, a disc. All parallelograms are there: the platform has
    six coordinates, and the rods' balls, the loops, keep it level. ``inverse_kinematics([x, y,
    z])`` takes the platform's centre, z < 0.
    """
    positive("delta", base=base, arm=arm, forearm=forearm, platform=platform, spacing=spacing)
    positive("delta", density=density, mass=mass)
    carriers = ["slide x", "slide y", "slide z", "turn x", "turn y"]
    links: dict[str, Inertia] = {"ground": NOTHING, **dict.fromkeys(carriers, NOTHING)}
    links["platform"] = disc(mass, platform)
    ways, hinges, loops = [(1, 0, 0), (0, 1, 0), (0, 0, 1)], [], []
    chain = ["ground", *carriers, "platform"]
    for k, name in enumerate(("x", "y", "z", "roll", "pitch", "yaw")):
        kind = "prismatic" if k < 3 else "revolute"
        hinges.append(hinge(name, chain[k], chain[k + 1], axis=ways[k % 3], kind=kind))
    for k, angle in enumerate(_ANGLES, start=1):
        R = about_z(angle)
        links[f"arm{k}"] = bar(density * arm, arm)
        at = R @ [base, 0, 0]
        hinges.append(hinge(f"shoulder{k}", "ground", f"arm{k}", at, (0, 1, 0), rotation=R))
        for side, rod in zip(_SIDES, (f"rod{k}a", f"rod{k}b"), strict=True):
            links |= {f"cross {rod}": NOTHING, rod: bar(density * forearm, forearm)}
            beside = side * spacing / 2
            hinges += [
                hinge(f"{rod} swing", f"arm{k}", f"cross {rod}", (arm, beside, 0), (0, 1, 0)),
                hinge(f"{rod} sway", f"cross {rod}", rod),
            ]
            ball = tuple(R @ [platform, beside, 0])
            loops.append(Loop("spherical", Place("platform", ball), Place(rod, (forearm, 0, 0))))
    solver = partial(_reach, base - platform, arm, forearm)
    return closed(
        Robot(assemble("delta", links, hinges, tip="platform")),
        loops,
        independent=["x", "y", "z"],
        actuated=["shoulder1", "shoulder2", "shoulder3"],
        at=solver([0.0, 0.0, -0.8 * forearm]),
        inverse_kinematics=solver,
    )


def _reach(inset: float, arm: float, forearm: float, point: Any) -> Array:
    """The arms' angles, elbows outwards, and the rods'."""
    point = numbers("delta", "point", point, 3)
    level = np.zeros_like(point)
    q = [*np.moveaxis(point, -1, 0), *np.moveaxis(level, -1, 0)]
    for angle in _ANGLES:
        x, y, z = np.moveaxis(point @ about_z(angle), -1, 0)
        x = x - inset
        # (x - arm c)^2 + y^2 + (z + arm s)^2 = forearm^2, of the form E c + F s = G.
        E, F = 2 * arm * x, -2 * arm * z
        G = x * x + y * y + z * z + arm**2 - forearm**2
        cosine = G / np.hypot(E, F)
        if (np.abs(cosine) > 1).any():
            raise InputError(
                f"delta: the point {point.tolist()} is out of reach of arms of {arm:g} m with rods "
                f"of {forearm:g} m."
            )
        theta = np.arctan2(F, E) - np.arccos(cosine)
        c, s = np.cos(theta), np.sin(theta)
        along, up = x - arm * c, z + arm * s  # the rod, then turned into the arm's axes
        rod = np.stack([c * along - s * up, y, s * along + c * up], axis=-1) / forearm
        swing, sway = np.arctan2(-rod[..., 2], rod[..., 0]), np.arcsin(rod[..., 1])
        q += [theta, swing, sway, swing, sway]
    return np.stack(np.broadcast_arrays(*q), axis=-1)
