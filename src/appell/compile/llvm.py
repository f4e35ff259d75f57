"""From a tape to LLVM IR: straight-line code over lanes, one state a lane.

``body`` computes ``lanes`` states whose rows lie one after another in memory, as
users have them, (N, n) in C order; rows are turned into lanes, four by four, in
registers. ``loop`` is the inner loop of a NumPy gufunc: it hands contiguous rows
to ``body`` as they are, and copies rows with other strides, and the last few,
through a small buffer.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from appell.compile.entry import emit_call
from appell.compile.gufunc import core
from appell.compile.tape import Step, Tape
from appell.compile.trigonometry import Trigonometry, far_function

_OPERATORS = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_ALL_EXCEPTIONS = 61 if platform.machine().lower() in ("x86_64", "amd64") else 31  # C's fenv.h
_INTRINSICS = {"sqrt": "sqrt", "abs": "fabs"}


@dataclass(frozen=True)
class Float:
    """A type of floating-point number, as LLVM knows it."""

    name: str  # LLVM's name
    size: int  # bytes
    suffix: str  # in the names of intrinsics

    def constant(self, x: float) -> str:
        """An exact literal: LLVM writes a float as the double that equals it."""
        if self.size == 4:
            (x,) = struct.unpack("<f", struct.pack("<f", x))
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


FLOATS = {"float64": Float("double", 8, "f64"), "float32": Float("float", 4, "f32")}


def emit(tape: Tape, dtype: str, lanes: int) -> str:
    """The module's text; it defines ``loop`` and, where there is one result, ``call``."""
    real = FLOATS[dtype]
    parts = [
        _Body(tape, real, lanes).text(),
        _loop(tape, real, lanes),
        emit_call(tape, real, lanes),
        _copy(real, "pack"),
        _copy(real, "unpack"),
        _fill(real, lanes),
        far_function(real.name, lanes),
        _declarations(real, lanes),
    ]
    return "\n".join(parts)


