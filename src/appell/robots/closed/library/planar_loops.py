"""Mechanisms of bars in a vertical plane, x to the right and y up."""

from __future__ import annotations

from functools import partial
from math import acos, pi, sqrt
from typing import Any

import numpy as np

from appell.model.build import assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.library.parts import (
    Array,
    bar,
    closed,
    disc,
    elbow,
    hinge,
    middle,
    mounted,
    numbers,
    positive,
    signs,
)
from appell.robots.closed.loops import Loop
from appell.robots.closed.places import Place
from appell.robots.robot import Robot

_DOWN = (0.0, -9.81, 0.0)


def four_bar(
    ground: float = 0.9,
    crank: float = 0.3,
    coupler: float = 0.8,
    rocker: float = 0.7,
    density: float = 2.0,
) -> ClosedRobot:
    """A four-bar linkage: a crank drives a rocker through a coupler.

    Lengths in m, ``density`` of the bars in kg/m. Angles are the crank's and the rocker's from x
    and the coupler's from the crank. ``inverse_kinematics(angle)`` gives the coordinates that turn
    the rocker to an angle; ``elbows`` is the coupler's bend, 1 or -1.
    """
    lengths = {"ground": ground, "crank": crank, "coupler": coupler, "rocker": rocker}
    positive("four_bar", **lengths, density=density)
    links = {"ground": NOTHING}
    links |= {name: bar(density * x, x) for name, x in lengths.items() if name != "ground"}
    hinges = [
        hinge("crank", "ground", "crank"),
        hinge("coupler", "crank", "coupler", (crank, 0, 0)),
        hinge("rocker", "ground", "rocker", (ground, 0, 0)),
        mounted("coupler", "tool", (coupler / 2, 0, 0)),
    ]
    loop = Loop("revolute", Place("rocker", (rocker, 0, 0)), Place("coupler", (coupler, 0, 0)))
    least, most = (
        max(abs(crank - coupler), abs(ground - rocker)),
        min(crank + coupler, ground + rocker),
    )
    away = middle("four_bar", least, most)  # the rocker's end, from the crank's joint
    cosine = (away**2 - ground**2 - rocker**2) / (2 * ground * rocker)
    solver = partial(_turn_rocker, ground, crank, coupler, rocker)
    return closed(
        _tree("four_bar", links, hinges),
        [loop],
        independent=["crank"],
        at=solver(acos(cosine)),
        inverse_kinematics=solver,
    )


def _turn_rocker(
    ground: float, crank: float, coupler: float, rocker: float, angle: Any, elbows: Any = -1
) -> Array:
    angle = np.asarray(angle, dtype=float)
    end = np.stack([ground + rocker * np.cos(angle), rocker * np.sin(angle)], axis=-1)
    first, second = elbow("four_bar", end, crank, coupler, signs("four_bar", elbows, 1)[0])
    return np.stack([first, second, angle], axis=-1)


def five_bar(
    ground: float = 0.25, arm: float = 0.3, forearm: float = 0.45, density: float = 2.0
) -> ClosedRobot:
    """A five-bar linkage: two driven arms move one point in the plane.

    Lengths in m, ``density`` of the bars in kg/m. ``inverse_kinematics([x, y])`` gives the
    coordinates that bring the tool, the forearms' joint, to a point; ``elbows`` are the bends of
    the two arms.
    """
    positive("five_bar", ground=ground, arm=arm, forearm=forearm, density=density)
    links: dict[str, Inertia] = {"ground": NOTHING}
    hinges = []
    for side, x in (("left", 0.0), ("right", ground)):
        links |= {f"{side} arm": bar(density * arm, arm)}
        links |= {f"{side} forearm": bar(density * forearm, forearm)}
        hinges += [
            hinge(f"{side} shoulder", "ground", f"{side} arm", (x, 0, 0)),
            hinge(f"{side} elbow", f"{side} arm", f"{side} forearm", (arm, 0, 0)),
        ]
    hinges.append(mounted("left forearm", "tool", (forearm, 0, 0)))
    away = middle("five_bar", max(abs(arm - forearm), ground / 2), arm + forearm)
    solver = partial(_reach_point, ground, arm, forearm)
    return closed(
        _tree("five_bar", links, hinges),
        [Loop("revolute", "tool", Place("right forearm", (forearm, 0, 0)))],
        independent=["left shoulder", "right shoulder"],
        at=solver([ground / 2, sqrt(away**2 - ground**2 / 4)]),
        inverse_kinematics=solver,
    )


