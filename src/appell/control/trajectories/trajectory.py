"""A trajectory: a path of the joints, and a law of time by which it is run through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.trajectories.piecewise import Piecewise
from appell.errors import InputError
from appell.given import holds_none
from appell.robots.robot import Array

State = tuple[Array, Array, Array]


class Trajectory(ABC):
    """A motion of joints: ``q, v, a = trajectory(t)`` at one time or at many, each t.shape + (n,).

    Before 0 and after ``duration`` (s) it stands still at its ends.

    Examples:
        >>> out = appell.control.quintic([0, 0], [1, 0.5], 2.0)
        >>> there_and_back = out.then(appell.control.quintic([1, 0.5], [0, 0], 2.0))
        >>> q, v, a = there_and_back(np.linspace(0, 4, 9))
        >>> q.shape, there_and_back.duration
        ((9, 2), 4.0)
    """

    kind: str

    @property
    @abstractmethod
    def duration(self) -> float:
        """How long it lasts, s."""

    @property
    @abstractmethod
    def n(self) -> int:
        """How many joints it moves."""

    @abstractmethod
    def _at(self, t: Array) -> State: ...

    def __call__(self, t: Any) -> State:
        return self._at(times("t", t))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times, s, at which its acceleration, or a derivative of it, may jump: there an
        integrator has to begin anew (``appell.simulate(..., breakpoints=...)``)."""
        return (0.0, self.duration)

    @property
    def start(self) -> Array:
        """Where it begins, (n,), rad or m."""
        return self._at(np.zeros(()))[0]

    @property
    def end(self) -> Array:
        """Where it ends, (n,), rad or m."""
        return self._at(np.asarray(self.duration))[0]

    def then(self, other: Trajectory) -> Joined:
        """This trajectory, and another one from where it ends.

        Args:
            other: One that begins there, with as many joints.

        Returns:
            A trajectory of both.

        Examples:
            >>> out = appell.control.quintic([0], [1], 1.0)
            >>> back = appell.control.quintic([1], [0], 2.0)
            >>> out.then(back).duration
            3.0
        """
        if not isinstance(other, Trajectory) or other.n != self.n:
            raise InputError(f"then({other!r}): expected a trajectory of {self.n} joints.")
        apart = np.abs(other.start - self.end)
        j = int(np.argmax(apart))
        if apart[j] > 1e-6:
            raise InputError(
                f"then({other!r}): joint {j} would jump by {apart[j]:.4g}, from {self.end[j]:.6g} "
                f"to {other.start[j]:.6g}; expected a trajectory that begins where this one ends."
            )
        mine = self.parts if isinstance(self, Joined) else (self,)
        more = other.parts if isinstance(other, Joined) else (other,)
        return Joined((*mine, *more))

    def __repr__(self) -> str:
        return (
            f"<{self.kind} of {self.n} joint{'s' if self.n != 1 else ''}, {self.duration:.6g} s, "
            f"from {shown(self.start)} to {shown(self.end)}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Timed(Trajectory):
    """q = path(s(t)): a path by a parameter s, and s by time.

    v = p' s' and a = p'' s'^2 + p' s'', p' being the path's derivative by s.
    """

    kind: str
    path: Piecewise
    law: Piecewise  # s, of one component

    @property
    def n(self) -> int:
        return self.path.n

    @property
    def duration(self) -> float:
        return self.law.length

    @property
    def breakpoints(self) -> tuple[float, ...]:
        passed = [self._when(s) for s in self.path.knots[1:-1]]
        return tuple(sorted({*map(float, self.law.knots), *passed}))

    def _when(self, s: float) -> float:
        """When the path's parameter, which never falls, reaches s."""
        before, after = 0.0, self.duration
        while before < (middle := (before + after) / 2) < after:
            reached = float(self.law(middle)[0][0]) >= s
            before, after = (before, middle) if reached else (middle, after)
        return after

    def _at(self, t: Array) -> State:
        s, ds, dds = self.law(t)
        # At the end s is the path's length, and not a rounding less or more.
        s = np.where(t < self.duration, np.clip(s[..., 0], 0.0, self.path.length), self.path.length)
        q, p1, p2 = self.path(s)
        return q, p1 * ds, p2 * (ds * ds) + p1 * dds


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Trajectory):
    """One trajectory after another; at a joint, what comes after it."""

    parts: tuple[Trajectory, ...]
    kind: str = "trajectories joined"

    @property
    def n(self) -> int:
        return self.parts[0].n

    @property
    def duration(self) -> float:
        return float(sum(part.duration for part in self.parts))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        starts = np.cumsum([0.0, *(part.duration for part in self.parts[:-1])])
        pairs = zip(starts, self.parts, strict=True)
        return tuple(sorted({float(start) + t for start, part in pairs for t in part.breakpoints}))

    def _at(self, t: Array) -> State:
        starts = np.cumsum([0.0, *(part.duration for part in self.parts[:-1])])
        which = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(self.parts) - 1)
        q, v, a = (np.zeros((*t.shape, self.n)) for _ in range(3))
        for k, part in enumerate(self.parts):
            mine = which == k
            if mine.any():
                q[mine], v[mine], a[mine] = part._at(t[mine] - starts[k])
        return q, v, a


def times(what: str, t: Any) -> Array:
    """Times as an array; refused if they are no numbers."""
    try:
        x = np.asarray(t, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected times in s, one or an array.") from None
    if np.isnan(x).any():
        held = "None" if holds_none(t) else "NaN"
        raise InputError(f"{what} holds {held}; expected times in s.")
    return x


def shown(q: Array) -> str:
    """A few numbers, briefly."""
    numbers = [f"{x:.4g}" for x in q[:6]]
    return f"({', '.join(numbers)}{', ...' if len(q) > 6 else ''})"
