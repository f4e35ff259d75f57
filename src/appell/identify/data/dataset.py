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
    """N samples: times t (N,) in s; positions, speeds, accelerations and joint forces q, v, a, tau,
    each (N, n), in SI units.

    ``cutoff`` is that of the low-pass filter, Hz, and ``rate`` the samples per second; ``notes``
    tell what was done.
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
        """q, v, a, tau: what ``fit`` takes."""
        return self.q, self.v, self.a, self.tau

    def __getitem__(self, which: Any) -> Data:
        parts = (x[which] for x in (self.t, self.q, self.v, self.a, self.tau))
        t, q, v, a, tau = parts
        return replace(self, t=t, q=q, v=v, a=a, tau=tau)

    def split(self, held_out: float = 0.25) -> tuple[Data, Data]:
        """The first part, to identify with, and the last, ``held_out`` of the whole, to validate.

        They are not mixed: neighbours in time are too alike to tell anything of each other.
        """
        if not isinstance(held_out, float) or not 0 < held_out < 1:
            raise InputError(f"split({held_out!r}): expected a part of the whole, from 0 to 1.")
        k = round(len(self) * (1 - held_out))
        if not 0 < k < len(self):
            raise InputError(f"split({held_out!r}): {len(self)} samples cannot be parted so.")
        return self[:k], self[k:]

    def folds(self, count: int = 5) -> Iterator[tuple[Data, Data]]:
        """Each of so many stretches of time held out once: pairs of the rest and it."""
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
            f"{self.t[0]:g} s to {self.t[-1]:g} s, {self.rate:.4g} a second, low-pass "
            f"{self.cutoff:.4g} Hz>"
        )


def joined(parts: Sequence[Data]) -> Data:
    """Several runs as one; times go on as they are in each."""
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
