"""Large batches, cut along their first axis among the machine's cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Shape = tuple[int, ...]

_SHARE = 4096  # states worth handing to another thread
_EACH = 4  # slices a worker
_LINE = 64  # bytes of a line of the caches
_MOST = 1024

_wanted: int | None = None
_pool: ThreadPoolExecutor | None = None


def set_threads(n: int | None = None) -> None:
    """Use n threads for large batches; all cores without an argument."""
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
    _forget_pool()  # batches that use it keep it until they are done


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
    arrays = [np.asarray(x) for x in inputs]
    leading = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=True)]
    alike = len(set(leading)) == 1
    batch = leading[0] if alike else np.broadcast_shapes(*leading)
    given = out if out is None or isinstance(out, tuple) else (out,)
    if (
        prod(batch) < 2 * _SHARE
        or not all(np.can_cast(x.dtype, np.float64) for x in arrays)
        or (given is not None and not all(isinstance(y, np.ndarray) for y in given))
        or (given is not None and _overlap(arrays, given))
    ):
        # NumPy itself copies inputs that an output overlaps, and makes outputs that are None.
        return function(*arrays) if out is None else function(*arrays, out=out)
    whole = (
        arrays
        if alike
        else [
            np.broadcast_to(x, batch + x.shape[x.ndim - len(core) :])
            for x, core in zip(arrays, cores, strict=True)
        ]
    )
    if given is None:
        probe = function(*(x[:0] for x in whole))
        many = isinstance(probe, tuple)
        given = tuple(
            _empty(batch + y.shape[len(batch) :], y.dtype) for y in (probe if many else (probe,))
        )
    else:
        many = len(given) > 1
        for y in given:
            if y.shape[: len(batch)] != batch:
                raise ValueError(f"its shape {y.shape} does not start with the batch's {batch}")
    _share(function, whole, given, batch)
    return given if many else given[0]


def _share(
    function: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], batch: Shape
) -> None:
    """Cut along the longest axis, among all threads."""
    axis, workers = batch.index(max(batch)), threads()
    if workers == 1 or batch[axis] < workers:
        function(*inputs, out=tuple(outputs))
        return
    todo = iter(_shares(batch[axis], prod(batch), workers))

    def work() -> None:
        for share in todo:  # whoever is free takes the next one
            cut = (*[slice(None)] * axis, share)
            function(*(x[cut] for x in inputs), out=tuple(y[cut] for y in outputs))

    helpers = [_helpers(workers - 1).submit(work) for _ in range(workers - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # one that never started is not waited for
            helper.result()


def _empty(shape: Shape, dtype: Any) -> Any:
    """An array that begins where a line of the caches does: it is written fastest."""
    size = prod(shape) * dtype.itemsize
    room = np.empty(size + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(dtype).reshape(shape)


def _shares(n: int, states: int, workers: int) -> list[slice]:
    """Slices of n rows, a few a worker: who is done early takes one more."""
    count = min(_EACH * workers, 2 * states // _SHARE, n)
    ends = [n * k // count for k in range(count + 1)]
    return [slice(*both) for both in pairwise(ends)]


def _overlap(inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    for k, y in enumerate(outputs):
        if not isinstance(y, np.ndarray):
            raise TypeError(f"it is a {type(y).__name__}, not an array")
        if any(np.may_share_memory(x, y) for x in (*inputs, *outputs[:k])):
            return True
    return False


def _helpers(n: int) -> ThreadPoolExecutor:
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
