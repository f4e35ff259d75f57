"""A cache of bounded size."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """A dictionary that begins anew when it is full.

    What a robot keeps is few things used again and again, or, where frames or weights change from
    step to step, ever new ones that nobody asks for twice. To begin anew needs no bookkeeping when
    an entry is read, and no lock.
    """

    most = 256

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            self.clear()
        super().__setitem__(key, value)
