"""The tape: a recorded equation as a list of operations, each value computed once.

Value numbering gives equal values one place (a b and b a are equal), minus signs
are moved into constants, sums and differences, and what no output needs is
dropped. Counting and every emitter read this one form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from appell.errors import InputError

Shape = tuple[int, ...]


FUSED = ("fma", "fms", "fnma")  # x y + c, x y - c and c - x y, rounded once
LEAVES = frozenset(("constant", "whole", "input"))  # steps that read no others


class Step(NamedTuple):
    """One operation. ``a`` and ``b`` are places of earlier steps; of three places and more ``a``
    holds all but the last. For a constant ``a`` is its value, for an input ``a`` and ``b`` are its
    number and element."""

    op: str
    a: Any
    b: Any = None

    @property
    def operands(self) -> tuple[int, ...]:
        """The places that it reads."""
        op, a, b = self
        if op in LEAVES:
            return ()
        if type(a) is tuple:
            return (*a, b)
        return (a,) if b is None else (a, b)

    def moved(self, to: Mapping[int, int]) -> Step:
        """The same operation, of places that have moved."""
        if self.op in LEAVES:
            return self
        a = tuple(to[x] for x in self.a) if isinstance(self.a, tuple) else to[self.a]
        return Step(self.op, a, None if self.b is None else to[self.b])


class Foreign(InputError):
    """A function has an operation that kernels do not have; the message names it."""


@dataclass(frozen=True)
class Tape:
    """Steps in an order in which they can be computed, and the places of the outputs."""

    inputs: dict[str, Shape]
    outputs: dict[str, Shape]
    steps: tuple[Step, ...]
    results: tuple[tuple[int, ...], ...]

    @classmethod
    def from_casadi(
        cls, function: Any, inputs: dict[str, Shape], outputs: dict[str, Shape]
    ) -> Tape:
        """From a CasADi function of SX, whose instructions are walked once."""
        builder, names = Builder(), _operations()
        work: dict[int, int] = {}
        results: list[list[int]] = [[-1] * function.numel_out(k) for k in range(function.n_out())]
        places = [function.sparsity_out(k).row() for k in range(function.n_out())]
        for k in range(function.n_instructions()):
            op = names.get(function.instruction_id(k), "")
            if op == "output":
                number, element = function.instruction_output(k)
                results[number][places[number][element]] = work[function.instruction_input(k)[0]]
                continue
            (target,) = function.instruction_output(k)
            if op == "constant":
                work[target] = builder.constant(function.instruction_constant(k))
            elif op == "input":
                work[target] = builder.step("input", *function.instruction_input(k))
            elif op:
                operands = function.instruction_input(k)[: 2 if op in _BINARY else 1]
                work[target] = builder.apply(op, *(work[j] for j in operands))
            else:
                raise Foreign(f"CasADi's operation {function.instruction_id(k)} is not compiled.")
        zero = builder.constant(0.0)
        filled = [[zero if place < 0 else place for place in row] for row in results]
        steps, kept = reachable(builder.steps, filled)
        return cls(inputs, outputs, steps, kept)

    def unread(self) -> list[tuple[int, int]]:
        """Inputs that no output depends on: NaN there must not pass unseen."""
        read = {(s.a, s.b) for s in self.steps if s.op == "input"}
        return [
            (k, j)
            for k, shape in enumerate(self.inputs.values())
            for j in range(prod(shape))
            if (k, j) not in read
        ]

    @cached_property
    def counts(self) -> Counter[str]:
        """How many of each operation."""
        return Counter(step.op for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)


_BINARY = ("add", "sub", "mul", "div", "atan2", "pow")  # the others have one operand


def _operations() -> dict[int, str]:
    import casadi as c

    return {
        c.OP_CONST: "constant", c.OP_INPUT: "input", c.OP_OUTPUT: "output",
        c.OP_ADD: "add", c.OP_SUB: "sub", c.OP_MUL: "mul", c.OP_DIV: "div",
        c.OP_NEG: "neg", c.OP_SQ: "sq", c.OP_TWICE: "twice", c.OP_INV: "inv",
        c.OP_SIN: "sin", c.OP_COS: "cos", c.OP_SQRT: "sqrt", c.OP_SIGN: "sign",
        c.OP_FABS: "abs", c.OP_ATAN2: "atan2", c.OP_TAN: "tan", c.OP_ATAN: "atan",
        c.OP_ASIN: "asin", c.OP_ACOS: "acos", c.OP_EXP: "exp", c.OP_LOG: "log", c.OP_POW: "pow",
        c.OP_CONSTPOW: "pow", c.OP_SINH: "sinh", c.OP_COSH: "cosh", c.OP_TANH: "tanh",
    }  # fmt: skip


def reachable(
    steps: Sequence[Step], results: Sequence[Sequence[int]]
) -> tuple[tuple[Step, ...], tuple[tuple[int, ...], ...]]:
    """The steps that the results need, and the results' places among them."""
    needed = [False] * len(steps)
    for row in results:
        for place in row:
            needed[place] = True
    for place in reversed(range(len(steps))):
        for used in steps[place].operands if needed[place] else ():
            needed[used] = True
    kept: list[Step] = []
    to: dict[int, int] = {}
    for place, step in enumerate(steps):
        if needed[place]:
            to[place] = len(kept)
            kept.append(step.moved(to))
    return tuple(kept), tuple(tuple(to[p] for p in row) for row in results)


