"""Large batches, cut along their first axis among the machine's cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Shape = tuple[int, ...]

_SHARE = 4096  # states worth handing to another thread

_wanted: int | None = None
_pool: ThreadPoolExecutor | None = None


def set_threads(n: int | None = None) -> None:
    """Use n threads for large batches; all cores without an argument."""
    global _wanted
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
        raise InputError(f"set_threads({n!r}): expected a whole number of at least 1, or nothing.")
    _wanted = n
    if _pool is not None:
        _pool.shutdown(wait=False)
    _forget_pool()


def threads() -> int:
    """How many threads large batches use."""
    if _wanted is not None:
        return _wanted
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_threads(
    function: Callable[..., Any], inputs: Sequence[Any], out: Any, cores: Sequence[Shape]
) -> Any:
    """function(*inputs, out=out), shared among threads where the batch is large enough."""
    workers = threads()
    arrays = [np.asarray(x) for x in inputs]
    if workers == 1 or not all(np.can_cast(x.dtype, np.float64) for x in arrays):
        return function(*arrays) if out is None else function(*arrays, out=out)
    batch = np.broadcast_shapes(
        *(x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=True))
    )
    states = prod(batch)
    parts = min(batch[0] if batch else 1, states // _SHARE, 4 * workers)
    if parts < 2:
        return function(*arrays) if out is None else function(*arrays, out=out)
    whole = [
        np.broadcast_to(x, batch + x.shape[x.ndim - len(core) :])
        for x, core in zip(arrays, cores, strict=True)
    ]
    given = out if out is None or isinstance(out, tuple) else (out,)
    if given is None:
        probe = function(*(x[:0] for x in whole))
        many = isinstance(probe, tuple)
        given = tuple(
            np.empty(batch + y.shape[len(batch) :], y.dtype) for y in (probe if many else (probe,))
        )
    else:
        many = len(given) > 1
        for y in given:
            if y.shape[: len(batch)] != batch:
                raise ValueError(f"its shape {y.shape} does not start with the batch's {batch}")
    edges = [batch[0] * k // parts for k in range(parts + 1)]

    def share(k: int) -> None:
        cut = slice(edges[k], edges[k + 1])
        function(*(x[cut] for x in whole), out=tuple(y[cut] for y in given))

    list(_workers(workers).map(share, range(parts)))
    return given if many else given[0]


def _workers(n: int) -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(n, thread_name_prefix="appell")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # a child has none of its parent's threads
