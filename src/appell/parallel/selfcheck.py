"""Does a wrist obey? Its compiled kernels against its equations and the laws of physics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.equations import agile_wrist
from appell.errors import ModelError
from appell.selfcheck import Check, in_blocks

if TYPE_CHECKING:
    from appell.parallel.agile_wrist import AgileWrist

Array = npt.NDArray[np.floating[Any]]

_REGULAR = 0.05  # states nearer to a singularity are not drawn
_DRAWS = 1000


def selfcheck(robot: AgileWrist, states: int = 100, seed: int = 0) -> list[Check]:
    """Every law on random states within reach; a failed one means a defect in Appell."""
    return in_blocks(partial(_laws, robot), states, seed)


def _laws(robot: AgileWrist, states: int, draw: np.random.Generator) -> list[Check]:
    q = regular_states(robot, states, draw)
    v, a = draw.uniform(-np.pi, np.pi, (2, states, 3))
    tau, M, C = robot.inverse_dynamics(q, v, a), robot.mass_matrix(q), robot.coriolis_matrix(q, v)
    g, J, Q = robot.gravity(q), robot.actuator_jacobian(q), robot.generalised_forces(q, v, a)
    dM = np.einsum("...ijk,...k->...ij", robot.kernel("mass_matrix", wrt="q")(q), v)
    dU = robot.kernel("potential_energy", wrt="q")(q)
    skew = dM - 2 * C
    angles = robot.inverse_kinematics(q)
    back = robot.direct_kinematics(angles.theta, q + 1e-3)

    def mul(A: Array, x: Array) -> Array:
        return np.einsum("...ij,...j->...i", A, x)

    on_floats = [
        agile_wrist.inverse_dynamics(robot.model, *state)
        for state in zip(*(x.tolist() for x in (q, v, a)), strict=True)
    ]
    return [
        Check("kernel = equation on floats", _error(tau, np.array(on_floats, dtype=float)), 1e-10),
        Check("J_act^T tau = M a + C v + g",
              _error(mul(np.swapaxes(J, -1, -2), tau), mul(M, a) + mul(C, v) + g), 1e-10),
        Check("Q = M a + C v + g", _error(Q, mul(M, a) + mul(C, v) + g), 1e-10),
        Check("M is symmetric", _error(M, np.swapaxes(M, -1, -2)), 0.0),
        Check("M is positive definite", float(max(0.0, -np.linalg.eigvalsh(M).min())), 0.0),
        Check("dM/dt - 2C is skew-symmetric", _error(skew, -np.swapaxes(skew, -1, -2), dM), 1e-10),
        Check("g = dU/dq", _error(g, dU, Q), 1e-10),
        Check("T = v.M v / 2", _error(robot.kinetic_energy(q, v), (v * mul(M, v)).sum(-1) / 2),
              1e-10),
        Check("forward dynamics undoes inverse dynamics",
              _error(mul(M, robot.forward_dynamics(q, v, tau) - a) + Q, Q), 1e-10),
        Check("direct kinematics undoes inverse kinematics", _error(back, q), 1e-10),
    ]  # fmt: skip


def regular_states(robot: AgileWrist, states: int, draw: np.random.Generator) -> Array:
    """Random Euler angles, away from singularities."""
    found = np.zeros((0, 3))
    for _ in range(_DRAWS):
        q = draw.uniform(-np.pi, np.pi, (states, 3))
        found = np.concatenate([found, q[robot.singularity(q) > _REGULAR]])
        if len(found) >= states:
            return found[:states]
    raise ModelError(f"'{robot.name}' reaches hardly any pose: {len(found)} of {_DRAWS * states}.")


def _error(x: Array, y: Array, scale: Array | None = None) -> float:
    """The largest difference, relative to the largest value."""
    size = max(float(np.abs(x if scale is None else scale).max()), 1e-12)
    return float(np.abs(x - y).max()) / size
