"""Closed-form inverse kinematics of arms built like the PUMA.

Six revolute joints in the modified Denavit-Hartenberg convention: an upper arm a2 beside the
base's axis by d3, a forearm a3 and d4 long, and three wrist axes that meet in the tool's
origin. Up to eight configurations put the tool in one pose: three choices of two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.control.kinematics import spherical_wrist
from appell.control.kinematics.spherical_wrist import BRANCHES, Branch, Planar
from appell.equations.kinematics import poses
from appell.errors import InputError
from appell.maths.rotation import AboutX, Matrix
from appell.maths.vector import ZERO, Tensor, Vector
from appell.model.model import Frame, Model

Array = npt.NDArray[np.floating[Any]]

_SAME = Matrix(Tensor(Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1)))

# Twist of each joint's axis against the one before: alpha = 0, -90, 0, 90, -90, 90 degrees.
_TWISTS = (
    AboutX(1, 0), AboutX(0, -1), AboutX(1, 0), AboutX(0, 1), AboutX(0, -1), AboutX(0, 1)
)  # fmt: skip


class PumaArm(NamedTuple):
    """The four lengths of a PUMA's geometry, m."""

    a2: float
    a3: float
    d3: float
    d4: float

    @property
    def forearm(self) -> float:
        """From the elbow's axis to the wrist."""
        return float(np.hypot(self.a3, self.d4))

    @property
    def geometry(self) -> spherical_wrist.Arm:
        """As an arm with a spherical wrist."""
        return spherical_wrist.Arm(
            axes=_SAME, origin=ZERO, beside=self.d3, shoulder=Planar(0, 0),
            upper=Planar(0, self.a2), fore=Planar(self.d4, self.a3), slides=False, turn=1,
            forearm=_SAME, bend=Planar(1, 0), hand=_SAME, tool=ZERO,
        )  # fmt: skip


def arm(model: Model) -> PumaArm:
    """The lengths of a robot, if it is built like the PUMA."""
    bodies = model.bodies if isinstance(model, Model) else ()  # a wrist is no tree
    if len(bodies) == model.nv == 6:
        tool = model.frame(None)
        (a2, _, d3), (a3, y, _) = bodies[2].s0, bodies[3].s0
        offsets = (ZERO, ZERO, Vector(a2, 0, d3), Vector(a3, y, 0), ZERO, ZERO)
        wanted = [(i - 1, _TWISTS[i], offsets[i], 1, 0) for i in range(6)]
        built = [(b.parent, b.R0, b.s0, b.ratio, b.shift) for b in bodies if b.joint.screw.periodic]
        if built == wanted and tool == Frame(tool.name, 5, _TWISTS[0], ZERO):
            return PumaArm(a2, a3, d3, -y)
    raise InputError(
        f"'{model.name}' is not built like the PUMA (modified Denavit-Hartenberg, alpha = 0, "
        "-90, 0, 90, -90, 90 degrees, lengths a2, a3, d3, d4 only), so its inverse kinematics "
        "have no closed form here; use 'puma560'."
    )


def inverse_kinematics(arm: PumaArm, position: Array, R: Array, branch: Branch) -> Array:
    """Joint angles, (..., 6), that put the tool at positions (..., 3) with axes R (..., 3, 3).

    The positions must be within reach: see :func:`beyond_reach`.
    """
    rows = [[*np.moveaxis(R[..., i, :], -1, 0), position[..., i]] for i in range(3)]
    solutions, _ = spherical_wrist.inverse_kinematics(arm.geometry, rows)
    chosen = solutions[list(BRANCHES.values()).index(branch)]
    return np.stack(np.broadcast_arrays(*chosen), axis=-1)


def beyond_reach(arm: PumaArm, position: Array) -> Array:
    """How far, in m, positions (..., 3) lie outside what the arm reaches; negative inside."""
    across = np.hypot(position[..., 0], position[..., 1])
    from_base = np.linalg.norm(position, axis=-1)
    farthest = np.hypot(arm.a2 + arm.forearm, arm.d3)
    nearest = np.hypot(arm.a2 - arm.forearm, arm.d3)
    outside = [from_base - farthest, nearest - from_base, abs(arm.d3) - across]
    return np.maximum.reduce(outside)


def rotation_zyz(alpha: Any, beta: Any, gamma: Any) -> Array:
    """Rz(alpha) Ry(beta) Rz(gamma), (..., 3, 3)."""
    return _about_z(alpha) @ _about_y(beta) @ _about_z(gamma)


def euler_zyz(R: Array, flip: bool = False) -> tuple[Array, Array, Array]:
    """Angles with R = Rz(alpha) Ry(beta) Rz(gamma); beta is negative if flipped."""
    sign = -1.0 if flip else 1.0
    beta = np.arctan2(sign * np.hypot(R[..., 0, 2], R[..., 1, 2]), R[..., 2, 2])
    alpha = np.arctan2(sign * R[..., 1, 2], sign * R[..., 0, 2])
    gamma = np.arctan2(sign * R[..., 2, 1], -sign * R[..., 2, 0])
    return alpha, beta, gamma


def skeleton(model: Model, q: Array) -> Array:
    """The arm's corners for drawing, (..., 5, 3): base, shoulder, two at the elbow, wrist."""
    places = poses(model, list(np.moveaxis(q, -1, 0)))
    _, a3, d3, _ = arm(model)
    elbow, R3 = places[2].s, places[2].R
    shoulder = places[1].s + places[1].R @ Vector(0, 0, d3)
    corners = [places[1].s, shoulder, elbow, elbow + R3 @ Vector(a3, 0, 0), places[3].s]
    points = [np.stack(np.broadcast_arrays(*p, q[..., 0])[:3], axis=-1) for p in corners]
    return np.stack(points, axis=-2)


def _about_z(angle: Any) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    return _matrix([[c, -s, zero], [s, c, zero], [zero, zero, one]])


def _about_y(angle: Any) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    return _matrix([[c, zero, s], [zero, one, zero], [-s, zero, c]])


def _matrix(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
