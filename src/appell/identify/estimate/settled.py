"""Of all physical parameters that the data cannot tell apart, those nearest to the prior.

Newton's method on a convex problem with a barrier, -log det of every pseudo-inertia, that becomes
ever fainter: it stays among the physical, and moves only along what the data leave open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from appell.identify.estimate.physical import PSEUDO, pseudo_inertia, ten_parameters
from appell.robots.robot import Array

_OPEN = 1e-9  # singular values below, by the largest, are directions that are not held
_HAIR = 1e-7  # of a link's size
_BARRIERS = 10.0 ** np.arange(-2, -13, -1)
_STEPS = 50  # of Newton's method, for each barrier
_ENOUGH = 1e-3  # of the barrier: the decrement at which the next one is taken


def settled(parameters: Array, held: Array, prior: Array, links: int, positive: int) -> Array:
    """Parameters with the same ``held @ parameters``, as near to the prior as physical ones come.

    A link's changes count by its own mass and size, those of friction and rotors by their own.
    ``parameters`` are physical, or nearly so: what lacks a hair of it is moved by that hair.
    """
    size = sizes(prior, links, positive)
    parameters = _inside(parameters, size, links)
    scalars = np.arange(10 * links, 10 * links + positive)
    zero = scalars[parameters[scalars] <= 1e-12 * size[scalars]]  # the border itself
    way = _open(held * size, zero) * size[:, None]
    if way.shape[1] == 0 or _factors(parameters, links) is None:
        return parameters
    moved = [int(k) for k in scalars if np.abs(way[k]).max() > 0]
    aim, goal = way / size[:, None], (parameters - prior) / size
    z: Array = np.zeros(way.shape[1])
    for strength in _BARRIERS:
        z = _newton(parameters, way, aim, goal, z, strength, links, moved)
    return parameters + way @ z


def sizes(prior: Array, links: int, positive: int) -> Array:
    """The size of each parameter, by its link's mass and radius of gyration, or by itself."""
    tens = prior[: 10 * links].reshape(-1, 10)
    heaviest = max(float(tens[:, 0].max(initial=0.0)), 1e-6)
    mass = np.maximum(tens[:, 0], 1e-2 * heaviest)
    radius = np.sqrt(np.maximum(tens[:, [4, 6, 9]].sum(axis=1), 0.0) / mass)
    radius = np.maximum(radius, max(1e-1 * float(radius.max(initial=0.0)), 1e-3))
    each = np.column_stack([mass, *[mass * radius] * 3, *[mass * radius**2] * 6])
    rest = np.abs(prior[10 * links :])
    typical = float(rest[:positive].max(initial=0.0)) or 1.0
    least = np.where(np.arange(len(rest)) < positive, 1e-2 * typical, 1.0)
    return np.concatenate([each.ravel(), np.maximum(rest, least)])


def _inside(parameters: Array, size: Array, links: int) -> Array:
    """The same, but for links at the very border, which are moved by a hair."""
    moved = parameters.copy()
    for k in range(links):
        part = slice(10 * k, 10 * k + 10)
        mass, moment = size[10 * k : 10 * k + 2]
        unit = np.sqrt(mass) * np.array([*[moment / mass] * 3, 1.0])
        values, V = np.linalg.eigh(pseudo_inertia(parameters[part]) / np.outer(unit, unit))
        if values.min() < _HAIR:
            J = (V * np.maximum(values, _HAIR)) @ V.T * np.outer(unit, unit)
            moved[part] = ten_parameters(J)
    return moved


def _open(held: Array, fixed: npt.NDArray[np.intp]) -> Array:
    """An orthonormal basis of the changes that ``held`` and the fixed parameters do not feel."""
    lengths = np.linalg.norm(held, axis=1)
    rows = held[lengths > 0] / lengths[lengths > 0, None]
    rows = np.vstack([rows, np.eye(held.shape[1])[fixed]])
    s, Vt = np.linalg.svd(rows)[1:]
    rank = int((s > _OPEN * s.max(initial=0.0)).sum())
    basis = Vt[rank:].T.copy()
    basis[np.abs(basis) < 1e-12] = 0.0
    return basis


def _factors(p: Array, links: int) -> Any:
    """Cholesky's factors of the pseudo-inertias, or None where one is not positive."""
    try:
        return [np.linalg.cholesky(pseudo_inertia(ten)) for ten in p[: 10 * links].reshape(-1, 10)]
    except np.linalg.LinAlgError:
        return None


def _newton(
    start: Array,
    way: Array,
    aim: Array,
    goal: Array,
    z: Array,
    strength: float,
    links: int,
    moved: list[int],
) -> Array:
    """The least of |aim z + goal|^2 / 2 + strength times the barrier."""

    def value(z: Array) -> float:
        p = start + way @ z
        factors = _factors(p, links)
        if factors is None or (p[moved] <= 0).any():
            return np.inf
        logs = sum(2 * float(np.log(np.diag(L)).sum()) for L in factors)
        logs += float(np.log(p[moved]).sum())
        return float(np.sum((aim @ z + goal) ** 2)) / 2 - strength * logs

    now = value(z)
    for _ in range(_STEPS):
        gradient, hessian = _derivatives(start + way @ z, way, strength, links, moved)
        gradient += aim.T @ (aim @ z + goal)
        hessian += aim.T @ aim
        unit = 1 / np.sqrt(np.diag(hessian))
        step = -unit * np.linalg.lstsq(hessian * np.outer(unit, unit), unit * gradient)[0]
        decrement = -float(gradient @ step)
        if not decrement > _ENOUGH * strength:
            break
        length = 1.0
        while not (tried := value(z + length * step)) < now - 0.1 * length * decrement:
            length /= 2
            if length < 1e-9:
                return z
        z, now = z + length * step, tried
    return z


def _derivatives(
    p: Array, way: Array, strength: float, links: int, moved: list[int]
) -> tuple[Array, Array]:
    """The gradient and the Hessian of the barrier with respect to z."""
    gradient, hessian = np.zeros(way.shape[1]), np.zeros((way.shape[1],) * 2)
    for k in range(links):
        part = slice(10 * k, 10 * k + 10)
        inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(p[part])))
        along = np.tensordot(way[part].T, inverse @ PSEUDO @ inverse.T, 1)
        gradient -= strength * np.trace(along, axis1=1, axis2=2)
        flat = along.reshape(len(along), 16)
        hessian += strength * flat @ flat.T
    rate = way[moved] / p[moved, None]
    return gradient - strength * rate.sum(axis=0), hessian + strength * rate.T @ rate
