"""Functions of time that excitations are made of: periodic, and at rest where they begin.

A joint's motion is a position and a sum of d - 1 shapes. Each shape has no mean, and neither
speed nor acceleration at t = 0, where a period begins and ends, so that any sum of them can be
run by an arm that stands still before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from appell.robots.robot import Array

State = tuple[Array, Array, Array]
Functions = Callable[[Array], State]

_DEGREE = 5  # of the splines: their accelerations are smooth


@dataclass(frozen=True, eq=False)
class Basis:
    """d functions, the first of them one; at times in [0, duration] their values and their first
    and second derivatives, each t.shape + (d,)."""

    duration: float
    functions: Functions  # before rest is asked of them
    Z: Array  # (functions, d - 1): the shapes

    @property
    def d(self) -> int:
        """The number of functions."""
        return self.Z.shape[1] + 1

    def __call__(self, t: Array) -> State:
        first = np.ones((*t.shape, 1)), np.zeros((*t.shape, 1)), np.zeros((*t.shape, 1))
        shapes = (x @ self.Z for x in self.functions(t))
        q, v, a = (np.concatenate(x, axis=-1) for x in zip(first, shapes, strict=True))
        return q, v, a


def fourier(duration: float, harmonics: int) -> Basis:
    """Sines and cosines up to so many times the period's frequency (Swevers et al. 1997), scaled
    so that each has a speed of at most one."""
    w = 2 * np.pi / duration * np.arange(1, harmonics + 1)

    def functions(t: Array) -> State:
        s, c = np.sin(w * t[..., None]), np.cos(w * t[..., None])
        parts = (s / w, -c / w), (c, s), (-w * s, w * c)
        q, v, a = (np.concatenate(x, axis=-1) for x in parts)
        return q, v, a

    return _at_rest(duration, functions)


def splines(duration: float, pieces: int) -> Basis:
    """Periodic B-splines of degree five on so many equal pieces."""
    from scipy.interpolate import BSpline

    knots = duration / pieces * np.arange(-_DEGREE, pieces + _DEGREE + 1)
    around = np.eye(pieces)[np.arange(pieces + _DEGREE) % pieces]
    value = BSpline(knots, around, _DEGREE)
    derivatives = value, value.derivative(1), value.derivative(2)

    def functions(t: Array) -> State:
        q, v, a = (f(t) for f in derivatives)
        return q - 1 / pieces, v, a  # every one's mean is that

    return _at_rest(duration, functions)


def _at_rest(duration: float, functions: Functions) -> Basis:
    _, v, a = functions(np.zeros(()))
    rows = np.array([v / np.abs(v).max(), a / np.abs(a).max()])
    if not np.allclose(functions(np.linspace(0, duration, 7))[0].sum(axis=-1), 0):
        return Basis(duration, functions, scipy.linalg.null_space(rows))
    # B-splines sum to a constant: only what changes counts as a shape.
    return Basis(duration, functions, scipy.linalg.null_space(np.vstack([rows, np.ones(len(v))])))
