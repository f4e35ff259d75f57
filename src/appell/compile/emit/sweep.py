"""A program and its way back in LLVM IR: values first, then adjoints, from the last step to the
first.

``ahead`` runs some steps, whose tapes leave a trail, and ``back`` the same ones backwards. If the
trail of all steps does not fit into the memory that is given, steps are taken in segments: the
frame is copied at the start of each (a checkpoint), and a segment is run again before its way back.

``loop`` takes one argument, an array of whole numbers: those of HEAD, then what ``order`` lists,
each as a pointer and the bytes from one run to the next; for values of each step the bytes from one
step to the next besides. The memory has, in this order, the trails of what is run first and last,
the steps' trails of one segment, and the checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

from appell.compile.differentiate import adjoint_of
from appell.compile.emit.llvm import METADATA
from appell.compile.emit.memory import copies, vectors
from appell.compile.emit.program import Block, Frame, Main, framed
from appell.compile.instructions import function
from appell.compile.lower import REALS, Real
from appell.compile.program import Loop, Part
from appell.compile.sweep import TRAIL, Sweep, order, reads
from appell.compile.tape import Tape

HEAD = ("first", "end", "steps", "segment", "table", "memory")


def emit_sweep(
    sweep: Sweep,
    dtype: str,
    lanes: int,
    block: type[SweepBlock] | None = None,
    main: type[SweepMain] | None = None,
) -> str:
    """The module's text; it defines ``loop``. Other classes write it for another target."""
    block, main = block or SweepBlock, main or SweepMain
    real, plain = REALS[dtype], framed(sweep.program)
    slots, end = dict(plain.slots), plain.room
    for name in sweep.active:
        slots[adjoint_of(name)], end = end, end + sweep.program.widths[name]
    frame = Frame(slots, plain.columns, end)
    constants: dict[float, int] = {}
    blocks: dict[tuple[bool, int], SweepBlock] = {}
    for key, (ahead, back, _) in sweep.pairs.items():
        for backwards, tape in ((False, ahead), (True, back)):
            if tape is not None:
                name = f"{'back' if backwards else 'ahead'}{len(blocks)}"
                blocks[backwards, key] = block(tape, real, lanes, frame, constants, name)
    texts = [one.text() for one in blocks.values()]
    called = sorted(set().union(*(one.called for one in blocks.values())))
    room = end + max((one.plan.room for one in blocks.values()), default=0)
    any_block = next(iter(blocks.values()))
    names = {key: one.name for key, one in blocks.items()}
    return "\n".join(
        [
            any_block.pool(),
            *texts,
            *(function(op, real, lanes) for op in called),
            copies(real, lanes, main.memory),
            vectors(real, lanes, main.memory),
            main(sweep, real, lanes, frame, room, plain.room, names).text(),
            METADATA,
        ]
    )


class SweepBlock(Block):
    """Writes a tape that also writes or reads the trail."""

    pointers = ("%frame", "%row", "%turn", "%trail")

    def place(self, name: str, element: int) -> str:
        if name == TRAIL:
            at = self.at("%trail", element * (self.memory.beside or self.lanes))
            return f"{self.memory.arrays} {at}"
        return super().place(name, element)


