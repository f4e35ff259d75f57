"""Units of what a joint does: one that turns, and one that slides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import pi
from typing import Any, NamedTuple

from appell.model.model import KINDS


class Units(NamedTuple):
    """The units of a joint, and how its positions are written for people: ``scale`` times the
    number, in ``shown``, with ``more`` digits than an angle in degrees."""

    position: str
    speed: str
    force: str
    shown: str
    scale: float = 1.0
    more: int = 0

    def text(self, position: float, digits: int) -> str:
        """A position, or an error of one, for people."""
        return f"{self.scale * position:.{digits + self.more}f}"


TURNING = Units("rad", "rad/s", "N m", "deg", 180 / pi)
SLIDING = Units("m", "m/s", "N", "m", more=3)
UNKNOWN = Units("rad or m", "rad/s or m/s", "N m or N", "rad or m", more=3)


def units_of(kinds: Any, n: int) -> tuple[Units, ...]:
    """The units of n joints of these kinds; unknown where the kinds are not those of n joints."""
    if not isinstance(kinds, list | tuple) or len(kinds) != n:
        return (UNKNOWN,) * n
    screws = [KINDS.get(kind) if isinstance(kind, str) else None for kind in kinds]
    return tuple(UNKNOWN if s is None else TURNING if s.angle else SLIDING for s in screws)


def joined(units: Iterable[str]) -> str:
    """The different ones: ``rad``, ``rad and m``, ``m, 1 and rad``."""
    *first, last = dict.fromkeys(units)
    return f"{', '.join(first)} and {last}" if first else last


def listed(positions: Iterable[float], units: Sequence[Units], digits: int) -> str:
    """Positions with their units: ``0.10, 0.20 deg``, or ``0.10 deg, 0.00200 m``."""
    texts = [u.text(x, digits) for x, u in zip(positions, units, strict=True)]
    if len({u.shown for u in units}) == 1:
        return f"{', '.join(texts)} {units[0].shown}"
    return ", ".join(f"{text} {u.shown}" for text, u in zip(texts, units, strict=True))
