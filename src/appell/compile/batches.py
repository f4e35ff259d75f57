"""Large batches: computed in the way that turns out to be the fastest.

A large batch may be cut among threads, and many wide results may be written past the caches.
Whether either pays depends on the machine, on what else it does, on the kernel and on the size of
the batch. So each way that is possible is tried a few times, on the first batches of a size or on
parts of a long one, and the fastest is used from then on. The results are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from time import perf_counter
from typing import Any

import numpy as np

from appell.compile.measured import SHARE, WORTH, Choice, Pace
from appell.compile.threads import crew, threads

Shape = tuple[int, ...]

_EACH = 4  # shares per thread at most: who is done early takes one more
_LARGE = 2 << 20  # bytes of results: more than a core's own caches hold
_TRIAL = 10e-3  # seconds of a long batch that are computed in a way that is tried
_ROWS = 16  # of a part, or a multiple: whole lines of the caches, whole registers
_LINE = 64  # bytes of a line of the caches


class Batches:
    """``batches(inputs, out)``: what a kernel's ufuncs give, large batches as fast as can be.

    ``writing`` are the ufunc and, where results may go past the caches, the one that does so;
    ``inputs`` and ``outputs`` are the core shapes.
    """

    def __init__(
        self,
        writing: Sequence[Callable[..., Any]],
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        dtype: Any,
        steps: int,
    ) -> None:
        self._writing, self._inputs, self._outputs = writing, inputs, outputs
        self._dtype = np.dtype(dtype)
        self._written = sum(map(prod, outputs)) * self._dtype.itemsize
        self._pace = Pace(steps)  # of a state
        self._choices: dict[tuple[int, int, bool, bool], Choice] = {}

    def __call__(self, inputs: Sequence[Any], out: Any = None) -> Any:
        arrays = [np.asarray(x) for x in inputs]
        leading = [
            x.shape[: x.ndim - len(core)] for x, core in zip(arrays, self._inputs, strict=True)
        ]
        alike = all(axes == leading[0] for axes in leading)
        batch = leading[0] if alike else np.broadcast_shapes(*leading)
        states = prod(batch)
        small = states * self._pace.each < 2 * WORTH and states * self._written < _LARGE
        if small or not batch or not self._plain(arrays, out):
            # NumPy itself copies inputs that an output overlaps, and makes outputs that are None.
            start = perf_counter()
            plain = self._writing[0]
            results = plain(*arrays) if out is None else plain(*arrays, out=out)
            self._pace.learn(perf_counter() - start, states)
            return results
        if not alike:
            arrays = [
                np.broadcast_to(x, batch + x.shape[x.ndim - len(core) :])
                for x, core in zip(arrays, self._inputs, strict=True)
            ]
        if out is None:
            outputs = tuple(_empty(batch + core, self._dtype) for core in self._outputs)
        else:
            outputs = out if isinstance(out, tuple) else (out,)
            for y in outputs:
                if y.shape[: len(batch)] != batch:
                    raise ValueError(f"its shape {y.shape} does not start with the batch's {batch}")
        self._compute(arrays, outputs, batch, fresh=out is None)
        return outputs if len(outputs) > 1 else outputs[0]

    def _plain(self, arrays: Sequence[Any], out: Any) -> bool:
        """Whether parts can be computed on their own: no casts that NumPy refuses, arrays to write
        into that overlap nothing."""
        if not all(np.can_cast(x.dtype, self._dtype) for x in arrays):
            return False
        if out is None:
            return True
        outputs = out if isinstance(out, tuple) else (out,)
        if len(outputs) != len(self._outputs):
            return False
        for k, y in enumerate(outputs):
            if not isinstance(y, np.ndarray):
                return False
            if any(np.may_share_memory(x, y) for x in (*arrays, *outputs[:k])):
                return False
        return True

    def _compute(self, inputs: Any, outputs: Any, batch: Shape, fresh: bool) -> None:
        """All states, part by part while ways are tried, then the rest at once."""
        axis, states = batch.index(max(batch)), prod(batch)
        rows, most = batch[axis], threads()
        choice = self._choice(states, min(rows, most), fresh)
        begun = 0
        while begun < rows:
            tried = choice.trying
            workers, write = choice.pick()
            some = rows - begun
            seconds = states * self._pace.each
            if tried and seconds > 10 * _TRIAL:
                some = min(some, _even(rows * _TRIAL / seconds))
            parts = inputs, outputs
            if some < rows:
                part = (*[slice(None)] * axis, slice(begun, begun + some))
                parts = [x[part] for x in inputs], tuple(y[part] for y in outputs)
            count = some * (states // rows)
            start = perf_counter()
            self._share(write, *parts, axis, workers, count)
            elapsed = perf_counter() - start
            choice.learn((workers, write), elapsed, count)
            if workers == 1:
                self._pace.learn(elapsed, count)
            begun += some

    def _share(
        self, write: Any, inputs: Any, outputs: Any, axis: int, workers: int, states: int
    ) -> None:
        """A part of the batch, among so many threads."""
        if workers == 1:
            write(*inputs, out=outputs)
            return
        rows = outputs[0].shape[axis]
        count = max(workers, min(_EACH * workers, int(states * self._pace.each / SHARE)))
        size = _even(rows / count)

        def work(k: int) -> None:
            cut = (*[slice(None)] * axis, slice(k * size, (k + 1) * size))
            write(*(x[cut] for x in inputs), out=tuple(y[cut] for y in outputs))

        crew(threads() - 1).run(work, ceil(rows / size), workers - 1)

    def _choice(self, states: int, most: int, fresh: bool) -> Choice:
        """Ways to compute a batch of about this size: with one thread or as many as are worth it,
        through the caches or past them. Memory that is fresh has times of its own."""
        workers = self._pace.workers(states, most)
        past = states * self._written >= _LARGE
        key = (states.bit_length(), workers, fresh, past)
        choice = self._choices.get(key)
        if choice is None:
            writing = self._writing if past else self._writing[:1]
            counts = (1,) if workers == 1 else (1, workers)
            choice = self._choices[key] = Choice([(n, w) for w in writing for n in counts])
        return choice


def _even(rows: float) -> int:
    """A number of rows of a part."""
    return max(_ROWS, ceil(rows / _ROWS) * _ROWS)


def _empty(shape: Shape, dtype: Any) -> Any:
    """An array that begins where a line of the caches does: it is written fastest."""
    size = prod(shape) * dtype.itemsize
    room = np.empty(size + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(dtype).reshape(shape)
