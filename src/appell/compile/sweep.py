"""Derivatives of programs: a program of tangents, and the sweep that takes adjoints back.

A tangent program is a program: each tape computes tangents besides, of one direction for each run.

The sweep runs a program, and then the adjoints of its tapes, from the last one to the first. They
need values that the tapes have seen or computed. Those that cannot be computed again, or that are
expensive, a tape leaves in a *trail*; the others are computed again, from these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import NamedTuple

from appell.compile.differentiate import adjoint, depends, tangent, tangent_of
from appell.compile.fuse import fused
from appell.compile.program import TURN, Loop, Part, Program, mapped, tapes
from appell.compile.tape import LEAVES, Step, Tape, reachable

TRAIL = "the trail"
_CHEAP = frozenset(("add", "sub", "mul", "neg", "abs", "inv", "choose", "sign"))  # computed again


def tangent_program(program: Program, by: Collection[str], of: Collection[str]) -> Program:
    """The program that has, besides, inputs ``d x`` for each input, table and series x in ``by``,
    and outputs (kept variables) ``d y`` for each output (kept variable) y in ``of``.

    ``d y`` is the derivative of y in the direction of all ``d x``: each run has its own direction.
    The tangent of an input or series is one of the same width, a table's is a table. The columns of
    the tables' tangents come after those of the tables, in their order.
    """
    check(program, by, (*program.outputs, *program.kept), of)
    active = active_names(program, by, of) | set(of)

    def change(tape: Tape) -> Tape:
        return tangent(tape, active, active)

    def grown(names: Mapping[str, int]) -> dict[str, int]:
        return {**names, **{tangent_of(x): n for x, n in names.items() if x in by}}

    return replace(
        program,
        inputs=grown(program.inputs),
        tables=grown(program.tables),
        series=grown(program.series),
        first=mapped(program.first, change),
        each=mapped(program.each, change),
        last=mapped(program.last, change),
        kept=(*program.kept, *(tangent_of(x) for x in program.kept if x in of)),
        outputs=(*program.outputs, *(tangent_of(x) for x in program.outputs if x in of)),
    )


def check(
    program: Program, by: Collection[str], results: Collection[str], of: Collection[str]
) -> None:
    """ValueError unless the derivatives of ``of`` with respect to ``by`` can be had."""
    given = {**program.inputs, **program.tables, **program.series}
    for name in by:
        if name not in given:
            raise ValueError(f"derivatives with respect to {name}; there are {', '.join(given)}")
    for name in of:
        if name not in results:
            raise ValueError(f"derivatives of {name}; there are {', '.join(results)}")
    for tape in tapes((*program.first, *program.last)):
        if wrong := set(program.series).intersection(tape.inputs):
            raise ValueError(f"{', '.join(wrong)}: a series is read outside of the steps")
    written = _written((*program.first, *program.each, *program.last))
    if wrong := written.intersection((*program.tables, *program.series)):
        raise ValueError(f"{', '.join(wrong)}: a tape writes what is given for each step")


def active_names(program: Program, by: Collection[str], of: Collection[str]) -> set[str]:
    """The values that change with ``by`` and that change ``of``."""
    links = [depends(tape) for tape in tapes((*program.first, *program.each, *program.last))]
    changing, wanted = set(by), set(of)
    while True:
        before = len(changing) + len(wanted)
        for link in links:
            changing |= {y for y, names in link.items() if names & changing}
            wanted |= {x for y, names in link.items() if y in wanted for x in names}
        if len(changing) + len(wanted) == before:
            return changing & wanted - {TURN}


def reads(parts: Sequence[Part], name: str) -> bool:
    """Whether a tape of these parts reads a value."""
    return any(name in tape.inputs for tape in tapes(parts))


class Pair(NamedTuple):
    """A tape that leaves a trail, its adjoint (if anything needs it), and the trail's width."""

    ahead: Tape
    back: Tape | None
    width: int


@dataclass(frozen=True)
class Sweep:
    """A program and its way back."""

    program: Program
    by: tuple[str, ...]
    of: tuple[str, ...]
    active: tuple[str, ...]  # the names that have an adjoint
    pairs: dict[int, Pair]  # by the identity of the program's tapes

    def width(self, part: Part) -> int:
        """Numbers in the trail that a part leaves."""
        if isinstance(part, Loop):
            return len(part.rows) * sum(map(self.width, part.body))
        return self.pairs[id(part)].width

    @property
    def widths(self) -> tuple[int, int, int]:
        """The same of all that is run first, in a step, and last."""
        p = self.program
        first, each, last = (sum(map(self.width, parts)) for parts in (p.first, p.each, p.last))
        return first, each, last


