"""A program: tapes that are run one after another, some many times, on values that they share.

A tape alone is a straight line. A simulation needs a loop over time, and in it one over the stages
of a step; a program has both. Its values have names. A tape reads and writes some of them: its
inputs and outputs have their names. What a name stands for, the program says:

- an *input* is given for each run, and stays;
- a *table* is given for each step, the same for all runs; a *series* for each step of each run;
- the ``turn`` of a loop is a row of numbers that the loop was written with;
- any other name is a *variable*, which is what was last written to it.

Many runs are computed at a time, each as if it were alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from appell.compile.tape import LEAVES, Step, Tape, reachable
from appell.compile.trace import flat, replayed, trace

TURN = "turn"


@dataclass(frozen=True)
class Loop:
    """Tapes and loops that are run once for each row of numbers, which they see as ``turn``."""

    rows: tuple[tuple[float, ...], ...]
    body: tuple[Tape | Loop, ...]


Part = Tape | Loop


@dataclass(frozen=True)
class Program:
    """What is run ``first``, in ``each`` step, and ``last``."""

    inputs: Mapping[str, int]
    tables: Mapping[str, int]
    series: Mapping[str, int]
    first: tuple[Part, ...]
    each: tuple[Part, ...]
    last: tuple[Part, ...] = ()
    kept: tuple[str, ...] = ()  # variables that are written down every so many steps
    outputs: tuple[str, ...] = ()  # variables that are the result
    widths: Mapping[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        widths = {**self.inputs, **self.tables, **self.series}
        for tape in tapes((*self.first, *self.each, *self.last)):
            for name, shape in (*tape.inputs.items(), *tape.outputs.items()):
                if name != TURN and widths.setdefault(name, prod(shape)) != prod(shape):
                    raise ValueError(f"{name} has {widths[name]} numbers and {prod(shape)}")
        object.__setattr__(self, "widths", widths)
        self._refuse_unwritten()

    def _refuse_unwritten(self) -> None:
        """No tape reads what none has written: it would be what memory happened to hold."""
        known = {TURN, *self.inputs, *self.tables, *self.series}

        def follow(parts: Sequence[Part]) -> None:
            for tape in tapes(parts):
                unknown = set(tape.inputs) - known
                if unknown:
                    raise ValueError(f"{', '.join(sorted(unknown))} is read before it is written")
                known.update(tape.outputs)

        follow(self.first)
        missing = set(self.kept) - known
        follow(self.each)
        follow(self.last)
        missing |= set(self.outputs) - known
        if missing:
            raise ValueError(f"{', '.join(sorted(missing))} is kept before it is written")

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of values that tapes write, and of inputs and series, which are read often."""
        return tuple(name for name in self.widths if name not in self.tables)

    def __len__(self) -> int:
        """Operations of a step."""
        return sum(_length(part) for part in self.each)


def _length(part: Part) -> int:
    if isinstance(part, Tape):
        return len(part)
    return len(part.rows) * sum(map(_length, part.body))


def tapes(parts: Sequence[Part]) -> Iterator[Tape]:
    """All of them, those in loops too."""
    for part in parts:
        if isinstance(part, Tape):
            yield part
        else:
            yield from tapes(part.body)


def mapped(parts: Sequence[Part], change: Any) -> tuple[Part, ...]:
    """The same with ``change(tape)`` for each tape."""
    return tuple(
        change(part) if isinstance(part, Tape) else replace(part, body=mapped(part.body, change))
        for part in parts
    )


def fitted(program: Program, change: Any) -> Program:
    """The program with ``change(tape)`` for each of its tapes."""
    first, each, last = (mapped(x, change) for x in (program.first, program.each, program.last))
    return replace(program, first=first, each=each, last=last)


LONGEST = 800  # steps of tapes that are joined: as many as one function computes


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The same parts, neighbouring tapes as one where that is short."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Loop):
            found.append(replace(part, body=joined(part.body)))
        elif found and isinstance(found[-1], Tape) and len(found[-1]) + len(part) < LONGEST:
            found[-1] = _after(found[-1], part)
        else:
            found.append(part)
    return tuple(found)


def _after(first: Tape, second: Tape) -> Tape:
    """One tape for two, the second of which reads what the first has written."""
    names = list(dict.fromkeys([*first.inputs, *second.inputs]))
    shapes = {**first.inputs, **second.inputs}
    outputs = {**first.outputs, **second.outputs}

    def both(*arguments: Any) -> list[Any]:
        known = dict(
            zip(
                names,
                (flat(x, shapes[n]) for n, x in zip(names, arguments, strict=True)),
                strict=True,
            )
        )
        for tape in (first, second):
            made = replayed(tape, *(known[name] for name in tape.inputs))
            known |= dict(zip(tape.outputs, made, strict=True))
        return [known[name] for name in outputs]

    flattened = {name: (prod(shape),) for name, shape in outputs.items()}
    one = trace(both if len(outputs) > 1 else lambda *x: both(*x)[0], shapes, flattened)
    return _read(Tape(one.inputs, outputs, one.steps, one.results))


def hoisted(program: Program) -> Program:
    """The program in which nothing is computed in a step that is the same in all of them."""
    written = {name for tape in tapes(program.each) for name in tape.outputs}
    before: list[Part] = []

    def change(tape: Tape) -> Tape:
        steady = [k for k, name in enumerate(tape.inputs) if name in program.inputs]
        steady = [k for k in steady if list(tape.inputs)[k] not in written]
        split = _split(tape, frozenset(steady), f"steady{len(before)}")
        if split is None:
            return tape
        before.append(split[0])
        return split[1]

    each = mapped(program.each, change)
    return replace(program, first=joined((*program.first, *before)), each=joined(each))


def _split(tape: Tape, steady: frozenset[int], name: str) -> tuple[Tape, Tape] | None:
    """A tape that computes, as an output of that name, what depends on these inputs alone, and the
    rest of the tape, which reads it; None if there is nothing such."""
    fixed: list[bool] = []
    for step in tape.steps:
        if step.op == "input":
            fixed.append(step.a in steady)
        else:
            fixed.append(all(fixed[p] for p in step.operands))
    wanted: dict[int, int] = {}

    def ask(place: int) -> None:
        if fixed[place] and tape.steps[place].op not in LEAVES:
            wanted.setdefault(place, len(wanted))

    for place, step in enumerate(tape.steps):
        if not fixed[place]:
            for used in step.operands:
                ask(used)
    for row in tape.results:
        for place in row:
            ask(place)
    if not wanted:
        return None
    steps, results = reachable(tape.steps, [list(wanted)])
    number, width = len(tape.inputs), (len(wanted),)
    first = Tape(dict(tape.inputs), {name: width}, steps, results)
    rest = [
        Step("input", number, wanted[k]) if k in wanted else step
        for k, step in enumerate(tape.steps)
    ]
    steps, kept = reachable(rest, tape.results)
    return _read(first), _read(Tape({**tape.inputs, name: width}, tape.outputs, steps, kept))


def _read(tape: Tape) -> Tape:
    """The tape without the inputs that it does not read."""
    used = {step.a for step in tape.steps if step.op == "input"}
    names = [name for k, name in enumerate(tape.inputs) if k in used]
    number = {list(tape.inputs).index(name): k for k, name in enumerate(names)}
    steps = tuple(Step("input", number[s.a], s.b) if s.op == "input" else s for s in tape.steps)
    return Tape({x: tape.inputs[x] for x in names}, tape.outputs, steps, tape.results)
