"""Where a motion comes near a singular configuration, or reaches a joint's limit.

The margin of the loops is the smallest singular value of their rows J by the largest, with turns
measured in lengths; it does not depend on which speeds are independent. The quality of independent
speeds is the smallest singular value of their rows in an orthonormal basis of the allowed speeds.

Both are followed along a step of the integrator as continuous functions of time. By Weyl's
inequality a singular value of J changes by no more than J does, and by Wedin's theorem the allowed
speeds turn by no more than that over the smallest singular value. A part of the step is therefore
cleared by what is known at its ends, or halved. What ends a run is a time at which a function
crosses a threshold, so rounding moves it by rounding errors only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from appell.model.limits import Limit
from appell.robots.closed.assemble import Assembly
from appell.robots.robot import Array

POOR = 1e-3  # the quality below which independent speeds no longer describe the motion
_TURN = 0.3  # rad or m that coordinates may move between two looks
_BEND = 1.2  # how much longer J's path may be than the chord between two looks
_WIDTH = 1e-12  # of a step, or of 1 s: where halving ends
_DEGREE = 7  # of the polynomials by which DOP853 interpolates
_SLACK = 1e-10  # rad or m: what coordinates put back on the loops may be off by
_NODES = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))


class Look(NamedTuple):
    """What is seen at some instants."""

    t: Array  # (N,)
    q: Array  # (N, nq)
    J: Array  # (N, rows, joints), turns measured in lengths
    least: Array  # (N,) the smallest singular value of J that is not always zero
    largest: Array  # (N,)
    quality: Array  # (N,) of the independent speeds

    @property
    def margin(self) -> Array:
        """Of the loops, 1 to 0."""
        return self.least / self.largest

    def at(self, k: Any) -> Look:
        return Look(*(x[k] for x in self))


def look(assembly: Assembly, chosen: Sequence[int], t: Array, q: Array) -> Look:
    """The margins at configurations q (N, nq)."""
    J = assembly.rows(np.ascontiguousarray(q)) / assembly.units
    rank, ones = assembly.model.nv - len(chosen), np.ones(len(q))
    if not rank:
        return Look(t, q, J, ones, ones, ones)
    if not np.isfinite(J).all():
        J = np.zeros_like(J)
    _, values, V = np.linalg.svd(J)
    allowed = np.swapaxes(V[:, rank:], -1, -2)[:, list(chosen)]
    least, largest = values[:, rank - 1], np.maximum(values[:, 0], 1e-300)
    return Look(t, q, J, least, largest, np.linalg.svd(allowed, compute_uv=False)[:, -1])


class Singular(NamedTuple):
    """Where a margin or a quality first falls below its threshold."""

    t: float
    q: Array
    of_loops: bool  # or of the independent speeds alone


def first_singular(
    assembly: Assembly,
    chosen: Sequence[int],
    start: float,
    end: float,
    place: Callable[[Array], Array],
    singular: float,
) -> Singular | None:
    """The first instant from ``start`` to ``end`` at which the loops' margin is below ``singular``
    or the chosen speeds are poor. ``place`` gives coordinates at times."""
    shortest = _WIDTH * max(end - start, min(1.0, end))

    def seen(t: Any) -> Look:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        return look(assembly, chosen, times, place(times))

    first = seen(np.linspace(start, end, 3))
    parts = [(first.at(1), first.at(2)), (first.at(0), first.at(1))]  # the earliest last
    while parts:
        a, b = parts.pop()
        below = [_below(x, singular) for x in (a, b)]
        if below[0] or (b.t - a.t <= shortest and below[1]):
            x = a if below[0] else b
            return Singular(float(x.t), x.q, bool(x.margin < singular))
        if b.t - a.t <= shortest or (not below[1] and _clear(a, b, singular)):
            continue
        middle = seen(0.5 * (a.t + b.t)).at(0)
        parts += [(middle, b), (a, middle)]
    return None


def _below(x: Look, singular: float) -> bool:
    return bool(not x.margin >= singular or not x.quality >= POOR)


def _clear(a: Look, b: Look, singular: float) -> bool:
    """Whether nothing between two looks can be below a threshold."""
    if np.abs(a.q - b.q).max() > _TURN:
        return False
    change = _BEND * float(np.linalg.norm(a.J - b.J))
    spare = a.least + b.least - singular * (a.largest + b.largest)
    if spare <= (1 + singular) * change:
        return False
    least = 0.5 * (a.least + b.least - change)  # between them
    return bool(least > 0 and (a.quality + b.quality - 2 * POOR) * least > change)


# Limits of joints


def first_limit(
    some: Sequence[tuple[Limit, float]],
    start: float,
    end: float,
    place: Callable[[Array], Array],
) -> tuple[float, Limit] | None:
    """The first limit that is passed from ``start`` to ``end``, and when.

    Each limit comes with how far beyond it the motion began. Coordinates are polynomials of time
    within a step, whose coefficients bound them and their slopes: no crossing is missed.
    """
    if not some:
        return None
    middle, half = 0.5 * (start + end), 0.5 * (end - start)
    q = place(middle + half * _NODES)
    crossings = []
    for limit, already in some:
        c = chebyshev.chebfit(_NODES, limit.beyond(q) - already - _SLACK, _DEGREE)
        x = _first_positive(c)
        if x is not None:
            crossings.append((float(middle + half * x), limit))
    return min(crossings, key=lambda crossing: crossing[0], default=None)


def _first_positive(c: Array) -> float | None:
    """Where on [-1, 1] a Chebyshev series with coefficients c is first positive."""
    if c[0] + np.abs(c[1:]).sum() <= 0:
        return None
    steepest = float(np.abs(c) @ np.arange(len(c)) ** 2)

    def value(x: float) -> float:
        return float(chebyshev.chebval(x, c))

    parts = [((-1.0, value(-1.0)), (1.0, value(1.0)))]  # the earliest last
    while parts:
        (a, below), (b, above) = parts.pop()
        if below > 0:
            return a
        if b - a <= _WIDTH:
            if above > 0:
                return a
            continue
        if below + above + steepest * (b - a) > 0:
            x = 0.5 * (a + b)
            middle = (x, value(x))
            parts += [(middle, (b, above)), ((a, below), middle)]
    return None
