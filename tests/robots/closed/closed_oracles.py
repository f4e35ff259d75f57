"""Constrained motion by other means: Lagrange's multipliers in NumPy.

They take the tree, and rows J made of its frames' Jacobians: nothing of appell.robots.closed
but the description of the loops is used. Pinocchio's are in benchmarks.peers.loops.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import appell
from appell.robots.closed import KnifeEdge, Loop, Rolling

PARALLEL = ["four_bar", "five_bar", "planar_3rrr", "delta", "stewart_gough"]
WHEELED = ["differential_drive", "rolling_disc", "snakeboard"]


def displaced(model, q, d):
    """q after a small displacement, one entry a speed; a free body's in its own axes."""
    if not model.free:
        return q + d
    turn = Rotation.from_quat(q[3:7])
    turned = (turn * Rotation.from_rotvec(d[3:6])).as_quat()
    return np.concatenate([q[:3] + turn.apply(d[:3]), turned, q[7:] + d[6:]])


def rate(function, model, q, v, h):
    """d/dt of a function along v, to the fourth order in h."""

    def at(s):
        return function(displaced(model, q, s * v))

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def tree_of(closed):
    return appell.Robot(closed.model)


def place_and_jacobian(tree, q, place):
    """Pose (4, 4) of a place in the world's axes and its Jacobian (6, nv)."""
    T, J = np.eye(4), np.zeros((6, tree.nv))
    if place.link in tree.link_names:
        T, J = tree.forward_kinematics(q, place.link), tree.jacobian(q, place.link)
    R = T[:3, :3] @ _rotation(place)
    arm = T[:3, :3] @ place.position
    J = J.copy()
    J[:3] += np.cross(J[3:].T, arm).T
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, T[:3, 3] + arm
    return pose, J


def _rotation(place):
    if place.axis is not None:
        z = np.array(place.axis) / np.linalg.norm(place.axis)
        x = np.linalg.svd(z[None])[2][1]
        return np.stack([x, np.cross(z, x), z], axis=1)
    return Rotation.from_euler("xyz", place.rpy).as_matrix()


def forbidden(tree, constraint, q):
    """Rows of J in the world's axes, (rows, nv)."""
    if isinstance(constraint, Rolling):
        T, J = place_and_jacobian(tree, q, constraint.wheel)
        axle, up = T[:3, 2], np.array([0.0, 0.0, 1.0])
        rim = up - (up @ axle) * axle
        touching = -constraint.radius * rim / np.linalg.norm(rim)
        return J[:3] + np.cross(J[3:].T, touching).T
    if isinstance(constraint, KnifeEdge):
        T, J = place_and_jacobian(tree, q, constraint.blade)
        return T[:3, 1:2].T @ J[:3]
    assert isinstance(constraint, Loop)
    A, Ja = place_and_jacobian(tree, q, constraint.a)
    B, Jb = place_and_jacobian(tree, q, constraint.b)
    apart = B[:3, 3] - A[:3, 3]
    moved = Jb[:3] - Ja[:3] - np.cross(Ja[3:].T, apart).T
    turned = Jb[3:] - Ja[3:]
    z = A[:3, 2:3]
    across = np.eye(3) - z @ z.T
    return {
        "fixed": lambda: np.vstack([moved, turned]),
        "spherical": lambda: moved,
        "revolute": lambda: np.vstack([moved, across @ turned]),
        "prismatic": lambda: np.vstack([across @ moved, turned]),
        "cylindrical": lambda: np.vstack([across @ moved, across @ turned]),
        "planar": lambda: np.vstack([z.T @ moved, across @ turned]),
        "universal": lambda: np.vstack([moved, np.cross(A[:3, 0], B[:3, 1])[None] @ turned]),
        "distance": lambda: apart[None] @ moved,
    }[constraint.kind]()


def rows(closed, q):
    tree = tree_of(closed)
    return np.vstack([forbidden(tree, c, q) for c in closed.constraints])


def multipliers(closed, q, v, force, h=2e-4):
    """Accelerations of the tree's joints, and J^T lambda, from M a + bias = force + J^T lambda and
    J a + dJ v = 0."""
    tree = tree_of(closed)
    J = rows(closed, q)
    dJ = rate(lambda x: rows(closed, x), closed.model, q, v, h)
    n, r = J.shape[1], J.shape[0]
    K = np.block([[tree.mass_matrix(q), J.T], [J, np.zeros((r, r))]])
    right = np.concatenate([force - tree.bias(q, v), -dJ @ v])
    # The accelerations and J^T lambda are unique even where redundant rows make K singular.
    x = np.linalg.lstsq(K, right, rcond=1e-11)[0]
    return x[:n], -(J.T @ x[n:])


def actuated(closed, tau):
    force = np.zeros(closed.model.nv)
    force[list(closed.mechanism.actuated)] = tau
    return force
