"""Physically consistent estimates without constraints, by log-Cholesky steps.

A link's pseudo-inertia is J = U U' with U upper triangular and of positive diagonal (Rucker and
Wensing 2022), so that the ten numbers of

    step = e^alpha [ e^d1  s12   s13   t1 ]
                   [  0    e^d2  s23   t2 ]
                   [  0     0    e^d3  t3 ]
                   [  0     0     0     1 ]

make a body of a body: U step. Friction and rotors are multiplied by exponentials. Least squares by
Levenberg and Marquardt in such steps, from the body reached so far: near the border of what is
physical they become small by themselves, and the convex problem has no other minima.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.identify.estimate.physical import pseudo_inertia, ten_parameters
from appell.robots.robot import Array

_ROWS, _COLUMNS = [0, 1, 2, 0, 1, 0, 0, 1, 2], [0, 1, 2, 1, 2, 2, 3, 3, 3]  # of d, s and t
_FAINT = 1e-3  # of a link's size: the least that a start has in any direction
_LONGEST = 2.0  # a step of a logarithm
_STEPS = 500


@dataclass(frozen=True)
class Bodies:
    """Factors U (links, 4, 4), positive numbers, and numbers that are free."""

    U: Array
    positive: Array
    free: Array

    @property
    def parameters(self) -> Array:
        """Ten parameters per link, then the positive and the free ones."""
        J = self.U @ np.swapaxes(self.U, 1, 2)
        return np.concatenate([ten_parameters(J).ravel(), self.positive, self.free])

    @property
    def jacobian(self) -> Array:
        """The derivatives of the parameters with respect to a step's numbers, at no step."""
        links, n = len(self.U), 10 * len(self.U)
        D = np.eye(n + len(self.positive) + len(self.free))
        for k in range(links):
            half = self.U[k] @ _CHANGES @ self.U[k].T
            part = slice(10 * k, 10 * k + 10)
            D[part, part] = ten_parameters(half + np.swapaxes(half, 1, 2)).T
        for k, x in enumerate(self.positive, start=n):
            D[k, k] = x
        return D

    def moved(self, step: Array) -> Bodies:
        """The bodies after a step."""
        n, m = 10 * len(self.U), len(self.positive)
        steps = np.array([_step(ten) for ten in step[:n].reshape(-1, 10)])
        return Bodies(
            self.U @ steps if n else self.U,
            self.positive * np.exp(step[n : n + m]),
            self.free + step[n + m :],
        )


def bodies(parameters: Array, links: int, positive: int, length: float) -> Bodies:
    """Bodies with these parameters, or near ones that are well inside what is physical. ``length``
    is the size of a link."""
    tens = parameters[: 10 * links].reshape(-1, 10)
    mass = 1e-3 * float(np.abs(tens[:, 0]).max(initial=0.0))
    scalars = parameters[10 * links : 10 * links + positive]
    least = max(1e-2 * float(np.abs(scalars).max(initial=0.0)), 1e-6)
    return Bodies(
        np.array([_factor(pseudo_inertia(ten), mass, length) for ten in tens]),
        np.maximum(scalars, least),
        parameters[10 * links + positive :],
    )


def _step(ten: Array) -> Array:
    """The matrix of a step, from alpha, d, s and t."""
    U = np.eye(4)
    U[_ROWS, _COLUMNS] = [*np.exp(ten[1:4]), *ten[4:]]
    return np.exp(ten[0]) * U


_CHANGES = np.zeros((10, 4, 4))  # derivatives of a step's matrix, at no step
_CHANGES[0] = np.eye(4)
_CHANGES[range(1, 10), _ROWS, _COLUMNS] = 1


def _factor(J: Array, mass: float, length: float) -> Array:
    """U of a pseudo-inertia, made positive where it is not: Cholesky's factor of the matrix
    turned around."""
    unit = np.array([length, length, length, 1.0])
    values, V = np.linalg.eigh(J / np.outer(unit, unit))
    least = max(_FAINT * float(values.max()), mass, 1e-9)
    J = (V * np.maximum(values, least)) @ V.T * np.outer(unit, unit)
    return np.asarray(np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1], dtype=np.float64)


def minimise(A: Array, b: Array, start: Bodies, pull: Array, prior: Array) -> tuple[Array, int]:
    """Parameters that minimise |A p - b|^2 + |pull (p - prior)|^2 among those that bodies can
    have, and the number of steps."""
    stack = np.vstack([A, np.diag(pull)])
    target = np.concatenate([b, pull * prior])
    now, damping, steps, idle = start, 1e-3, 0, 0
    error = stack @ now.parameters - target
    logarithms = slice(0, len(prior) - len(start.free))
    while steps < _STEPS and idle < 3:
        steps += 1
        J, cost = stack @ now.jacobian, float(error @ error)
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        along = U.T @ error
        while damping < 1e16:
            step = -Vt.T @ (s * along / (s**2 + damping))
            if np.abs(step[logarithms]).max(initial=0.0) <= _LONGEST:
                tried = now.moved(step)
                left = stack @ tried.parameters - target
                if float(left @ left) < cost:
                    break
            damping *= 4
        else:
            break
        fell = cost - float(left @ left)
        now, error, damping = tried, left, damping / 8
        idle = idle + 1 if fell <= 1e-9 * cost else 0
        if cost <= 1e-28 * float(target @ target):
            break
    return now.parameters, steps
