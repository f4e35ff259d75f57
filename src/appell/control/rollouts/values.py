"""The values of a rollout by name: numbers for all runs, or for each run, step, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from appell.compile.gpu.device_arrays import on_gpu, on_host
from appell.compile.program import Part
from appell.compile.tape import Shape, Tape
from appell.compile.trace import trace
from appell.errors import InputError
from appell.robots.dynamics import Array


class Later(NamedTuple):
    """Parts of a program that are traced when they are needed, and what they depend on besides the
    robot, the law and the values: programs that have the same parts are the same."""

    parts: Callable[[], tuple[Part, ...]]
    key: Any


@dataclass
class Values:
    """What the equations of a program read and write. A constant is a number in the code; an input
    is given for all runs or for each, (width,) or (runs, width); a table for each step; a series
    for each step of each run."""

    constants: dict[str, Any] = field(default_factory=dict)  # nested lists
    inputs: dict[str, Array] = field(default_factory=dict)
    tables: dict[str, Array] = field(default_factory=dict)
    series: dict[str, Array] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    runs: int | None = None

    def constant(self, name: str, value: Any) -> None:
        array = np.asarray(value, dtype=float)
        self.constants[name], self.shapes[name] = array.tolist(), array.shape

    def input(self, name: str, value: Any, shape: Shape, what: str) -> None:
        """Numbers of this shape, for all runs or for each."""
        array = checked(what, value, shape, 1)
        self.count(what, array.shape[: array.ndim - len(shape)])
        leading = array.shape[: array.ndim - len(shape)]
        self.inputs[name] = array if len(shape) == 1 else array.reshape(*leading, -1)
        self.shapes[name] = shape

    def table(self, name: str, value: Array) -> None:
        """Rows (steps + 1, width)."""
        self.tables[name], self.shapes[name] = value, value.shape[1:]

    def stepped(self, name: str, value: Any, width: int, steps: int, what: str) -> None:
        """Numbers of every step, (steps, width) or (1, steps, width), or of every step of every
        run."""
        array = checked(what, value, (steps, width), 1)
        if array.ndim == 3 and len(array) == 1 and not on_gpu(array):
            array = array[0]
        self.count(what, array.shape[:-2])
        self.shapes[name] = (width,)
        if array.ndim == 2:
            array = on_host(f"rollout: {what}", array)
            self.tables[name] = np.concatenate([array, array[-1:]])
        else:
            self.series[name] = array

    def variable(self, **shapes: Shape) -> None:
        self.shapes.update(shapes)

    def tape(
        self, equation: Callable[..., Any], reads: Sequence[str], writes: Sequence[str]
    ) -> Later:
        """The tape of ``equation(*reads)``, which gives what is written, of one name alone that."""
        return Later(lambda: (self.traced(equation, reads, writes),), (tuple(reads), tuple(writes)))

    def traced(
        self, equation: Callable[..., Any], reads: Sequence[str], writes: Sequence[str]
    ) -> Tape:
        """The same at once."""
        asked = [name for name in reads if name not in self.constants]

        def of_read(*given: Any) -> Any:
            known = {**self.constants, **dict(zip(asked, given, strict=True))}
            return equation(*(known[name] for name in reads))

        shapes = self.shapes
        return trace(of_read, {x: shapes[x] for x in asked}, {x: shapes[x] for x in writes})

    @property
    def table_of_all(self) -> Array:
        """The columns of all tables."""
        return np.concatenate(list(self.tables.values()), axis=1)

    @property
    def key(self) -> Any:
        """What a program of these values depends on, besides its parts."""
        kinds = (self.constants, self.inputs, self.tables, self.series)
        return tuple(map(tuple, kinds)), repr(self.constants), tuple(self.shapes.items())

    def count(self, what: str, leading: Shape) -> None:
        """The number of runs, where there is a first axis of them."""
        if not leading:
            return
        (count,) = leading
        if not count:
            raise InputError(f"rollout: {what} is for 0 runs; expected one or more.")
        if self.runs not in (None, count):
            raise InputError(
                f"rollout: {what} is for {count} runs, and what was given before it for "
                f"{self.runs}; expected as many, or one for all."
            )
        self.runs = count


def checked(what: str, value: Any, shape: Shape, most: int) -> Array:
    """Finite numbers of this shape, with up to so many leading axes; what is on a GPU is taken as
    it is."""
    array = value if on_gpu(value) else numbers(what, value)
    own = array.ndim - len(shape)
    if not 0 <= own <= most or tuple(array.shape[own:]) != shape:
        runs = ("runs, " if len(shape) else "runs,") if most else ""
        inner = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise InputError(
            f"rollout: {what} has shape {tuple(array.shape)}; expected ({inner})"
            + (f", or ({runs}{inner.rstrip(',')}) where runs differ." if most else ".")
        )
    return array


def numbers(what: str, value: Any) -> Array:
    """Finite real numbers of any shape."""
    try:
        kind = np.asarray(value).dtype.kind
        if kind not in "fiub" or isinstance(value, np.ma.MaskedArray):
            raise TypeError
        array = np.asarray(value)
        if array.dtype not in (np.float64, np.float32):  # kernels convert these, some at a time
            array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"rollout: {what} = {value!r}; expected real numbers.") from None
    extremes = array.min(initial=0.0), array.max(initial=0.0)  # no number is a NaN in these
    if not np.isfinite(extremes).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        entry = f"[{', '.join(map(str, place))}]" if place else ""
        raise InputError(f"rollout: {what}{entry} is {array[place]}; expected finite numbers.")
    return array
