"""The problems that unilateral contacts pose, at impacts and while they last.

Both are Gauss's principle: of all changes of velocity (or of acceleration) that keep the points
from passing the walls, nature takes the least, measured by the inertia matrix M = L L^T. With
x = L^T dv and U = L^-1 J^T the problem is: the shortest x with U^T x >= h; then x = U p, where
the impulses (or forces) p >= 0 act only where the wall is met. With friction there is no such
principle, and a complementarity problem takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from appell.simulation.lemke import lemke

Array = npt.NDArray[np.floating[Any]]

_TIGHT = 1e-11  # of the largest demand: below it a demand is met exactly
_DIRECTIONS: dict[int, list[tuple[float, ...]]] = {
    0: [],
    1: [(1.0,), (-1.0,)],
    2: [(float(np.cos(x)), float(np.sin(x))) for x in np.arange(8) * np.pi / 4],
}


class Contradiction(Exception):  # noqa: N818
    """No motion satisfies all contacts at once."""


class Paradox(Exception):  # noqa: N818
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
    u, distance = nnls(np.vstack([unit, wanted]), np.append(np.zeros(n), 1.0))
    if distance < 1e-9:
        raise Contradiction
    active = u > 0
    x = _meeting(unit[:, active], wanted[active])
    spare = unit.T @ x - wanted
    if spare.min() < -1e-9:  # the active set is not exact; nnls itself is close
        x = unit @ u / (1 - wanted @ u)
        spare = unit.T @ x - wanted
    shared = _shared(unit, x, spare <= _TIGHT)
    if shared is None:
        shared = np.zeros(m)
        shared[active] = np.linalg.lstsq(unit[:, active], x, rcond=None)[0]
    return x * size, np.maximum(shared, 0) * size / lengths


def _meeting(U: Array, h: Array) -> Array:
    """The shortest x with U^T x = h."""
    return np.linalg.lstsq(U.T, h, rcond=1e-12)[0]


def _shared(U: Array, x: Array, tight: npt.NDArray[np.bool_]) -> Array | None:
    """x = U p with the shortest p, if none of it is negative."""
    p = np.zeros(U.shape[1])
    p[tight] = np.linalg.lstsq(U[:, tight], x, rcond=1e-12)[0]
    found = np.linalg.norm(U @ p - x) <= 1e-9 * np.linalg.norm(x)
    return p if found and p.min() >= -_TIGHT * np.abs(p).max() else None


class Friction(NamedTuple):
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
    W: Array, w: Array, normals: Sequence[int], units: Sequence[Friction], low: Array
) -> Array:
    """p with y = W p + w such that, at normals, p >= low and y >= 0 and one of them is equal;
    at friction, |p| within its bound and against y.

    With the circle of friction's directions replaced by eight of them this is a linear
    complementarity problem (Stewart and Trinkle 1996). Its solution tells what is open, sticks
    and slides; the equations of that are then solved, with the directions turned to where they
    belong.
    """
    p = _by_lemke(W, w, normals, units, low)
    for turns in (20, 0):
        exact = _solved(W, w, normals, units, low, p, turns)
        if exact is not None:
            return exact
    return p


def _by_lemke(
    W: Array, w: Array, normals: Sequence[int], units: Sequence[Friction], low: Array
) -> Array:
    """A solution with friction along some directions only."""
    to_p = [np.eye(len(w))[:, k] for k in normals]  # what each unknown adds to p
    given = low.copy()
    resting = [u for u in units if u.sliding is None]
    for u in units:
        if u.sliding is None:
            continue
        rows = list(u.rows)
        given[rows] = -_bound(low, u) * u.sliding
        if u.normal is not None:
            to_p[list(normals).index(u.normal)][rows] = -u.mu * u.sliding
    directions = []
    for u in resting:
        for d in _DIRECTIONS[len(u.rows)]:
            column = np.zeros(len(w))
            column[list(u.rows)] = d
            directions.append((u, column))
    n, m, r = len(normals), len(directions), len(resting)
    B = np.column_stack([*to_p, *(c for _, c in directions)]) if n + m else np.zeros((len(w), 0))
    rows_of = np.column_stack(
        [*(np.eye(len(w))[:, k] for k in normals), *(c for _, c in directions)]
    )
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


def _bound(p: Array, unit: Friction) -> float:
    return unit.mu * float(p[unit.normal]) if unit.normal is not None else unit.bound


def _solved(
    W: Array,
    w: Array,
    normals: Sequence[int],
    units: Sequence[Friction],
    low: Array,
    p: Array,
    turns: int,
) -> Array | None:
    """The exact solution with what p leaves open, lets stick and lets slide, if it is one. In
    space, directions of slides are turned towards y by so many repetitions."""
    closed = [k for k in normals if p[k] > low[k]]
    whither: dict[int, Array] = {}  # of units that slide
    sticking: list[int] = []
    y, small = W @ p + w, 1e-9 * float(np.abs(w).max())
    for i, unit in enumerate(units):
        force, along = p[list(unit.rows)], y[list(unit.rows)]
        size, speed = float(np.linalg.norm(force)), float(np.linalg.norm(along))
        if unit.sliding is not None:
            whither[i] = unit.sliding
        elif speed > small:
            whither[i] = along / speed
        elif size < _bound(p, unit) * (1 - 1e-7):
            sticking.append(i)
        elif size > 0:
            whither[i] = -force / size
    for _ in range(turns + 1):
        exact = _equations(W, w, units, low, closed, sticking, whither, p)
        y = W @ exact + w
        turned = False
        for i, d in whither.items():
            rows = list(units[i].rows)
            along = y[rows]
            across = np.linalg.norm(along - d * (d @ along))
            if turns and units[i].sliding is None and across > small:
                wanted = along / np.linalg.norm(W[np.ix_(rows, rows)]) - exact[rows]
                whither[i] = wanted / np.linalg.norm(wanted)
                turned = True
        if not turned:
            break
    little = 1e-9 * float(np.abs(exact).max(initial=0.0))
    opened = [k for k in normals if k not in closed]
    kept = (
        all(exact[k] >= low[k] - little for k in closed)
        and all(y[k] >= -small for k in opened)
        and all(
            np.linalg.norm(exact[list(units[i].rows)]) <= _bound(exact, units[i]) + little
            for i in sticking
        )
        and all(
            d @ y[list(units[i].rows)] >= -small
            for i, d in whither.items()
            if units[i].sliding is None
        )
        and float(np.abs(y[closed]).max(initial=0.0)) <= small
    )
    return exact if kept and not turned else None


def _equations(
    W: Array,
    w: Array,
    units: Sequence[Friction],
    low: Array,
    closed: list[int],
    sticking: list[int],
    whither: dict[int, Array],
    p: Array,
) -> Array:
    """The nearest to p with y = 0 at what is closed and what sticks; these give the others."""
    free = [*closed, *(row for i in sticking for row in units[i].rows)]
    to_p = np.zeros((len(w), len(free)))
    to_p[free, range(len(free))] = 1.0
    given = low.copy()
    given[closed] = 0.0
    for i, d in whither.items():
        unit, rows = units[i], list(units[i].rows)
        if unit.normal is None:
            given[rows] = -unit.bound * d
        elif unit.normal in closed:
            to_p[rows, closed.index(unit.normal)] = -unit.mu * d
        else:
            given[rows] = -unit.mu * low[unit.normal] * d
    A, b = W[free] @ to_p, -(W[free] @ given + w[free])
    near = p[free]
    return to_p @ (near + np.linalg.lstsq(A, b - A @ near, rcond=1e-11)[0]) + given