def _reach_point(
    ground: float, arm: float, forearm: float, point: Any, elbows: Any = (-1, 1)
) -> Array:
    point = numbers("five_bar", "point", point, 2)
    bend = signs("five_bar", elbows, 2)
    left = elbow("five_bar", point, arm, forearm, bend[0])
    right = elbow("five_bar", point - [ground, 0], arm, forearm, bend[1])
    return np.stack([*left, *right], axis=-1)


def planar_3rrr(
    base: float = 0.5,
    arm: float = 0.3,
    forearm: float = 0.35,
    platform: float = 0.12,
    density: float = 2.0,
    mass: float = 1.0,
) -> ClosedRobot:
    """A triangle carried by three arms of two bars: it moves and turns in the plane (3-RRR).

    ``base`` and ``platform`` are the radii of the circles on which the arms are hung, in m;
    ``density`` of the bars in kg/m, ``mass`` of the platform, a disc. ``inverse_kinematics([x, y,
    angle])`` gives the coordinates for a pose of the platform; ``elbows`` are the arms' bends.
    """
    positive("planar_3rrr", base=base, arm=arm, forearm=forearm, platform=platform)
    positive("planar_3rrr", density=density, mass=mass)
    links: dict[str, Inertia] = {"ground": NOTHING, "slide x": NOTHING, "slide y": NOTHING}
    links["platform"] = disc(mass, platform)
    hinges = [
        hinge("x", "ground", "slide x", axis=(1, 0, 0), kind="prismatic"),
        hinge("y", "slide x", "slide y", axis=(0, 1, 0), kind="prismatic"),
        hinge("turn", "slide y", "platform"),
    ]
    loops = []
    for k, (hung, corner) in enumerate(zip(_circle(base), _circle(platform), strict=True), start=1):
        links |= {f"arm{k}": bar(density * arm, arm)}
        links |= {f"forearm{k}": bar(density * forearm, forearm)}
        hinges += [
            hinge(f"shoulder{k}", "ground", f"arm{k}", (*hung, 0)),
            hinge(f"elbow{k}", f"arm{k}", f"forearm{k}", (arm, 0, 0)),
        ]
        ends = Place("platform", (*corner, 0)), Place(f"forearm{k}", (forearm, 0, 0))
        loops.append(Loop("revolute", *ends))
    solver = partial(_pose_triangle, base, arm, forearm, platform)
    return closed(
        _tree("planar_3rrr", links, hinges, tip="platform"),
        loops,
        independent=["x", "y", "turn"],
        actuated=["shoulder1", "shoulder2", "shoulder3"],
        at=solver([0.0, 0.0, 0.1]),
        inverse_kinematics=solver,
    )


def _pose_triangle(
    base: float, arm: float, forearm: float, platform: float, pose: Any, elbows: Any = 1
) -> Array:
    pose = numbers("planar_3rrr", "pose", pose, 3)
    c, s = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    bend = signs("planar_3rrr", elbows, 3)
    q = [pose[..., k] for k in range(3)]
    for k, (hung, (x, y)) in enumerate(zip(_circle(base), _circle(platform), strict=True)):
        corner = pose[..., :2] + np.stack([c * x - s * y, s * x + c * y], axis=-1)
        q += elbow("planar_3rrr", corner - hung, arm, forearm, bend[k])
    return np.stack(q, axis=-1)


def _circle(radius: float) -> list[tuple[float, float]]:
    """Three points, the first below."""
    angles = [-pi / 2 + 2 * pi * k / 3 for k in range(3)]
    return [(float(radius * np.cos(a)), float(radius * np.sin(a))) for a in angles]


def _tree(name: str, links: dict[str, Inertia], hinges: list[Hinge], tip: str = "tool") -> Robot:
    links |= {h.child: NOTHING for h in hinges if h.joint is None}
    return Robot(assemble(name, links, hinges, gravity=_DOWN, tip=tip))
