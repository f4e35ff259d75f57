"""Data: what a robot did, sample by sample, ready to identify it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import whole
from appell.robots.robot import Array


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Samples of a motion, in SI units; `observe` makes them of a file.

    Attributes:
        t: Times (N,), s.
        q: Positions (N, n).
        v: Velocities (N, n).
        a: Accelerations (N, n).
        tau: Joint forces (N, n).
        rate: Samples per second.
        cutoff: Of the low-pass filter, Hz.
        notes: What was done.
        origin: Where they are from.

    Examples:
        >>> robot, t = appell.load("planar_chain"), np.linspace(0, 2, 200)
        >>> q, v, a = appell.identify.random_states(robot, 200)
        >>> data = appell.identify.Data(t, q, v, a, robot.inverse_dynamics(q, v, a))
        >>> train, held_out = data.split(0.25)
        >>> len(train.t), len(held_out.t), len(list(data.folds(5)))
        (150, 50, 5)
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    rate: float = np.nan
    cutoff: float = np.nan
    notes: tuple[str, ...] = ()
    origin: str = "data"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def states(self) -> tuple[Array, Array, Array, Array]:
        """q, rad or m, v, a and tau, N m or N: what ``fit`` takes."""
        return self.q, self.v, self.a, self.tau

    def __getitem__(self, which: Any) -> Data:
        parts = (x[which] for x in (self.t, self.q, self.v, self.a, self.tau))
        t, q, v, a, tau = parts
        return replace(self, t=t, q=q, v=v, a=a, tau=tau)

    def split(self, held_out: float = 0.25) -> tuple[Data, Data]:
        """Two parts of the data, one after the other in time.

        They are not mixed: neighbours in time are too alike to tell anything of each other.

        Args:
            held_out: The share of the last part, 0 to 1, no unit.

        Returns:
            The first part, to identify with, and the last, to validate.
        """
        if not isinstance(held_out, float) or not 0 < held_out < 1:
            raise InputError(f"split({held_out!r}): expected a part of the whole, from 0 to 1.")
        k = round(len(self) * (1 - held_out))
        if not 0 < k < len(self):
            raise InputError(f"split({held_out!r}): {len(self)} samples cannot be parted so.")
        return self[:k], self[k:]

    def folds(self, count: int = 5) -> Iterator[tuple[Data, Data]]:
        """The data with each of several stretches of time held out once.

        Args:
            count: How many stretches.

        Returns:
            Pairs of the rest and of the stretch that is held out.
        """
        count = whole("folds", count, least=2)
        if count > len(self):
            raise InputError(f"folds({count}): there are {len(self)} samples; expected fewer.")
        for part in np.array_split(np.arange(len(self)), count):
            mask = np.ones(len(self), dtype=bool)
            mask[part] = False
            yield self[mask], self[part]

    def __repr__(self) -> str:
        return (
            f"<Data of {self.q.shape[1]} joints from {self.origin}: {len(self)} samples, "
            f"{self.t[0]:g} s to {self.t[-1]:g} s, {self.rate:.4g} per second, low-pass "
            f"{self.cutoff:.4g} Hz>"
        )


def joined(parts: Sequence[Data]) -> Data:
    """Several runs as one; times go on as they are in each.

    Args:
        parts: What `observe` gave.

    Returns:
        A `Data`.

    Examples:
        >>> robot = appell.load("planar_chain")
        >>> q, v, a = appell.identify.random_states(robot, 10)
        >>> part = appell.identify.Data(np.arange(10.0), q, v, a, robot.inverse_dynamics(q, v, a))
        >>> appell.identify.joined([part, part]).q.shape
        (20, 3)
    """
    if not parts or not all(isinstance(x, Data) for x in parts):
        raise InputError(f"joined({parts!r}): expected some Data.")
    if len({x.q.shape[1] for x in parts}) != 1:
        raise InputError("joined: the data are of robots with different numbers of joints.")
    t, q, v, a, tau = (
        np.concatenate([getattr(x, name) for x in parts]) for name in ("t", "q", "v", "a", "tau")
    )
    notes = tuple(f"{x.origin}: {note}" for x in parts for note in x.notes)
    origin = " and ".join(x.origin for x in parts)
    return Data(t, q, v, a, tau, parts[0].rate, parts[0].cutoff, notes, origin)
