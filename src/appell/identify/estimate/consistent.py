"""Estimates that bodies can have: weighted least squares over physical parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.identify.estimate import log_cholesky, semidefinite, solve
from appell.identify.estimate.compress import triangle
from appell.identify.estimate.physical import faults
from appell.identify.estimate.settled import settled
from appell.identify.estimate.solve import Solution, Triangles
from appell.identify.estimate.task import Task, link_names
from appell.robots.robot import Array

_PULL = 1e-2  # towards the prior, by the noise: it settles only what the data leave open


def consistent(
    task: Task, data: Triangles, method: str, weights: Array | None = None
) -> tuple[Solution, Array]:
    """The solution, and all parameters: ten per link, those that cannot be negative, and offsets,
    which are free.

    Unknowns are matrix @ (parameters - own). The covariance is that of the weighted estimate
    without constraints, which only make an estimate more certain.
    """
    offsets = np.zeros(task.count - task.basis.count)
    prior, own = np.append(task.prior, offsets), np.append(task.own, offsets)
    matrix, links = task.matrix, len(link_names(task.robot))
    names = task.robot.parameter_names(**task.basis.flags)
    free = solve.weighted(data, matrix @ (prior - own), weights)
    unknown = matrix.any(axis=0)
    nearest = prior.copy()
    nearest[unknown] += np.linalg.pinv(matrix[:, unknown]) @ (free.x - matrix @ (prior - own))
    if method == "sdp" and not faults(nearest[: len(names)], [str(k) for k in range(links)], names):
        return free, nearest  # the least there is, and physical: nothing to solve
    positive = len(names) - 10 * links
    chosen: dict[str, Any] = {}
    A, b = data.system(_by_noise(data, free))
    pull = _PULL / _sizes(prior, links, positive)
    R = triangle(np.column_stack([A @ matrix, b + A @ (matrix @ own)]))
    if method == "sdp":
        p, status = semidefinite.minimise(
            R[:, :-1], R[:, -1], links, positive, pull, prior, _length(prior, links)
        )
        chosen["status"] = status
    else:
        start = log_cholesky.bodies(nearest, links, positive, _length(prior, links))
        p, steps = log_cholesky.minimise(R[:, :-1], R[:, -1], start, pull, prior)
        chosen["steps"] = steps
    p = settled(p, _determined(A) @ matrix, prior, links, positive)
    x = matrix @ (p - own)
    noise = np.sqrt(data.squares(x) / max(data.samples - len(x) / len(data.factors), 1))
    return replace(free, x=x, noise=noise, chosen=chosen), p


def _determined(A: Array) -> Array:
    """Combinations of the unknowns that the data determine: all unknowns, or fewer."""
    unit, null = np.eye(A.shape[1]), solve.by_qr(A)[2]
    return (unit - null @ null.T) * solve.column_sizes(A) if null.size else unit


def _by_noise(data: Triangles, found: Solution) -> Array:
    """Weights that make the noise of all joints one; data without noise count a billionfold."""
    size = np.sqrt([np.sum(R[:, -1] ** 2) / data.samples for R in data.factors])
    least = np.maximum(1e-9 * size, 1e-12 * max(size.max(initial=0.0), 1e-300))
    return 1 / np.maximum(found.noise, least)


def _sizes(prior: Array, links: int, positive: int) -> Array:
    """Typical sizes of masses, first moments, moments of inertia, and each of the others."""
    tens = np.abs(prior[: 10 * links].reshape(-1, 10))
    kinds = (slice(0, 1), slice(1, 4), slice(4, 10))
    typical = np.ones((links, 10))
    for kind in kinds:
        typical[:, kind] = max(float(np.sqrt(np.mean(tens[:, kind] ** 2))), 1e-6) if links else 1.0
    rest = np.maximum(np.abs(prior[10 * links :]), 1.0)
    return np.concatenate([typical.ravel(), rest])


def _length(prior: Array, links: int) -> float:
    """A link's typical size: the radius of gyration."""
    tens = prior[: 10 * links].reshape(-1, 10)
    mass, inertia = tens[:, 0].sum(), tens[:, [4, 6, 9]].sum()
    return float(np.sqrt(inertia / mass)) if mass > 0 and inertia > 0 else 0.1