class Builder:
    """Numbers values: a step that was taken before gives the same place again."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._known: dict[Step, int] = {}

    def step(self, op: str, a: Any, b: Any = None) -> int:
        step = Step(op, a, b)
        place = self._known.get(step)
        if place is None:
            place = self._known[step] = len(self.steps)
            self.steps.append(step)
        return place

    def constant(self, value: float) -> int:
        return self.step("constant", float(value) + 0.0)

    def apply(self, op: str, *operands: int) -> int:
        """An operation, by its rule below if it has one."""
        rule = getattr(self, op, None)
        return rule(*operands) if rule else self.step(op, *operands)

    def value(self, place: int) -> float | None:
        op, a, _ = self.steps[place]
        return a if op == "constant" else None

    def negated(self, place: int) -> int | None:
        """What the step is the negative of, if it is one."""
        op, a, _ = self.steps[place]
        return a if op == "neg" else None

    def several(self, op: str, *operands: int) -> int:
        """An operation of three operands or more."""
        *first, last = operands
        return self.step(op, tuple(first), last)

    def tape(self, inputs: dict[str, Shape], outputs: dict[str, Shape], places: Any) -> Tape:
        """What the places of the outputs need."""
        steps, results = reachable(self.steps, places)
        return Tape(inputs, outputs, steps, results)

    def neg(self, a: int) -> int:
        op, x, y = self.steps[a]
        if op == "constant":
            return self.constant(-x)
        if op == "neg":
            return x
        if op == "sub":
            return self.step("sub", y, x)
        if op == "mul" and (k := self.value(x)) is not None:
            return self.mul(self.constant(-k), y)
        return self.step("neg", a)

    def add(self, a: int, b: int) -> int:
        ka, kb = self.value(a), self.value(b)
        if ka is not None and kb is not None:
            return self.constant(ka + kb)
        if ka == 0:
            return b
        if kb == 0:
            return a
        if (x := self.negated(b)) is not None:
            return self.sub(a, x)
        if (x := self.negated(a)) is not None:
            return self.sub(b, x)
        return self.step("add", min(a, b), max(a, b))

    def sub(self, a: int, b: int) -> int:
        ka, kb = self.value(a), self.value(b)
        if ka is not None and kb is not None:
            return self.constant(ka - kb)
        if a == b:
            return self.constant(0.0)
        if kb == 0:
            return a
        if ka == 0:
            return self.neg(b)
        if (x := self.negated(b)) is not None:
            return self.add(a, x)
        if (x := self.negated(a)) is not None:
            return self.neg(self.add(x, b))
        return self.step("sub", a, b)

    def mul(self, a: int, b: int) -> int:
        if self.value(a) is None and self.value(b) is not None:
            a, b = b, a
        ka, kb = self.value(a), self.value(b)
        if ka is not None and kb is not None:
            return self.constant(ka * kb)
        if (x := self.negated(b)) is not None:
            return self.mul(self.constant(-ka), x) if ka is not None else self.neg(self.mul(a, x))
        if ka is not None:
            if ka == 0:
                return a
            if ka == 1:
                return b
            if ka == -1:
                return self.neg(b)
            op, x, y = self.steps[b]
            if op == "mul" and (k := self.value(x)) is not None:
                return self.mul(self.constant(ka * k), y)
            return self.step("mul", a, b)
        if (x := self.negated(a)) is not None:
            return self.neg(self.mul(x, b))
        return self.step("mul", min(a, b), max(a, b))

    def div(self, a: int, b: int) -> int:
        if (k := self.value(b)) is not None:
            return self.mul(self.constant(1 / k), a)
        # One reciprocal serves every quotient by the same value.
        return self.mul(a, self.step("inv", b))

    def sq(self, a: int) -> int:
        return self.mul(a, a)

    def twice(self, a: int) -> int:
        return self.mul(self.constant(2.0), a)

    def atan2(self, a: int, b: int) -> int:
        if (x := self.negated(a)) is not None:
            return self.neg(self.atan2(x, b))
        return self.step("atan2", a, b)

    def tan(self, a: int) -> int:
        return self.step("div", self.step("sin", a), self.step("cos", a))

    def atan(self, a: int) -> int:
        return self.atan2(a, self.constant(1.0))

    def asin(self, a: int) -> int:
        return self.atan2(a, self._leg(a))

    def acos(self, a: int) -> int:
        return self.atan2(self._leg(a), a)

    def _leg(self, a: int) -> int:
        """The square root of 1 - a^2."""
        one = self.constant(1.0)
        return self.step("sqrt", self.mul(self.sub(one, a), self.add(one, a)))
