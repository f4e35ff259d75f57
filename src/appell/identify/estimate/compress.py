"""Any number of samples in a few triangles: R of the rows of each joint, block by block.

The rows of joint j are [Y_j | tau_j]. Their R factor says all that least squares needs: for any
x, |Y_j x - tau_j| = |R (x, -1)|. It is updated block by block (stack R on the next rows, factor
again), so memory is bounded by a block, and the condition number is not squared as normal
equations would do. Joints stay apart, so that their noise is known and weights can be given
afterwards; folds stay apart for cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from appell.compile.threads import threads
from appell.identify.base.entries import Places
from appell.identify.single_thread import alone
from appell.robots.robot import Array

Block = tuple[Array, Array, Array, Array]
Rows = Callable[[Block], list[Array]]

BLOCK = 2048  # samples: their rows stay in a core's cache
FOLDS = 5


@dataclass
class Compressed:
    """R of [Y_j | tau_j] by fold and joint, each with the columns it has; and how many samples
    each fold holds."""

    columns: tuple[Places, ...]
    count: int
    factors: list[list[Array]]
    samples: list[int]

    def merged(self, folds: Iterable[int] | None = None) -> list[Array]:
        """R of each joint over some folds, all without a choice."""
        chosen = range(len(self.factors)) if folds is None else list(folds)
        return [
            triangle(np.vstack([self.factors[f][j] for f in chosen]))
            for j in range(len(self.columns))
        ]

    def system(self, weights: Array | None = None, folds: Iterable[int] | None = None) -> Array:
        """[A | b], whose least-squares solution is that of all samples: the joints' triangles,
        each times its weight, below one another."""
        return stack(self.merged(folds), self.columns, self.count, weights)


def stack(
    factors: list[Array], columns: tuple[Places, ...], count: int, weights: Array | None = None
) -> Array:
    """The joints' triangles below one another, each times its weight, in all unknowns' columns."""
    rows = []
    for j, (R, places) in enumerate(zip(factors, columns, strict=True)):
        wide = np.zeros((len(R), count + 1))
        wide[:, [*places, count]] = R
        rows.append(wide if weights is None else wide * weights[j])
    return np.vstack(rows)


def triangle(rows: Array) -> Array:
    """R, of no more rows than it has columns."""
    return rows if len(rows) <= 1 else np.asarray(np.linalg.qr(rows, mode="r"))


@alone
def compress(
    rows: Rows,
    blocks: Iterable[Block],
    columns: tuple[Places, ...],
    count: int,
    seen: Callable[[int], Any] | None = None,
) -> Compressed:
    """All samples in triangles, with as many threads as `appell.set_threads` allows.

    ``rows`` makes [Y_j | tau_j] of a block for each joint, which has so many of the ``count``
    unknowns' columns; ``seen`` is told how many samples are done.
    """
    empty = [np.zeros((0, len(places) + 1)) for places in columns]
    done = Compressed(columns, count, [list(empty) for _ in range(FOLDS)], [0] * FOLDS)
    workers = threads()

    def work(block: Block) -> list[Array]:
        return [triangle(x) for x in rows(block)]

    with ThreadPoolExecutor(workers) as pool:
        numbered = enumerate(blocks)
        while some := list(islice(numbered, 8 * workers)):
            found = pool.map(work, (block for _, block in some))
            for (k, block), parts in zip(some, found, strict=True):
                fold = done.factors[k % FOLDS]
                done.samples[k % FOLDS] += len(block[0])
                fold[:] = [triangle(np.vstack(pair)) for pair in zip(fold, parts, strict=True)]
            if seen:
                seen(sum(done.samples))
    return done
