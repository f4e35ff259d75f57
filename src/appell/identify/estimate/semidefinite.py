"""Physically consistent estimates by semidefinite programming: Wensing, Kim and Slotine 2018.

Least squares over all parameters whose pseudo-inertias are positive semidefinite and whose
friction and rotors are not negative: convex, solved by Clarabel through cvxpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.identify.estimate.compress import triangle
from appell.identify.estimate.physical import PSEUDO
from appell.robots.robot import Array

_FAINT = 1e-6  # of a link's size: how far inside the cone a solution is asked to be


def minimise(
    A: Array, b: Array, links: int, positive: int, pull: Array, prior: Array, length: float
) -> tuple[Array, str]:
    """Parameters that minimise |A p - b|^2 + |pull (p - prior)|^2 among those that bodies can
    have, and what the solver says. ``length`` is the size of a link, to compare moments with
    masses."""
    cvxpy = _cvxpy()
    scale = 1 / np.maximum(pull, 1e-300)
    unit = pull.max(initial=1.0)
    x = cvxpy.Variable(A.shape[1])  # parameters by their typical sizes
    tall = np.vstack([A, np.diag(pull)]) * (scale * unit)
    target = np.concatenate([b, pull * prior])
    R = triangle(np.column_stack([tall, target]))
    norm = max(float(np.abs(R).max()), 1e-300)
    cost = cvxpy.norm(R[:, :-1] / norm @ x - R[:, -1] / norm, 2)
    p = cvxpy.multiply(scale * unit, x)
    turned = np.diag([1 / length] * 3 + [1.0])
    constraints = []
    for k in range(links):
        ten = prior[10 * k : 10 * k + 10]
        size = max(abs(ten[0]), 1e-3 * np.abs(prior[: 10 * links : 10]).max(initial=0.0), 1e-9)
        J = sum(p[10 * k + c] * (turned @ PSEUDO[c] @ turned / size) for c in range(10))
        constraints.append((J + J.T) / 2 >> _FAINT * np.eye(4))
    if positive:
        constraints.append(x[10 * links : 10 * links + positive] >= 0)
    problem = cvxpy.Problem(cvxpy.Minimize(cost), constraints)
    try:
        problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.SolverError as trouble:
        raise AppellError(f"method='sdp': Clarabel gave up: {trouble}") from None
    if x.value is None:
        raise AppellError(f"method='sdp': Clarabel found nothing ({problem.status}).")
    found = scale * unit * np.asarray(x.value)
    part = slice(10 * links, 10 * links + positive)
    found[part] = np.maximum(found[part], 0.0)
    return found, str(problem.status)


def _cvxpy() -> Any:
    try:
        import clarabel  # noqa: F401  (the solver that cvxpy calls)
        import cvxpy
    except ImportError as missing:
        raise InputError(
            f"method='sdp' needs {missing.name}, which is not installed: "
            "pip install 'appell[identify]'; method='log_cholesky' (--method log_cholesky) needs "
            "nothing more."
        ) from None
    return cvxpy
