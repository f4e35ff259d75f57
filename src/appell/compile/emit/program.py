"""A program in LLVM IR: its tapes as functions over a frame of values, and the loops around them.

The frame holds every value of a run that has a name, over lanes, and what one function leaves for
the next. ``loop`` takes one argument, an array of whole numbers: first those of HEAD, then for
each input a pointer and the bytes from one run to the next, for each series and each kept variable
the bytes from one step to the next besides, and for each output as for an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import ClassVar, NamedTuple

from appell.compile.emit.llvm import METADATA, Body
from appell.compile.emit.memory import PROCESSOR, Memory, copies
from appell.compile.instructions import function, literal
from appell.compile.lower import REALS, Real
from appell.compile.plan import Plan, Window
from appell.compile.program import TURN, Loop, Part, Program, tapes
from appell.compile.tape import LEAVES, Tape

HEAD = ("first", "end", "steps", "every", "table")  # what the argument begins with


class Frame(NamedTuple):
    """Where values are: slots of the frame, numbers of a table's row."""

    slots: dict[str, int]
    columns: dict[str, int]
    room: int  # where the slots end


def framed(program: Program) -> Frame:
    """Places for all values that have a name."""
    slots, columns, end = {}, {}, 0
    for name in program.variables:
        slots[name], end = end, end + program.widths[name]
    column = 0
    for name, width in program.tables.items():
        columns[name], column = column, column + width
    return Frame(slots, columns, end)


def emit_program(program: Program, dtype: str, lanes: int) -> str:
    """The module's text; it defines ``loop``."""
    real, frame = REALS[dtype], framed(program)
    constants: dict[float, int] = {}
    blocks: dict[int, Block] = {}
    for tape in tapes((*program.first, *program.each, *program.last)):
        if id(tape) not in blocks:
            blocks[id(tape)] = Block(tape, real, lanes, frame, constants, f"block{len(blocks)}")
    texts = [block.text() for block in blocks.values()]
    called = sorted(set().union(*(block.called for block in blocks.values())))
    room = frame.room + max((block.plan.room for block in blocks.values()), default=0)
    any_block = next(iter(blocks.values()))
    return "\n".join(
        [
            any_block.pool(),
            *texts,
            *(function(op, real, lanes) for op in called),
            copies(real, lanes),
            Main(program, real, lanes, frame, room, {k: b.name for k, b in blocks.items()}).text(),
            METADATA,
        ]
    )


