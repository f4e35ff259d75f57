"""Inverse kinematics, reach and corners of arms built like the PUMA.

An upper arm beside the base's axis, a forearm, and three wrist axes that meet in the tool's origin,
with the zeros of the joints that the modified Denavit-Hartenberg convention gives them.
"""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np

from appell.control.kinematics import spherical_wrist
from appell.control.kinematics.closed_form import spherical_arm
from appell.control.kinematics.spherical_wrist import BRANCHES, Arm, Branch, Planar
from appell.errors import InputError
from appell.maths.rotation import Matrix
from appell.maths.vector import ZERO, Tensor, Vector
from appell.robots.robot import Array, is_tree

_SAME = Matrix(Tensor(Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1)))


def puma_arm(robot: Any) -> Arm:
    """The geometry of a robot, if it is built like the PUMA."""
    try:
        arm = spherical_arm(robot).arm if is_tree(robot) and robot.nv == 6 else None
    except InputError:
        arm = None
    if arm is not None and arm == arm._replace(
        axes=_SAME, origin=ZERO, shoulder=Planar(0, 0), upper=Planar(0, arm.upper.e), slides=False,
        turn=1, forearm=_SAME, bend=Planar(1, 0), hand=_SAME, tool=ZERO,
    ):  # fmt: skip
        return arm
    raise InputError(
        f"'{robot.name}' is not built like the PUMA (modified Denavit-Hartenberg, alpha = 0, "
        "-90, 0, 90, -90, 90 degrees, lengths a2, a3, d3, d4 only), so its inverse kinematics "
        "have no closed form here; use 'puma560'."
    )


def inverse_kinematics(arm: Arm, position: Array, R: Array, branch: Branch) -> Array:
    """The joint angles, (..., 6), that put the tool at positions (..., 3) with axes R (..., 3, 3).

    The positions must be within reach: see `beyond_reach`.
    """
    rows = [[*np.moveaxis(R[..., i, :], -1, 0), position[..., i]] for i in range(3)]
    solutions, _ = spherical_wrist.inverse_kinematics(arm, rows)
    chosen = solutions[list(BRANCHES.values()).index(branch)]
    return np.stack(np.broadcast_arrays(*chosen), axis=-1)


def farthest(arm: Arm) -> float:
    """How far from its shoulder, in m, an arm reaches."""
    return hypot(arm.upper.e + hypot(*arm.fore), arm.beside)


def beyond_reach(arm: Arm, position: Array) -> Array:
    """How far, in m, positions (..., 3) lie outside what the arm reaches; negative inside."""
    across = np.hypot(position[..., 0], position[..., 1])
    from_base = np.linalg.norm(position, axis=-1)
    nearest = hypot(arm.upper.e - hypot(*arm.fore), arm.beside)
    outside = [from_base - farthest(arm), nearest - from_base, abs(arm.beside) - across]
    return np.maximum.reduce(outside)


def skeleton(arm: Arm, q: Array) -> Array:
    """The arm's corners for drawing, (N, 5, 3): base, shoulder, two at the elbow, wrist."""
    from scipy.spatial.transform import Rotation

    lifts = np.zeros(len(q)), q[:, 1], q[:, 1] + q[:, 2]
    turn, upper, fore = (
        Rotation.from_euler("ZY", np.column_stack([q[:, 0], lift])) for lift in lifts
    )
    parts = [
        np.zeros((len(q), 3)),
        turn.apply([0, arm.beside, 0]),
        upper.apply([arm.upper.e, 0, 0]),
        fore.apply([arm.fore.e, 0, 0]),
        fore.apply([0, 0, arm.fore.k]),
    ]
    return np.cumsum(np.stack(parts, axis=1), axis=1)
