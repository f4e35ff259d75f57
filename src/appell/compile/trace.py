"""Tracing: an equation is called with scalars that write its tape themselves.

It gives what :mod:`appell.compile.record` does, without a graph in between, and has what a program
needs and no graph does: a choice between two values, the nearest whole number, random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

from appell.compile.tape import Builder, Shape, Tape
from appell.errors import InputError


class Traced:
    """A scalar whose operators write steps. Numbers stay numbers, and 0 x, 1 x and x + 0 fold."""

    __slots__ = ("on", "place")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, on: Builder, place: int) -> None:
        self.on, self.place = on, place

    def _apply(self, op: str, *operands: Any) -> Any:
        places = [self._place(x) for x in operands]
        return self._value(self.on.apply(op, *places))

    def _place(self, x: Any) -> int:
        return x.place if isinstance(x, Traced) else self.on.constant(x)

    def _value(self, place: int) -> Any:
        """What stands there; a constant is a number again."""
        known = self.on.value(place)
        if known is None:
            return Traced(self.on, place)
        return int(known) if known in (0, 1, -1) else known

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._apply("mul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0 if isinstance(other, int) and other == 0 else self._apply("div", other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 0 < other <= 4:
            return prod([self] * (other - 1), start=self)
        return self._apply("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._apply("pow", other, self)

    def __neg__(self) -> Any:
        return self._apply("neg", self)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Any:
        return self._apply("abs", self)

    def __bool__(self) -> bool:
        raise InputError(
            "an equation asked whether a recorded value is true: it may not branch on a value; "
            "use sign, or arithmetic."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()

    @staticmethod
    def atan2(y: Any, x: Any) -> Any:
        known = y if isinstance(y, Traced) else x
        return known._apply("atan2", y, x)

    def arctan2(self, other: Any) -> Any:
        return self.atan2(self, other)

    def hypot(self, other: Any) -> Any:
        return (self * self + other * other).sqrt()


# NumPy's functions find those of a scalar that it does not know by name.
FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "log": "log",
    "sqrt": "sqrt", "sign": "sign",
}  # fmt: skip


def _method(op: str) -> Callable[[Traced], Any]:
    return lambda x: x._apply(op, x)


for _name, _op in FUNCTIONS.items():
    setattr(Traced, _name, _method(_op))


def choose(x: Any, y: Any, less: Any, otherwise: Any) -> Any:
    """``less`` where x < y, else ``otherwise``."""
    found = next((v for v in (x, y, less, otherwise) if isinstance(v, Traced)), None)
    if found is None or not (isinstance(x, Traced) or isinstance(y, Traced)):
        return less if x < y else otherwise
    if less is otherwise:
        return less
    places = [found._place(v) for v in (x, y, less, otherwise)]
    return Traced(found.on, found.on.several("choose", *places))


def largest(x: Any, y: Any) -> Any:
    """The larger one of two; x where y is no number."""
    return choose(x, y, y, x)


def clipped(x: Any, low: Any, high: Any) -> Any:
    """x within bounds."""
    return choose(x, low, low, choose(high, x, high, x))


def nearest(x: Any) -> Any:
    """The nearest whole number."""
    return x._apply("round", x) if isinstance(x, Traced) else float(round(x))


def random(run: Sequence[Any], at: Sequence[Any], key: Sequence[Any]) -> Any:
    """A number between 0 and 1 (:mod:`appell.compile.noise`), one of them at least recorded."""
    halves = [*run, *at, *key]
    found = next(v for v in halves if isinstance(v, Traced))
    return Traced(found.on, found.on.several("uniform", *(found._place(v) for v in halves)))


def trace(
    equation: Callable[..., Any], inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]
) -> Tape:
    """The tape of ``equation(*inputs)``, which takes and gives nested lists of these shapes; of one
    output alone, that."""
    on = Builder()
    arguments = [
        nested([Traced(on, on.step("input", k, j)) for j in range(prod(shape))], shape)
        for k, shape in enumerate(inputs.values())
    ]
    results = equation(*arguments)
    if len(outputs) == 1:
        results = (results,)
    places = [
        [x.place if isinstance(x, Traced) else on.constant(x) for x in flat(result, shape)]
        for result, shape in zip(results, outputs.values(), strict=True)
    ]
    return on.tape(dict(inputs), dict(outputs), places)


def nested(numbers: list[Any], shape: Shape) -> Any:
    """Numbers as lists of lists; a single one without a shape."""
    if len(shape) < 2:
        return numbers if shape else numbers[0]
    size = prod(shape[1:])
    return [nested(numbers[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def flat(result: Any, shape: Shape) -> list[Any]:
    """The same, back."""
    if not shape:
        return [result]
    rows = list(result)
    if len(rows) != shape[0]:
        raise ValueError(f"an equation gave {len(rows)} rows where {shape[0]} were declared")
    return list(chain.from_iterable(flat(row, shape[1:]) for row in rows))


def replayed(tape: Tape, *arguments: Sequence[Any]) -> list[list[Any]]:
    """What a tape computes of these scalars, recorded or numbers: its outputs, row by row."""
    known = [x for row in arguments for x in row if isinstance(x, Traced)]
    on = known[0].on if known else Builder()
    places: list[int] = []
    for op, a, b in tape.steps:
        if op == "constant":
            places.append(on.constant(a))
        elif op == "input":
            x = arguments[a][b]
            places.append(x.place if isinstance(x, Traced) else on.constant(x))
        elif isinstance(a, tuple):
            places.append(on.several(op, *(places[k] for k in a), places[b]))
        else:
            places.append(on.apply(op, *(places[k] for k in (a, b) if k is not None)))
    anything = Traced(on, 0)
    return [[anything._value(places[k]) for k in row] for row in tape.results]