class Block(Body):
    """Writes a tape as functions of the frame, a table's row and a loop's row."""

    pointers: ClassVar[tuple[str, ...]] = ("%frame", "%row", "%turn")
    memory: ClassVar[Memory] = PROCESSOR
    length: ClassVar[int | None] = None  # steps of a function at most, if not a processor's

    def __init__(
        self,
        tape: Tape,
        real: Real,
        lanes: int,
        frame: Frame,
        constants: dict[float, int],
        name: str,
    ) -> None:
        self.early = _early(tape)
        super().__init__(tape, real, lanes, self.planned(tape))
        self.frame, self.constants, self.name = frame, constants, name
        self.read, self.written = list(tape.inputs), list(tape.outputs)

    def planned(self, tape: Tape) -> Plan:
        return Plan(tape, self.length, windows=2**31, stored=self.early)

    def pointer_type(self, pointer: str) -> str:
        return self.memory.frame if pointer == "%frame" else self.memory.arrays

    def text(self) -> str:
        kinds = {x: self.pointer_type(x) for x in self.pointers}
        operands = "(" + ", ".join(f"{kind} noalias {x}" for x, kind in kinds.items()) + ")"
        count = len(self.plan.parts)
        if count == 1:
            return "\n".join(self.part(0, f"@{self.name}{operands}"))
        parts = ["\n".join(self.part(k, f"@{self.name}.{k}{operands}")) for k in range(count)]
        passed = "(" + ", ".join(f"{kind} {x}" for x, kind in kinds.items()) + ")"
        calls = [f"  call void @{self.name}.{k}{passed}" for k in range(count)]
        head = f"define internal void @{self.name}{operands} nounwind {{"
        return "\n".join([*parts, head, *calls, "  ret void\n}"])

    def unread(self) -> list[tuple[int, int]]:
        return []

    def input(self, operand: int, element: int) -> str:
        """A number, in all lanes where it is the same for all."""
        if (operand, element) not in self.loaded:
            name = self.read[operand]
            self.loaded[operand, element] = (
                self.spread("%turn", element)
                if name == TURN
                else self.spread("%row", self.frame.columns[name] + element)
                if name in self.frame.columns
                else self.read_slot(name, element)
            )
        return self.loaded[operand, element]

    def spread(self, pointer: str, element: int) -> str:
        T, V = self.real.name, self.vector
        at = f"{self.pointer_type(pointer)} {self.at(pointer, element)}"
        one = self.new(f"load {T}, {at}, align {self.real.size}{self.memory.fixed}")
        first = self.new(f"insertelement {V} poison, {T} {one}, i32 0")
        return self.new(
            f"shufflevector {V} {first}, {V} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def read_slot(self, name: str, element: int) -> str:
        return self.new(f"load {self.vector}, {self.place(name, element)}, align {self.align}")

    def place(self, name: str, element: int) -> str:
        """Where a number of the frame is: a pointer with its type."""
        return self.in_frame(self.frame.slots[name] + element)

    def in_frame(self, slot: int) -> str:
        return f"{self.memory.frame} {self.at('%frame', slot * self.lanes)}"

    def step(self, place: int) -> None:
        super().step(place)
        for name, element in self.early.get(place, ()):
            self.write(name, element, self.names[place])

    def finish(self, windows: Sequence[Window]) -> None:
        """All results are there before the first one is written: it may replace what was read."""
        results = [
            (self.written[window.operand], k, self.value(place))
            for window in windows
            for k, place in enumerate(window.places, start=window.first)
            if place not in self.early
        ]
        for name, element, x in results:
            self.write(name, element, x)

    def write(self, name: str, element: int, x: str) -> None:
        at = self.place(name, element)
        self.lines.append(f"  store {self.vector} {x}, {at}, align {self.align}")

    def slot(self, place: int) -> str:
        return self.in_frame(self.frame.room + self.plan.slots[place])


def _early(tape: Tape) -> dict[int, list[tuple[str, int]]]:
    """The results that replace nothing which other steps read, and where they are written: that
    can be done as soon as they are computed."""
    read = {(list(tape.inputs)[s.a], s.b): k for k, s in enumerate(tape.steps) if s.op == "input"}
    users: dict[int, set[int]] = {}
    for place, step in enumerate(tape.steps):
        for used in step.operands:
            users.setdefault(used, set()).add(place)
    found: dict[int, list[tuple[str, int]]] = {}
    for name, row in zip(tape.outputs, tape.results, strict=True):
        for element, place in enumerate(row):
            found.setdefault(place, []).append((name, element))
    results = set().union(*tape.results)

    def safe(place: int, slot: tuple[str, int]) -> bool:
        old = read.get(slot)
        return old is None or (old not in results and users.get(old, set()) <= {place})

    return {
        place: slots
        for place, slots in found.items()
        if tape.steps[place].op not in LEAVES and all(safe(place, slot) for slot in slots)
    }


class Main:
    """Writes ``loop``: groups of runs, steps, and what is done in each."""

    memory: ClassVar[Memory] = PROCESSOR

    def __init__(
        self,
        program: Program,
        real: Real,
        lanes: int,
        frame: Frame,
        room: int,
        names: dict[int, str],
    ) -> None:
        self.program, self.real, self.lanes = program, real, lanes
        self.widths = dict(program.widths)
        self.frame, self.room, self.names = frame, room, names
        self.lines: list[str] = []
        self.globals: list[str] = []
        self.fresh = count()

    def text(self) -> str:
        p, add = self.program, self.lines.append
        V = f"<{self.lanes} x {self.real.name}>"
        add("define void @loop(ptr %args) {")
        add("entry:")
        add(f"  %frame = alloca [{self.room} x {V}], align 64")
        add(f"  %index = alloca [{self.lanes} x i64], align 64")
        numbers = iter(count())
        given = {name: self.argument(next(numbers)) for name in HEAD}
        ways = {
            ("in", name): (self.argument(next(numbers)), self.argument(next(numbers)))
            for name in p.inputs
        }
        longer = [("each", name) for name in p.series] + [("kept", name) for name in p.kept]
        further = {key: tuple(self.argument(next(numbers)) for _ in range(3)) for key in longer}
        results = {
            name: (self.argument(next(numbers)), self.argument(next(numbers))) for name in p.outputs
        }
        several = (*ways.values(), *further.values(), *results.values())
        pointers = {x: self.pointer(x) for x in (given["table"], *(way[0] for way in several))}
        add(f"  %last = sub i64 {given['end']}, 1")
        add("  br label %group")
        add("group:")
        add(f"  %g = phi i64 [{given['first']}, %entry], [%g.next, %group.end]")
        self.index("%g", "%last")
        for (_, name), (where, stride) in ways.items():
            self.copy("gather", name, pointers[where], stride)
        self.parts(p.first, pointers[given["table"]])
        for name in p.kept:
            where, stride, _ = further["kept", name]
            self.copy("scatter", name, pointers[where], stride)
        add(f"  %some = icmp sgt i64 {given['steps']}, 0")
        add("  br label %before")
        add("before:")
        add("  br i1 %some, label %step, label %after")
        add("step:")
        add("  %k = phi i64 [0, %before], [%k.next, %step.end]")
        width = sum(p.tables.values()) * self.real.size
        add(f"  %passed = mul i64 %k, {width}")
        add(f"  %row = getelementptr i8, ptr {pointers[given['table']]}, i64 %passed")
        add("  %k.next = add i64 %k, 1")
        for name in p.series:
            where, stride, step = further["each", name]
            self.copy("gather", name, self.moved(pointers[where], "%k", step), stride)
        self.parts(p.each, "%row")
        if p.kept:
            add(f"  %over = srem i64 %k.next, {given['every']}")
            add("  %due = icmp eq i64 %over, 0")
            add("  br i1 %due, label %keep, label %step.end")
            add("keep:")
            add(f"  %number = sdiv i64 %k.next, {given['every']}")
            for name in p.kept:
                where, stride, step = further["kept", name]
                self.copy("scatter", name, self.moved(pointers[where], "%number", step), stride)
        add("  br label %step.end")
        add("step.end:")
        add(f"  %more = icmp slt i64 %k.next, {given['steps']}")
        add("  br i1 %more, label %step, label %after")
        add("after:")
        end = self.new(f"mul i64 {given['steps']}, {width}")
        end = self.new(f"getelementptr i8, ptr {pointers[given['table']]}, i64 {end}")
        self.parts(p.last, end)
        for name, (where, stride) in results.items():
            self.copy("scatter", name, pointers[where], stride)
        add("  br label %group.end")
        add("group.end:")
        add(f"  %g.next = add i64 %g, {self.lanes}")
        add(f"  %go = icmp slt i64 %g.next, {given['end']}")
        add("  br i1 %go, label %group, label %exit")
        add("exit:\n  ret void\n}")
        return "\n".join([*self.globals, *self.lines])

    def index(self, first: str, last: str) -> None:
        """The numbers of the runs in the lanes, from the first one; beyond the last one, that."""
        for lane in range(self.lanes):
            number = self.new(f"add i64 {first}, {lane}")
            past = self.new(f"icmp sgt i64 {number}, {last}")
            run = self.new(f"select i1 {past}, i64 {last}, i64 {number}")
            at = self.new(f"getelementptr i64, {self.memory.frame} %index, i64 {lane}")
            self.lines.append(f"  store i64 {run}, {self.memory.frame} {at}")

    def new(self, expression: str) -> str:
        name = f"%y{next(self.fresh)}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def argument(self, number: int) -> str:
        at = self.new(f"getelementptr i64, {self.memory.arrays} %args, i64 {number}")
        return self.new(f"load i64, {self.memory.arrays} {at}{self.memory.fixed}")

    def pointer(self, x: str) -> str:
        return self.new(f"inttoptr i64 {x} to {self.memory.arrays}")

    def moved(self, pointer: str, by: str, stride: str) -> str:
        return self.further(pointer, self.new(f"mul i64 {by}, {stride}"))

    def further(self, pointer: str, distance: str | int) -> str:
        return self.new(f"getelementptr i8, {self.memory.arrays} {pointer}, i64 {distance}")

    def slot(self, name: str) -> str:
        offset = self.frame.slots[name] * self.lanes * self.real.size
        return self.new(f"getelementptr i8, {self.memory.frame} %frame, i64 {offset}")

    def copy(self, way: str, name: str, pointer: str, stride: str) -> None:
        width, (frame, arrays, *_) = self.widths[name], self.memory
        if width:
            self.lines.append(
                f"  call void @{way}({frame} {self.slot(name)}, {arrays} {pointer}, i64 {stride}, "
                f"i64 {width}, {frame} %index)"
            )

    def parts(self, parts: Sequence[Part], row: str, turn: str = "%frame") -> None:
        """Call functions, in loops where there are some."""
        for part in parts:
            if isinstance(part, Tape):
                name = self.names[id(part)]
                self.lines.append(f"  call void @{name}(ptr %frame, ptr {row}, ptr {turn})")
            else:
                self.loop(part, row)

    def loop(self, loop: Loop, row: str) -> None:
        rows, width = self.rows(loop)
        with self.counted(str(len(loop.rows))) as i:
            self.parts(loop.body, row, self.moved(rows, i, width))

    def rows(self, loop: Loop) -> tuple[str, str]:
        """The name of a loop's numbers in memory, and the bytes from one row to the next."""
        T, name = self.real.name, f"@rows{next(self.fresh)}"
        flat = [literal(self.real, x) for r in loop.rows for x in r] or [literal(self.real, 0.0)]
        listed = ", ".join(f"{T} {x}" for x in flat)
        kind = f"internal {self.memory.section}constant"
        self.globals.append(f"{name} = {kind} [{len(flat)} x {T}] [{listed}], align 64")
        return name, str(len(loop.rows[0]) * self.real.size)

    @contextmanager
    def counted(self, times: str) -> Iterator[str]:
        """What is written meanwhile is done so many times; gives the name of the number."""
        number, add = next(self.fresh), self.lines.append
        here = f"%i{number}"
        add(f"  br label %enter{number}")
        add(f"enter{number}:")
        add(f"  {here}.some = icmp sgt i64 {times}, 0")
        add(f"  br i1 {here}.some, label %turn{number}, label %done{number}")
        add(f"turn{number}:")
        add(f"  {here} = phi i64 [0, %enter{number}], [{here}.next, %turned{number}]")
        yield here
        add(f"  br label %turned{number}")
        add(f"turned{number}:")
        add(f"  {here}.next = add i64 {here}, 1")
        add(f"  {here}.more = icmp slt i64 {here}.next, {times}")
        add(f"  br i1 {here}.more, label %turn{number}, label %done{number}")
        add(f"done{number}:")
