"""A block of points, computed wherever it is asked for: in this process, or in a worker's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from appell.compile.native import processor
from appell.errors import AppellError
from appell.study.sweeps.bundle import Bundle, differing, opened, versions
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage.block_table import Columns

T = TypeVar("T")
_own = threading.local()  # what each thread of a worker has made: robots and kernels
_one_at_a_time = threading.Lock()  # importing a study's modules


class VersionError(AppellError):
    """A worker computes with other versions than the client."""


def once_per_thread(key: Hashable, make: Callable[[], T]) -> T:
    """What a function makes for a key, made once in each thread; the last one is kept."""
    if getattr(_own, "key", None) != key:
        with _one_at_a_time:
            _own.made, _own.key = make(), key
    made: T = _own.made
    return made


def compute_block(bundle: Bundle, first: int, last: int, target: str) -> Columns:
    """Points first to last - 1, in a worker of Dask."""
    other = differing(bundle.versions, versions())
    if other:
        raise VersionError(
            f"a worker has {other}. Results would differ: install the same versions there."
        )
    share_cores()
    points = once_per_thread((bundle.hash, target), lambda: Points(opened(bundle), target))
    return points.compute(first, last)


def share_cores() -> None:
    """A worker's tasks run beside each other, each in one thread."""
    from appell import set_threads

    set_threads(1)


def environment() -> tuple[dict[str, str], str]:
    """The versions and the processor here, for a client that asks."""
    return versions(), processor()
