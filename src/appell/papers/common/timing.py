"""How long something takes on the machine at hand."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter


def quickest(work: Callable[[], object], calls: int = 1, runs: int = 20) -> float:
    """Seconds a call takes in the quickest of several runs: others can only slow one down."""
    work()
    seconds = []
    for _ in range(runs):
        begin = perf_counter()
        for _ in range(calls):
            work()
        seconds.append((perf_counter() - begin) / calls)
    return min(seconds)
