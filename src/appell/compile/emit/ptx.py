"""From a tape to PTX, NVIDIA's assembly language: one state per thread.

The arithmetic is that of `appell.compile.emit.llvm` with one lane, so that a GPU gives the
bits that a processor gives. What differs is how rows are read and written: the 32 threads of a warp
copy their rows together, in pieces of up to 16 bytes, between memory and shared memory, where each
thread then finds its own. A long tape is cut into functions that leave each other values in a
thread's local memory.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from appell.compile.emit.llvm import Body, module_text
from appell.compile.gpu.rows import ENTRY, THREADS, WARP, piece
from appell.compile.instructions import Lines
from appell.compile.lower import REALS, Real
from appell.compile.plan import Plan, Window
from appell.compile.tape import Tape

LENGTH = 4000  # steps in a function: shorter ones were slower, by up to five times
REGISTERS = 200  # of 255, of 4 bytes, for values
MOST = 20  # pieces of a row of results that are in shared memory at a time
ROOM = 48 * 1024 * WARP // THREADS  # bytes of shared memory for a warp
CARD, VERSION = "sm_75", "ptx64"  # cards since 2018, drivers since 2019 (CUDA 10.1)

_GLOBAL, _SHARED, _LOCAL = (f"ptr addrspace({k})" for k in (1, 3, 5))
_DECLARED = """\
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.smin.i32(i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)"""
_SYNC = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)"
_PLACE = f"""\
%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
%first = mul i32 %block, {THREADS}
%k = add i32 %first, %thread
%last = sub i32 %n, 1
%row = call i32 @llvm.smin.i32(i32 %k, i32 %last)
%lane = and i32 %thread, {WARP - 1}
%begin = sub i32 %k, %lane
%rows = sub i32 %n, %begin
%behind = sub i32 %last, %begin
%warp = udiv i32 %thread, {WARP}
%own = mul i32 %warp, {{stage}}
%stage = getelementptr i8, {_SHARED} @stages, i32 %own
%row.wide = sext i32 %row to i64
%begin.wide = sext i32 %begin to i64
%n.wide = sext i32 %n to i64
%batch = zext i32 %y to i64
%before = mul i64 %batch, %n.wide
%result = add i64 %before, %begin.wide
"""


def emit_ptx(tape: Tape, dtype: str, length: int | None = None) -> str:
    """The PTX of the kernel that computes one row per thread.

    Its parameters: the number of rows; of every input its address, the distance in bytes between
    rows, and that between batches of rows, which ``ctaid.y`` counts; of every output its address.
    """
    real = REALS[dtype]
    plan = Plan(tape, length or LENGTH, registers=REGISTERS * 4 // real.size)
    thread = Thread(tape, real, plan)
    return assembled(module_text(thread), THREADS)


def assembled(text: str, threads: int, blocks: int = 0) -> str:
    """The PTX of a module of LLVM IR, whose kernels run in blocks of so many threads. If told how
    many blocks at a time are enough, NVIDIA's assembler uses all registers that this leaves; it was
    seen to use 32 otherwise."""
    import llvmlite.binding as llvm

    machine = _target_machine()
    module = llvm.parse_assembly(f'target triple = "nvptx64-nvidia-cuda"\n{text}')
    module.verify()
    ptx: str = machine.emit_assembly(module)
    head, entry, rest = ptx.partition(".entry")
    parameters, close, code = rest.partition(")\n")
    bounds = f".maxntid {threads}, 1, 1\n" + f".minnctapersm {blocks}\n" * (blocks > 0)
    return f"{head}{entry}{parameters}{close}{bounds}{code}"


@cache
def _target_machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu=CARD, features=f"+{VERSION}", opt=3)


class Thread(Body):
    """Writes a tape for one thread."""

    def __init__(self, tape: Tape, real: Real, plan: Plan) -> None:
        super().__init__(tape, real, 1, plan)
        self.inputs = [prod(shape) for shape in tape.inputs.values()]
        self.outputs = [prod(shape) for shape in tape.outputs.values()]
        self.written: dict[int, dict[int, str]] = {}
        # Shared memory of a warp: results come first, then all inputs for which there is room.
        pieces = [_pieces(real, width) for width in self.outputs]
        self.used = max(WARP * (min(m, MOST) | 1) * size for size, m in pieces)
        self.staged: dict[int, int] = {}
        for k, (size, m) in enumerate(_pieces(real, width) for width in self.inputs):
            if m > 1 and self.used + WARP * (m | 1) * size <= ROOM:
                self.staged[k] = self.used
                self.used += WARP * (m | 1) * size

    def text(self) -> str:
        """The kernel, after the functions that it calls."""
        taken = [f"{self.space(k)} %i{k}" for k in range(len(self.inputs))]
        taken += [f"{_GLOBAL} %o{k}" for k in range(len(self.outputs))]
        listed = ", ".join([*taken, f"{_SHARED} %stage", "i32 %lane", "i32 %rows", "ptr %frame"])
        shared = f"[{self.used * THREADS // WARP} x i8] undef, align 16"
        parts = [f"@stages = internal addrspace(3) global {shared}", _DECLARED]
        start = [self.head(), "entry:"]
        if len(self.plan.parts) == 1:
            return "\n".join([*parts, *start, *self.place(), *self.part(0, self.block), "}"])
        room = f"[{self.plan.room} x {self.real.name}], align {self.real.size}"
        start += [f"  %frame = alloca {room}", *self.place()]
        for k in range(len(self.plan.parts)):
            parts.append(f"define internal void @body{k}({listed}) noinline nounwind {{\nentry:")
            parts.append(f"  %kept = addrspacecast ptr %frame to {_LOCAL}")
            parts += [*self.part(k, "entry"), "}"]
            start.append(f"  call void @body{k}({listed})")
        return "\n".join([*parts, *start, "  ret void\n}"])

    def head(self) -> str:
        """The kernel's name and parameters."""
        parameters = ["i32 %n"]
        for k in range(len(self.inputs)):
            parameters += [f"{_GLOBAL} %p{k}", f"i32 %step{k}", f"i64 %across{k}"]
        parameters += [f"{_GLOBAL} %r{k}" for k in range(len(self.outputs))]
        return f"define ptx_kernel void @{ENTRY}({', '.join(parameters)}) nounwind {{"

    def part(self, number: int, block: str) -> list[str]:
        self.loaded.clear()
        self.written.clear()
        self.block, self.branches, self.lines = block, 0, []
        self.walk(number)
        for operand, values in self.written.items():
            self.write(operand, values)
        return [*self.lines, "  ret void"]

    def place(self) -> list[str]:
        """The lines that find this thread's row and stage the inputs. A thread after the last row
        computes that one, and writes nothing."""
        self.lines = [f"  {x}" for x in _PLACE.format(stage=self.used).splitlines()]
        self.block = "entry"
        for k in range(len(self.inputs)):
            before = self.new(f"mul i64 %batch, %across{k}")
            rows = self.new(f"getelementptr i8, {_GLOBAL} %p{k}, i64 {before}")
            self.lines.append(f"  %step{k}.wide = sext i32 %step{k} to i64")
            name, number = (f"b{k}", "%begin.wide") if k in self.staged else (f"i{k}", "%row.wide")
            self.row(name, _GLOBAL, rows, number, f"%step{k}.wide")
        if self.staged:
            self.read()
        for k, width in enumerate(self.outputs):
            self.row(f"o{k}", _GLOBAL, f"%r{k}", "%result", str(width * self.real.size))
        return self.lines

    def read(self) -> None:
        """Stage the inputs. Most warps are full and their rows follow each other: then a piece is
        found without a division."""
        sizes = {k: _pieces(self.real, self.inputs[k]) for k in self.staged}
        wanted = [(k, j, *sizes[k]) for k in self.staged for j in range(sizes[k][1])]
        tight = self.new(f"icmp sge i32 %rows, {WARP}")
        for k in self.staged:
            follows = self.new(f"icmp eq i32 %step{k}, {self.inputs[k] * self.real.size}")
            tight = self.new(f"and i1 {tight}, {follows}")
        self.lines.append(f"  br i1 {tight}, label %tight, label %apart\ntight:")
        found: list[list[str]] = [[], []]
        for k, j, size, _ in wanted:
            at = self.moved(_GLOBAL, f"%b{k}", "%lane", size)
            at = self.new(f"getelementptr i8, {_GLOBAL} {at}, i64 {WARP * j * size}")
            found[0].append(self.read_piece(at, size))
        self.lines.append("  br label %staged\napart:")
        for k, j, size, m in wanted:
            row, column, _ = self.spread(j, m, m | 1)
            there = self.new(f"call i32 @llvm.smin.i32(i32 {row}, i32 %behind)")
            wide = self.new(f"sext i32 {there} to i64")
            at = self.row("", _GLOBAL, f"%b{k}", wide, f"%step{k}.wide")
            found[1].append(self.read_piece(self.moved(_GLOBAL, at, column, size), size))
        self.block = "staged"
        self.lines.append("  br label %staged\nstaged:")
        pieces = [
            self.new(f"phi {self.kind(size)} [{x}, %tight], [{y}, %apart]")
            for (_, _, size, _), x, y in zip(wanted, *found, strict=True)
        ]
        for (k, j, size, m), x in zip(wanted, pieces, strict=True):
            stage = self.new(f"getelementptr i8, {_SHARED} %stage, i32 {self.staged[k]}")
            to = self.moved(_SHARED, stage, self.spread(j, m, m | 1)[2], size)
            self.lines.append(f"  store {self.kind(size)} {x}, {_SHARED} {to}, align {size}")
            if j == 0:
                own = self.new(f"mul i32 %lane, {(m | 1) * size}")
                self.lines.append(f"  %i{k} = getelementptr i8, {_SHARED} {stage}, i32 {own}")
        self.lines.append(_SYNC)

    def read_piece(self, at: str, size: int) -> str:
        kind = self.kind(size)
        return self.new(f"load {kind}, {_GLOBAL} {at}, align {size}, !invariant.load !1")

    def kind(self, size: int) -> str:
        """The type of a piece."""
        return f"<{size // self.real.size} x {self.real.name}>"

    def row(self, name: str, space: str, start: str, number: str, step: str) -> str:
        """The address of a row."""
        distance = self.new(f"mul i64 {number}, {step}")
        if not name:
            return self.new(f"getelementptr i8, {space} {start}, i64 {distance}")
        self.lines.append(f"  %{name} = getelementptr i8, {space} {start}, i64 {distance}")
        return f"%{name}"

    def spread(self, j: int, p: int, stride: int) -> tuple[str, str, str]:
        """Of the pieces of a warp's rows, p each, the j-th that this thread copies: its row, its
        place in the row, and that in shared memory, where rows have ``stride`` places: an odd
        number, with which all banks are used alike."""
        e = self.new(f"add i32 %lane, {WARP * j}")
        row = self.new(f"udiv i32 {e}, {p}")
        before = self.new(f"mul i32 {row}, {p}")
        extra = self.new(f"mul i32 {row}, {stride - p}")
        return row, self.new(f"sub i32 {e}, {before}"), self.new(f"add i32 {e}, {extra}")

    def moved(self, space: str, start: str, pieces: str, size: int) -> str:
        """The address of a piece."""
        distance = self.new(f"mul i32 {pieces}, {size}")
        wide = self.new(f"zext i32 {distance} to i64")
        return self.new(f"getelementptr i8, {space} {start}, i64 {wide}")

    def space(self, operand: int) -> str:
        """The kind of address that an input's row has."""
        return _SHARED if operand in self.staged else _GLOBAL

    def constant(self, x: float) -> str:
        return Lines.constant(self, x)

    def keep(self, place: int) -> None:
        at, size = self.element(_LOCAL, "%kept", self.plan.slots[place]), self.real.size
        self.lines.append(f"  store {self.vector} {self.names[place]}, {at}, align {size}")

    def kept(self, place: int) -> str:
        at = self.element(_LOCAL, "%kept", self.plan.slots[place])
        return self.new(f"load {self.vector}, {at}, align {self.real.size}")

    def load_one(self, operand: int, element: int) -> None:
        """One element, with all others of its piece."""
        size, _ = _pieces(self.real, self.inputs[operand])
        n = size // self.real.size
        first = element // n * n
        at = self.element(self.space(operand), f"%i{operand}", first)
        fixed = "" if operand in self.staged else ", !invariant.load !1"
        piece = self.new(f"load <{n} x {self.real.name}>, {at}, align {size}{fixed}")
        for j in range(n):
            one = self.shuffle(n, piece, piece, [j]) if n > 1 else piece
            self.loaded[operand, first + j] = one

    def element(self, space: str, start: str, number: int) -> str:
        """The address of a number, with its type."""
        at = f"getelementptr i8, {space} {start}, i64 {number * self.real.size}"
        return f"{space} {self.new(at)}"

    def store(self, window: Window) -> None:
        """Results wait until all are there."""
        values = self.written.setdefault(window.operand, {})
        for k, place in enumerate(window.places):
            values[window.first + k] = self.value(place)

    def write(self, operand: int, values: dict[int, str]) -> None:
        """Write neighbouring elements of the warp's rows of an output."""
        size, m = _pieces(self.real, self.outputs[operand])
        n = size // self.real.size
        listed = [values[k] for k in sorted(values)]
        pieces = [self.together(listed[k : k + n]) for k in range(0, len(listed), n)]
        most = MOST if len(pieces) <= MOST else MOST - 4  # pieces of whole lines
        for k in range(0, len(pieces), most):
            self.write_pieces(operand, size, m, min(values) // n + k, pieces[k : k + most])

    def write_pieces(self, operand: int, size: int, m: int, first: int, pieces: list[str]) -> None:
        """Write some pieces of rows that have m, from the first on."""
        kind, p = self.kind(size), len(pieces)
        own = self.new(f"mul i32 %lane, {(p | 1) * size}")
        mine = self.new(f"getelementptr i8, {_SHARED} %stage, i32 {own}")
        for k, x in enumerate(pieces):
            at = self.new(f"getelementptr i8, {_SHARED} {mine}, i32 {k * size}")
            self.lines.append(f"  store {kind} {x}, {_SHARED} {at}, align {size}")
        self.lines.append(_SYNC)
        for j in range(p):
            row, column, place = self.spread(j, p, p | 1)
            at = self.moved(_SHARED, "%stage", place, size)
            x = self.new(f"load {kind}, {_SHARED} {at}, align {size}")
            before = self.new(f"mul i32 {row}, {m}")
            number = self.new(f"add i32 {before}, {column}")
            later = self.new(f"add i32 {number}, {first}")
            at = self.moved(_GLOBAL, f"%o{operand}", later, size)
            there = self.new(f"icmp slt i32 {row}, %rows")
            write, after = f"write{self.fresh}", f"after{self.fresh}"
            self.lines += [
                f"  br i1 {there}, label %{write}, label %{after}\n{write}:",
                f"  store {kind} {x}, {_GLOBAL} {at}, align {size}",
                f"  br label %{after}\n{after}:",
            ]
        self.lines.append(_SYNC)

    def together(self, values: list[str]) -> str:
        """A vector of values: two by two."""
        width = 1
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [self.shuffle(width, x, y, range(2 * width)) for x, y in pairs]
            width *= 2
        return values[0]


def _pieces(real: Real, width: int) -> tuple[int, int]:
    """The bytes of the pieces of a row, and how many there are."""
    size = piece(real.size, width)
    return size, width * real.size // size
