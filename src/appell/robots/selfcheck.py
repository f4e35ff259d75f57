"""Does a robot obey? Its compiled kernels against its equations and the laws of physics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, quoted
from appell.robots.known_torques import known_torques

if TYPE_CHECKING:
    from appell.robots.dynamics import Dynamics

Array = npt.NDArray[np.floating[Any]]

_MOST, _BLOCK = 10**6, 100  # states, and how many are looked at at once
_ON_FLOATS = 20  # of these, how many are computed by the equation on floats


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


def selfcheck(robot: Dynamics, states: int = 100, seed: int = 0) -> list[Check]:
    """Every law on random states; a failed one means a defect in Appell, not in the robot."""
    return in_blocks(partial(_laws, robot), states, seed)


def _laws(robot: Dynamics, states: int, draw: np.random.Generator) -> list[Check]:
    q, v, a = robot.states_to_check(states, draw)
    ask = partial(_asked, robot)
    Q, M, C, g = ask("generalised_forces", q, v, a), ask("mass_matrix", q), *_forces(robot, q, v)
    along = robot.displaced
    skew = 100 * rate(partial(ask, "mass_matrix"), along, q, 0.01 * v) - 2 * C
    slope = 100 * gradient(
        partial(ask, "potential_energy"), lambda x, d: along(x, 0.01 * d), q, robot.nv
    )
    tau = draw.uniform(-1, 1, (states, robot.system.size("d")))
    moved = robot.kernel("motion")(q, v, *([tau] if tau.size else []))[1]
    driven = robot.driven(q, tau)
    # Differences of step h err by their own truncation: about h^4 here.
    checks = [
        Check("kernel = equation on floats", *_on_floats(robot, Q, q, v, a)),
        Check("Q = M a + C v + g", error(Q, mul(M, a) + mul(C, v) + g), 1e-10),
        Check("M is symmetric", error(M, np.swapaxes(M, -1, -2)), 0.0),
        Check("M is positive definite", float(max(0.0, -np.linalg.eigvalsh(M).min())), 0.0),
        Check("dM/dt - 2C is skew-symmetric", error(skew, -np.swapaxes(skew, -1, -2), M), 1e-6),
        Check("g = dU/dq", error(g, slope, Q), 1e-6),
        Check("T = v.M v / 2",
              error(ask("kinetic_energy", q, v), (v * mul(M, v)).sum(-1) / 2), 1e-10),
        Check("forward dynamics undoes inverse dynamics",
              error(ask("generalised_forces", q, v, moved), driven, Q), 1e-9),
    ]  # fmt: skip
    if tau.shape[-1] >= robot.nv:
        given, Y = ask("inverse_dynamics", q, v, a), ask("regressor", q, v, a)
        checks += [
            Check("the actuators' forces give Q", error(robot.driven(q, given), Q), 1e-9),
            Check("tau = Y p", error(given - known_torques(robot, q), Y @ robot.parameters), 1e-9),
        ]
    return [*checks, *robot.own_laws(q, v, tau, moved)]


def _asked(robot: Dynamics, quantity: str, *states: Array) -> Array:
    return robot.kernel(quantity)(*states)


def _forces(robot: Dynamics, q: Array, v: Array) -> tuple[Array, Array]:
    return robot.kernel("coriolis_matrix")(q, v), robot.kernel("gravity")(q)


def _on_floats(robot: Dynamics, Q: Array, *states: Array) -> tuple[float, float]:
    """The error and its bound: the equation of another formulation, where there is one."""
    names = [*robot.system.quantities["generalised_forces"].formulations]
    equation = robot.equation("generalised_forces", formulation=names[:2][-1])
    rows = zip(*(x[:_ON_FLOATS].tolist() for x in states), strict=True)
    found = np.array([equation(*row) for row in rows], dtype=float)
    return error(Q[:_ON_FLOATS], found), 1e-10


def mul(A: Array, x: Array) -> Array:
    """A x, of many matrices and vectors."""
    return np.einsum("...ij,...j->...i", A, x)


def error(x: Array, y: Array, scale: Array | None = None) -> float:
    """The largest difference, relative to the largest value."""
    size = max(float(np.abs(x if scale is None else scale).max()), 1e-12)
    return float(np.abs(x - y).max()) / size


Path = Callable[[Array, Array], Array]


def rate(
    function: Callable[[Array], Array], along: Path, q: Array, v: Array, h: float = 1e-3
) -> Array:
    """d/dt of a function along v, to the fourth order in h."""
    near = function(along(q, h * v)) - function(along(q, -h * v))
    far = function(along(q, 2 * h * v)) - function(along(q, -2 * h * v))
    return (8 * near - far) / (12 * h)


def gradient(function: Callable[[Array], Array], along: Path, q: Array, n: int) -> Array:
    """The derivatives of a function along all n directions."""
    directions = (np.broadcast_to(e, (*q.shape[:-1], n)) for e in np.eye(n))
    return np.stack([rate(function, along, q, d) for d in directions], axis=-1)
