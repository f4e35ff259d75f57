"""From a tape to LLVM IR: straight-line code over lanes, one state a lane.

``body`` computes ``lanes`` states whose rows lie one after another in memory, as
users have them, (N, n) in C order; rows are turned into lanes, four by four, in
registers. A long tape is cut into several functions (`appell.compile.plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

from appell.compile.elementary import routine
from appell.compile.emit.emitter import Emitter
from appell.compile.emit.entry import emit_call
from appell.compile.emit.gufunc_loop import emit_loop
from appell.compile.instructions import Lines, function, literal, several
from appell.compile.lower import REALS, Real
from appell.compile.plan import Plan, Window
from appell.compile.tape import Tape

INLINE = 4000  # steps of all copies of a routine; beyond, it is called
METADATA = """\
!0 = !{!"branch_weights", i32 1, i32 10000}
!1 = !{}
!2 = !{i32 1}"""


def emit(tape: Tape, dtype: str, lanes: int) -> str:
    """The module's text; it defines ``loop`` and, where there is one result, ``call``."""
    real = REALS[dtype]
    return "\n".join(
        [
            module_text(Body(tape, real, lanes, Plan(tape))),
            emit_loop(tape, real, lanes),
            emit_call(tape, real, lanes),
        ]
    )


def emit_function(
    tape: Tape, dtype: str, name: str, constants: Mapping[str, Any], length: int
) -> str:
    """The text of a module with a C function of this name, for one state, cut into functions of
    that length, and arrays of constants."""
    real = REALS[dtype]
    pointers = [f"%i{k}" for k in range(len(tape.inputs))]
    pointers += [f"%o{k}" for k in range(len(tape.outputs))]
    listed = ", ".join(f"ptr {x}" for x in pointers)
    parts = [
        module_text(Body(tape, real, 1, Plan(tape, length))),
        f"define void @{name}({listed}) nounwind {{\n  call void @body({listed})\n  ret void\n}}",
    ]
    for label, values in constants.items():
        numbers = ", ".join(f"{real.name} {literal(real, x)}" for x in values)
        kind = f"[{len(values)} x {real.name}]"
        parts.append(f"@{label} = constant {kind} [{numbers}], align {real.size}")
    return "\n".join(parts)


def module_text(body: Body) -> str:
    """The text of a body and of the routines that it calls."""
    text = body.text()
    routines = [function(op, body.real, body.lanes) for op in sorted(body.called)]
    return "\n".join([text, *routines, METADATA])


