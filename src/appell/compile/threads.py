"""How many threads large batches use, and these threads."""

from __future__ import annotations

import os
from operator import index

from appell.compile.crew import Crew
from appell.errors import InputError

_MOST = 1024

_wanted: int | None = None
_crews: dict[int, Crew] = {}  # by size: one, but for callers that overlap with set_threads


def set_threads(n: int | None = None) -> None:
    """Set how many threads large batches use at most.

    Args:
        n: The number of threads; without it, all cores.

    Examples:
        >>> appell.set_threads(1)
        >>> appell.set_threads()
    """
    global _wanted
    try:
        wanted = None if n is None or isinstance(n, bool) else index(n)
    except TypeError:
        wanted = 0
    if isinstance(n, bool) or (wanted is not None and not 1 <= wanted <= _MOST):
        raise InputError(
            f"set_threads({n!r}): expected a whole number from 1 to {_MOST}, or nothing."
        )
    _wanted = wanted
    for size in list(_crews):
        if former := _crews.pop(size, None):
            former.close()


def threads() -> int:
    """How many threads large batches use at most."""
    return cores() if _wanted is None else _wanted


def cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def crew(size: int) -> Crew:
    """The threads that help with batches."""
    return _crews.get(size) or _crews.setdefault(size, Crew(size))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crews.clear)  # a child has none of its parent's threads
