"""Compiled programs: many runs in one call, in the lanes of the processor and in all threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from appell.compile import cache
from appell.compile.fuse import fused
from appell.compile.identity import identity, is_current
from appell.compile.make import LOCK
from appell.compile.measured import SHARE, Choice, Pace
from appell.compile.native import compile_module, fuses, lanes, load, machine
from appell.compile.program import Program, fitted, hoisted
from appell.compile.progress import told
from appell.compile.threads import crew, threads

GROUPS = 8  # slices per thread: who is done early takes one more
SLICE = 20e-3  # seconds of a slice, at most, for which an interrupt waits
LONG = 0.1  # seconds of work that all threads share untried: a slice that is late matters little


class ProgramKernel:
    """A program in machine code."""

    def __init__(self, program: Program, dtype: str, code: Any, cached: bool) -> None:
        self.program, self.dtype, self.cached = program, np.dtype(dtype), cached
        entries, self._memory = load(*code)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entries["loop"])
        self._lanes = lanes(dtype)
        self._pace = Pace(len(program) + 100)  # of a step of a run
        self._choices: dict[tuple[int, int], Choice] = {}

    def __call__(
        self,
        runs: int,
        inputs: Mapping[str, Any],
        table: Any,
        series: Mapping[str, Any],
        steps: int,
        every: int = 1,
        first: int = 0,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The kept variables, (runs, 1 + steps // every, width), and the outputs, (runs, width).

        Inputs are (runs, width) or (width,), the ``table`` of all tables' columns (steps, width),
        series (runs, steps, width).
        """
        p, given = self.program, Addresses(self.dtype)
        kept = {x: np.empty((runs, 1 + steps // every, p.widths[x]), self.dtype) for x in p.kept}
        outputs = {x: np.empty((runs, p.widths[x]), self.dtype) for x in p.outputs}
        table = np.ascontiguousarray(table, self.dtype)
        for name in p.inputs:
            given.add(inputs[name], 2)
        for name in p.series:
            given.add(series[name], 3)
        for x in kept.values():
            given.add(x, 3)
        for x in outputs.values():
            given.add(x, 2)
        head = steps, every, table.ctypes.data

        def compute(start: int, end: int) -> None:
            with given.of(start, end) as numbers:
                self._compute(start, end, *head, *numbers)

        self._shared(runs, steps, compute)
        return kept, outputs

    def _shared(self, runs: int, steps: int, compute: Callable[[int, int], None]) -> None:
        """``compute(start, end)`` for all runs: in threads, each of which takes slices that no
        other has, where the time that was measured says that they pay.

        Short work is tried with one thread and with several, and the faster way is used.
        """
        if not runs:
            return
        lanes = self._lanes

        def units_of(count: int) -> int:
            return -(-count // lanes) * lanes * (steps + 1)  # lanes without a run take time, too

        units = units_of(runs)
        seconds = units * self._pace.each
        workers = self._pace.workers(units, min(threads(), -(-runs // lanes)))
        choice = None
        if workers > 1 and seconds < LONG:
            key = units.bit_length(), workers
            choice = self._choices.setdefault(key, Choice([1, workers]))
            workers = choice.pick()
        shares = max(workers, min(GROUPS * workers, int(seconds / SHARE))) if workers > 1 else 1
        slices = _slices(runs, lanes, max(shares, int(seconds / SLICE)))
        taken: list[tuple[float, int]] = []

        def work(k: int) -> None:
            start, end = slices[k]
            begun = perf_counter()
            compute(start, end)
            taken.append((perf_counter() - begun, units_of(end - start)))

        begun = perf_counter()
        if workers > 1:
            crew(threads() - 1).run(work, len(slices), workers - 1)
        else:
            for k in range(len(slices)):
                work(k)
        if choice is not None:
            choice.learn(workers, perf_counter() - begun, units)
        self._pace.learn(*min(taken, key=lambda x: x[0] / x[1]))

    def _compute(self, *numbers: int) -> None:
        whole = (ctypes.c_int64 * len(numbers))(*numbers)
        self._run(ctypes.addressof(whole))


class Addresses:
    """Where a kernel finds arrays: for each its address, and the bytes from one run to the next
    (zero if all share it) and from one step to the next.

    An array by run of another type or order is copied, only those runs that are computed now.
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._numbers: list[int] = []
        self._whole: list[Any] = []
        self._copied: list[tuple[int, int, Any]] = []  # place of its address, bytes of a run

    def add(self, x: Any, axes: int) -> None:
        """One that has so many axes if each run has its own numbers."""
        array = np.asarray(x)
        by_run = array.ndim == axes
        copied = by_run and (array.dtype != self._dtype or not array.flags.c_contiguous)
        whole = array if copied else np.ascontiguousarray(array, self._dtype)
        size = self._dtype.itemsize
        strides = [prod(array.shape[k + 1 :]) * size for k in range(array.ndim - 1)]
        if copied:
            self._copied.append((len(self._numbers), strides[0], array))
        self._whole.append(whole)
        self._numbers += [whole.ctypes.data, *[0] * (axes - array.ndim), *strides]

    @contextmanager
    def of(self, start: int, end: int) -> Iterator[list[int]]:
        """The numbers with which these runs are computed, and the memory that they need."""
        numbers, copies = self._numbers.copy(), []
        for place, stride, array in self._copied:
            copy = np.ascontiguousarray(array[start:end], self._dtype)
            numbers[place] = copy.ctypes.data - start * stride
            copies.append(copy)
        yield numbers


def _slices(runs: int, width: int, count: int) -> list[tuple[int, int]]:
    """So many shares of whole groups of lanes, about equal."""
    groups = -(-runs // width)
    count = max(1, min(groups, count))
    ends = [min(runs, groups * k // count * width) for k in range(count + 1)]
    return list(pairwise(ends))


def compiled(program: Program, dtype: str, what: str) -> ProgramKernel:
    """The program's kernel, from the cache or made anew; ``what`` is told where it takes long."""
    with LOCK:
        ready = hoisted(program)
        if fuses():
            ready = fitted(ready, fused)
        key = identity("program", dtype, machine(), repr(ready))
        found = None if cache.is_off() else cache.fetch(key)
        if found is not None:
            header, binary = found
            return ProgramKernel(ready, dtype, (header["entries"], binary), True)
        from appell.compile.emit.program import emit_program

        with told(what):
            code = compile_module(emit_program(ready, dtype, lanes(dtype)))
        if is_current():
            cache.store(key, {"entries": code[0]}, code[1])
        return ProgramKernel(ready, dtype, code, False)
