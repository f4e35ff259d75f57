"""Which products and sums are rounded once, as fused multiply-adds.

The tape says so, and not the compiler: code for any processor, and C, then gives the same bits.
A product that one sum alone uses is fused with it; one with two uses had to be computed twice,
which was measured to be slower.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

from appell.compile.tape import Step, Tape, reachable


def fused(tape: Tape) -> Tape:
    """The tape with fused steps in place of products and sums. Fusing again changes nothing."""
    uses = Counter(chain.from_iterable(step.operands for step in tape.steps))
    uses.update(chain.from_iterable(tape.results))
    steps: list[Step] = []
    for step in tape.steps:
        steps.append(_fused(step, tape.steps, uses) if step.op in ("add", "sub") else step)
    kept, results = reachable(steps, tape.results)
    return Tape(tape.inputs, tape.outputs, kept, results)


def _fused(step: Step, steps: tuple[Step, ...], uses: Counter[int]) -> Step:
    op, a, b = step
    first, second = (steps[p].op == "mul" and uses[p] == 1 for p in (a, b))
    if first and second:  # the earlier one: measured to be faster
        first = a < b
    if first:
        return Step("fma" if op == "add" else "fms", (steps[a].a, steps[a].b), b)
    if second:
        return Step("fma" if op == "add" else "fnma", (steps[b].a, steps[b].b), a)
    return step
