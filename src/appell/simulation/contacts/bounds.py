"""Bounds of all gaps over a stretch of a step: what makes it certain that none closes unseen.

Along a step the coordinates are polynomials of degree seven in x, from -1 at its beginning to 1
at its end. Over a stretch x = m + w u, |u| <= 1, a polynomial stays within its Taylor
coefficients at m:

    |q(x) - q(m)| <= sum_k |d_k| w^k,    d_k = q^(k)(m) / k!

and its derivative likewise. The gaps g(q) and their rates dg/dt = dg/dq dq/dt are enclosed over
that box (`appell.compile.enclose`); from q(m) to any other place of the stretch a gap
changes by no more than half the stretch's time times the largest rate.

A wall whose function has no known bound is sampled instead: see `sampled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi
import numpy as np
import numpy.typing as npt
from casadi import SX, vertcat

from appell.compile.enclose import Unbounded, enclose
from appell.robots.dynamics import Array
from appell.simulation.path import NODES, Piece

if TYPE_CHECKING:
    from appell.simulation.contacts.contact import Contacts, Described, Geometry

Mask = npt.NDArray[np.bool_]

DEGREE = len(NODES) - 1
# From a polynomial's values at the nodes to its coefficients in x.
_COEFFICIENTS: Array = np.linalg.inv(np.vander(2 * NODES - 1, increasing=True))
_SAMPLES = 2 * NODES - 1  # places of a stretch at which a wall without bounds is looked at
_PLACES = 16  # of a piece at which its penetration is measured
_DOUBT = 2.0  # and how much faster than there its gap may change in between


class Bounds(NamedTuple):
    """Of each contact over each stretch, (stretches, contacts)."""

    middle: Array  # the gap in the middle of the stretch
    least: Array  # no gap of the stretch is smaller
    slowest: Array  # and its rate lies between this
    fastest: Array  # and this, m/s
    reach: Array  # so that it is nowhere further from that in the middle than this


class Along:
    """The polynomial of one step, asked for bounds of its gaps."""

    def __init__(self, contacts: Contacts, piece: Piece) -> None:
        self.contacts, self.piece, self.nq = contacts, piece, contacts.model.nq
        self.half = (piece.full - piece.start) / 2

    @cached_property
    def path(self) -> Array:
        """(8, nq) coefficients of the coordinates."""
        return _COEFFICIENTS @ self.piece.y[:, : self.nq]

    def time(self, x: Any) -> Any:
        """The time at a place x of the step."""
        return self.piece.start + (x + 1) * self.half

    def bounds(self, m: Array, w: Array) -> Bounds:
        """Bounds over the stretches from m - w to m + w."""
        span = np.empty((len(m), 3))
        span[:, 0], span[:, 1], span[:, 2] = m, w, 1 / self.half
        middle, least, slowest, fastest = self.contacts.bounds(self.path, span)
        reach = np.maximum(np.abs(slowest), np.abs(fastest)) * (w * self.half)[:, None]
        found = Bounds(middle, least, slowest, fastest, reach)
        if self.contacts.any_foreign:
            foreign = self.contacts.foreign
            for whole, part in zip(found, self.sampled(m, w), strict=True):
                whole[:, foreign] = part[:, foreign]
        return found

    def sampled(self, m: Array, w: Array) -> Bounds:
        """What eight places of each stretch tell of a wall without bounds: its gap changes no
        faster than twice what the steepest gradient and the fastest point seen there give, and
        its rate differs no more from those seen than these do from each other. It is no proof: a
        part of the wall that is narrower than a point's way between two places can be missed."""
        q, v = self.states(m[:, None] + w[:, None] * _SAMPLES)
        middle, _ = self.contacts.gaps(*self.states(m))
        rate, steepest = np.empty((*q.shape[:2], middle.shape[1])), np.zeros(middle.shape)
        for k, j in np.ndindex(q.shape[:2]):
            c = self.contacts.at(q[k, j], v[k, j])
            rate[k, j] = c.rate
            speed = np.linalg.norm(c.P @ v[k, j], axis=1)[self.contacts.of_point]
            steepest[k] = np.fmax(steepest[k], np.linalg.norm(c.normal, axis=1) * speed)
        low, high = rate.min(axis=1), rate.max(axis=1)
        doubt = (high - low) / 2
        reach = _DOUBT * steepest * (w * self.half)[:, None]
        return Bounds(middle, middle - reach, low - doubt, high + doubt, reach)

    def states(self, x: Array) -> tuple[Array, Array]:
        """q and v at places of the step."""
        q, v = _states(self.contacts, _COEFFICIENTS @ self.piece.y, x.ravel())
        return q.reshape(*x.shape, -1), v.reshape(*x.shape, -1)


