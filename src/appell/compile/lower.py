"""Lowering: elementary functions as routines, which are made of primitive operations only.

A routine is written once, as a Python function of values (`appell.compile.elementary`); its
operators record steps. Every emitter has a table of the PRIMITIVES and thereby knows every routine.

A value has a kind: a number ("r"), its bits ("i"), a word of 64 bits ("w"), a condition ("c").
Bits of double precision are a word.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import getdoc, signature
from typing import Any, NamedTuple

from appell.compile.tape import LEAVES, Step, reachable

# The kind of each operation's result; "" if it is that of the operands.
PRIMITIVES = {
    "add": "r", "sub": "r", "mul": "r", "div": "r", "neg": "r", "abs": "r", "sqrt": "r",
    "fma": "r",  # x y + c, rounded once
    "lt": "c", "le": "c", "eq": "c",  # of numbers; false where one of them is NaN
    "not": "c", "nonzero": "c",  # of a condition, of bits
    "select": "r",  # where a condition holds one number, elsewhere the other
    "mask": "i",  # all bits, where a condition holds
    "bits": "i", "number": "r",  # of a number, and back
    "wide": "w", "narrow": "i",  # bits as a word, and a word's lower bits
    "and": "", "or": "", "xor": "", "plus": "", "minus": "", "times": "", "shl": "", "shr": "",
    "zeros": "w",  # before a word's highest bit
    "look": "w",  # the word with this number in the table of 2/pi
}  # fmt: skip


class Real(NamedTuple):
    """A type of floating-point number; its name is that of C and of LLVM."""

    name: str
    bits: int
    fraction: int  # bits of it that are stored

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits // 8

    @property
    def bias(self) -> int:
        """What is added to an exponent that is stored."""
        return 2 ** (self.bits - self.fraction - 2) - 1

    @property
    def magic(self) -> float:
        """Adding it rounds to a whole number, which then stands in the lowest bits."""
        return 1.5 * 2.0**self.fraction

    @property
    def largest(self) -> float:
        return (2 - 2.0**-self.fraction) * 2.0**self.bias

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    def power_bits(self, k: int) -> int:
        """The bits of 2^k; beyond the range of numbers, those of infinity."""
        return (k + self.bias) << self.fraction

    def rounded(self, x: float) -> float:
        """The nearest number of this type."""
        return float(struct.unpack("<f", struct.pack("<f", x))[0]) if self.bits == 32 else float(x)


REALS = {"float64": Real("double", 64, 52), "float32": Real("float", 32, 23)}


class Routine(NamedTuple):
    """A function of numbers as primitive steps, and the places of its results."""

    name: str
    about: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]
    kinds: tuple[str, ...]  # of the steps' values
    once: tuple[bool, ...]  # whether one other step alone reads them
    results: tuple[int, ...]


def traced(function: Callable[..., Any], real: Real) -> Routine:
    """The routine that ``function(real, *values)`` writes."""
    trace = _Trace(real)
    names = list(signature(function).parameters)[1:]
    values = [trace.new(Step("input", k, 0), "r") for k in range(len(names))]
    results = function(real, *values)
    many = results if isinstance(results, tuple) else (results,)
    steps, (places,) = reachable(trace.steps, [[value.place for value in many]])
    kinds: list[str] = []
    for op, a, b in steps:
        if op in LEAVES:
            kinds.append(b if op == "whole" else "r")
        else:
            kinds.append(PRIMITIVES[op] or kinds[a])
    uses = Counter([p for s in steps for p in s.operands] + list(places))
    once = tuple(uses[k] == 1 for k in range(len(steps)))
    about = getdoc(function) or ""
    return Routine(function.__name__, about, tuple(names), steps, tuple(kinds), once, places)


def _operator(number: str, whole: str = "", swapped: bool = False) -> Callable[[Any, Any], Value]:
    """A method that records an operation, of numbers or of words."""

    def record(self: Value, other: Any) -> Value:
        op = whole if whole and self.kind != "r" else number
        return step(op, other, self) if swapped else step(op, self, other)

    return record


class Value:
    """A value of a routine that is being written: operators record primitive steps."""

    __slots__ = ("kind", "place", "trace")

    def __init__(self, trace: _Trace, place: int, kind: str) -> None:
        self.trace, self.place, self.kind = trace, place, kind

    __add__, __mul__ = _operator("add", "plus"), _operator("mul", "times")
    __sub__, __rsub__ = _operator("sub", "minus"), _operator("sub", "minus", swapped=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", swapped=True)
    __lt__, __gt__ = _operator("lt"), _operator("lt", swapped=True)
    __le__, __ge__ = _operator("le"), _operator("le", swapped=True)
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("shr")

    def __neg__(self) -> Value:
        return step("neg", self)

    def __abs__(self) -> Value:
        return step("abs", self)

    def __invert__(self) -> Value:
        return step("not", self)

    @property
    def bits(self) -> Value:
        return step("bits", self)

    @property
    def number(self) -> Value:
        return step("number", self)

    @property
    def sign(self) -> Value:
        """The sign bit, alone."""
        return self.bits & self.trace.real.sign_bit

    def signed(self, sign: Value) -> Value:
        """The number with its sign changed where the sign bit is set."""
        return (self.bits ^ sign).number

    def where(self, mask: Value) -> Value:
        """The number, or zero where the mask is."""
        return (mask & self.bits).number


def step(op: str, *operands: Any) -> Value:
    """An operation; whole numbers and floats among its operands become constants."""
    first = next(x for x in operands if isinstance(x, Value))
    return first.trace.step(op, operands, first.kind)


def fma(x: Any, y: Any, c: Any) -> Value:
    """x y + c, rounded once."""
    return step("fma", x, y, c)


def select(condition: Value, x: Any, y: Any) -> Value:
    """x where the condition holds, else y."""
    return step("select", condition, x, y)


def horner(z: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial in z, from its coefficients, the constant one first."""
    value: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = fma(value, z, c)
    return value


class _Trace:
    """Numbers the values of a routine; the same step gives the same value again."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.steps: list[Step] = []
        self._known: dict[Step, int] = {}

    def new(self, step: Step, kind: str) -> Value:
        place = self._known.setdefault(step, len(self.steps))
        if place == len(self.steps):
            self.steps.append(step)
        return Value(self, place, kind)

    def step(self, op: str, operands: tuple[Any, ...], kind: str) -> Value:
        if self.real.bits == 64 and op in ("wide", "narrow"):
            (value,) = operands
            return Value(self, value.place, PRIMITIVES[op])
        places = [self.value(x, "r" if op == "select" else kind).place for x in operands]
        new = Step(op, (places[0], places[1]), places[2]) if places[2:] else Step(op, *places)
        return self.new(new, PRIMITIVES[op] or kind)

    def value(self, x: Any, kind: str) -> Value:
        if isinstance(x, Value):
            return x
        if kind == "r":
            return self.new(Step("constant", self.real.rounded(x)), kind)
        return self.new(Step("whole", x, kind), kind)
