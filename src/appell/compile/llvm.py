"""From a tape to LLVM IR: straight-line code over lanes, one state a lane.

``body`` computes ``lanes`` states whose rows lie one after another in memory, as
users have them, (N, n) in C order; rows are turned into lanes, four by four, in
registers. A long tape is cut into several functions (:mod:`appell.compile.plan`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from appell.compile.arctangent import arctangent
from appell.compile.entry import emit_call
from appell.compile.loop import emit_loop, streams
from appell.compile.plan import Plan, Window
from appell.compile.reduction import far_functions
from appell.compile.tape import FUSED, Tape
from appell.compile.trigonometry import Trigonometry

_OPERATORS = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
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
        _body(tape, real, lanes),
        emit_loop(tape, real, lanes),
        emit_call(tape, real, lanes),
    ]
    if streams(tape, real):
        parts.append(_Body(tape, real, lanes, None, "stream").text())
    return "\n".join(parts)


def emit_function(
    tape: Tape, dtype: str, name: str, constants: Mapping[str, Any], length: int
) -> str:
    """The text of a module with a C function of this name, for one state, cut into functions of
    that length, and arrays of constants."""
    real = FLOATS[dtype]
    pointers = [f"%i{k}" for k in range(len(tape.inputs))]
    pointers += [f"%o{k}" for k in range(len(tape.outputs))]
    listed = ", ".join(f"ptr {x}" for x in pointers)
    parts = [
        _body(tape, real, 1, length),
        f"define void @{name}({listed}) nounwind {{\n  call void @body({listed})\n  ret void\n}}",
    ]
    for label, values in constants.items():
        numbers = ", ".join(f"{real.name} {real.constant(x)}" for x in values)
        kind = f"[{len(values)} x {real.name}]"
        parts.append(f"@{label} = constant {kind} [{numbers}], align {real.size}")
    return "\n".join(parts)


def _body(tape: Tape, real: Float, lanes: int, length: int | None = None) -> str:
    parts = [_Body(tape, real, lanes, length).text(), _declarations(real, lanes)]
    if tape.counts["sin"] or tape.counts["cos"]:
        parts.append(far_functions(real, lanes))
    return "\n".join(parts)


class _Body:
    """Writes the function ``body``, value by value; or ``stream``, the same but that its results go
    past the caches."""

    def __init__(
        self, tape: Tape, real: Float, lanes: int, length: int | None, name: str = "body"
    ) -> None:
        self.tape, self.real, self.lanes, self.name = tape, real, lanes, name
        self.vector = f"<{lanes} x {real.name}>"
        self.align = lanes * real.size
        self.constants: dict[str, int] = {}
        self.plan = Plan(tape, length)
        self.fresh = 0

    def text(self) -> str:
        operands = [f"ptr noalias readonly %i{k}" for k in range(len(self.tape.inputs))]
        operands += [f"ptr noalias %o{k}" for k in range(len(self.tape.outputs))]
        signature = ", ".join(operands)
        if len(self.plan.parts) == 1:
            whole = self.part(0, f"@{self.name}({signature})")
            return "\n".join([self.pool(), *whole])
        parts = [
            "\n".join(self.part(k, f"@{self.name}{k}({signature}, ptr %kept)"))
            for k in range(len(self.plan.parts))
        ]
        arguments = ", ".join("ptr " + operand.split()[-1] for operand in operands)
        return "\n".join(
            [
                self.pool(),
                *parts,
                f"define internal void @{self.name}({signature}) noinline nounwind {{",
                f"  %kept = alloca [{self.plan.room} x {self.vector}], align {self.align}",
                *(
                    f"  call void @{self.name}{k}({arguments}, ptr %kept)"
                    for k in range(len(parts))
                ),
                "  ret void\n}",
            ]
        )

    def part(self, number: int, signature: str) -> list[str]:
        """One function; the first also computes the sines and cosines that need no others."""
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.loaded: dict[tuple[int, int], str] = {}
        self.trigonometry = Trigonometry(self)
        self.lines.append(f"define internal void {signature} noinline nounwind {{")
        self.lines.append("entry:")
        for place in self.plan.before_angles if number == 0 else ():
            self.step(place)
        if number == 0:
            self.trigonometry.group(self.plan.angles, self.tape.unread())
        for place in self.plan.parts[number]:
            self.step(place)
        for window in self.plan.windows[number]:
            self.store(window)
        self.lines.append("  ret void\n}")
        return self.lines

    def new(self, expression: str) -> str:
        name = f"%x{self.fresh}"
        self.fresh += 1
        self.lines.append(f"  {name} = {expression}")
        return name

    def splat(self, x: float) -> str:
        """A constant in all lanes, read from memory where it is used: the instruction that uses
        it reads it, too."""
        number = self.constants.setdefault(self.real.constant(x), len(self.constants))
        where = f"@{self.name}.constant{number}, align {self.align}"
        return self.new(f"load {self.vector}, ptr {where}, !invariant.load !1")

    def pool(self) -> str:
        """The constants, once each."""
        return "\n".join(
            f"@{self.name}.constant{number} = internal constant {self.vector} "
            f"splat ({self.real.name} {x}), align {self.align}"
            for x, number in self.constants.items()
        )

    def value(self, place: int) -> str:
        """The name of a step's value; one that another function computed is read from memory."""
        op, a, b = self.tape.steps[place]
        if op == "constant":
            return self.splat(a)
        if place not in self.names:
            self.names[place] = (
                self.input(a, b)
                if op == "input"
                else self.new(f"load {self.vector}, ptr {self.slot(place)}, align {self.align}")
            )
        return self.names[place]

    def slot(self, place: int) -> str:
        return self.at("%kept", self.plan.slots[place] * self.lanes)

    def step(self, place: int) -> None:
        """Compute a value, and keep it if another function will ask for it."""
        if place in self.names or self.tape.steps[place].op in ("constant", "input"):
            return
        self.names[place] = self.computed(place)
        if place in self.plan.slots:
            self.lines.append(
                f"  store {self.vector} {self.names[place]}, ptr {self.slot(place)}, "
                f"align {self.align}"
            )

    def computed(self, place: int) -> str:
        op, a, b = self.tape.steps[place]
        V = self.vector
        if op in _OPERATORS:
            return self.new(f"{_OPERATORS[op]} {V} {self.value(a)}, {self.value(b)}")
        if op in FUSED:
            return self.fused(op, *(self.value(x) for x in (*a, b)))
        if op == "neg":
            return self.new(f"fneg {V} {self.value(a)}")
        if op == "inv":
            return self.new(f"fdiv {V} {self.splat(1.0)}, {self.value(a)}")
        if op in ("sin", "cos"):
            if (op, a) not in self.trigonometry.known:
                self.trigonometry.group([a], [])
            return self.trigonometry.known[op, a]
        if op == "sign":
            return self.sign(self.value(a))
        if op == "atan2":
            return arctangent(self, self.value(a), self.value(b))
        function = f"@llvm.{_INTRINSICS[op]}.v{self.lanes}{self.real.suffix}"
        return self.new(f"call {V} {function}({V} {self.value(a)})")

    def fused(self, op: str, x: str, y: str, c: str) -> str:
        V = self.vector
        if op == "fnma":
            x = self.new(f"fneg {V} {x}")
        if op == "fms":
            c = self.new(f"fneg {V} {c}")
        function = f"@llvm.fma.v{self.lanes}{self.real.suffix}"
        return self.new(f"call {V} {function}({V} {x}, {V} {y}, {V} {c})")

    def sign(self, x: str) -> str:
        """-1 or 1, or x itself where it is zero or no number."""
        V = self.vector
        one = self.new(
            f"call {V} @llvm.copysign.v{self.lanes}{self.real.suffix}"
            f"({V} {self.splat(1.0)}, {V} {x})"
        )
        some = self.new(f"fcmp one {V} {x}, zeroinitializer")
        return self.new(f"select <{self.lanes} x i1> {some}, {V} {one}, {V} {x}")

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
        how = f"align {4 * size}, !nontemporal !2" if self.name == "stream" else f"align {size}"
        for group in range(0, self.lanes, 4):
            quarter = [self.shuffle(self.lanes, x, x, range(group, group + 4)) for x in values]
            for lane, row in enumerate(self.transposed(quarter), start=group):
                at = self.at(f"%o{operand}", lane * width + first)
                self.lines.append(f"  store <4 x {T}> {row}, ptr {at}, {how}")

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


def _declarations(real: Float, lanes: int) -> str:
    V, suffix = f"<{lanes} x {real.name}>", f"v{lanes}{real.suffix}"
    unary = ["sqrt", "fabs"]
    return "\n".join(
        [
            f"declare {V} @llvm.fma.{suffix}({V}, {V}, {V})",
            f"declare {V} @llvm.copysign.{suffix}({V}, {V})",
            *(f"declare {V} @llvm.{f}.{suffix}({V})" for f in unary),
            '!0 = !{!"branch_weights", i32 1, i32 10000}',
            "!1 = !{}",
            "!2 = !{i32 1}",
        ]
    )
