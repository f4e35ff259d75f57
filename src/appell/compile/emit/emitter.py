"""The part that all emitters share: it walks a tape in the order of its plan.

An emitter is a table of the operations that it knows, which has all primitives, and a few methods
that read, keep and write values in its language. An operation that is not in its table is a routine
(`appell.compile.elementary`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from appell.compile.elementary import ROUTINES
from appell.compile.emit.trigonometry import FAR
from appell.compile.lower import Real, Routine
from appell.compile.plan import Plan, Window
from appell.compile.tape import LEAVES, Tape

AT_ONCE = 6  # angles whose instructions are interleaved: measured to be fastest
Name = Any  # of a value, in the emitter's language
_TURNS = ("sin", "cos")


class Writer(ABC):
    """Writes primitive operations in a language."""

    table: ClassVar[Mapping[str, Any]]
    real: Real

    @abstractmethod
    def constant(self, x: float) -> Name: ...

    @abstractmethod
    def whole(self, x: int, kind: str) -> Name: ...

    @abstractmethod
    def line(self, op: str, kind: str, operands: Sequence[Name], once: bool = False) -> Name:
        """The result, of this kind, of an operation of the table; ``once`` if one other operation
        alone reads it."""

    def replay(self, of: Routine, operands: Sequence[Name]) -> list[Name]:
        """The results of a routine, whose steps are written one by one."""
        known: list[Name] = []
        for step, kind, once in zip(of.steps, of.kinds, of.once, strict=True):
            if step.op in LEAVES:
                known.append(operands[step.a] if step.op == "input" else None)
                continue
            read = [self._leaf(of, p) if known[p] is None else known[p] for p in step.operands]
            known.append(self.line(step.op, kind, read, once))
        return [known[p] for p in of.results]

    def _leaf(self, of: Routine, place: int) -> Name:
        op, a, _ = of.steps[place]
        return self.constant(a) if op == "constant" else self.whole(a, of.kinds[place])


class Emitter(Writer):
    """Writes a tape as functions, one per part of its plan."""

    def __init__(self, tape: Tape, plan: Plan) -> None:
        self.tape, self.plan = tape, plan
        self.names: dict[int, Name] = {}
        self.turned: dict[tuple[str, int], Name] = {}
        self.beside: dict[int, list[int]] = {}
        self.turns = {(step.op, step.a) for step in tape.steps if step.op in _TURNS}

    @abstractmethod
    def input(self, operand: int, element: int) -> Name: ...

    @abstractmethod
    def keep(self, place: int) -> None:
        """Store a value where another function finds it."""

    @abstractmethod
    def kept(self, place: int) -> Name: ...

    @abstractmethod
    def store(self, window: Window) -> None: ...

    @abstractmethod
    def call(self, op: str, operands: Sequence[Name]) -> Sequence[Name]:
        """The results of a routine that is called as a function."""

    @abstractmethod
    def rare(
        self, condition: Name, usual: Sequence[Name], mend: Callable[[], Sequence[Name]]
    ) -> Sequence[Name]:
        """The usual values, or those that ``mend`` computes if the condition holds in any lane."""

    def run(self, op: str, many: Sequence[Sequence[Name]]) -> list[Sequence[Name]]:
        """The results of a routine for some lists of operands."""
        return [self.call(op, operands) for operands in many]

    def unread(self) -> Sequence[tuple[int, int]]:
        """Inputs that no result depends on, and whose NaN is to be seen nevertheless."""
        return self.tape.unread()

    def walk(self, number: int) -> None:
        """Write one function; the first also computes the sines and cosines that need no others."""
        self.names.clear()
        self.turned.clear()
        if number == 0:
            for place in self.plan.before_angles:
                self.step(place)
            self.turn(self.plan.angles, self.unread())
        places, steps, operands = self.plan.parts[number], self.tape.steps, self.plan.operands
        self.beside = {
            a: [b]
            for a, b in pairwise(places)
            if steps[a].op in ROUTINES and steps[a].op == steps[b].op and a not in operands[b]
        }
        for place in places:
            self.step(place)
        self.finish(self.plan.windows[number])

    def finish(self, windows: Sequence[Window]) -> None:
        """Write results."""
        for window in windows:
            self.store(window)

    def value(self, place: int) -> Name:
        """The name of a step's value; one that another function computed is read from memory."""
        op, a, b = self.tape.steps[place]
        if op == "constant":
            return self.constant(a)
        if place not in self.names:
            self.names[place] = self.input(a, b) if op == "input" else self.kept(place)
        return self.names[place]

    def step(self, place: int) -> None:
        """Compute a value, and keep it if another function will ask for it. A routine is written
        together with the next one beside it."""
        op, a, _ = self.tape.steps[place]
        if place in self.names or op in LEAVES:
            return
        computed = [place]
        operands = self.plan.operands
        if op in self.table:
            self.names[place] = self.line(op, "r", [self.value(p) for p in operands[place]])
        elif op in _TURNS:
            if (op, a) not in self.turned:
                self.turn([a], [])
            self.names[place] = self.turned[op, a]
        else:
            computed += self.beside.get(place, ())
            many = [[self.value(p) for p in operands[k]] for k in computed]
            for k, (x,) in zip(computed, self.run(op, many), strict=True):
                self.names[k] = x
        for k in computed:
            if k in self.plan.slots:
                self.keep(k)

    def turn(self, angles: Sequence[int], unread: Sequence[tuple[int, int]]) -> None:
        """Write sine and cosine of each angle. Far ones are so few that one test for all is enough.
        NaN in an input that is not read spoils them all, so that it reaches the outputs as it
        would if the equation were computed in full."""
        if not angles:
            return
        values = [[self.value(a)] for a in angles]
        size = -(-len(angles) // -(-len(angles) // AT_ONCE))
        near: list[Sequence[Name]] = []
        for k in range(0, len(angles), size):
            near += self.run("sincos", values[k : k + size])
        sizes = [self.line("abs", "r", x, True) for x in values]
        limit = FAR[self.real.name]
        some, *others = [self.line("lt", "c", [self.constant(limit), x], True) for x in sizes]
        spoiled = self.spoiled(unread)
        for other in (*others, *spoiled[:1]):
            some = self.line("or", "c", [some, other], True)

        def mend() -> list[Name]:
            pairs = [self.call("far", [*x, *pair]) for x, pair in zip(values, near, strict=True)]
            mended = [pairs[k][j] for k, j in wanted]
            if not spoiled:
                return mended
            return [self.line("select", "r", [*spoiled, y], True) for y in mended]

        wanted = [
            (k, j) for k, a in enumerate(angles) for j in (0, 1) if (_TURNS[j], a) in self.turns
        ]
        results = self.rare(some, [near[k][j] for k, j in wanted], mend)
        for (k, j), x in zip(wanted, results, strict=True):
            self.turned[_TURNS[j], angles[k]] = x

    def spoiled(self, unread: Sequence[tuple[int, int]]) -> list[Name]:
        """A condition that holds if one of these inputs is NaN or infinite, and the NaN that it
        leads to; nothing without inputs."""
        zeros = [self.line("sub", "r", [x, x]) for x in (self.input(*place) for place in unread)]
        if not zeros:
            return []
        total, *others = zeros
        for x in others:
            total = self.line("add", "r", [total, x])
        is_number = self.line("eq", "c", [total, total], True)
        return [self.line("not", "c", [is_number]), total]
