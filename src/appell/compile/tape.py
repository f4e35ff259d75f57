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

Shape = tuple[int, ...]


FUSED = ("fma", "fms", "fnma")  # x y + c, x y - c and c - x y, rounded once


class Step(NamedTuple):
    """One operation. ``a`` and ``b`` are places of earlier steps; for a constant ``a`` is its
    value, for an input ``a`` and ``b`` are its number and element; for a fused one ``a`` is the
    pair of places that are multiplied."""

    op: str
    a: Any
    b: Any = None

    @property
    def operands(self) -> tuple[int, ...]:
        """The places that it reads."""
        if self.op in ("constant", "input"):
            return ()
        if self.op in FUSED:
            return (*self.a, self.b)
        return (self.a,) if self.b is None else (self.a, self.b)

    def moved(self, to: Mapping[int, int]) -> Step:
        """The same operation, of places that have moved."""
        if self.op in ("constant", "input"):
            return self
        a = tuple(to[x] for x in self.a) if self.op in FUSED else to[self.a]
        return Step(self.op, a, None if self.b is None else to[self.b])


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
        builder = _Builder()
        names = _operations()
        work: dict[int, int] = {}
        results: list[list[int]] = [[-1] * function.numel_out(k) for k in range(function.n_out())]
        places = [_places(function.sparsity_out(k)) for k in range(function.n_out())]
        for k in range(function.n_instructions()):
            op = names[function.instruction_id(k)]
            if op == "output":
                number, element = function.instruction_output(k)
                results[number][places[number][element]] = work[function.instruction_input(k)[0]]
                continue
            (target,) = function.instruction_output(k)
            if op == "constant":
                work[target] = builder.constant(function.instruction_constant(k))
            elif op == "input":
                work[target] = builder.step("input", *function.instruction_input(k))
            else:
                arguments = [work[j] for j in function.instruction_input(k)[: _ARITY[op]]]
                work[target] = builder.apply(op, *arguments)
        zero = builder.constant(0.0)
        filled = [[zero if place < 0 else place for place in row] for row in results]
        steps, kept = reachable(builder.steps, filled)
        return cls(inputs, outputs, steps, kept)

    def side_by_side(self) -> Tape:
        """The same steps, each where its arguments are ready, so that long chains of operations
        that do not need each other run beside each other. It pays where chains are long and
        few values wait."""
        ready: list[int] = []
        for step in self.steps:
            after = max((ready[k] for k in step.operands), default=0)
            ready.append(after + _CYCLES.get(step.op, 4))
        order = sorted(range(len(ready)), key=lambda k: ready[k] - _CYCLES.get(self.steps[k].op, 4))
        steps, results = moved(self.steps, order, self.results)
        return Tape(self.inputs, self.outputs, steps, results)

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


_ARITY = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "sq": 1, "twice": 1, "inv": 1,
    "sin": 1, "cos": 1, "sqrt": 1, "sign": 1, "abs": 1, "atan2": 2,
}  # fmt: skip


_CYCLES = {"atan2": 75, "sin": 50, "cos": 50, "sqrt": 20, "inv": 14}  # of an operation, about


def _operations() -> dict[int, str]:
    import casadi as c

    return {
        c.OP_CONST: "constant", c.OP_INPUT: "input", c.OP_OUTPUT: "output",
        c.OP_ADD: "add", c.OP_SUB: "sub", c.OP_MUL: "mul", c.OP_DIV: "div",
        c.OP_NEG: "neg", c.OP_SQ: "sq", c.OP_TWICE: "twice", c.OP_INV: "inv",
        c.OP_SIN: "sin", c.OP_COS: "cos", c.OP_SQRT: "sqrt", c.OP_SIGN: "sign",
        c.OP_FABS: "abs", c.OP_ATAN2: "atan2",
    }  # fmt: skip


def _places(sparsity: Any) -> list[int]:
    """Where each nonzero of a dense or sparse column stands."""
    return list(sparsity.row())


def reachable(
    steps: Sequence[Step], results: Sequence[Sequence[int]]
) -> tuple[tuple[Step, ...], tuple[tuple[int, ...], ...]]:
    needed = [False] * len(steps)
    for row in results:
        for place in row:
            needed[place] = True
    for place in reversed(range(len(steps))):
        for used in steps[place].operands if needed[place] else ():
            needed[used] = True
    return moved(steps, [place for place in range(len(steps)) if needed[place]], results)


def moved(
    steps: Sequence[Step], order: Sequence[int], results: Sequence[Sequence[int]]
) -> tuple[tuple[Step, ...], tuple[tuple[int, ...], ...]]:
    """Steps in another order, without those that are not in it."""
    kept: list[Step] = []
    to: dict[int, int] = {}
    for place in order:
        step = steps[place].moved(to)
        to[place] = len(kept)
        kept.append(step)
    return tuple(kept), tuple(tuple(to[p] for p in row) for row in results)


class _Builder:
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

    def apply(self, op: str, a: int, b: int = -1) -> int:
        return getattr(self, op)(a, b) if b >= 0 else getattr(self, op)(a)

    def value(self, place: int) -> float | None:
        op, a, _ = self.steps[place]
        return a if op == "constant" else None

    def negated(self, place: int) -> int | None:
        """What the step is the negative of, if it is one."""
        op, a, _ = self.steps[place]
        return a if op == "neg" else None

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

    def inv(self, a: int) -> int:
        return self.step("inv", a)

    def sin(self, a: int) -> int:
        return self.step("sin", a)

    def cos(self, a: int) -> int:
        return self.step("cos", a)

    def sqrt(self, a: int) -> int:
        return self.step("sqrt", a)

    def sign(self, a: int) -> int:
        return self.step("sign", a)

    def abs(self, a: int) -> int:
        return self.step("abs", a)

    def atan2(self, a: int, b: int) -> int:
        if (x := self.negated(a)) is not None:
            return self.neg(self.atan2(x, b))
        return self.step("atan2", a, b)