def deepest(contacts: Contacts, pieces: Sequence[Piece], rows: tuple[Array, Array]) -> float:
    """The deepest penetration, m, along all pieces and in some rows (q, v): gaps are looked at in
    sixteen places per piece, and where one turns between two of them, in its lowest place too."""
    least = contacts.gaps(*rows)[0].min(initial=0.0)
    if pieces:
        coefficients = _COEFFICIENTS @ np.array([p.y for p in pieces])
        ends = np.array([2 * (p.end - p.start) / (p.full - p.start) - 1 for p in pieces])
        x = np.linspace(-np.ones(len(pieces)), ends, _PLACES, axis=-1)  # (pieces, places)
        gap, rate = contacts.gaps(*_states(contacts, coefficients, x))
        least = min(least, np.nanmin(gap, initial=0.0))
        now, then = rate[:, :-1], rate[:, 1:]
        turns = k, j, _ = np.nonzero((now < 0) & (then > 0))
        if len(k):
            share = now[turns] / (now[turns] - then[turns])
            lowest = x[k, j] + share * (x[k, 1] - x[k, 0])
            gap, _ = contacts.gaps(*_states(contacts, coefficients[k], lowest[:, None]))
            least = min(least, np.nanmin(gap, initial=0.0))
    return max(0.0, -float(least))


def _states(contacts: Contacts, coefficients: Array, x: Array) -> tuple[Array, Array]:
    """q and v of polynomials, (..., 8, ny), at places x, (..., places), of each."""
    powers = x[..., None] ** np.arange(DEGREE + 1)
    y, nq = powers @ coefficients, contacts.model.nq
    return np.ascontiguousarray(y[..., :nq]), np.ascontiguousarray(y[..., nq:])


def described(geometry: Geometry) -> Described:
    """Inputs, outputs and the function that `Contacts.bounds` compiles."""
    m, nq = len(geometry), geometry.model.nq
    inputs = {"path": (DEGREE + 1, nq), "span": (3,)}
    return inputs, dict.fromkeys(Bounds._fields[:4], (m,)), partial(_function, geometry)


def unbounded(geometry: Geometry) -> Mask:
    """Which contacts are with a wall that has no known bound."""
    walls = []
    for text in geometry.surfaces:
        try:
            _rated(casadi.Function.deserialize(text))
            walls.append(False)
        except Unbounded:
            walls.append(True)
    return np.array(walls * len(geometry.points) + [False] * len(geometry.stops), dtype=bool)


def _rated(surface: casadi.Function) -> None:
    """Raise Unbounded if a wall's gap, or its gradient, has no bound."""
    x = SX.sym("x", 3)
    gap, gradient = surface(x)
    enclose(casadi.Function("f", [x], [gap, gradient]), [SX.sym("m", 3)], [SX.sym("r", 3)])


def _function(geometry: Geometry) -> casadi.Function:
    """(path, span) -> Bounds; the path row by row, the span m, w and dx/dt."""
    from appell.simulation.contacts.contact import measured

    nq = geometry.model.nq
    path, span = SX.sym("path", (DEGREE + 1) * nq), SX.sym("span", 3)
    middles, radii, slopes, spreads = [], [], [], []
    for i in range(nq):
        d = _shifted([path[k * nq + i] for k in range(DEGREE + 1)], span[0])
        scaled = [d[k] * span[1] ** k for k in range(DEGREE + 1)]
        middles.append(d[0])
        radii.append(sum(casadi.fabs(x) for x in scaled[1:]))
        slopes.append(d[1] * span[2])
        spread = sum(k * casadi.fabs(d[k]) * span[1] ** (k - 1) for k in range(2, DEGREE + 1))
        spreads.append(spread * span[2])
    q, dq = SX.sym("q", nq), SX.sym("dq", nq)
    foreign, each = unbounded(geometry), casadi.vertsplit(measured(geometry, q)[1])
    gap = vertcat(*(SX(1) if foreign[k] else g for k, g in enumerate(each)))
    gaps = casadi.Function("gaps", [q], [gap])
    along = casadi.Function("along", [q, dq], [gap, casadi.jtimes(gap, q, dq)])
    boxes = [vertcat(*x) for x in (middles, slopes)], [vertcat(*x) for x in (radii, spreads)]
    c, r, rate, spread = enclose(along, *boxes)
    results = [gaps(boxes[0][0]), c - r, rate - spread, rate + spread]
    return casadi.Function("bounds", [path, span], [casadi.densify(x) for x in results])


def _shifted(c: list[Any], m: Any) -> list[Any]:
    """Taylor coefficients at m of the polynomial with coefficients c (Horner, again and again)."""
    d = list(c)
    for k in range(len(d)):
        for j in range(len(d) - 2, k - 1, -1):
            d[j] = d[j] + m * d[j + 1]
    return d
