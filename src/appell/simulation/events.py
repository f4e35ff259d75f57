"""The first event in a step: a gap that closes, or a mode that ends.

Whether a gap closes is decided, not sampled: over a stretch of the step it is bounded by
`appell.simulation.contacts.bounds`. Where the bounds leave room, or the gap only grows, it
does not close; where it only shrinks, its end tells; all else is halved and looked at again. So
the first place where any gap closes is found, however short its stay behind the wall.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from appell.robots.dynamics import Array
from appell.simulation.contacts.bounds import Along
from appell.simulation.contacts.contact import Contacts
from appell.simulation.path import Piece, root

Mask = npt.NDArray[np.bool_]

# Penetration that is rounding, with room, in m: a gap that comes back from less has not closed.
# A contact that touches without force when a step begins is closed again when it is this deep.
NOISE = 1e-12
_LOOSE = 1e-8  # m: and how deep it may be within a step while it hardly moves
_ASTRAY = 1e-7  # m: a contact that holds stays this close to its wall in every place of a step
_NEAR = 1e-6  # m: closer to a wall than this, its function must have a slope
_MANY = 512  # stretches that are looked at together
_START = np.arange(-7, 8, 2) / 8, np.full(8, 1 / 8)  # the first stretches: middles, half widths
_SHORTEST = 1e-15  # of a stretch, in parts of the step
_SHORT = 1e-5  # of one in which a contact that holds is looked at


class Degenerate(Exception):
    """A contact where the wall's gradient vanishes, or its gap is not a number."""

    def __init__(self, contact: int, time: float) -> None:
        super().__init__(contact, time)
        self.contact, self.time = contact, time


class Closing(NamedTuple):
    """A stretch, in the step's x, in which a contact's gap closes once, or is not a number."""

    start: float
    end: float
    contact: int
    broken: bool = False


class Gaps:
    """The gaps along one step."""

    def __init__(self, contacts: Contacts, piece: Piece) -> None:
        self.contacts, self.piece, self.nq = contacts, piece, contacts.model.nq
        self.along = Along(contacts, piece)

    def at(self, t: float, i: int) -> tuple[float, float]:
        """The gap of one contact, and its rate."""
        y = self.piece(t)
        gap, rate = self.contacts.gaps(y[: self.nq], y[self.nq :])
        return float(gap[i]), float(rate[i])

    def closing(self, ignored: Mask, leaving: Mask, loose: Mask) -> float | None:
        """When the first gap closes; ``ignored`` contacts hold. At the beginning of the step
        ``leaving`` ones open, and ``loose`` ones touch without force."""
        whole = self.along.bounds(np.zeros(1), np.ones(1))
        if ((whole.least > 0) | (whole.middle > whole.reach) | ignored).all():
            return None
        y = self.piece.y[0]
        gap, rate = self.contacts.gaps(y[: self.nq], y[self.nq :])
        # What begins behind its wall by rounding, and leaves, is measured from where it begins.
        lift = np.where(loose, NOISE, 0.0)
        behind = (gap + lift < 0) & ~ignored
        if (behind & ~leaving & ~(rate > 0)).any():
            return self.piece.start
        lift[behind] = -gap[behind]
        return self._earliest(_Search(self.along, lift, ignored, loose).first(), lift)

    def astray(self, held: npt.NDArray[np.intp]) -> bool:
        """Whether a contact that holds may leave its wall, or dive into it, within the step: there
        is a bend that the integrator has stepped over, or its error is too large."""
        m, w = _START
        while len(m) and w[0] > _SHORT:
            b = self.along.bounds(m, w)
            gap, reach = np.abs(b.middle[:, held]), b.reach[:, held]
            if not (gap <= _ASTRAY).all():
                return True
            wide = ~(gap + reach <= _ASTRAY).all(axis=1)
            half = w[wide] / 2
            m = np.stack([m[wide] - half, m[wide] + half], axis=-1).ravel()
            w = np.repeat(half, 2)
        return False

    def _earliest(self, found: list[Closing], lift: Array) -> float | None:
        """The first time at which a gap closes; where it is not a number before, there is none."""
        first = np.inf
        for x in sorted(found, key=lambda x: x.start):
            if not x.broken and self.along.time(x.start) < first:
                first = min(first, self._time(x, float(lift[x.contact])))
        for x in found:
            if x.broken and (time := float(self.along.time(x.end))) < first:
                raise Degenerate(x.contact, time)
        return None if first == np.inf else first

    def _time(self, closing: Closing, lift: float) -> float:
        """When a gap closes within its stretch."""

        def raised(t: float) -> tuple[float, float]:
            gap, rate = self.at(t, closing.contact)
            return gap + lift, rate

        start, end = self.along.time(closing.start), self.along.time(closing.end)
        return root(raised, float(start), float(end))


