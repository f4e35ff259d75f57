"""Robots that roll: their wheels forbid velocities, not positions."""

from __future__ import annotations

from math import sqrt

import numpy as np

from appell.model.build import assemble
from appell.model.hinges import Hinge, Mimic
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.library.parts import bar, box, closed, disc, hinge, positive
from appell.robots.closed.loops import Loop
from appell.robots.closed.mechanism import Constraint
from appell.robots.closed.places import WORLD, Place
from appell.robots.closed.rolling import KnifeEdge, Rolling
from appell.robots.robot import Robot

_AXLE = (0.0, 1.0, 0.0)


def differential_drive(
    radius: float = 0.1,
    track: float = 0.4,
    mass: float = 12.0,
    wheel: float = 0.8,
    offset: float = 0.1,
    arm: float = 0.4,
    arm_mass: float = 1.0,
) -> ClosedRobot:
    """A platform on two driven wheels that carries an arm of two joints.

    Wheels of a ``radius`` and mass ``wheel`` are ``track`` apart; the platform's ``mass`` is
    ``offset`` in front of the axle. The arm, two bars of length ``arm`` and mass ``arm_mass``,
    turns about the vertical and lifts. x and y are the middle of the axle's place in the plane; v
    are the speeds of the wheels and of the arm's joints.
    """
    positive("differential_drive", radius=radius, track=track, mass=mass, wheel=wheel)
    positive("differential_drive", arm=arm, arm_mass=arm_mass)
    height = 2 * radius
    links: dict[str, Inertia] = {
        "platform": box(mass, 1.5 * track, track, radius, (offset, 0, radius)),
        "left wheel": _wheel(wheel, radius),
        "right wheel": _wheel(wheel, radius),
        "upper arm": bar(arm_mass, arm),
        "forearm": bar(arm_mass, arm),
        "tool": NOTHING,
    }
    hinges = [
        hinge("left", "platform", "left wheel", (0, track / 2, radius), _AXLE),
        hinge("right", "platform", "right wheel", (0, -track / 2, radius), _AXLE),
        hinge("shoulder", "platform", "upper arm", (0, 0, height)),
        hinge("elbow", "upper arm", "forearm", (arm, 0, 0), _AXLE),
        Hinge("tool", "forearm", "tool", None, np.eye(3), np.array([arm, 0, 0])),
    ]
    tree = Robot(assemble("differential_drive", links, hinges, base="planar", tip="tool"))
    wheels = [
        Rolling(Place(f"{side} wheel", axis=_AXLE), radius, name=f"{side} wheel")
        for side in ("left", "right")
    ]
    return closed(
        tree, wheels, independent=["left", "right", "shoulder", "elbow"], at=np.zeros(tree.nq)
    )


def rolling_disc(radius: float = 0.3, mass: float = 1.0, axial: float = 0.5) -> ClosedRobot:
    """A thin disc that rolls on the plane, upright or leaning.

    ``axial`` is its moment of inertia about the axle by mass times radius squared: 0.5 for a
    homogeneous disc, 1 for a hoop; that about a diameter is half of it. The disc is the free root,
    its z the axle: v is its angular velocity in its own axes. Nothing drives it.
    """
    positive("rolling_disc", radius=radius, mass=mass, axial=axial)
    body = disc(mass * 2 * axial, radius)._replace(mass=mass)
    tree = Robot(assemble("rolling_disc", {"disc": body}, [], base="free", tip="disc"))
    upright = [0, 0, radius, sqrt(0.5), 0, 0, sqrt(0.5)]  # z turned to the world's -y
    return closed(
        tree,
        [Rolling("disc", radius)],
        independent=["free turn x", "free turn y", "free turn z"],
        actuated=[],
        at=upright,
    )


def snakeboard(
    length: float = 0.4, mass: float = 4.0, rotor: float = 0.05, truck: float = 0.3
) -> ClosedRobot:
    """A board with a rotor and steered wheels at both ends (Ostrowski and others 1994).

    The trucks, blades at ``length`` before and behind the middle, each of mass ``truck``, are
    steered against each other by one joint; swinging the rotor, of moment ``rotor``, then drives
    the board. The board is the free root, held to its plane: v are its speed ahead and those of
    rotor and steering, of which the last two are driven.
    """
    positive("snakeboard", length=length, mass=mass, rotor=rotor, truck=truck)
    small = 0.05 * length
    side = sqrt(6 * rotor / mass)  # a cube of a quarter of the board's mass has this moment
    links: dict[str, Inertia] = {
        "board": box(mass, 2 * length, length / 2, small, (0, 0, 0)),
        "rotor": box(mass, side / sqrt(2), side / sqrt(2), small, (0, 0, 0)),
        "front truck": box(truck, small, length / 2, small, (0, 0, 0)),
        "back truck": box(truck, small, length / 2, small, (0, 0, 0)),
    }
    ahead = np.array([length, 0.0, 0.0])
    hinges = [
        hinge("rotor", "board", "rotor"),
        hinge("steer", "board", "front truck", ahead),
        Hinge(
            "back", "board", "back truck", Joint("back"), np.eye(3), -ahead,
            mimic=Mimic("steer", -1.0),
        ),
    ]  # fmt: skip
    tree = Robot(assemble("snakeboard", links, hinges, base="free", tip="board"))
    loops: list[Constraint] = [
        Loop("planar", WORLD, "board", name="ground"),
        KnifeEdge("front truck"),
        KnifeEdge("back truck"),
    ]
    return closed(
        tree,
        loops,
        independent=["free x", "rotor", "steer"],
        actuated=["rotor", "steer"],
        at=[0, 0, 0, 0, 0, 0, 1, 0, 0.3],
    )


def _wheel(mass: float, radius: float) -> Inertia:
    """A disc across y."""
    flat = disc(mass, radius)
    across, _, _, _, _, axial = flat.tensor
    return flat._replace(tensor=flat.tensor._replace(yy=axial, zz=across))
