"""Does a closed robot obey? Its kernels against laws of physics and Lagrange's multipliers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from appell.constraints.closed import ClosedRobot
from appell.robot import Array, Robot
from appell.selfcheck import Check, _error, _rate, displaced, in_blocks


def selfcheck(robot: ClosedRobot, states: int = 100, seed: int = 0) -> list[Check]:
    """Every law at random configurations; a failed one means a defect in Appell."""
    return in_blocks(partial(_laws, robot.unchecked()), states, seed)


def _laws(robot: ClosedRobot, states: int, draw: np.random.Generator) -> list[Check]:
    q, v = robot.random_states(states, draw, spread=0.15)
    a = draw.uniform(-1, 1, v.shape)
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q)
    Q = robot.inverse_dynamics(q, v, a, generalised=True)
    speeds = robot.speeds(q, v)

    def along(x: Array, d: Array) -> Array:
        return displaced(robot.model, x, d)

    skew = _rate(robot.mass_matrix, along, q, 0.1 * speeds) * 10 - 2 * C
    tau = np.ones((states, len(robot.actuated)))
    forward = robot.forward_dynamics(q, v, tau)
    driven = np.einsum("...jn,...j->...n", robot.kernel("gamma")(q)[:, acting(robot)], tau)
    return [
        Check("loops are closed", float(np.abs(robot.closure(q)).max(initial=0.0)), 1e-10),
        Check("tau = M a + C v + g", _error(Q, _mul(M, a) + _mul(C, v) + g), 1e-10),
        Check("M is symmetric", _error(M, np.swapaxes(M, -1, -2)), 0.0),
        Check("M is positive definite", float(max(0.0, -np.linalg.eigvalsh(M).min())), 0.0),
        Check("dM/dt - 2C is skew-symmetric", _error(skew, -np.swapaxes(skew, -1, -2), M), 1e-6),
        Check(
            "T = v.M v / 2", _error(robot.kinetic_energy(q, v), (v * _mul(M, v)).sum(-1) / 2), 1e-10
        ),
        Check(
            "forward dynamics undoes inverse dynamics",
            _error(robot.inverse_dynamics(q, v, forward, generalised=True), driven, Q),
            1e-9,
        ),
        Check(
            "accelerations are those of Lagrange's multipliers",
            _error(robot.accelerations(q, v, forward), multipliers(robot, q, speeds, tau)),
            1e-6,
        ),
    ]


def multipliers(robot: ClosedRobot, q: Array, v: Array, tau: Array) -> Array:
    """Accelerations of the tree's joints from M a + bias = F + J^T lambda and J a + dJ v = 0, with
    J's rate by differences: nothing of the reduction to independent speeds is used."""
    tree, rows = Robot(robot.model), robot.assembly.rows

    def along(x: Array, d: Array) -> Array:
        return displaced(robot.model, x, d)

    J, dJ = rows(q), 10 * _rate(rows, along, q, 0.1 * v)
    n, r = v.shape[-1], J.shape[-2]
    K = np.zeros((len(q), n + r, n + r))
    K[:, :n, :n], K[:, n:, :n] = tree.mass_matrix(q), J
    K[:, :n, n:] = np.swapaxes(J, -1, -2)
    F = -tree.bias(q, v)
    F[:, acting(robot)] += tau
    right = np.concatenate([F, -_mul(dJ, v)], axis=-1)
    # Redundant rows make K singular; the accelerations are unique all the same.
    return np.einsum("...ij,...j->...i", np.linalg.pinv(K, rcond=1e-12), right)[:, :n]


def acting(robot: ClosedRobot) -> list[int]:
    return list(robot.mechanism.actuated)


def _mul(A: Any, x: Any) -> Array:
    return np.einsum("...ij,...j->...i", A, x)