class _Body:
    """Writes the function ``body``, value by value."""

    def __init__(self, tape: Tape, real: Float, lanes: int) -> None:
        self.tape, self.real, self.lanes = tape, real, lanes
        self.vector = f"<{lanes} x {real.name}>"
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.constants: dict[str, int] = {}
        self.loaded: dict[tuple[int, int], str] = {}
        self.fresh = 0

    def text(self) -> str:
        tape = self.tape
        operands = [f"ptr noalias readonly %i{k}" for k in range(len(tape.inputs))]
        operands += [f"ptr noalias %o{k}" for k in range(len(tape.outputs))]
        operands.append("ptr %functions")
        self.lines.append(f"define internal void @body({', '.join(operands)}) noinline {{")
        self.lines.append("entry:")
        self.trigonometry = Trigonometry(self)
        levels = _trig_levels(tape.steps)
        angles = [
            s.a for k, s in enumerate(tape.steps) if s.op in ("sin", "cos") and levels[k] == 1
        ]
        angles = list(dict.fromkeys(angles))
        for place in _cone(tape.steps, angles):
            self.step(place)
        self.trigonometry.group(angles, self.unread())
        for place in range(len(tape.steps)):
            self.step(place)
        for k, (shape, places) in enumerate(zip(tape.outputs.values(), tape.results, strict=True)):
            self.store(k, prod(shape), [self.value(place) for place in places])
        self.lines.append("  ret void\n}")
        return "\n".join([self.pool(), *self.lines])

    def new(self, expression: str) -> str:
        name = f"%x{self.fresh}"
        self.fresh += 1
        self.lines.append(f"  {name} = {expression}")
        return name

    def splat(self, x: float) -> str:
        """A constant in all lanes, read from memory where it is used: the instruction that uses
        it reads it, too."""
        number = self.constants.setdefault(self.real.constant(x), len(self.constants))
        align = self.lanes * self.real.size
        return self.new(f"load {self.vector}, ptr @constant{number}, align {align}")

    def pool(self) -> str:
        """The constants, once each."""
        return "\n".join(
            f"@constant{number} = internal constant {self.vector} splat ({self.real.name} {x}), "
            f"align {self.lanes * self.real.size}"
            for x, number in self.constants.items()
        )

    def value(self, place: int) -> str:
        """The name of a step's value, which is there already."""
        op, a, _ = self.tape.steps[place]
        return self.splat(a) if op == "constant" else self.names[place]

    def step(self, place: int) -> None:
        op, a, b = self.tape.steps[place]
        if place in self.names or op == "constant":
            return
        V = self.vector
        if op == "input":
            self.names[place] = self.input(a, b)
        elif op in _OPERATORS:
            x, y = self.value(a), self.value(b)
            self.names[place] = self.new(f"{_OPERATORS[op]} contract {V} {x}, {y}")
        elif op == "neg":
            self.names[place] = self.new(f"fneg {V} {self.value(a)}")
        elif op == "inv":
            self.names[place] = self.new(f"fdiv {V} {self.splat(1.0)}, {self.value(a)}")
        elif op in ("sin", "cos"):
            if (op, a) not in self.trigonometry.known:
                self.trigonometry.group([a], [])
            self.names[place] = self.trigonometry.known[op, a]
        elif op == "sign":
            self.names[place] = self.sign(self.value(a))
        else:
            function = f"@llvm.{_INTRINSICS[op]}.v{self.lanes}{self.real.suffix}"
            self.names[place] = self.new(f"call {V} {function}({V} {self.value(a)})")

    def sign(self, x: str) -> str:
        """-1 or 1, or x itself where it is zero or no number."""
        V = self.vector
        one = self.new(
            f"call {V} @llvm.copysign.v{self.lanes}{self.real.suffix}"
            f"({V} {self.splat(1.0)}, {V} {x})"
        )
        some = self.new(f"fcmp one {V} {x}, zeroinitializer")
        return self.new(f"select <{self.lanes} x i1> {some}, {V} {one}, {V} {x}")

    def unread(self) -> list[tuple[int, int]]:
        """Inputs that no output depends on: NaN there must not pass unseen."""
        read = {(s.a, s.b) for s in self.tape.steps if s.op == "input"}
        return [
            (k, j)
            for k, shape in enumerate(self.tape.inputs.values())
            for j in range(prod(shape))
            if (k, j) not in read
        ]

    def input(self, operand: int, element: int) -> str:
        """One element of a row, over the lanes; its neighbours are loaded with it."""
        if (operand, element) not in self.loaded:
            width = prod(list(self.tape.inputs.values())[operand])
            if width < 4:
                self.load_narrow(operand, width)
            else:
                self.load_window(operand, width, min(element // 4 * 4, width - 4))
        return self.loaded[operand, element]

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

    def store(self, operand: int, width: int, values: Sequence[str]) -> None:
        """Rows of an output from its columns over the lanes."""
        T, size = self.real.name, self.real.size
        if width == 1:
            self.lines.append(f"  store {self.vector} {values[0]}, ptr %o{operand}, align {size}")
            return
        if width < 4:
            for lane in range(self.lanes):
                for j, x in enumerate(values):
                    at = self.at(f"%o{operand}", lane * width + j)
                    one = self.new(f"extractelement {self.vector} {x}, i32 {lane}")
                    self.lines.append(f"  store {T} {one}, ptr {at}, align {size}")
            return
        for start in range(0, width, 4):
            first = min(start, width - 4)
            for group in range(0, self.lanes, 4):
                quarter = [
                    self.shuffle(self.lanes, x, x, range(group, group + 4))
                    for x in values[first : first + 4]
                ]
                for lane, row in enumerate(self.transposed(quarter), start=group):
                    at = self.at(f"%o{operand}", lane * width + first)
                    self.lines.append(f"  store <4 x {T}> {row}, ptr {at}, align {size}")

    def at(self, pointer: str, elements: int) -> str:
        if elements == 0:
            return pointer
        return self.new(f"getelementptr i8, ptr {pointer}, i64 {elements * self.real.size}")

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


def _trig_levels(steps: Sequence[Step]) -> list[int]:
    """How many sines and cosines stand on the longest way to each step."""
    levels: list[int] = []
    for op, a, b in steps:
        if op in ("constant", "input"):
            levels.append(0)
            continue
        level = levels[a] if b is None else max(levels[a], levels[b])
        levels.append(level + (op in ("sin", "cos")))
    return levels


def _cone(steps: Sequence[Step], places: Sequence[int]) -> list[int]:
    """Everything the places are computed from, and themselves, in order."""
    needed, stack = set(), list(places)
    while stack:
        place = stack.pop()
        if place in needed:
            continue
        needed.add(place)
        op, a, b = steps[place]
        if op not in ("constant", "input"):
            stack.append(a)
            if b is not None:
                stack.append(b)
    return sorted(needed)


def _loop(tape: Tape, real: Float, lanes: int) -> str:
    """The gufunc's inner loop: char **args, intp *dims, intp *steps, void *data."""
    shapes = [core(shape) for shape in (*tape.inputs.values(), *tape.outputs.values())]
    n_in, n_all = len(tape.inputs), len(shapes)
    head: list[str] = []
    work: list[str] = []
    after: list[str] = []
    axis = n_all
    for k, shape in enumerate(shapes):
        width = prod(shape)
        row = width * real.size
        d0, d1 = (*shape, 1, 1)[:2]
        head += [
            f"%base{k}.at = getelementptr ptr, ptr %args, i64 {k}",
            f"%base{k} = load ptr, ptr %base{k}.at",
            *_stride(f"%step{k}", k),
            *_core_stride(f"%s0.{k}", axis, len(shape) > 0, real),
            *_core_stride(f"%s1.{k}", axis + 1, len(shape) > 1, real),
            f"%tight0.{k} = icmp eq i64 %step{k}, {row}",
            f"%tight1.{k} = icmp eq i64 %s0.{k}, {d1 * real.size}",
            f"%tight2.{k} = icmp eq i64 %s1.{k}, {real.size}",
            f"%tight3.{k} = and i1 %tight0.{k}, %tight1.{k}",
            f"%tight{k} = and i1 %tight3.{k}, %tight2.{k}",
            f"%buffer{k} = alloca [{lanes * width} x {real.name}], align 64",
        ]  # fmt: skip
        axis += len(shape)
        strides = f"i64 %step{k}, i64 {d0}, i64 %s0.{k}, i64 {d1}, i64 %s1.{k}"
        work += [
            f"  %moved{k} = mul i64 %k, %step{k}",
            f"  %at{k} = getelementptr i8, ptr %base{k}, i64 %moved{k}",
            f"  %direct{k} = and i1 %full, %tight{k}",
            f"  %row{k} = select i1 %direct{k}, ptr %at{k}, ptr %buffer{k}",
        ]
        move = "pack" if k < n_in else "unpack"
        (work if k < n_in else after).extend(
            [
                f"  br i1 %direct{k}, label %next{k}, label %copy{k}",
                f"copy{k}:",
                *(
                    [
                        f"  br i1 %full, label %pack{k}, label %fill{k}",
                        f"fill{k}:",
                        f"  call void @pack(ptr %buffer{k}, ptr %at{k}, i64 1, {strides})",
                        f"  call void @fill(ptr %buffer{k}, ptr %buffer{k}, i64 {width})",
                        f"  br label %pack{k}",
                        f"pack{k}:",
                    ]
                    if k < n_in
                    else []
                ),
                f"  call void @{move}(ptr %buffer{k}, ptr %at{k}, i64 %count, {strides})",
                f"  br label %next{k}",
                f"next{k}:",
            ]
        )
    rows = ", ".join(f"ptr %row{k}" for k in range(n_all))
    return "\n".join(
        [
            "define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {",
            "entry:",
            "  %n = load i64, ptr %dims",
            *(f"  {line}" for line in head),
            "  br label %loop",
            "loop:",
            "  %k = phi i64 [0, %entry], [%k.next, %latch]",
            "  %left = sub i64 %n, %k",
            "  %done = icmp sle i64 %left, 0",
            "  br i1 %done, label %exit, label %work",
            "work:",
            f"  %full = icmp sge i64 %left, {lanes}",
            f"  %count = select i1 %full, i64 {lanes}, i64 %left",
            *work,
            f"  call void @body({rows}, ptr %data)",
            *after,
            "  br label %latch",
            "latch:",
            f"  %k.next = add i64 %k, {lanes}",
            "  br label %loop",
            "exit:",
            # Lanes that are thrown away raise flags: NumPy is not to warn of them.
            "  %clear.at = getelementptr ptr, ptr %data, i64 2",
            "  %clear = load ptr, ptr %clear.at",
            f"  call i32 %clear(i32 {_ALL_EXCEPTIONS})",
            "  ret void",
            "}",
        ]
    )


def _stride(name: str, index: int) -> list[str]:
    return [
        f"{name}.at = getelementptr i64, ptr %steps, i64 {index}",
        f"{name} = load i64, ptr {name}.at",
    ]


def _core_stride(name: str, index: int, there: bool, real: Float) -> list[str]:
    return _stride(name, index) if there else [f"{name} = add i64 0, {real.size}"]


def _copy(real: Float, name: str) -> str:
    """Rows of up to two core dimensions to (pack) or from (unpack) a contiguous buffer."""
    source, target = ("%far", "%near") if name == "pack" else ("%near", "%far")
    return f"""
define internal void @{name}(ptr %buffer, ptr %rows, i64 %count, i64 %step,
    i64 %d0, i64 %s0, i64 %d1, i64 %s1) noinline {{
entry:
  br label %row
row:
  %r = phi i64 [0, %entry], [%r.next, %row.end]
  %to = phi ptr [%buffer, %entry], [%to.i, %row.end]
  %r.done = icmp sge i64 %r, %count
  br i1 %r.done, label %exit, label %line
line:
  %i = phi i64 [0, %row], [%i.next, %line.end]
  %to.i = phi ptr [%to, %row], [%to.j, %line.end]
  %i.done = icmp sge i64 %i, %d0
  br i1 %i.done, label %row.end, label %item
item:
  %j = phi i64 [0, %line], [%j.next, %item.next]
  %to.j = phi ptr [%to.i, %line], [%to.next, %item.next]
  %j.done = icmp sge i64 %j, %d1
  br i1 %j.done, label %line.end, label %item.next
item.next:
  %a = mul i64 %r, %step
  %b = mul i64 %i, %s0
  %c = mul i64 %j, %s1
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %far = getelementptr i8, ptr %rows, i64 %abc
  %near = getelementptr i8, ptr %to.j, i64 0
  %x = load {real.name}, ptr {source}, align 1
  store {real.name} %x, ptr {target}, align 1
  %to.next = getelementptr i8, ptr %to.j, i64 {real.size}
  %j.next = add i64 %j, 1
  br label %item
line.end:
  %i.next = add i64 %i, 1
  br label %line
row.end:
  %r.next = add i64 %r, 1
  br label %row
exit:
  ret void
}}"""


def _fill(real: Float, lanes: int) -> str:
    """``copy`` a row; ``fill`` all lanes with one, so that those that no state uses compute
    nothing that could overflow."""
    return f"""
define internal void @copy(ptr %to, ptr %from, i64 %n) noinline {{
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%more, %next]
  %a = getelementptr {real.name}, ptr %from, i64 %i
  %b = getelementptr {real.name}, ptr %to, i64 %i
  %x = load {real.name}, ptr %a
  store {real.name} %x, ptr %b
  %more = add i64 %i, 1
  %go = icmp slt i64 %more, %n
  br i1 %go, label %next, label %exit
exit:
  ret void
}}
define internal void @fill(ptr %buffer, ptr %row, i64 %n) noinline {{
entry:
  br label %lane
lane:
  %i = phi i64 [0, %entry], [%next, %lane]
  %offset = mul i64 %i, %n
  %at = getelementptr {real.name}, ptr %buffer, i64 %offset
  call void @copy(ptr %at, ptr %row, i64 %n)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {lanes}
  br i1 %more, label %lane, label %exit
exit:
  ret void
}}"""


def _declarations(real: Float, lanes: int) -> str:
    V, suffix = f"<{lanes} x {real.name}>", f"v{lanes}{real.suffix}"
    unary = ["sqrt", "fabs"]
    return "\n".join(
        [
            f"declare {V} @llvm.fma.{suffix}({V}, {V}, {V})",
            f"declare {V} @llvm.copysign.{suffix}({V}, {V})",
            *(f"declare {V} @llvm.{f}.{suffix}({V})" for f in unary),
        ]
    )
