"""The first event in a step: a gap that closes, or a mode that ends.

Gaps and their rates are known at the step's eight nodes. A gap that is negative at a node has
closed before it; one that falls at a node and rises at the next may have closed and opened again
between them. Such candidates are settled on the step's own polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from appell.simulation.contact import Contacts
from appell.simulation.path import NODES, Piece, root

Array = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]

# A contact that touches without force when a step begins is closed again when it is this deep, in
# m: rounding, with room.
NOISE = 1e-12
_WIDEST = float(np.diff(NODES).max())


class Degenerate(Exception):
    """A contact where the wall's gradient vanishes, or its gap is not a number."""

    def __init__(self, contact: int, time: float) -> None:
        super().__init__(contact, time)
        self.contact, self.time = contact, time


class Gaps:
    """The gaps along one step."""

    def __init__(self, contacts: Contacts, piece: Piece, slopes: Array) -> None:
        self.contacts, self.piece, self.nq = contacts, piece, contacts.model.nq
        self.slopes = slopes  # of the walls, where the run began
        self.gap, self.rate = contacts.gaps(piece.y[:, : self.nq], piece.y[:, self.nq :])

    def at(self, t: float, i: int) -> tuple[float, float]:
        """The gap of one contact, and its rate."""
        y = self.piece(t)
        gap, rate = self.contacts.gaps(y[: self.nq], y[self.nq :])
        return float(gap[i]), float(rate[i])

    def closing(self, ignored: Mask, leaving: Mask, loose: Mask) -> float | None:
        """When the first gap closes; ``ignored`` contacts hold. At the beginning of the step
        ``leaving`` ones open, and ``loose`` ones touch without force."""
        longest = (self.piece.full - self.piece.start) * _WIDEST
        if (self.gap > np.abs(self.rate) * longest).all():
            return None  # too far to close between nodes
        gap = self.gap + np.where(loose, NOISE, 0.0)
        gap[:, ignored] = 1.0
        rate = np.where(ignored, 0.0, self.rate)
        if not np.isfinite(gap).all():
            row, i = np.argwhere(~np.isfinite(gap))[0]
            raise Degenerate(int(i), float(self.piece.times[row]))
        gap[0, leaving | loose] = np.maximum(gap[0, leaving | loose], 0.0)
        now, then = gap[:-1], gap[1:]
        falls = then < 0
        dips = (rate[:-1] < 0) & (rate[1:] > 0) & (now >= 0) & ~falls
        for k in np.flatnonzero((falls | dips).any(axis=1)):
            times = [
                t
                for i in np.flatnonzero(falls[k] | dips[k])
                if (t := self._closed(int(k), int(i), bool(falls[k, i]), bool(loose[i])))
                is not None
            ]
            if times:
                return min(times)
        return None

    def _closed(self, k: int, i: int, falls: bool, loose: bool) -> float | None:
        """When the gap of contact i closes between nodes k and k + 1, if it does."""
        start, end = self.piece.times[k : k + 2]
        level = NOISE if loose else 0.0

        def raised(t: float) -> tuple[float, float]:
            gap, rate = self.at(t, i)
            return gap + level, rate

        if not falls:  # it turns in between: its lowest place tells
            end = _zero(lambda t: raised(t)[1], float(start), float(end))
            lowest = raised(end)[0]
            if lowest < 1e-6 and self._flat(end, i):
                raise Degenerate(i, float(end))
            if lowest >= 0:
                return None
        elif k == 0 and raised(start)[0] <= 0:  # it opens first: its highest place tells
            if raised(start)[1] <= 0:
                return float(start)
            if raised(end)[1] >= 0:
                return None
            start = _zero(lambda t: raised(t)[1], float(start), float(end))
            if raised(start)[0] <= 0:
                return float(start)
        return root(raised, float(start), float(end))

    def _flat(self, t: float, i: int) -> bool:
        """Whether the wall's function has almost no slope there."""
        y = self.piece(t)
        return flat(self.contacts.at(y[: self.nq], y[self.nq :]).slope[i], self.slopes[i])


def flat(slope: float, usual: float) -> bool:
    """Whether a wall's function has almost no slope, compared with where the run began."""
    return not slope > 1e-6 * usual


def margin_lost(
    piece: Piece, margins: Callable[[float, Array], Array], until: float, patient: bool
) -> tuple[float, int] | None:
    """When the first margin turns negative before a time, and which; a ``patient`` search lets
    those pass that are negative from the beginning."""
    last: float | None = None
    passed: Mask | bool = False
    for t, y in zip(piece.times, piece.y, strict=True):
        if t > until:
            t, y = until, piece(until)
        found = margins(float(t), y)
        if last is None and patient:
            passed = found < 0
        lost = (found < 0) & ~np.asarray(passed)
        if lost.any():
            if last is None:
                return float(t), int(np.argmin(found))
            return min(
                (_crossing(piece, margins, int(i), last, float(t)), int(i))
                for i in np.flatnonzero(lost)
            )
        last = float(t)
        if t >= until:
            return None
    return None


def _crossing(
    piece: Piece, margins: Callable[[float, Array], Array], i: int, a: float, b: float
) -> float:
    return _zero(lambda t: float(margins(t, piece(t))[i]), a, b)


def _zero(f: Callable[[float], float], a: float, b: float) -> float:
    """Where f changes its sign; the nearer end, where nodes and polynomial differ by rounding."""
    at_a, at_b = f(a), f(b)
    if at_a * at_b >= 0:
        return a if abs(at_a) < abs(at_b) else b
    return float(brentq(f, a, b, xtol=1e-14, rtol=1e-15))