def segments(
    steps: int, widths: Sequence[int], values: int, slot: int, budget: int
) -> tuple[int, int]:
    """How many steps a segment has, and the bytes of all trails and checkpoints.

    ``widths`` are those of the trails of what is run first, in a step, and last, ``values`` that of
    a checkpoint, all in slots of so many bytes; ``budget`` is for the steps' trails, in bytes.
    Segments are not so short that checkpoints need more memory than the trail.
    """
    first, each, last = (width * slot for width in widths)
    checkpoint = values * slot
    fewest = isqrt(steps * checkpoint // max(each, 1))
    segment = max(1, min(steps, max(fewest, budget // max(each, 1))))
    return segment, first + last + segment * each + -(-steps // segment) * checkpoint


def rows_of(program: Program, name: str, steps: int) -> int:
    """Of how many steps a table or series has gradients."""
    return max(steps + reads(program.last, name), reads(program.first, name))


def order(program: Program, by: Sequence[str], of: Sequence[str]) -> list[tuple[str, str, int]]:
    """What memory a sweep reads and writes: its purpose, a name, and how many axes it has."""
    stepwise = {**program.tables, **program.series}
    return [
        *(("input", x, 2) for x in program.inputs),
        *(("series", x, 3) for x in program.series),
        *(("seed", y, 2) for y in of),
        *(("output", y, 2) for y in program.outputs),
        *(("gradient", x, 3 if x in stepwise else 2) for x in by),
    ]


def swept(program: Program, by: Collection[str], of: Collection[str], fuse: bool) -> Sweep:
    """The sweep for derivatives of outputs ``of`` with respect to ``by``."""
    check(program, by, program.outputs, of)
    active = active_names(program, by, of) | set(by) | set(of)
    later = _written((*program.each, *program.last))
    ever = later | _written(program.first)
    starting = {id(tape) for tape in tapes(program.first)}
    pairs: dict[int, Pair] = {}
    for tape in tapes((*program.first, *program.each, *program.last)):
        if id(tape) in pairs:
            continue
        changed = ever if id(tape) in starting else later
        ahead, back, width = _pair(tape, active, changed)
        if fuse:
            ahead, back = fused(ahead), back and fused(back)
        pairs[id(tape)] = Pair(ahead, back, width)
    named = tuple(name for name in program.widths if name in active)
    return Sweep(program, tuple(by), tuple(of), named, pairs)


def _written(parts: Sequence[Part]) -> set[str]:
    return {name for tape in tapes(parts) for name in tape.outputs}


def _pair(tape: Tape, active: set[str], changed: set[str]) -> Pair:
    """The tape and its adjoint, with a trail between them. What may have ``changed`` when the
    adjoint is computed is left in the trail, and so is what is expensive."""
    if not active.intersection(tape.outputs):
        return Pair(tape, None, 0)
    back = adjoint(tape, active, active)
    names, trail = list(tape.inputs), len(back.inputs)
    own = {step: place for place, step in enumerate(tape.steps)}
    same: dict[int, int] = {}  # places of the adjoint's steps that are the tape's, and there
    steps: list[Step] = []
    for k, step in enumerate(back.steps):
        place = own.get(step.moved(same)) if all(p in same for p in step.operands) else None
        if place is not None:
            same[k] = place
            if names[step.a] in changed if step.op == "input" else step.op not in _CHEAP | LEAVES:
                step = Step("input", trail, place)
        steps.append(step)
    kept, results = reachable(steps, back.results)
    left = sorted({step.b for step in kept if step.op == "input" and step.a == trail})
    moved = tuple(
        Step("input", trail, left.index(step.b)) if step.op == "input" and step.a == trail else step
        for step in kept
    )
    width = {TRAIL: (len(left),)}
    ahead = Tape(tape.inputs, {**tape.outputs, **width}, tape.steps, (*tape.results, tuple(left)))
    return Pair(ahead, Tape({**back.inputs, **width}, back.outputs, moved, results), len(left))
