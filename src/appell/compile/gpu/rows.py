"""How the rows of a batch are handed to the threads of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

Shape = tuple[int, ...]
Axis = tuple[int, tuple[int, ...]]  # its length, and the distance in bytes along it of every input

ENTRY = "appell_kernel"  # the function's name in PTX
THREADS, WARP = 128, 32  # in a block, and of those the ones that run together
_ROWS, _BATCHES = 2**30, 2**16 - 1  # the most of a launch
_STEP = 2**31  # bytes between rows are fewer


class Launch(NamedTuple):
    """Batches of rows that one launch computes."""

    batches: int
    rows: int  # of a batch
    offsets: tuple[int, ...]  # bytes before the first row, of every input
    across: tuple[int, ...]  # bytes from batch to batch
    steps: tuple[int, ...]  # bytes from row to row
    first: int  # its first row, counted over the whole batch


def piece(size: int, width: int) -> int:
    """Bytes that are read or written at once, of a row of so many numbers of that size."""
    return next(x for x in (16, 8, 4) if width * size % x == 0)


def launches(batch: Shape, strides: Sequence[Shape]) -> Iterator[Launch]:
    """How a batch is computed, from every input's distances in bytes along its axes."""
    if 0 in batch:
        return
    axes, none = merged(batch, strides), (0,) * len(strides)
    if axes and any(abs(step) >= _STEP for step in axes[-1][1]):
        axes.append((1, none))
    *others, (batches, across), (rows, steps) = [(1, none)] * (2 - len(axes)) + axes
    if rows > _ROWS:
        others.append((batches, across))
        batches, across = 1, none
    for number, place in enumerate(product(*(range(n) for n, _ in others))):
        start = [
            sum(k * x[j] for k, (_, x) in zip(place, others, strict=True))
            for j in range(len(strides))
        ]
        for b, r in product(range(0, batches, _BATCHES), range(0, rows, _ROWS)):
            offsets = tuple(x + b * y + r * z for x, y, z in zip(start, across, steps, strict=True))
            first = (number * batches + b) * rows + r
            some = min(_BATCHES, batches - b), min(_ROWS, rows - r)
            yield Launch(*some, offsets, across, steps, first)


def merged(batch: Shape, strides: Sequence[Shape]) -> list[Axis]:
    """The axes of a batch without those of length one, and neighbours joined where all inputs
    allow it."""
    axes: list[Axis] = []
    for k, n in enumerate(batch):
        steps = tuple(x[k] for x in strides)
        if n == 1:
            continue
        if axes and all(a == n * b for a, b in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * n, steps)
        else:
            axes.append((n, steps))
    return axes