class _Search:
    """Stretches of a step, halved until it is known where gaps close first."""

    def __init__(self, along: Along, lift: Array, ignored: Mask, loose: Mask) -> None:
        self.along, self.lift, self.ignored, self.loose = along, lift, ignored, loose
        self.noise = np.where(loose, _LOOSE, NOISE)

    def first(self) -> list[Closing]:
        """Where gaps close; the first of all is among them."""
        found: list[Closing] = []
        waiting = [_START]
        while waiting:
            m, w = waiting.pop()
            before = m - w < min((x.end for x in found), default=np.inf)
            m, w = m[before], w[before]
            if not len(m):
                continue
            closing, undecided = self._decided(m, w)
            found += closing
            w = w[undecided] / 2
            m = np.stack([m[undecided] - w, m[undecided] + w], axis=-1).ravel()
            w = np.repeat(w, 2)
            for k in range((len(m) - 1) // _MANY, -1, -1):  # the earliest ones are next
                waiting.append((m[k * _MANY : (k + 1) * _MANY], w[k * _MANY : (k + 1) * _MANY]))
        return found

    def _decided(self, m: Array, w: Array) -> tuple[list[Closing], Mask]:
        """Gaps that close in these stretches, and which stretches are undecided."""
        b = self.along.bounds(m, w)
        gap = b.middle + self.lift
        clear = (b.least + self.lift > 0) | (gap - b.reach > 0) | (b.slowest > 0) | self.ignored
        falls = ~clear & (b.fastest < 0)
        narrow = ~clear & ~falls & (b.reach < self.noise)
        ends = self._at_ends(m + w, falls | (narrow & self.loose))
        closes = ((falls | (narrow & self.loose)) & (ends < 0)) | (narrow & (gap < -self.noise))
        # Bounds that stay infinite however short the stretch: the function has no slope there.
        stuck = ~(clear | falls | narrow) & (w < _SHORTEST)[:, None]
        broken = (~clear & ~np.isfinite(gap)) | (stuck & ~(gap > _NEAR))
        found = [Closing(m[k] - w[k], m[k] + w[k], int(i)) for k, i in np.argwhere(closes)]
        found += [Closing(m[k] - w[k], m[k], int(i), True) for k, i in np.argwhere(broken)]
        return found, np.any(~(clear | falls | narrow | stuck), axis=1)

    def _at_ends(self, x: Array, asked: Mask) -> Array:
        """Gaps at the ends of the stretches in which they are asked for."""
        gap = np.full(asked.shape, np.inf)
        rows = asked.any(axis=1)
        if rows.any():
            gap[rows] = self.along.contacts.gaps(*self.along.states(x[rows]))[0] + self.lift
        return gap


def flat(normal: Array) -> bool:
    """Whether an implicit wall has no slope where it is touched: the gradient of its gap
    f / |grad f| is 1 long on the wall, but 1/2 where f is a square, and less for other powers."""
    return not np.linalg.norm(normal) > 0.75


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
    """Where a margin changes its sign; the nearer end, where nodes and polynomial differ by
    rounding."""

    def margin(t: float) -> float:
        return float(margins(t, piece(t))[i])

    at_a, at_b = margin(a), margin(b)
    if at_a * at_b >= 0:
        return a if abs(at_a) < abs(at_b) else b
    return float(scipy.optimize.brentq(margin, a, b, xtol=1e-14, rtol=1e-15))
