"""Measured states and torques, however they are given, as blocks of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.identify.base.entries import Places
from appell.identify.data.checks import Watch
from appell.identify.estimate.compress import BLOCK, FOLDS, Block, Rows, compress
from appell.identify.estimate.solve import Triangles, data_of

NAMES = ("q", "v", "a", "tau")


class Samples:
    """q, v, a and tau, (N, ...): arrays (memory-mapped ones are read block by block), or blocks of
    them in a list, from a generator, or from a function that starts them anew."""

    def __init__(self, robot: Any, q: Any, v: Any, a: Any, tau: Any, check: bool) -> None:
        forces = len(getattr(robot, "actuated", ())) or robot.nv
        self.widths = dict(zip(NAMES, (robot.nq, robot.nv, robot.nv, forces), strict=True))
        self.watch = Watch(robot, check)
        self.count: int | None = None
        self.seen: Callable[[int], Any] | None = None  # is told how many samples are done
        if hasattr(q, "states"):  # appell.identify's own Data
            q, v, a, tau = q.states
        given = (v, a, tau)
        if all(x is None for x in given):
            self._start, self.once = _source(q)
        elif any(x is None for x in given):
            missing = [n for n, x in zip(NAMES[1:], given, strict=True) if x is None]
            raise InputError(
                f"fit: {', '.join(missing)} missing; give q, v, a and tau, or blocks of all four "
                "in the place of q."
            )
        else:
            whole = [_array(n, x) for n, x in zip(NAMES, (q, *given), strict=True)]
            self.count = self._checked(whole, 0)
            self._start, self.once = (lambda: iter([tuple(whole)])), False

    def blocks(self) -> Iterator[Block]:
        """Blocks of a size that threads share well; each is looked at as it passes."""
        at = 0
        for whole in self._start():
            arrays = [_array(n, x) for n, x in zip(NAMES, _four(whole), strict=True)]
            n = self._checked(arrays, at)
            step = max(1, min(BLOCK, -(-n // FOLDS)))
            for k in range(0, n, step):
                q, v, a, tau = (np.ascontiguousarray(x[k : k + step], float) for x in arrays)
                block = q, v, a, tau
                self.watch.block(dict(zip(NAMES, block, strict=True)), at + k)
                yield block
            at += n

    def compressed(self, rows: Rows, columns: tuple[Places, ...], count: int) -> Triangles:
        """All samples in triangles; see `appell.identify.estimate.compress.compress`."""
        return data_of(compress(rows, self.blocks(), columns, count, self.seen))

    def again(self, method: str) -> None:
        """Refuse a method that needs the samples more than once, if they come only once."""
        if self.once:
            raise InputError(
                f"method={method!r} goes through the samples several times, and a generator gives "
                "them once; give arrays, a list of blocks, or a function that returns a generator."
            )

    def _checked(self, arrays: list[Any], at: int) -> int:
        """How many samples, if all arrays have the shape they should."""
        where = f" in the block from sample {at}" if at else ""
        for (name, width), x in zip(self.widths.items(), arrays, strict=True):
            if x.ndim != 2 or x.shape[1] != width:
                turned = x.ndim == 2 and x.shape[0] == width
                raise InputError(
                    f"fit: {name} has shape {x.shape}{where}; expected (N, {width}), one row per "
                    "sample" + (": it looks transposed." if turned else ".")
                )
        counts = {name: len(x) for name, x in zip(NAMES, arrays, strict=True)}
        if len(set(counts.values())) > 1:
            shown = ", ".join(f"{name} {n}" for name, n in counts.items())
            raise InputError(f"fit: {shown} samples{where}; expected as many of each.")
        return len(arrays[0])


def _source(given: Any) -> tuple[Callable[[], Iterator[Any]], bool]:
    if callable(given):
        return (lambda: iter(given())), False
    if isinstance(given, (list, tuple)):
        return (lambda: iter(given)), False
    if isinstance(given, Iterable) and not isinstance(given, (np.ndarray, str)):
        return (lambda: iter(given)), isinstance(given, Iterator)
    raise InputError(
        "fit: expected arrays q, v, a and tau, or in the place of q an iterable of such blocks."
    )


def _four(block: Any) -> Any:
    if not isinstance(block, (tuple, list)) or len(block) != 4:
        raise InputError(
            f"fit: a block is a {type(block).__name__}; expected the four arrays (q, v, a, tau)."
        )
    return block


def _array(name: str, x: Any) -> Any:
    array = x if isinstance(x, np.ndarray) else np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise InputError(f"fit: {name} has dtype {array.dtype}; expected real numbers.")
    return array[:, None] if array.ndim == 1 else array
