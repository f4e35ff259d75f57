"""From a fused tape to C functions, one line per step.

A long tape is cut into several functions (`appell.compile.plan`), so that none of them
needs much stack, however long the tape is. Routines are functions, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from textwrap import wrap

from appell.compile.elementary import routine
from appell.compile.emit.emitter import Emitter, Writer
from appell.compile.lower import Real, Routine
from appell.compile.plan import Plan, Window
from appell.compile.tape import Tape
from appell.errors import InputError

LENGTH = 256  # steps in a function
_WIDTH = 72  # characters of an expression within another one
TABLE = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "inv": "1 / {0}", "neg": "-{0}", "abs": "magnitude({0})", "sqrt": "square_root({0})",
    "fma": "fused({0}, {1}, {2})", "fms": "fused({0}, {1}, -{2})", "fnma": "fused(-{0}, {1}, {2})",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}",
    "not": "!{0}", "nonzero": "{0} != 0", "select": "{0} ? {1} : {2}", "mask": "0 - ({i}){0}",
    "bits": "bits_of({0})", "number": "number_of({0})", "wide": "({w}){0}", "narrow": "({i}){0}",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}",
    "plus": "{0} + {1}", "minus": "{0} - {1}", "times": "{0} * {1}",
    "shl": "{0} << {1}", "shr": "{0} >> {1}",
    "zeros": "leading_zeros({0})", "look": "two_over_pi[{0}]",
}  # fmt: skip


def literal(real: Real, x: float) -> str:
    """An exact number, in hexadecimal."""
    head, _, power = real.rounded(x).hex().partition("p")
    head = head.rstrip("0").rstrip(".") if "." in head else head
    return f"{head}p{power}{'f' if real.bits == 32 else ''}"


class CLines(Writer):
    """Writes the lines of a function; ``values`` counts its variables."""

    table = TABLE

    def __init__(self, real: Real) -> None:
        self.real = real
        self.types = {"r": real.name, "i": f"uint{real.bits}_t", "w": "uint64_t", "c": "int"}
        self.lines: list[str] = []
        self.operations: set[str] = set()
        self.values = 0

    def declared(self, kind: str, text: str) -> str:
        name = f"x{self.values}"
        self.values += 1
        self.lines.append(f"    {kind} {name} = {text};")
        return name

    def constant(self, x: float) -> str:
        return literal(self.real, x)

    def whole(self, x: int, kind: str) -> str:
        return f"{x}u" if x < 2**12 else f"{x:#x}u"

    def line(self, op: str, kind: str, operands: Sequence[str], once: bool = False) -> str:
        self.operations.add(op)
        call = TABLE[op][0].isalpha()
        if call:
            operands = [_bare(x) for x in operands]
        text = TABLE[op].format(*operands, **self.types).replace("--", "")
        if once and len(text) < _WIDTH:
            return text if call else f"({text})"
        return self.declared(f"const {self.types[kind]}", text)


class Function(CLines):
    """The C function of a routine; ``text`` is its source."""

    def __init__(self, of: Routine, real: Real) -> None:
        super().__init__(real)
        results = self.replay(of, of.parameters)
        head, result = real.name, results[0]
        if len(results) > 1:
            head, result = "Pair", "both"
            self.lines.append(f"    const Pair both = {{{', '.join(map(_bare, results))}}};")
        self.values += len(results) + len(of.parameters)
        listed = ", ".join(f"const {real.name} {x}" for x in of.parameters)
        comment = "\n/* " + "\n * ".join(wrap(of.about, 92)) + " */"
        lines = [comment, f"static {head} {of.name}({listed})", "{", *self.lines]
        self.text = "\n".join([*lines, f"    return {_bare(result)};", "}\n"])


class FunctionBody(CLines, Emitter):
    """Writes the functions of a tape; ``text`` is their source."""

    def __init__(self, tape: Tape, real: Real, name: str) -> None:
        CLines.__init__(self, real)
        Emitter.__init__(self, tape, Plan(tape, LENGTH))
        self.name = name
        self.inputs, self.outputs = list(tape.inputs), list(tape.outputs)
        self.functions: dict[str, Function] = {}
        self.largest = 0  # number of values in a function
        self.calls: list[str] = []
        self.read: set[str] = set()
        self.written: set[tuple[int, int]] = set()
        parts = [self.part(k) for k in range(len(self.plan.parts))]
        self.text = "\n".join([*parts, self.entry()])

    @property
    def stack(self) -> int:
        """Bytes at most. Without optimisation every value has a place; besides, there are the
        addresses that functions are given, and what multiplying and adding takes."""
        addresses = 3 * (len(self.inputs) + len(self.outputs) + 1)
        called = max((function.values for function in self.functions.values()), default=0)
        numbers = self.real.size * (self.largest + self.plan.room)
        return numbers + 8 * (addresses + called) + 1024

    def entry(self) -> str:
        """The text of the exported function, which calls the others."""
        lines = [*declared(self.name, parameters(self.tape, self.real)), "{"]
        if self.plan.room:
            lines.append(f"    {self.real.name} kept[{self.plan.room}];")
        lines += [f"    (void){x};" for x in self.inputs if x not in self.read]
        return "\n".join([*lines, *self.calls, "}\n"])

    def part(self, number: int) -> str:
        """The text of one function, whose parameters are those that it uses."""
        self.lines, self.values = [], 0
        self.used: set[str] = set()
        self.walk(number)
        self.largest = max(self.largest, self.values)
        T, name = self.real.name, f"{self.name}_part{number}"
        pointers = {x: f"const {T} *restrict {x}" for x in self.inputs}
        pointers |= {x: f"{T} *restrict {x}" for x in (*self.outputs, "kept")}
        taken = [x for x in pointers if x in self.used]
        self.read |= self.used
        self.calls.append(f"    {name}({', '.join(taken)});")
        head = declared(name, [pointers[x] for x in taken])
        return "\n".join(["static NOINLINE", *head, "{", *self.lines, "}\n"])

    def constant(self, x: float) -> str:
        if not isfinite(x):
            raise InputError(f"{self.name}: a constant is {x}; check the robot's numbers.")
        return super().constant(x)

    def input(self, operand: int, element: int) -> str:
        self.used.add(self.inputs[operand])
        return f"{self.inputs[operand]}[{element}]"

    def kept(self, place: int) -> str:
        self.used.add("kept")
        return f"kept[{self.plan.slots[place]}]"

    def keep(self, place: int) -> None:
        self.lines.append(f"    {self.kept(place)} = {self.names[place]};")

    def store(self, window: Window) -> None:
        for element, place in enumerate(window.places, start=window.first):
            if (window.operand, element) not in self.written:
                self.written.add((window.operand, element))
                output = self.outputs[window.operand]
                self.used.add(output)
                self.lines.append(f"    {output}[{element}] = {self.value(place)};")

    def call(self, op: str, operands: Sequence[str]) -> list[str]:
        of = routine(op, self.real)
        if op not in self.functions:
            self.functions[op] = Function(of, self.real)
            self.operations |= self.functions[op].operations
        text = f"{of.name}({', '.join(operands)})"
        if len(of.results) == 1:
            return [self.declared(f"const {self.real.name}", text)]
        pair = self.declared("const Pair", text)
        self.values += 1
        return [f"{pair}.sine", f"{pair}.cosine"]

    def rare(
        self, condition: str, usual: Sequence[str], mend: Callable[[], Sequence[str]]
    ) -> list[str]:
        names = [self.declared(self.real.name, x) for x in usual]
        self.lines.append(f"    if ({_bare(condition)}) {{")
        start = len(self.lines)
        mended = mend()
        self.lines += [f"    {x} = {_bare(y)};" for x, y in zip(names, mended, strict=True)]
        self.lines[start:] = [f"    {line}" for line in self.lines[start:]]
        self.lines.append("    }")
        return names


def parameters(tape: Tape, real: Real, restrict: str = "restrict ") -> list[str]:
    """The parameters of the exported function, as C declares them."""
    given = [f"const {real.name} *{restrict}{x}" for x in tape.inputs]
    return given + [f"{real.name} *{restrict}{x}" for x in tape.outputs]


def declared(name: str, listed: list[str], end: str = "") -> list[str]:
    """A function's head, in lines of a width that can be read."""
    unbroken = ", ".join(x.replace(" ", "~") for x in listed) or "void"
    lines = wrap(f"void~{name}({unbroken}){end}", 96, break_long_words=False)
    return [line.replace("~", " ") for line in (lines[0], *(f"        {x}" for x in lines[1:]))]


def _bare(x: str) -> str:
    """An expression without the parentheses around it."""
    return x[1:-1] if x[0] == "(" else x
