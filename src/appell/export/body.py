"""From a fused tape to C functions, one line a step.

A long tape is cut into several functions (:mod:`appell.compile.plan`), so that none of them
needs much stack, however long the tape is.
"""

from __future__ import annotations

from math import isfinite
from textwrap import wrap

from appell.compile.plan import Plan
from appell.compile.tape import FUSED, Tape
from appell.errors import InputError
from appell.export.runtime import Real

LENGTH = 256  # steps in a function
_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}
_FUNCTIONS = {"sqrt": "square_root", "abs": "magnitude", "sign": "sign_of"}


class Body:
    """Writes the functions, value by value: ``text`` is theirs."""

    def __init__(self, tape: Tape, real: Real, name: str) -> None:
        self.tape, self.real, self.name = tape, real, name
        self.inputs, self.outputs = list(tape.inputs), list(tape.outputs)
        self.plan = Plan(tape, LENGTH)
        self.largest = 0  # number of values in a function
        self.calls: list[str] = []
        self.read: set[str] = set()
        self.written: set[tuple[int, int]] = set()
        parts = [self.part(k) for k in range(len(self.plan.parts))]
        self.text = "\n".join([*parts, self.whole()])

    @property
    def stack(self) -> int:
        """Bytes at most. Without optimisation every value has a place; besides, there are the
        addresses that functions are given, and what sine and cosine take."""
        addresses = 3 * (len(self.inputs) + len(self.outputs) + 1)
        return self.real.bits // 8 * (self.largest + self.plan.room) + 8 * addresses + 1024

    def whole(self) -> str:
        lines = [*declared(self.name, parameters(self.tape, self.real)), "{"]
        if self.plan.room:
            lines.append(f"    {self.real.name} kept[{self.plan.room}];")
        lines += [f"    (void){x};" for x in self.inputs if x not in self.read]
        return "\n".join([*lines, *self.calls, "}\n"])

    def part(self, number: int) -> str:
        """One function; the first also computes the sines and cosines that need no others."""
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.turned: set[int] = set()
        self.used: set[str] = set()
        if number == 0:
            for place in self.plan.before_angles:
                self.step(place)
            self.turn_all()
        for place in self.plan.parts[number]:
            self.step(place)
        for window in self.plan.windows[number]:
            for element, place in enumerate(window.places, start=window.first):
                self.write(window.operand, element, place)
        self.largest = max(self.largest, len(self.names) + 2 * len(self.turned) + 1)
        return self.function(f"{self.name}_part{number}")

    def function(self, name: str) -> str:
        """It is given only what it uses."""
        T = self.real.name
        given = {x: f"const {T} *restrict {x}" for x in self.inputs}
        given |= {x: f"{T} *restrict {x}" for x in (*self.outputs, "kept")}
        taken = [x for x in given if x in self.used]
        self.read |= self.used
        self.calls.append(f"    {name}({', '.join(taken)});")
        head = declared(name, [given[x] for x in taken])
        return "\n".join(["static NOINLINE", *head, "{", *self.lines, "}\n"])

    def step(self, place: int) -> None:
        """Compute a value, and keep it if another function will ask for it."""
        op, a, _ = self.tape.steps[place]
        if place in self.names or op in ("constant", "input"):
            return
        if op in ("sin", "cos"):
            self.turn(a)
            self.names[place] = f"{op}{a}"
        else:
            expression = self.computed(place)
            self.names[place] = f"x{place}"
            self.lines.append(f"    const {self.real.name} x{place} = {expression};")
        if place in self.plan.slots:
            self.lines.append(f"    {self.kept(place)} = {self.names[place]};")

    def value(self, place: int) -> str:
        op, a, b = self.tape.steps[place]
        if op == "constant":
            if not isfinite(a):
                raise InputError(f"{self.name}: a constant is {a}; check the robot's numbers.")
            return self.real.literal(a)
        if op == "input":
            return self.input(a, b)
        return self.names[place] if place in self.names else self.kept(place)

    def input(self, operand: int, element: int) -> str:
        self.used.add(self.inputs[operand])
        return f"{self.inputs[operand]}[{element}]"

    def kept(self, place: int) -> str:
        self.used.add("kept")
        return f"kept[{self.plan.slots[place]}]"

    def computed(self, place: int) -> str:
        op, a, b = self.tape.steps[place]
        if op in _OPERATORS:
            return f"{self.value(a)} {_OPERATORS[op]} {self.value(b)}"
        if op in FUSED:
            x, y, c = (self.value(k) for k in (*a, b))
            x = _negative(x) if op == "fnma" else x
            return f"fused({x}, {y}, {_negative(c) if op == 'fms' else c})"
        if op == "neg":
            return _negative(self.value(a))
        if op == "inv":
            return f"{self.real.literal(1.0)} / {self.value(a)}"
        if op == "atan2":
            return f"arctangent({self.value(a)}, {self.value(b)})"
        return f"{_FUNCTIONS[op]}({self.value(a)})"

    def turn(self, angle: int) -> None:
        """Sine and cosine of an angle, once in each function."""
        if angle not in self.turned:
            self.turned.add(angle)
            self.lines.append(f"    {self.real.name} sin{angle}, cos{angle};")
            self.lines.append(f"    sine_cosine({self.value(angle)}, &sin{angle}, &cos{angle});")

    def turn_all(self) -> None:
        """All angles that need no others. NaN in an input that is not read spoils them, so that
        it reaches the outputs as it would if the equation were computed in full."""
        for angle in self.plan.angles:
            self.turn(angle)
        unread = [self.input(*place) for place in self.tape.unread() if self.plan.angles]
        if not unread:
            return
        spoiled = " + ".join(f"({x} - {x})" for x in unread)
        self.lines.append(f"    const {self.real.name} spoiled = {spoiled};")
        self.lines.append("    if (spoiled != spoiled) {")
        self.lines += [f"        sin{k} = cos{k} = spoiled;" for k in self.plan.angles]
        self.lines.append("    }")

    def write(self, operand: int, element: int, place: int) -> None:
        if (operand, element) not in self.written:
            self.written.add((operand, element))
            self.used.add(self.outputs[operand])
            self.lines.append(f"    {self.outputs[operand]}[{element}] = {self.value(place)};")


def parameters(tape: Tape, real: Real, restrict: str = "restrict ") -> list[str]:
    """Of the exported function."""
    given = [f"const {real.name} *{restrict}{x}" for x in tape.inputs]
    return given + [f"{real.name} *{restrict}{x}" for x in tape.outputs]


def declared(name: str, listed: list[str], end: str = "") -> list[str]:
    """A function's head, in lines of a width that can be read."""
    unbroken = ", ".join(x.replace(" ", "~") for x in listed) or "void"
    lines = wrap(f"void~{name}({unbroken}){end}", 96, break_long_words=False)
    return [line.replace("~", " ") for line in (lines[0], *(f"        {x}" for x in lines[1:]))]


def _negative(x: str) -> str:
    return x[1:] if x.startswith("-") else f"-{x}"
