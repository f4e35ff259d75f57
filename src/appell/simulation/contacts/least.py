"""The problems that unilateral contacts pose, at impacts and while they last.

Both are Gauss's principle: of all changes of velocity (or of acceleration) that keep the points
from passing the walls, nature takes the least, measured by the inertia matrix M = L L^T. With
x = L^T dv and U = L^-1 J^T the problem is: the shortest x with U^T x >= h; then x = U p, where
the impulses (or forces) p >= 0 act only where the wall is met. With friction there is no such
principle, and a complementarity problem takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from appell.robots.dynamics import Array
from appell.simulation.contacts.lemke import lemke

# Contacts give way by this part of what they resist: those that repeat others then share loads as
# springs would, instead of one of them taking all it can.
_SOFT = 1e-7
_ROUGH = 1e-4  # an error that contacts almost repeating each other may leave
_STEPS = 50  # of Newton's method
_SWEEPS = 300
_TIGHT = 1e-11  # of the largest demand: below it a demand is met exactly
_DIRECTIONS: dict[int, list[tuple[float, ...]]] = {
    0: [],
    1: [(1.0,), (-1.0,)],
    2: [(float(np.cos(x)), float(np.sin(x))) for x in np.arange(8) * np.pi / 4],
}


class Contradiction(Exception):
    """No motion satisfies all contacts at once."""


class Paradox(Exception):
    """Painleve's: no forces of sliding contacts keep them from the walls."""


def least(U: Array, h: Array) -> tuple[Array, Array]:
    """The shortest x with U^T x >= h, and p >= 0 with x = U p.

    Lawson and Hanson's least-distance problem, by non-negative least squares; contacts that
    repeat others share the load evenly.
    """
    n, m = U.shape
    nothing = np.zeros(n), np.zeros(m)
    if not (h > 0).any():
        return nothing
    lengths = np.linalg.norm(U, axis=0)
    felt = lengths > 1e-12 * lengths.max()
    if not felt.all():  # a point that these speeds do not move
        x, some = least(U[:, felt], h[felt])
        p = np.zeros(m)
        p[felt] = some
        return x, p
    unit, wanted = U / lengths, h / lengths
    size = np.abs(wanted).max()
    wanted = wanted / size
    u, distance = scipy.optimize.nnls(np.vstack([unit, wanted]), np.append(np.zeros(n), 1.0))
    if distance < 1e-9:
        raise Contradiction
    active = u > 0
    # The shortest x that meets the active demands exactly.
    x = np.linalg.lstsq(unit[:, active].T, wanted[active], rcond=1e-12)[0]
    spare = unit.T @ x - wanted
    if spare.min() < -1e-9:  # the active set is not exact; nnls itself is close
        x = unit @ u / (1 - wanted @ u)
        spare = unit.T @ x - wanted
    shared = _shared(unit, x, spare <= _TIGHT)
    if shared is None:
        shared = np.zeros(m)
        shared[active] = np.linalg.lstsq(unit[:, active], x, rcond=None)[0]
    return x * size, np.maximum(shared, 0) * size / lengths


def _shared(U: Array, x: Array, tight: npt.NDArray[np.bool_]) -> Array | None:
    """x = U p with the shortest p, if none of it is negative."""
    p = np.zeros(U.shape[1])
    p[tight] = np.linalg.lstsq(U[:, tight], x, rcond=1e-12)[0]
    found = np.linalg.norm(U @ p - x) <= 1e-9 * np.linalg.norm(x)
    return p if found and p.min() >= -_TIGHT * np.abs(p).max() else None


class CoulombFriction(NamedTuple):
    """Coulomb friction of one contact, or of one joint.

    Its rows stand in W; its force is at most ``mu`` times that of the normal's row, or
    ``bound`` where there is none. What already slides in a direction has the largest force
    against it.
    """

    rows: tuple[int, ...]
    normal: int | None
    mu: float = 0.0
    bound: float = 0.0
    sliding: Array | None = None  # its direction, in its rows


def with_friction(
    W: Array, w: Array, normals: Sequence[int], units: Sequence[CoulombFriction], low: Array
) -> tuple[Array, Array]:
    """p and y = W p + w such that, at normals, p >= low and y >= 0 and one of them is equal;
    at friction, |p| within its bound and, where y is not zero, at it and against y.

    With the circle of friction's directions replaced by eight of them this is a linear
    complementarity problem (Stewart and Trinkle 1996); Newton's method leads from its solution
    to that of the circle, to 1e-6 or better, if need be after sweeps through
    the contacts. Paradox, where there is none.
    """
    soft = W + _SOFT * np.trace(W) / max(len(W), 1) * np.eye(len(W))
    p = _by_lemke(soft, w, normals, units, low)
    law = _Coulomb(W, w, list(normals), units, low)
    for _ in range(2):
        y = soft @ p + w
        found = law.exact(p, y)
        if found is not None:
            return found, W @ found + w
        p = law.swept(p, soft)
    if law.error(p, W @ p + w) > _ROUGH:
        raise Paradox
    return p, soft @ p + w


