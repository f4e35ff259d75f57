"""A platform on six legs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import refuse_crooked
from appell.model.build import assemble
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import FREE
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.library.parts import Array, bar, closed, disc, hinge, positive
from appell.robots.closed.loops import Loop
from appell.robots.closed.places import WORLD, Place
from appell.robots.robot import Robot

_BELOW = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # x down


def stewart_gough(
    base: float = 0.6,
    platform: float = 0.35,
    height: float = 0.7,
    spread: float = 12.0,
    mass: float = 10.0,
    cylinder: float = 2.0,
    rod: float = 1.0,
) -> ClosedRobot:
    """A platform on six sliding legs (Stewart-Gough), moved in all six ways.

    ``base`` and ``platform`` are the radii of the circles on which the legs end, in pairs that are
    ``spread`` degrees from their middle; ``height`` of the reference pose; lengths in m, masses in
    kg. The platform is the free root: v is its velocity and angular velocity in its own axes. Each
    leg hangs on it by two turns and slides; its foot is a ball on the ground, the loop.
    ``inverse_kinematics(T)`` takes poses (..., 4, 4).
    """
    positive("stewart_gough", base=base, platform=platform, height=height, mass=mass)
    positive("stewart_gough", cylinder=cylinder, rod=rod)
    if not 0 < spread < 60:
        raise InputError(f"stewart_gough(spread={spread!r}): expected degrees from 0 to 60.")
    feet, hips = _pairs(base, spread), _pairs(platform, 60.0 - spread)
    length = float(np.linalg.norm(hips[0] + [0, 0, height] - feet[0]))
    links: dict[str, Inertia] = {"platform": disc(mass, platform)}
    hinges, loops = [], []
    for k, (foot, hip) in enumerate(zip(feet, hips, strict=True), start=1):
        links |= {f"cross{k}": NOTHING, f"cylinder{k}": bar(cylinder, length / 2)}
        links[f"rod{k}"] = bar(rod, length / 2, -length / 2)
        hinges += [
            hinge(f"leg{k} swing", "platform", f"cross{k}", hip, (0, 1, 0), rotation=_BELOW),
            hinge(f"leg{k} sway", f"cross{k}", f"cylinder{k}"),
            hinge(f"leg{k}", f"cylinder{k}", f"rod{k}", axis=(1, 0, 0), kind="prismatic"),
        ]
        loops.append(Loop("spherical", Place(WORLD, tuple(foot)), f"rod{k}"))
    tree = Robot(assemble("stewart_gough", links, hinges, base="free", tip="platform"))
    solver = partial(_pose_platform, feet, hips)
    home = np.eye(4)
    home[2, 3] = height
    return closed(
        tree,
        loops,
        independent=tree.joint_names[:FREE],
        actuated=[f"leg{k}" for k in range(1, 7)],
        at=solver(home),
        inverse_kinematics=solver,
    )


def _pairs(radius: float, spread: float) -> Array:
    """Six points on a circle, two about each of 0, 120 and 240 degrees."""
    angles = np.radians([m + side * spread for m in (0, 120, 240) for side in (-1, 1)])
    return radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)


def _pose_platform(feet: Array, hips: Array, pose: Any) -> Array:
    T = np.asarray(pose, dtype=float)
    if T.shape[-2:] != (4, 4):
        raise InputError(f"stewart_gough: a pose has shape {T.shape}; expected (..., 4, 4).")
    refuse_crooked("stewart_gough: a pose", T)
    R, p = T[..., :3, :3], T[..., :3, 3]
    q = [p, quaternion(R)]
    for foot, hip in zip(feet, hips, strict=True):
        leg = np.einsum("...ji,...j->...i", R, foot - p) - hip
        length = np.linalg.norm(leg, axis=-1)
        # Behind the two turns a leg points along (c1 c2, s2, -s1 c2) of the axes at its hip.
        x, y, z = np.moveaxis(np.einsum("ji,...j->...i", _BELOW, leg) / length[..., None], -1, 0)
        q.append(np.stack([np.arctan2(-z, x), np.arcsin(y), length], axis=-1))
    return np.concatenate(q, axis=-1)


def quaternion(R: Array) -> Array:
    """x, y, z, w of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    return turns.reshape(*R.shape[:-2], 4)