class Body(Lines, Emitter):
    """Writes the function ``body``."""

    def __init__(self, tape: Tape, real: Real, lanes: int, plan: Plan) -> None:
        Lines.__init__(self, real, lanes)
        Emitter.__init__(self, tape, plan)
        self.align = lanes * real.size
        self.constants: dict[float, int] = {}
        self.called: set[str] = set()
        self.loaded: dict[tuple[int, int], str] = {}

    def text(self) -> str:
        operands = [f"ptr noalias readonly %i{k}" for k in range(len(self.tape.inputs))]
        operands += [f"ptr noalias %o{k}" for k in range(len(self.tape.outputs))]
        signature = ", ".join(operands)
        if len(self.plan.parts) == 1:
            whole = self.part(0, f"@body({signature})")
            return "\n".join([self.pool(), *whole])
        parts = [
            "\n".join(self.part(k, f"@body{k}({signature}, ptr %kept)"))
            for k in range(len(self.plan.parts))
        ]
        arguments = ", ".join("ptr " + operand.split()[-1] for operand in operands)
        return "\n".join(
            [
                self.pool(),
                *parts,
                f"define internal void @body({signature}) noinline nounwind {{",
                f"  %kept = alloca [{self.plan.room} x {self.vector}], align {self.align}",
                *(f"  call void @body{k}({arguments}, ptr %kept)" for k in range(len(parts))),
                "  ret void\n}",
            ]
        )

    def part(self, number: int, signature: str) -> list[str]:
        self.loaded.clear()
        self.block, self.branches = "entry", 0
        self.lines = [f"define internal void {signature} noinline nounwind {{", "entry:"]
        self.walk(number)
        return [*self.lines, "  ret void\n}"]

    def constant(self, x: float) -> str:
        """A constant in all lanes, read from memory where it is used: the instruction that uses
        it reads it, too."""
        number = self.constants.setdefault(x, len(self.constants))
        where = f"@body.constant{number}, align {self.align}"
        return self.new(f"load {self.vector}, ptr {where}, !invariant.load !1")

    def pool(self) -> str:
        """The constants, once each."""
        return "\n".join(
            f"@body.constant{number} = internal constant {self.vector} "
            f"{Lines.constant(self, x)}, align {self.align}"
            for x, number in self.constants.items()
        )

    def run(self, op: str, many: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """The results of a routine for several operands, interleaved: in one alone every
        instruction waits for the one before."""
        of = routine(op, self.real)
        if self.tape.counts[op] * len(of.steps) > INLINE:
            return super().run(op, many)
        results: list[Sequence[str]] = []
        chains, start = [], len(self.lines)
        for operands in many:
            results.append(self.replay(of, operands))
            chains.append(self.lines[start:])
            del self.lines[start:]
        self.lines += chain.from_iterable(zip(*chains, strict=True))
        return results

    def call(self, op: str, operands: Sequence[str]) -> list[str]:
        self.called.add(op)
        of, V = routine(op, self.real), self.vector
        kind = several(V, len(of.results))
        listed = ", ".join(f"{V} {x}" for x in operands)
        all_of_them = self.new(f"call {kind} @{of.name}({listed})")
        return [self.new(f"extractvalue {kind} {all_of_them}, {k}") for k in range(len(of.results))]

    def rare(
        self, condition: str, usual: Sequence[str], mend: Callable[[], Sequence[str]]
    ) -> list[str]:
        bits = self.new(f"bitcast <{self.lanes} x i1> {condition} to i{self.lanes}")
        some = self.new(f"icmp ne i{self.lanes} {bits}, 0")
        there, before = f"rare{self.branches}", self.block
        self.block = f"usual{self.branches}"
        self.branches += 1
        self.lines.append(f"  br i1 {some}, label %{there}, label %{self.block}, !prof !0")
        self.lines.append(f"{there}:")
        mended = mend()
        self.lines.append(f"  br label %{self.block}")
        self.lines.append(f"{self.block}:")
        return [
            self.new(f"phi {self.vector} [{x}, %{before}], [{y}, %{there}]")
            for x, y in zip(usual, mended, strict=True)
        ]

    def keep(self, place: int) -> None:
        self.lines.append(
            f"  store {self.vector} {self.names[place]}, {self.slot(place)}, align {self.align}"
        )

    def kept(self, place: int) -> str:
        return self.new(f"load {self.vector}, {self.slot(place)}, align {self.align}")

    def slot(self, place: int) -> str:
        """Where a value is kept: a pointer with its type."""
        return f"ptr {self.at('%kept', self.plan.slots[place] * self.lanes)}"

    def input(self, operand: int, element: int) -> str:
        """One element of a row, over the lanes; its neighbours are loaded with it."""
        if (operand, element) not in self.loaded:
            width = prod(list(self.tape.inputs.values())[operand])
            if self.lanes == 1:
                self.load_one(operand, element)
            elif width < 4:
                self.load_narrow(operand, width)
            else:
                self.load_window(operand, width, min(element // 4 * 4, width - 4))
        return self.loaded[operand, element]

    def load_one(self, operand: int, element: int) -> None:
        at = self.at(f"%i{operand}", element)
        self.loaded[operand, element] = self.new(
            f"load {self.vector}, ptr {at}, align {self.real.size}"
        )

    def load_narrow(self, operand: int, width: int) -> None:
        n = self.lanes * width
        whole = self.new(f"load <{n} x {self.real.name}>, ptr %i{operand}, align {self.real.size}")
        for j in range(width):
            picked = range(j, n, width)
            self.loaded[operand, j] = self.shuffle(n, whole, whole, picked) if width > 1 else whole

    def load_window(self, operand: int, width: int, first: int) -> None:
        """Four columns of all lanes: four rows at a time are transposed and put together."""
        four = f"<4 x {self.real.name}>"
        columns: list[list[str]] = [[], [], [], []]
        for group in range(0, self.lanes, 4):
            rows = []
            for lane in range(group, group + 4):
                at = self.at(f"%i{operand}", lane * width + first)
                rows.append(self.new(f"load {four}, ptr {at}, align {self.real.size}"))
            for column, x in zip(columns, self.transposed(rows), strict=True):
                column.append(x)
        for j, column in enumerate(columns):
            self.loaded.setdefault((operand, first + j), self.joined(column))

    def store(self, window: Window) -> None:
        """Up to four elements of an output's rows, from their values over the lanes."""
        operand, width, first, places = window
        T, size = self.real.name, self.real.size
        values = [self.value(place) for place in places]
        if width == 1:
            self.lines.append(f"  store {self.vector} {values[0]}, ptr %o{operand}, align {size}")
            return
        if width < 4 or self.lanes == 1:
            for lane in range(self.lanes):
                for j, x in enumerate(values):
                    at = self.at(f"%o{operand}", lane * width + first + j)
                    one = self.new(f"extractelement {self.vector} {x}, i32 {lane}")
                    self.lines.append(f"  store {T} {one}, ptr {at}, align {size}")
            return
        for group in range(0, self.lanes, 4):
            quarter = [self.shuffle(self.lanes, x, x, range(group, group + 4)) for x in values]
            for lane, row in enumerate(self.transposed(quarter), start=group):
                at = self.at(f"%o{operand}", lane * width + first)
                self.lines.append(f"  store <4 x {T}> {row}, ptr {at}, align {size}")

    def at(self, pointer: str, elements: int) -> str:
        if elements == 0:
            return pointer
        kind, distance = self.pointer_type(pointer), elements * self.real.size
        return self.new(f"getelementptr i8, {kind} {pointer}, i64 {distance}")

    def pointer_type(self, pointer: str) -> str:
        return "ptr"

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Four vectors of four, rows for columns."""
        a, b, c, d = rows
        low, high = (0, 4, 2, 6), (1, 5, 3, 7)
        ab, AB = self.shuffle(4, a, b, low), self.shuffle(4, a, b, high)
        cd, CD = self.shuffle(4, c, d, low), self.shuffle(4, c, d, high)
        first, last = (0, 1, 4, 5), (2, 3, 6, 7)
        return [
            self.shuffle(4, ab, cd, first),
            self.shuffle(4, AB, CD, first),
            self.shuffle(4, ab, cd, last),
            self.shuffle(4, AB, CD, last),
        ]

    def joined(self, parts: list[str]) -> str:
        width = 4
        while len(parts) > 1:
            parts = [
                self.shuffle(width, x, y, range(2 * width))
                for x, y in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        return parts[0]

    def shuffle(self, width: int, x: str, y: str, indices: Iterable[int]) -> str:
        mask = list(indices)
        kind = f"<{width} x {self.real.name}>"
        chosen = ", ".join(f"i32 {i}" for i in mask)
        return self.new(f"shufflevector {kind} {x}, {kind} {y}, <{len(mask)} x i32> <{chosen}>")
