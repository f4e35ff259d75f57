"""The mathematics of exported C: fused multiply-add, sine and cosine, arctangent, square root.

The same steps as in the kernels, with the same numbers, so that results are the same bits. Where
the processor has no fused multiply-add or square root, whole numbers make them, rounded as IEEE
754 says.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from appell.compile.arctangent import ATAN, COTANGENT, QUARTER
from appell.compile.reduction import HALF_PI, two_over_pi
from appell.compile.tape import FUSED, Tape
from appell.compile.trigonometry import COS, FAR, MAGIC, PARTS, SIN, TWO_OVER_PI


@dataclass(frozen=True)
class Real:
    """A type of floating-point number, as C knows it."""

    name: str
    bits: int
    fraction: int  # bits of it that are stored
    bias: int
    suffix: str

    def literal(self, x: float) -> str:
        """An exact number, in hexadecimal."""
        if self.bits == 32:
            (x,) = struct.unpack("<f", struct.pack("<f", x))
        head, _, power = x.hex().partition("p")
        head = head.rstrip("0").rstrip(".") if "." in head else head
        return f"{head}p{power}{self.suffix}"


REALS = {
    "float64": Real("double", 64, 52, 1023, ""),
    "float32": Real("float", 32, 23, 127, "f"),
}


def runtime(tape: Tape, real: Real) -> str:
    """What the tape's steps need."""
    counts = tape.counts
    turns = counts["sin"] + counts["cos"]
    fused = turns + counts["atan2"] + sum(counts[op] for op in FUSED)
    parts = ["preamble"]
    if fused or counts["sqrt"] or counts["abs"]:
        parts.append("bits")
    if fused:
        parts.append(f"fused_{real.name}")
    if turns:
        parts += ["far", "near"]
    parts += ["arctangent"] * (counts["atan2"] > 0)
    parts += ["square_root"] * (counts["sqrt"] > 0)
    parts += ["sign"] * (counts["sign"] > 0)
    return "".join(filled(part, real) for part in parts)


def filled(name: str, real: Real) -> str:
    """A template with its numbers."""
    text = template(f"{name}.c")
    for key, value in _numbers(real).items():
        text = text.replace(f"@{key}@", value)
    return text


def template(name: str) -> str:
    """A file with places for numbers, written @SO@."""
    return (files("appell.export") / "templates" / name).read_text(encoding="utf-8")


@cache
def _numbers(real: Real) -> dict[str, str]:
    T, literal = real.name, real.literal
    double = real.bits == 64
    words = [f"0x{word:08x}u" for word in two_over_pi(T)]
    rows = [", ".join(words[k : k + 7]) for k in range(0, len(words), 7)]
    numbers = {
        "REAL": T,
        "WORD": f"uint{real.bits}_t",
        "F": real.suffix,
        "LETTER": "d" if double else "s",
        "ARM_PREFIX": "P" if double else "",
        "ARM_CLASS": "w" if double else "t",
        "BITS": str(real.bits),
        "TOP": str(real.bits - 1),
        "FRACTION": str(real.fraction),
        "BIAS": str(real.bias),
        "SPECIAL": str(2 * real.bias + 1),
        "LARGEST": literal((2 - 2.0**-real.fraction) * 2.0**real.bias),
        "LEAD": str(real.bits - real.fraction - 2),
        "PAIR": str(real.bits - 2),
        "WORDS": str(len(words)),
        "TABLE": ",\n".join(f"    {row}" for row in rows),
        "FAR": literal(FAR[T]),
        "FIRST": str(real.bias + real.fraction - 30),
        "LIMBS": "2" if double else "1",
        "LIMBS_OF_M": "(uint32_t)m, (uint32_t)(m >> 32)" if double else "m",
        "PI_LOW": hex(HALF_PI & (2**32 - 1)),
        "PI_HIGH": hex(HALF_PI >> 32),
        "UNIT": "960" if double else "104",
        "UPPER": _UPPER[T],
        "LOWER": _LOWER[T],
        "TWO_OVER_PI": literal(TWO_OVER_PI),
        "MAGIC": literal(MAGIC[T]),
        "COTANGENT": literal(COTANGENT),
    }
    numbers |= {f"PART{k}": literal(x) for k, x in enumerate(PARTS[T])}
    numbers |= {f"QUARTER{k}": literal(x) for k, x in enumerate(QUARTER[T])}
    polynomials = {
        "SIN": ("s", "z", SIN[T]),
        "COS": ("c", "z", COS[T]),
        "EVEN": ("even", "zz", ATAN[T][::2]),
        "ODD": ("odd", "zz", ATAN[T][1::2]),
    }
    for name, (value, z, coefficients) in polynomials.items():
        numbers[f"{name}_LAST"] = literal(coefficients[-1])
        numbers[f"{name}_HORNER"] = "\n".join(
            f"    {value} = fused({value}, {z}, {literal(x)});" for x in coefficients[-2::-1]
        )
    return numbers


# The upper bits of 64, and those below.
_UPPER = {
    "double": "    upper = (double)(uint32_t)(angle >> 32) * 0x1p+32;\n"
    "    upper += (double)((uint32_t)angle & 0xfffff800u);",
    "float": "    upper = (float)(uint32_t)(angle >> 40);",
}
_LOWER = {
    "double": "    lower = (double)((uint32_t)angle & 0x7ffu);",
    "float": "    lower = (float)((uint32_t)(angle >> 16) & 0xffffffu) * 0x1p-24f;",
}
