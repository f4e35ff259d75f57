"""A program in PTX: one run per thread, its values in registers, all loops inside.

Every value that has a name is a name of LLVM's; at the head of a loop a value that the loop writes
is the one from before it or from the turn before. So nothing has to be promoted to registers, and
the arithmetic is that of :mod:`appell.compile.emit.program` with one lane: a GPU gives the
processor's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf

from appell.compile.emit.llvm import METADATA, Body
from appell.compile.emit.program import framed
from appell.compile.emit.ptx import assembled
from appell.compile.gpu.rows import ENTRY, THREADS
from appell.compile.instructions import Lines, function, literal
from appell.compile.lower import REALS, Real
from appell.compile.plan import Plan, Window
from appell.compile.program import TURN, Loop, Part, Program, tapes
from appell.compile.tape import Tape

GLOBAL = "ptr addrspace(1)"
_WHOLE = 2**31  # steps: tapes are not cut
# Registers that all values of a run would take, beyond which some wait in memory: a thread has 255,
# and not all values are needed at the same time.
_CROWDED = 400


def emit_program_ptx(program: Program, dtype: str) -> str:
    """The PTX of the kernel. Its parameters: the numbers of runs and steps, every how many steps
    variables are kept, the address of the table; of every input its address and the bytes from run
    to run, of every series and kept variable those from step to step besides, and of every output
    as of an input."""
    run = _Run(program, REALS[dtype])
    return assembled(run.text(), THREADS, int(run.crowded))


class _Run:
    """Writes the kernel."""

    def __init__(self, program: Program, real: Real) -> None:
        self.program, self.real, self.frame = program, real, framed(program)
        self.vector = f"<1 x {real.name}>"
        self.lines: list[str] = []
        self.globals: list[str] = []
        self.called: set[str] = set()
        self.fresh, self.branches = count(), 0
        self.block = "begin"
        self.row = ""  # of the table, at this step
        self.turn = ""  # of the innermost loop
        self.now: dict[str, list[str]] = {}  # the values of variables
        several = {id(x): x for x in tapes((*program.first, *program.each, *program.last))}
        self.plans = {key: _plan(tape) for key, tape in several.items()}
        values = sum(program.widths[name] for name in program.variables)
        values += max(plan.waiting for plan in self.plans.values())
        self.crowded = values * real.size > _CROWDED * 4
        if self.crowded:
            self.plans = {key: _plan(tape, registers=0) for key, tape in several.items()}

    def text(self) -> str:
        p, add = self.program, self.lines.append
        parameters = ["i32 %n", "i32 %steps", "i32 %every", f"{GLOBAL} %table"]
        longer = {*p.series, *p.kept}
        for kind in ("inputs", "series", "kept", "outputs"):
            for name in getattr(p, kind):
                at = f"%{self.label(kind, name)}"
                parameters += [f"{GLOBAL} {at}", f"i64 {at}.run"]
                parameters += [f"i64 {at}.step"] * (kind in ("series", "kept") and name in longer)
        for line in _PLACE.splitlines():
            add(f"  {line}" if not line.endswith(":") else line)
        for name in p.inputs:
            self.now[name] = self.fetch(self.rows("inputs", name), p.widths[name])
        self.row = "%table"
        self.parts(p.first)
        self.keep("%zero")
        self.time_loop()
        width = sum(p.tables.values()) * self.real.size
        self.row = self.moved("%table", "%steps.wide", width)
        self.parts(p.last)
        for name in p.outputs:
            self.put(self.rows("outputs", name), self.now[name])
        add("  br label %end")
        add("end:\n  ret void\n}")
        head = f"define ptx_kernel void @{ENTRY}({', '.join(parameters)}) nounwind {{\nentry:"
        return "\n".join(
            [
                DECLARED,
                *self.globals,
                *(function(op, self.real, 1) for op in sorted(self.called)),
                head,
                *self.lines,
                METADATA,
            ]
        )

    # Memory

    def label(self, kind: str, name: str) -> str:
        return f"{kind}{list(getattr(self.program, kind)).index(name)}"

    def rows(self, kind: str, name: str) -> str:
        """Where the numbers of this run begin."""
        at = f"%{self.label(kind, name)}"
        return self.moved(at, "%k.wide", f"{at}.run")

    def moved(self, pointer: str, by: str, step: str | int) -> str:
        distance = self.new(f"mul i64 {by}, {step}")
        return self.new(f"getelementptr i8, {GLOBAL} {pointer}, i64 {distance}")

    def fetch(self, pointer: str, width: int) -> list[str]:
        return [self.load(pointer, k) for k in range(width)]

    def load(self, pointer: str, element: int) -> str:
        at = self.new(f"getelementptr i8, {GLOBAL} {pointer}, i64 {element * self.real.size}")
        return self.new(
            f"load {self.vector}, {GLOBAL} {at}, align {self.real.size}, !invariant.load !1"
        )

    def put(self, pointer: str, values: Sequence[str]) -> None:
        for k, x in enumerate(values):
            at = self.new(f"getelementptr i8, {GLOBAL} {pointer}, i64 {k * self.real.size}")
            self.lines.append(f"  store {self.vector} {x}, {GLOBAL} {at}, align {self.real.size}")

    def keep(self, number: str) -> None:
        """Write down the kept variables, as the state of this number."""
        for name in self.program.kept:
            at = f"%{self.label('kept', name)}"
            self.put(self.moved(self.rows("kept", name), number, f"{at}.step"), self.now[name])

    def new(self, expression: str) -> str:
        name = f"%y{next(self.fresh)}"
        self.lines.append(f"  {name} = {expression}")
        return name

    # What is computed

    def parts(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Tape):
                _Inline(part, self).write()
            else:
                self.stages(part)

    def stages(self, loop: Loop) -> None:
        """A loop over rows of numbers."""
        number = next(self.fresh)
        T, width = self.real.name, max(len(loop.rows[0]), 1)
        flat = [literal(self.real, x) for row in loop.rows for x in (row or (0.0,))]
        listed = ", ".join(f"{T} {x}" for x in flat)
        self.globals.append(
            f"@rows{number} = internal addrspace(1) constant [{len(flat)} x {T}] [{listed}], "
            "align 16"
        )
        outer = self.turn

        def body(index: str) -> None:
            wide = self.new(f"zext i32 {index} to i64")
            self.turn = self.moved(f"@rows{number}", wide, width * self.real.size)
            self.parts(loop.body)

        self.loop(f"loop{number}", loop.body, str(len(loop.rows)), body)
        self.turn = outer

    def time_loop(self) -> None:
        """All steps. There may be none; a variable that is kept is written every so many."""
        p = self.program
        width = sum(p.tables.values()) * self.real.size

        def body(index: str) -> None:
            wide = self.new(f"zext i32 {index} to i64")
            self.row = self.moved("%table", wide, width)
            for name in p.series:
                step = f"%{self.label('series', name)}.step"
                at = self.moved(self.rows("series", name), wide, step)
                self.now[name] = self.fetch(at, p.widths[name])
            self.parts(p.each)
            if not p.kept:
                return
            done = self.new(f"add i32 {index}, 1")
            over = self.new(f"urem i32 {done}, %every")
            due = self.new(f"icmp eq i32 {over}, 0")
            number = next(self.fresh)
            self.lines.append(f"  br i1 {due}, label %keep{number}, label %kept{number}")
            self.lines.append(f"keep{number}:")
            which = self.new(f"udiv i32 {done}, %every")
            self.keep(self.new(f"zext i32 {which} to i64"))
            self.lines.append(f"  br label %kept{number}\nkept{number}:")
            self.block = f"kept{number}"

        self.loop("steps", p.each, "%steps", body)

    def loop(
        self, label: str, parts: Sequence[Part], times: str, body: Callable[[str], None]
    ) -> None:
        """A loop that is run so many times, perhaps never."""
        before, head = self.block, f"{label}.head"
        self.lines.append(f"  br label %{head}\n{head}:")
        place = len(self.lines)
        index = f"%{label}.index"
        written = list(dict.fromkeys(x for tape in tapes(parts) for x in tape.outputs))
        widths = self.program.widths
        entered = {x: self.now.get(x, ["undef"] * widths[x]) for x in written}
        heads = {x: [f"%{label}.v{next(self.fresh)}" for _ in range(widths[x])] for x in written}
        self.now.update(heads)
        more = self.new(f"icmp ult i32 {index}, {times}")
        self.lines.append(f"  br i1 {more}, label %{label}.body, label %{label}.end")
        self.lines.append(f"{label}.body:")
        self.block = f"{label}.body"
        body(index)
        following = self.new(f"add i32 {index}, 1")
        self.lines.append(f"  br label %{head}")
        last = self.block
        phis = [f"  {index} = phi i32 [0, %{before}], [{following}, %{last}]"]
        for x in written:
            for name, old, new in zip(heads[x], entered[x], self.now[x], strict=True):
                phis.append(f"  {name} = phi {self.vector} [{old}, %{before}], [{new}, %{last}]")
        self.lines[place:place] = phis
        self.lines.append(f"{label}.end:")
        self.block = f"{label}.end"
        self.now.update(heads)


def _plan(tape: Tape, registers: float = inf) -> Plan:
    return Plan(tape, length=_WHOLE, windows=_WHOLE, registers=registers)


class _Inline(Body):
    """Writes a tape where it is run."""

    def __init__(self, tape: Tape, run: _Run) -> None:
        super().__init__(tape, run.real, 1, run.plans[id(tape)])
        self.run_of, self.read = run, list(tape.inputs)
        self.written = list(tape.outputs)

    def write(self) -> None:
        run = self.run_of
        self.lines, self.block, self.branches = run.lines, run.block, run.branches
        self.loaded.clear()
        self.walk(0)
        run.block, run.branches = self.block, self.branches
        run.called |= self.called

    def new(self, expression: str) -> str:
        return self.run_of.new(expression)

    def unread(self) -> list[tuple[int, int]]:
        return []

    def constant(self, x: float) -> str:
        return Lines.constant(self, x)

    def input(self, operand: int, element: int) -> str:
        run, name = self.run_of, self.read[operand]
        if name in run.now:
            return run.now[name][element]
        if (operand, element) not in self.loaded:
            columns = run.frame.columns
            at, k = (run.turn, element) if name == TURN else (run.row, columns[name] + element)
            self.loaded[operand, element] = run.load(at, k)
        return self.loaded[operand, element]

    def finish(self, windows: Sequence[Window]) -> None:
        found: dict[str, dict[int, str]] = {name: {} for name in self.written}
        for window in windows:
            for k, place in enumerate(window.places, start=window.first):
                found[self.written[window.operand]][k] = self.value(place)
        for name, values in found.items():
            self.run_of.now[name] = [values[k] for k in range(len(values))]


DECLARED = """\
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"""
_PLACE = f"""\
%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%before = mul i32 %block, {THREADS}
%k = add i32 %before, %thread
%there = icmp ult i32 %k, %n
br i1 %there, label %begin, label %end
begin:
%k.wide = zext i32 %k to i64
%steps.wide = zext i32 %steps to i64
%zero = add i64 0, 0"""
