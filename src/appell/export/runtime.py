"""The mathematics of exported C: routines, and the operations that C itself does not have.

A fused multiply-add and a square root are instructions; where the processor has none, whole
numbers make them, rounded as IEEE 754 says.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from appell.compile.emit.trigonometry import two_over_pi
from appell.compile.lower import Real
from appell.compile.tape import FUSED
from appell.export.body import FunctionBody, literal


def runtime(body: FunctionBody) -> str:
    """The C source of all that a body's operations need."""
    real, needed = body.real, body.operations
    parts = ["preamble"]
    if needed & {*FUSED, "sqrt", "abs", "bits"}:
        parts.append("bits")
    if needed & set(FUSED):
        parts.append(f"fused_{real.name}")
    if "sqrt" in needed:
        parts.append("square_root")
    text = "".join(filled(part, real) for part in parts)
    if "look" in needed:
        text += filled("zeros", real) + _table(two_over_pi(real))
    if "sincos" in body.functions:
        text += f"\ntypedef struct {{\n    {real.name} sine, cosine;\n}} Pair;\n"
    return text + "".join(function.text for function in body.functions.values())


def _table(words: list[int]) -> str:
    listed = [f"{word:#018x}u" for word in words]
    rows = ["    " + ", ".join(listed[k : k + 4]) for k in range(0, len(listed), 4)]
    head = f"static const uint64_t two_over_pi[{len(words)}] = {{"
    return "\n".join(["\n/* 2/pi, in words that overlap. */", head, ",\n".join(rows), "};\n"])


def filled(name: str, real: Real) -> str:
    """A template with its numbers."""
    double = real.bits == 64
    numbers = {
        "REAL": real.name,
        "WORD": f"uint{real.bits}_t",
        "F": "" if double else "f",
        "LETTER": "d" if double else "s",
        "ARM_PREFIX": "P" if double else "",
        "ARM_CLASS": "w" if double else "t",
        "BITS": str(real.bits),
        "TOP": str(real.bits - 1),
        "FRACTION": str(real.fraction),
        "BIAS": str(real.bias),
        "LARGEST": literal(real, real.largest),
        "LEAD": str(real.bits - real.fraction - 2),
        "PAIR": str(real.bits - 2),
    }
    return template(f"{name}.c", numbers)


def template(name: str, values: Mapping[str, str]) -> str:
    """A file with values in their places, which are written @SO@."""
    text = (files("appell.export") / "templates" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
