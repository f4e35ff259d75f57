"""From a tape to LLVM IR: straight-line code over lanes, one state a lane.

``body`` computes ``lanes`` states whose rows lie one after another in memory, as
users have them, (N, n) in C order; rows are turned into lanes, four by four, in
registers. A long tape is cut into several functions, one after another, which leave
each other values in a small memory: the time to compile it then grows with its
length and not with its square.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from appell.compile.arctangent import arctangent
from appell.compile.entry import emit_call
from appell.compile.loop import emit_loop
from appell.compile.tape import Step, Tape
from appell.compile.trigonometry import Trigonometry, far_function

_OPERATORS = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_INTRINSICS = {"sqrt": "sqrt", "abs": "fabs"}
_PART, _WINDOWS = 800, 60  # steps in a function, and windows of four outputs


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
        emit_loop(tape, real, lanes),
        emit_call(tape, real, lanes),
        far_function(real.name, lanes),
        _declarations(real, lanes),
    ]
    return "\n".join(parts)


class _Body:
    """Writes the function ``body``, value by value."""

    def __init__(self, tape: Tape, real: Float, lanes: int) -> None:
        self.tape, self.real, self.lanes = tape, real, lanes
        self.vector = f"<{lanes} x {real.name}>"
        self.align = lanes * real.size
        self.constants: dict[str, int] = {}
        self.plan = _Plan(tape)
        self.fresh = 0

    def text(self) -> str:
        operands = [f"ptr noalias readonly %i{k}" for k in range(len(self.tape.inputs))]
        operands += [f"ptr noalias %o{k}" for k in range(len(self.tape.outputs))]
        operands.append("ptr %functions")
        signature = ", ".join(operands)
        if len(self.plan.parts) == 1:
            whole = self.part(0, f"@body({signature})")
            return "\n".join([self.pool(), *whole])
        parts = [
            "\n".join(self.part(k, f"@part{k}({signature}, ptr %kept)"))
            for k in range(len(self.plan.parts))
        ]
        arguments = ", ".join("ptr " + operand.split()[-1] for operand in operands)
        return "\n".join(
            [
                self.pool(),
                *parts,
                f"define internal void @body({signature}) noinline {{",
                f"  %kept = alloca [{self.plan.room} x {self.vector}], align {self.align}",
                *(f"  call void @part{k}({arguments}, ptr %kept)" for k in range(len(parts))),
                "  ret void\n}",
            ]
        )

    def part(self, number: int, signature: str) -> list[str]:
        """One function; the first also computes the sines and cosines that need no others."""
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.loaded: dict[tuple[int, int], str] = {}
        self.trigonometry = Trigonometry(self)
        self.lines.append(f"define internal void {signature} noinline {{")
        self.lines.append("entry:")
        for place in self.plan.before_angles if number == 0 else ():
            self.step(place)
        if number == 0:
            self.trigonometry.group(self.plan.angles, self.unread())
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
        return self.new(
            f"load {self.vector}, ptr @constant{number}, align {self.align}, !invariant.load !1"
        )

    def pool(self) -> str:
        """The constants, once each."""
        return "\n".join(
            f"@constant{number} = internal constant {self.vector} splat ({self.real.name} {x}), "
            f"align {self.align}"
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
            return self.new(f"{_OPERATORS[op]} contract {V} {self.value(a)}, {self.value(b)}")
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

    def store(self, window: _Window) -> None:
        """Up to four elements of an output's rows, from their values over the lanes."""
        operand, width, first, places = window
        T, size = self.real.name, self.real.size
        values = [self.value(place) for place in places]
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
        for group in range(0, self.lanes, 4):
            quarter = [self.shuffle(self.lanes, x, x, range(group, group + 4)) for x in values]
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


class _Window(NamedTuple):
    """Elements of an output's row that are written together."""

    operand: int
    width: int  # of the row
    first: int
    places: Sequence[int]


class _Plan:
    """Which function computes what, and where values wait that another one needs."""

    def __init__(self, tape: Tape) -> None:
        levels = _trig_levels(tape.steps)
        early = [k for k, s in enumerate(tape.steps) if s.op in ("sin", "cos") and levels[k] == 1]
        self.angles = list(dict.fromkeys(tape.steps[k].a for k in early))
        self.before_angles = _cone(tape.steps, self.angles)
        done = {*self.before_angles, *early}
        later = [k for k in range(len(tape.steps)) if k not in done]
        cuts = range(0, max(len(later), 1), _PART)
        self.parts = [later[k : k + _PART] for k in cuts]
        self.parts[0] = [*early, *self.parts[0]]
        home = {place: n for n, part in enumerate(self.parts) for place in part}
        home |= dict.fromkeys(self.before_angles, 0)
        self.windows: list[list[_Window]] = [[] for _ in self.parts]
        last_use = dict(home)
        for window in _windows(tape):
            at = self._assign(window, max(home[place] for place in window.places))
            for place in window.places:
                last_use[place] = max(last_use[place], at)
        for place, (op, a, b) in enumerate(tape.steps):
            for used in (a, b) if op not in ("constant", "input") else ():
                if used is not None:
                    last_use[used] = max(last_use[used], home[place])
        self.slots, self.room = self._slots(tape, home, last_use)

    def _assign(self, window: _Window, earliest: int) -> int:
        """Let the first function write a window that can and is not full."""
        at = earliest
        while len(self.windows[at]) >= _WINDOWS:
            at += 1
            if at == len(self.parts):
                self.parts.append([])
                self.windows.append([])
        self.windows[at].append(window)
        return at

    def _slots(
        self, tape: Tape, home: dict[int, int], last_use: dict[int, int]
    ) -> tuple[dict[int, int], int]:
        """A place in memory for each value that outlives its function; they are used again."""
        slots: dict[int, int] = {}
        free: list[int] = []
        ending: list[list[int]] = [[] for _ in self.parts]
        room = 0
        for number in range(len(self.parts)):
            places = self.parts[number] if number else [*self.before_angles, *self.parts[0]]
            for place in places:
                if tape.steps[place].op in ("constant", "input") or last_use[place] == number:
                    continue
                slots[place] = free.pop() if free else room
                room += slots[place] == room
                ending[last_use[place]].append(slots[place])
            free += ending[number]
        return slots, room


def _windows(tape: Tape) -> Iterator[_Window]:
    """Outputs in groups of four neighbours."""
    for k, (shape, places) in enumerate(zip(tape.outputs.values(), tape.results, strict=True)):
        width = prod(shape)
        for start in range(0, width, 4):
            first = max(0, min(start, width - 4))
            yield _Window(k, width, first, places[first : first + 4])


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
