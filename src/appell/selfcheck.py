"""Does a robot obey? Its compiled kernels against its equations and the laws of physics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.equations.quantities import QUANTITIES
from appell.errors import InputError, quoted
from appell.model.model import Model

Array = npt.NDArray[np.floating[Any]]

_MOST, _BLOCK = 10**6, 100  # states, and how many are looked at at once


class Check(NamedTuple):
    """A law, the largest relative error found, and the most that rounding explains."""

    law: str
    error: float
    bound: float

    @property
    def passed(self) -> bool:
        return self.error <= self.bound


def in_blocks(
    laws: Callable[[int, np.random.Generator], list[Check]], states: int, seed: int
) -> list[Check]:
    """Laws on many random states, a few at a time, so that memory does not grow with them; the
    worst error of each."""
    for name, given, least, most in (("states", states, 1, _MOST), ("seed", seed, 0, None)):
        if not isinstance(given, int) or given < least or (most and given > most):
            up = f"{least} to {most}" if most else f"{least} up"
            raise InputError(f"selfcheck({name}={quoted(given)}): expected a whole number, {up}.")
    draw = np.random.default_rng(seed)
    blocks = [laws(min(_BLOCK, states - k), draw) for k in range(0, states, _BLOCK)]
    return [max(same, key=_excess) for same in zip(*blocks, strict=True)]


def _excess(check: Check) -> tuple[bool, float]:
    return check.error != check.error, check.error  # NaN is the worst


def selfcheck(robot: Any, states: int = 100, seed: int = 0) -> list[Check]:
    """Every law on random states; a failed one means a defect in Appell, not in the robot."""
    return in_blocks(partial(_laws, robot), states, seed)


def _laws(robot: Any, states: int, draw: np.random.Generator) -> list[Check]:
    q, v, a = (draw.uniform(-np.pi, np.pi, (states, n)) for n in (robot.nq, robot.nv, robot.nv))
    if robot.model.free:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)

    def along(x: Array, d: Array) -> Array:
        return displaced(robot.model, x, d)

    tau, M = robot.inverse_dynamics(q, v, a), robot.mass_matrix(q)
    C, g = robot.coriolis_matrix(q, v), robot.gravity(q)
    skew = _rate(robot.mass_matrix, along, q, v) - 2 * C

    def mul(A: Array, x: Array) -> Array:
        return np.einsum("...ij,...j->...i", A, x)

    # Differences of step h err by their own truncation: about h^4 here.
    return [
        Check("kernel = equation on floats", _error(tau, _on_floats(robot, q, v, a)), 1e-10),
        Check("tau = M a + C v + g", _error(tau, mul(M, a) + mul(C, v) + g), 1e-10),
        Check("M is symmetric", _error(M, np.swapaxes(M, -1, -2)), 0.0),
        Check("M is positive definite", float(max(0.0, -np.linalg.eigvalsh(M).min())), 0.0),
        Check("dM/dt - 2C is skew-symmetric", _error(skew, -np.swapaxes(skew, -1, -2), M), 1e-6),
        Check("g = dU/dq",
              _error(g, _gradient(robot.potential_energy, along, q, robot.nv), tau), 1e-6),
        Check("T = v.M v / 2", _error(robot.kinetic_energy(q, v), (v * mul(M, v)).sum(-1) / 2),
              1e-10),
        Check("forward dynamics undoes inverse dynamics",
              _error(mul(M, robot.forward_dynamics(q, v, tau) - a) + tau, tau), 1e-10),
        Check("tau = Y p", _error(tau, robot.regressor(q, v, a) @ robot.parameters), 1e-10),
    ]  # fmt: skip


def _error(x: Array, y: Array, scale: Array | None = None) -> float:
    """The largest difference, relative to the largest value."""
    size = max(float(np.abs(x if scale is None else scale).max()), 1e-12)
    return float(np.abs(x - y).max()) / size


def _on_floats(robot: Any, *state: Array) -> Array:
    equation = QUANTITIES["inverse_dynamics"].formulations["gibbs_tensor"]
    rows = zip(*(x.tolist() for x in state), strict=True)
    return np.array([equation(robot.model, *row) for row in rows], dtype=float)


def displaced(model: Model, q: Array, d: Array) -> Array:
    """Coordinates after a small displacement d, one entry a speed; a free body's in its axes."""
    if not model.free:
        return q + d
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(q[..., 3:7])
    return np.concatenate(
        [
            q[..., :3] + turn.apply(d[..., :3]),
            (turn * Rotation.from_rotvec(d[..., 3:6])).as_quat(),
            q[..., 7:] + d[..., 6:],
        ],
        axis=-1,
    )


Path = Callable[[Array, Array], Array]


def _rate(
    function: Callable[[Array], Array], along: Path, q: Array, v: Array, h: float = 1e-3
) -> Array:
    """d/dt of a function along v, to the fourth order in h."""
    near = function(along(q, h * v)) - function(along(q, -h * v))
    far = function(along(q, 2 * h * v)) - function(along(q, -2 * h * v))
    return (8 * near - far) / (12 * h)


def _gradient(function: Callable[[Array], Array], along: Path, q: Array, n: int) -> Array:
    directions = (np.broadcast_to(e, (*q.shape[:-1], n)) for e in np.eye(n))
    return np.stack([_rate(function, along, q, d) for d in directions], axis=-1)