def _by_lemke(
    W: Array, w: Array, normals: Sequence[int], units: Sequence[CoulombFriction], low: Array
) -> Array:
    """A solution with friction along some directions only."""
    normal = np.eye(len(w))[:, list(normals)]
    to_p, given = normal.copy(), low.copy()  # what each normal adds to p, and p without them
    resting = [u for u in units if u.sliding is None]
    for u in units:
        if u.sliding is None:
            continue
        rows = list(u.rows)
        given[rows] = -_bound(low, u) * u.sliding
        if u.normal is not None:
            to_p[rows, list(normals).index(u.normal)] = -u.mu * u.sliding
    directions = [(u, d) for u in resting for d in _DIRECTIONS[len(u.rows)]]
    n, m, r = len(normals), len(directions), len(resting)
    along = np.zeros((len(w), m))
    for j, (u, d) in enumerate(directions):
        along[list(u.rows), j] = d
    B, rows_of = np.hstack([to_p, along]), np.hstack([normal, along])
    M = np.zeros((n + m + r, n + m + r))
    q = np.zeros(n + m + r)
    M[: n + m, : n + m] = rows_of.T @ W @ B
    q[: n + m] = rows_of.T @ (W @ given + w)
    for i, u in enumerate(resting):
        mine = [n + j for j, (of, _) in enumerate(directions) if of is u]
        M[mine, n + m + i] = 1.0
        M[n + m + i, mine] = -1.0
        q[n + m + i] = _bound(low, u)
        if u.normal is not None:
            M[n + m + i, list(normals).index(u.normal)] = u.mu
    z = lemke(M, q)
    if z is None:
        raise Paradox
    return given + B @ z[: n + m]


def _bound(p: Array, unit: CoulombFriction) -> float:
    return unit.mu * float(p[unit.normal]) if unit.normal is not None else unit.bound


class _Coulomb:
    """The laws of contact as equations: p is what the law makes of p - r y (Alart and Curnier
    1991)."""

    def __init__(
        self, W: Array, w: Array, normals: list[int], units: Sequence[CoulombFriction], low: Array
    ) -> None:
        self.W, self.w, self.normals, self.units, self.low = W, w, normals, units, low
        self.r = np.ones(len(w))  # in p per y
        for rows in [*([k] for k in normals), *(u.rows for u in units)]:
            size = float(np.trace(W[np.ix_(rows, rows)]))
            self.r[list(rows)] = len(rows) / size if size > 0 else 1.0
        self.scale = float(np.abs([*self.r * w, *low]).max(initial=0.0)) or 1.0

    def exact(self, p: Array, y: Array) -> Array | None:
        """The solution by Newton's method from a p and y near it; None if it leads nowhere.
        Where forces are not unique the step is the shortest."""
        best, least = None, 10 * _SOFT
        for _ in range(_STEPS):
            wrong, slope = self._wrong(p, y)
            error = float(np.abs(wrong).max(initial=0.0)) / self.scale
            if best is not None and error >= least / 2:
                return best
            if error < least and np.array_equal(y, self.W @ p + self.w):
                best, least = p, error
            p = p - np.linalg.lstsq(slope, wrong, rcond=_SOFT)[0]
            y = self.W @ p + self.w
        return best

    def error(self, p: Array, y: Array) -> float:
        """The largest wrong, as a part of what stops the largest w, or of what is given."""
        return float(np.abs(self._wrong(p, y)[0]).max(initial=0.0)) / self.scale

    def swept(self, p: Array, soft: Array) -> Array:
        """p after each contact in turn has followed its law, many times: slow, but it arrives."""
        p, W, r = p.copy(), soft, self.r
        for _ in range(_SWEEPS):
            for k in self.normals:
                p[k] = max(p[k] - r[k] * float(W[k] @ p + self.w[k]), self.low[k])
            for unit in self.units:
                rows, bound = list(unit.rows), max(_bound(p, unit), 0.0)
                aim = p[rows] - 0.7 * r[rows] * (W[rows] @ p + self.w[rows])
                size = float(np.linalg.norm(aim))
                if unit.sliding is not None:
                    p[rows] = -bound * unit.sliding
                else:
                    p[rows] = aim if size <= bound else aim * (bound / size)
        return p

    def _wrong(self, p: Array, y: Array) -> tuple[Array, Array]:
        """By how much each p breaks its law, and the derivative of that to p."""
        W, r, aim = self.W, self.r, p - self.r * y
        wrong, slope = np.zeros_like(p), np.eye(len(p))
        for k in self.normals:
            if aim[k] > self.low[k]:
                wrong[k], slope[k] = r[k] * y[k], r[k] * W[k]
            else:
                wrong[k] = p[k] - self.low[k]
        for unit in self.units:
            rows, bound = list(unit.rows), _bound(p, unit)
            size = float(np.linalg.norm(aim[rows]))
            if unit.sliding is None and size <= bound:
                wrong[rows], slope[rows] = r[rows] * y[rows], r[rows, None] * W[rows]
                continue
            d = aim[rows] / size if unit.sliding is None else -unit.sliding
            wrong[rows] = p[rows] - bound * d
            if unit.normal is not None:
                slope[rows, unit.normal] -= unit.mu * d
            if unit.sliding is None:
                turn = (np.eye(len(rows)) - np.outer(d, d)) * max(bound, 0.0) / size
                slope[rows] -= turn @ (np.eye(len(p))[rows] - r[rows, None] * W[rows])
        return wrong, slope
