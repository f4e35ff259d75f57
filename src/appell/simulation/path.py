"""The motion between impacts, as polynomials: one per step of the integrator.

An integrator's own interpolant is a polynomial of degree seven or less in time, so its values at
eight Chebyshev points are the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from appell.robots.dynamics import Array

NODES: Array = (1 - np.cos(np.pi * np.arange(8) / 7)) / 2  # from 0 to 1
_WEIGHTS = np.array([0.5, -1, 1, -1, 1, -1, 1, -0.5])  # of the barycentric formula


class Piece(NamedTuple):
    """The state y = (q, v) from ``start`` to ``end``; its nodes reach to ``full``, the end of
    the integrator's step, where no event cut it short."""

    start: float
    full: float
    y: Array  # (8, ny)
    end: float

    @property
    def times(self) -> Array:
        """The times of the nodes."""
        return self.start + (self.full - self.start) * NODES

    def __call__(self, t: float) -> Array:
        """The state at a time, by the barycentric formula."""
        return self.at(np.array([t]))[0]

    def at(self, t: Array) -> Array:
        """The states at many times, (times, ny)."""
        apart = ((t - self.start) / (self.full - self.start))[:, None] - NODES
        at_node = apart == 0
        weights = _WEIGHTS / np.where(at_node, 1.0, apart)
        weights[at_node.any(axis=1)] = 0.0
        weights[at_node] = 1.0
        return (weights @ self.y) / weights.sum(axis=1)[:, None]


class IntegratorStep(NamedTuple):
    """One step of an integrator: states y = (q, v) and their rates at both its ends."""

    start: float
    end: float
    y0: Array
    y1: Array
    dy0: Array
    dy1: Array


def quintics(steps: Sequence[IntegratorStep]) -> list[Piece]:
    """The motion within steps: positions, speeds and accelerations at both ends make a polynomial
    of degree five per joint, without any rates in between."""
    if not steps:
        return []
    n = steps[0].y0.shape[0] // 2
    starts, ends = (np.array([s[k] for s in steps]) for k in (0, 1))
    y0, y1, dy0, dy1 = (np.array([s[k] for s in steps]) for k in range(2, 6))
    h = (ends - starts)[:, None]
    sides = [(y[:, :n], h * y[:, n:], h**2 * dy[:, n:]) for y, dy in ((y0, dy0), (y1, dy1))]
    known = [*sides[0], *sides[1]]
    q = np.einsum("kc,cin->ikn", _VALUES, known)
    v = np.einsum("kc,cin->ikn", _SLOPES, known) / h[:, None]
    # In the order that files keep: another order is summed, and rounded, in another way.
    nodes = np.ascontiguousarray(np.concatenate([q, v], axis=-1))
    return [
        Piece(start, end, y, end)
        for start, end, y in zip(starts.tolist(), ends.tolist(), nodes, strict=True)
    ]


def _hermite() -> tuple[Array, Array]:
    """What q, q', q'' at 0 and at 1 contribute to q and q' at the nodes, (8, 6) each."""
    powers = np.arange(6)
    at_1 = [powers**0, powers, powers * (powers - 1)]
    at_0 = [np.where(powers == k, (1, 1, 2)[k], 0) for k in range(3)]
    coefficients = np.linalg.inv(np.array([*at_0, *at_1], dtype=float))
    values = NODES[:, None] ** powers
    slopes = powers * NODES[:, None] ** np.maximum(powers - 1, 0)
    return values @ coefficients, slopes @ coefficients


_VALUES, _SLOPES = _hermite()


def evaluate(pieces: Sequence[Piece], t: Array) -> Array:
    """States at many times; at an impact, the state after it."""
    starts = np.array([p.start for p in pieces])
    which = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(pieces) - 1)
    y = np.empty((len(t), pieces[0].y.shape[1]))
    for k in np.unique(which):
        here = which == k if len(pieces) > 1 else slice(None)
        y[here] = pieces[k].at(t[here])
    return y


def root(f: Callable[[float], tuple[float, float]], a: float, b: float) -> float:
    """Where f, given with its derivative, falls from positive at a to negative at b: Newton's
    steps, kept within the bracket, to the last digits of the time."""
    t = b
    for _ in range(100):
        value, slope = f(t)
        if value > 0:
            a = t
        else:
            b = t
        close = 1e-14 + 4e-16 * abs(t)
        following = t - value / slope if slope < 0 else (a + b) / 2
        if abs(following - t) <= close:
            return min(max(following, a), b)
        if not a < following < b:
            following = (a + b) / 2
        if b - a <= close:
            return following
        t = following
    return t
