"""The table of LLVM's instructions over lanes, and the functions of routines."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

from appell.compile.elementary import routine
from appell.compile.emit.emitter import Writer
from appell.compile.emit.trigonometry import two_over_pi
from appell.compile.lower import Real, Routine

# One instruction a line; {_} is the result of the line before. In place of <r>, <i>, <w> and <c>
# stands the type of that kind over lanes, in place of <k> that of the result.
TABLE = {
    "add": "fadd <r> {0}, {1}", "sub": "fsub <r> {0}, {1}",
    "mul": "fmul <r> {0}, {1}", "div": "fdiv <r> {0}, {1}", "neg": "fneg <r> {0}",
    "abs": "call <r> @llvm.fabs.<r.>(<r> {0})", "sqrt": "call <r> @llvm.sqrt.<r.>(<r> {0})",
    "fma": "call <r> @llvm.fma.<r.>(<r> {0}, <r> {1}, <r> {2})",
    "fms": "fneg <r> {2}\ncall <r> @llvm.fma.<r.>(<r> {0}, <r> {1}, <r> {_})",
    "fnma": "fneg <r> {0}\ncall <r> @llvm.fma.<r.>(<r> {_}, <r> {1}, <r> {2})",
    "lt": "fcmp ogt <r> {1}, {0}", "le": "fcmp oge <r> {1}, {0}", "eq": "fcmp oeq <r> {0}, {1}",
    "not": "xor <c> {0}, splat (i1 true)", "nonzero": "icmp ne <i> {0}, zeroinitializer",
    "select": "select <c> {0}, <r> {1}, <r> {2}", "mask": "sext <c> {0} to <i>",
    "bits": "bitcast <r> {0} to <i>", "number": "bitcast <i> {0} to <r>",
    "wide": "zext <i> {0} to <w>", "narrow": "trunc <w> {0} to <i>",
    "and": "and <k> {0}, {1}", "or": "or <k> {0}, {1}", "xor": "xor <k> {0}, {1}",
    "plus": "add <k> {0}, {1}", "minus": "sub <k> {0}, {1}", "times": "mul <k> {0}, {1}",
    "shl": "shl <k> {0}, {1}", "shr": "lshr <k> {0}, {1}",
    "zeros": "call <w> @llvm.ctlz.<w.>(<w> {0}, i1 false)",
    "look": "extractelement <w> {0}, i32 0\n"  # in functions of one lane
    "getelementptr i64, ptr @two_over_pi, i64 {_}\nload <w>, ptr {_}",
}  # fmt: skip


def literal(real: Real, x: float) -> str:
    """An exact number: LLVM writes a float as the double that equals it."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', real.rounded(x)))[0]:016X}"


def _typed(text: str, real: Real, lanes: int) -> str:
    """A text with types in place of their names; with a dot they are parts of an intrinsic's."""
    kinds = {
        "r": (real.name, f"f{real.bits}"), "i": (f"i{real.bits}", ""), "w": ("i64", "i64"),
        "c": ("i1", ""),
    }  # fmt: skip
    for kind, (name, short) in kinds.items():
        text = text.replace(f"<{kind}>", f"<{lanes} x {name}>")
        text = text.replace(f"<{kind}.>", f"v{lanes}{short}")
    return text


@cache
def _texts(real: Real, lanes: int) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """The first instruction and the others of the table, by operation and kind of the result."""
    texts = {}
    for kind in "riwc":
        for op, text in TABLE.items():
            first, *others = _typed(text.replace("<k>", f"<{kind}>"), real, lanes).splitlines()
            texts[op, kind] = first, others
    return texts


class Lines(Writer):
    """Writes instructions over lanes."""

    table = TABLE

    def __init__(self, real: Real, lanes: int) -> None:
        self.real, self.lanes = real, lanes
        self.vector = f"<{lanes} x {real.name}>"
        self.lines: list[str] = []
        self.fresh = 0
        self._texts = _texts(real, lanes)

    def new(self, expression: str) -> str:
        name = f"%x{self.fresh}"
        self.fresh += 1
        self.lines.append(f"  {name} = {expression}")
        return name

    def line(self, op: str, kind: str, operands: Sequence[str], once: bool = False) -> str:
        text, more = self._texts[op, kind]
        name = self.new(text.format(*operands))
        for text in more:
            name = self.new(text.format(*operands, _=name))
        return name

    def constant(self, x: float) -> str:
        return f"splat ({self.real.name} {literal(self.real, x)})"

    def whole(self, x: int, kind: str) -> str:
        return f"splat (i{self.real.bits if kind == 'i' else 64} {x})"


@cache
def function(op: str, real: Real, lanes: int) -> str:
    """The text of a routine's function. The rare one computes lane by lane: its code is then short,
    and quickly compiled."""
    of, V = routine(op, real), f"<{lanes} x {real.name}>"
    if op == "far":
        words = [f"i64 {word}" for word in two_over_pi(real)]
        table = f"@two_over_pi = internal constant [{len(words)} x i64] [{', '.join(words)}]\n"
        how = "cold nounwind" + " optnone" * (lanes > 1)
        lines, results = _lane_by_lane(of, real, lanes)
    else:
        writer, table, how = Lines(real, lanes), "", "nounwind"
        results = writer.replay(of, [f"%{x}" for x in of.parameters])
        lines = writer.lines
    kind, before = several(V, len(results)), "undef"
    for k, x in enumerate(results):
        lines.append(f"  %result{k} = insertvalue {kind} {before}, {V} {x}, {k}")
        before = f"%result{k}"
    parameters = ", ".join(f"{V} %{x}" for x in of.parameters)
    head = f"{table}define internal {kind} @{of.name}({parameters}) noinline {how} {{"
    return "\n".join([head, *lines, f"  ret {kind} {before}\n}}"])


def _lane_by_lane(of: Routine, real: Real, lanes: int) -> tuple[list[str], list[str]]:
    """The lines and results of a routine that takes one lane after another; the results replace its
    last parameters."""
    T, V, parameters = real.name, f"<{lanes} x {real.name}>", of.parameters
    one = Lines(real, 1)
    results = one.replay(of, [f"%{x}.k" for x in parameters])
    replaced = parameters[-len(results) :]
    lines = ["entry:"]
    lines += [f"  %{x}.all = alloca {V}\n  store {V} %{x}, ptr %{x}.all" for x in parameters]
    lines += ["  br label %lane", "lane:", "  %k = phi i64 [0, %entry], [%next, %lane]"]
    for x in parameters:
        lines.append(f"  %{x}.at = getelementptr {T}, ptr %{x}.all, i64 %k")
        lines.append(f"  %{x}.k = load <1 x {T}>, ptr %{x}.at")
    lines += one.lines
    for x, y in zip(replaced, results, strict=True):
        lines.append(f"  store <1 x {T}> {y}, ptr %{x}.at")
    lines += ["  %next = add i64 %k, 1", f"  %more = icmp ult i64 %next, {lanes}"]
    lines += ["  br i1 %more, label %lane, label %exit", "exit:"]
    lines += [f"  %{x}.new = load {V}, ptr %{x}.all" for x in replaced]
    return lines, [f"%{x}.new" for x in replaced]


def several(vector: str, count: int) -> str:
    """The type of some results."""
    return f"{{{', '.join([vector] * count)}}}"
