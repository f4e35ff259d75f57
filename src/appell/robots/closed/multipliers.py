"""Lagrange's multipliers: the motion of a closed robot by other means than its own equations."""

from __future__ import annotations

from functools import partial

import numpy as np

from appell.model.configuration import integrate
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.robot import Array, Robot
from appell.robots.selfcheck import mul, rate


def multipliers(robot: ClosedRobot, q: Array, v: Array, tau: Array) -> Array:
    """Accelerations of the tree's joints from M a + bias = F + J^T lambda and J a + dJ v = 0, with
    J's rate by differences: nothing of the reduction to independent speeds is used."""
    tree, rows = Robot(robot.model), robot.assembly.rows
    along = partial(integrate, robot.model)
    J, dJ = rows(q), 10 * rate(rows, along, q, 0.1 * v)
    n, r = v.shape[-1], J.shape[-2]
    K = np.zeros((len(q), n + r, n + r))
    K[:, :n, :n], K[:, n:, :n] = tree.mass_matrix(q), J
    K[:, :n, n:] = np.swapaxes(J, -1, -2)
    F = -tree.bias(q, v)
    F[:, list(robot.mechanism.actuated)] += tau
    right = np.concatenate([F, -mul(dJ, v)], axis=-1)
    # Redundant rows make K singular; the accelerations are unique all the same.
    return np.einsum("...ij,...j->...i", np.linalg.pinv(K, rcond=1e-12), right)[:, :n]