class SweepMain(Main):
    """Writes ``loop``, ``ahead`` and ``back``."""

    names_of_head: ClassVar[tuple[str, ...]] = HEAD

    def __init__(
        self,
        sweep: Sweep,
        real: Real,
        lanes: int,
        frame: Frame,
        room: int,
        values: int,
        names: dict[tuple[bool, int], str],
    ) -> None:
        super().__init__(sweep.program, real, lanes, frame, room, {})
        self.sweep, self.values, self.blocks = sweep, values, names
        self.widths |= {adjoint_of(x): sweep.program.widths[x] for x in sweep.active}
        self.slot_size = (self.memory.beside or lanes) * real.size  # of a trail
        self.stepwise = [x for x in sweep.by if x not in sweep.program.inputs]
        self.row_size = str(sum(sweep.program.tables.values()) * real.size)
        self.backwards = False
        self.numbers: dict[tuple[str, str], tuple[int, int]] = {}
        start = len(self.names_of_head)
        for what, name, count in order(sweep.program, sweep.by, sweep.of):
            self.numbers[what, name] = start, count
            start += count

    def text(self) -> str:
        self.segment("ahead", backwards=False)
        self.segment("back", backwards=True)
        self.main()
        return "\n".join([*self.globals, *self.lines])

    def segment(self, name: str, backwards: bool) -> None:
        """The function that runs the steps from one number to another."""
        self.backwards, p = backwards, self.program
        taken = self.segment_arguments("%trail", "%from", "%to")
        self.lines += [f"define internal void @{name}({taken}) noinline {{", "entry:"]
        steps = self.new("sub i64 %to, %from")
        table = self.pointer(self.head("table"))
        with self.counted(steps) as i:
            if backwards:
                i = self.downwards(i, steps)
            k = self.new(f"add i64 %from, {i}")
            row = self.moved(table, k, self.row_size)
            for x in p.series:
                self.move("gather", x, ("series", x), k)
            for x in self.stepwise if backwards else ():
                self.zero(adjoint_of(x), self.widths[adjoint_of(x)])
            trail = self.moved("%trail", i, str(self.sweep.widths[1] * self.slot_size))
            self.parts(p.each, row, trail=trail)
            for x in self.stepwise if backwards else ():
                self.move("scatter", adjoint_of(x), ("gradient", x), k)
        self.lines.append("  ret void\n}")

    def segment_arguments(self, trail: str, start: str, end: str) -> str:
        """What ``ahead`` and ``back`` are given, with types."""
        frame, arrays, *_ = self.memory
        named = f"{frame} %frame, {frame} %index, {arrays} %args, {arrays} {trail}"
        return f"{named}, i64 {start}, i64 {end}"

    def entry(self) -> tuple[str, str, str]:
        """Begin the function. Gives the first run, the number of runs to the next group, and the
        memory for trails and checkpoints."""
        self.lines += [
            "define void @loop(ptr %args) {",
            "entry:",
            f"  %frame = alloca [{self.room} x <{self.lanes} x {self.real.name}>], align 64",
            f"  %index = alloca [{self.lanes} x i64], align 64",
        ]
        return self.head("first"), str(self.lanes), self.pointer(self.head("memory"))

    def main(self) -> None:
        self.backwards, p, add = False, self.program, self.lines.append
        first, each, last = (width * self.slot_size for width in self.sweep.widths)
        frame, arrays, *_ = self.memory
        start, together, memory = self.entry()
        end, steps, length = (self.head(x) for x in ("end", "steps", "segment"))
        table = self.pointer(self.head("table"))
        end_row = self.moved(table, steps, self.row_size)
        ending = self.further(memory, first)
        trail = self.further(ending, last)
        segments = self.groups(steps, length)
        checkpoints = self.moved(trail, length, str(each))
        last_run = self.new(f"sub i64 {end}, 1")
        runs = self.new(f"sub i64 {end}, {start}")

        def run(name: str, s: str) -> None:
            from_ = self.new(f"mul i64 {s}, {length}")
            whole = self.new(f"add i64 {from_}, {length}")
            past = self.new(f"icmp sgt i64 {whole}, {steps}")
            to = self.new(f"select i1 {past}, i64 {steps}, i64 {whole}")
            add(f"  call void @{name}({self.segment_arguments(trail, from_, to)})")

        def checkpoint(s: str) -> str:
            return self.moved(checkpoints, s, str(self.values * self.slot_size))

        with self.counted(self.groups(runs, together)) as g:
            passed = self.new(f"mul i64 {g}, {together}")
            self.index(self.new(f"add i64 {start}, {passed}"), last_run)
            for x in p.inputs:
                self.move("gather", x, ("input", x))
            self.parts(p.first, table, trail=memory)
            with self.counted(segments) as s:
                to = f"{arrays} {checkpoint(s)}, {frame} %frame"
                add(f"  call void @saved({to}, i64 {self.values})")
                run("ahead", s)
            self.parts(p.last, end_row, trail=ending)
            for y in p.outputs:
                self.move("scatter", y, ("output", y))
            self.backwards = True
            self.zero_all()
            for y in self.sweep.of:
                self.move("gather", adjoint_of(y), ("seed", y))
            self.parts(p.last, end_row, trail=ending)
            self.gradients_of(p.last, steps)
            with self.counted(segments) as s:
                back = self.downwards(s, segments)
                again = self.new(f"icmp sgt i64 {s}, 0")
                with self.counted(self.new(f"zext i1 {again} to i64")):
                    source = f"{frame} %frame, {arrays} {checkpoint(back)}"
                    add(f"  call void @restored({source}, i64 {self.values})")
                    run("ahead", back)
                run("back", back)
            self.parts(p.first, table, trail=memory)
            self.gradients_of(p.first, "0")  # of row 0 the first step's are in the frame already
            for x in self.sweep.by:
                if x in p.inputs:
                    self.move("scatter", adjoint_of(x), ("gradient", x))
        add("  ret void\n}")

    def gradients_of(self, parts: Sequence[Part], row: str) -> None:
        """Write the adjoints of a table's row that parts outside of the steps have read."""
        for x in self.stepwise:
            if reads(parts, x):
                self.move("scatter", adjoint_of(x), ("gradient", x), row)

    def parts(
        self, parts: Sequence[Part], row: str, turn: str = "null", trail: str = "null"
    ) -> None:
        """Call functions, in loops where there are some; on the way back from the last one."""
        widths = [self.sweep.width(part) for part in parts]
        starts = list(accumulate(widths, initial=0))[:-1]
        pairs = list(zip(parts, starts, strict=True))
        for part, start in reversed(pairs) if self.backwards else pairs:
            at = self.further(trail, start * self.slot_size)
            if isinstance(part, Tape):
                if name := self.blocks.get((self.backwards, id(part))):
                    given = ", ".join(f"{self.memory.arrays} {x}" for x in (row, turn, at))
                    self.lines.append(f"  call void @{name}({self.memory.frame} %frame, {given})")
            else:
                self.turns(part, row, at)

    def turns(self, loop: Loop, row: str, trail: str) -> None:
        (rows, width), times = self.rows(loop), str(len(loop.rows))
        size = sum(map(self.sweep.width, loop.body)) * self.slot_size
        with self.counted(times) as i:
            if self.backwards:
                i = self.downwards(i, times)
            self.parts(loop.body, row, self.moved(rows, i, width), self.moved(trail, i, str(size)))

    def head(self, name: str) -> str:
        return self.argument(self.names_of_head.index(name))

    def move(self, direction: str, name: str, key: tuple[str, str], k: str = "") -> None:
        """Copy a value of the frame from or to the memory that the argument has for it; for step k,
        if that has values for each step."""
        number, count = self.numbers[key]
        where, stride, *step = (self.argument(number + j) for j in range(count))
        pointer = self.pointer(where)
        if step:
            pointer = self.moved(pointer, k, step[0])
        self.copy(direction, name, pointer, stride)

    def zero(self, name: str, width: int) -> None:
        to = f"{self.memory.frame} {self.slot(name)}"
        self.lines.append(f"  call void @zero({to}, i64 {width})")

    def zero_all(self) -> None:
        if self.sweep.active:
            self.zero(adjoint_of(self.sweep.active[0]), self.frame.room - self.values)

    def groups(self, count: str, size: str) -> str:
        """How many groups of a size there are."""
        more = self.new(f"add i64 {count}, {size}")
        return self.new(f"sdiv i64 {self.new(f'sub i64 {more}, 1')}, {size}")

    def downwards(self, i: str, count: str) -> str:
        """A number counted from the end."""
        left = self.new(f"sub i64 {count}, {i}")
        return self.new(f"sub i64 {left}, 1")
