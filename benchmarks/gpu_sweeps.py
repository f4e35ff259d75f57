"""Sweeps whose runs are on a GPU, in this process and in a worker of Dask: the processor's bits."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from appell.study import Sweep, sweep
from benchmarks.sweeps import robust

POINTS, FEW = 1_000_000, 2**13


def sweeps(points: int = POINTS, few: int = FEW, target: str = "cuda") -> Iterator[dict[str, Any]]:
    """Of the PUMA with unknown loads and friction: seconds of so many points, one second each, from
    the call to the last result; and whether the first few of them are the processor's."""
    expected = sweep(robust(few), target="cpu")
    engines: dict[str, dict[str, Any]] = {"this process": {}}
    if find_spec("distributed"):
        engines["a worker of Dask"] = {"workers": 1}
    for where, engine in engines.items():
        same = _same(expected, sweep(robust(few), target=target, **engine))
        begin = perf_counter()
        found = sweep(robust(points), target=target, **engine)
        yield {
            "where": where, "points": len(found), "seconds": perf_counter() - begin,
            "failed": int(found.failed.sum()), "same": same,
        }  # fmt: skip


def _same(one: Sweep, other: Sweep) -> bool:
    return all(
        np.array_equal(one[name], other[name], equal_nan=name in one.measures)
        for name in one.columns
    )
