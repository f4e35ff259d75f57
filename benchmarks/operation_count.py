"""Floating-point instructions of a kernel's usual path, per state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.compile.elementary import routine
from appell.compile.emit.emitter import Emitter
from appell.compile.fuse import fused
from appell.compile.instructions import TABLE
from appell.compile.lower import REALS
from appell.compile.native import fuses
from appell.compile.plan import Plan
from appell.compile.tape import Tape

COUNTED = ("add", "sub", "mul", "fma", "fms", "fnma", "div", "sqrt")


def floating_point_operations(tape: Tape, dtype: str) -> int:
    """How many of a state's instructions multiply or add, or both at once; sines and others are
    made of such. A division or a root counts as one, though it takes longer."""
    counter = _Counter(fused(tape) if fuses() else tape, dtype)
    for number in range(len(counter.plan.parts)):
        counter.walk(number)
    return counter.count


class _Counter(Emitter):
    """Writes nothing, and counts what it would write."""

    table = TABLE

    def __init__(self, tape: Tape, dtype: str) -> None:
        super().__init__(tape, Plan(tape))
        self.real, self.count = REALS[dtype], 0

    def line(self, op: str, kind: str, operands: Sequence[Any], once: bool = False) -> str:
        self.count += op in COUNTED
        return op

    def constant(self, x: float) -> str:
        return "constant"

    def whole(self, x: int, kind: str) -> str:
        return "whole"

    def input(self, operand: int, element: int) -> str:
        return "input"

    def keep(self, place: int) -> None: ...

    def kept(self, place: int) -> str:
        return "kept"

    def store(self, window: Any) -> None: ...

    def call(self, op: str, operands: Sequence[Any]) -> Sequence[Any]:
        return self.replay(routine(op, self.real), operands)

    def rare(
        self, condition: Any, usual: Sequence[Any], mend: Callable[[], Sequence[Any]]
    ) -> Sequence[Any]:
        return usual
