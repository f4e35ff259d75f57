"""Sine and cosine over lanes, as polynomials.

The angle is reduced by multiples of pi/2 in three parts with fused
multiply-adds: the first step is exact, and the others leave an error below one
unit in the last place of what remains, however near the angle is to a multiple.
The polynomials are the minimax ones of the C library fdlibm (Sun, 1993) and, in
single precision, of Cephes (Moshier, 1989). Beyond FAR :mod:`appell.compile.reduction`
answers, lane by lane; so few states are there that one test for a whole group of angles is
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

AT_ONCE = 6  # angles whose instructions are interleaved: measured to be fastest
FAR = {"double": 2.0**30, "float": 2.0**16}

TWO_OVER_PI = 0.63661977236758134308
MAGIC = {"double": 6755399441055744.0, "float": 12582912.0}  # adding it rounds to a whole number
PARTS = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    "float": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512451e-15),
}
SIN = {
    "double": (
        -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
    ),
    "float": (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
}  # fmt: skip
COS = {
    "double": (
        4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
        -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
    ),
    "float": (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
}  # fmt: skip


class Trigonometry:
    """Writes sines and cosines into a body, a group of angles at a time."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.known: dict[tuple[str, int], str] = {}
        self.groups = 0

    def group(self, angles: Sequence[int], unread: Sequence[tuple[int, int]]) -> None:
        """Sine and cosine of each angle. NaN in an input that is not read spoils them all, so
        that it reaches the outputs as it would if the equation were computed in full."""
        if not angles:
            return
        body, V, lanes = self.body, self.body.vector, self.body.lanes
        near = self.all_near([body.value(a) for a in angles])
        far = [self.far(body.value(a)) for a in angles]
        spoiled = [body.input(*place) for place in unread]
        spoiled = [body.new(f"fsub {V} {x}, {x}") for x in spoiled]
        no_number = [body.new(f"fcmp uno {V} {x}, {x}") for x in spoiled]
        some = far[0]
        for other in (*far[1:], *no_number):
            some = body.new(f"or <{lanes} x i1> {some}, {other}")
        bits = body.new(f"bitcast <{lanes} x i1> {some} to i{lanes}")
        rare = body.new(f"icmp ne i{lanes} {bits}, 0")
        g = self.groups
        self.groups += 1
        start = "entry" if g == 0 else f"trig{g - 1}.end"
        body.lines.append(f"  br i1 {rare}, label %trig{g}.far, label %trig{g}.end, !prof !0")
        body.lines.append(f"trig{g}.far:")
        mended = []
        for a, (s, c) in zip(angles, near, strict=True):
            both = body.new(f"call {{{V}, {V}}} @far({V} {body.value(a)}, {V} {s}, {V} {c})")
            pair = [body.new(f"extractvalue {{{V}, {V}}} {both}, {i}") for i in (0, 1)]
            for x, none in zip(spoiled, no_number, strict=True):
                pair = [body.new(f"select <{lanes} x i1> {none}, {V} {x}, {V} {p}") for p in pair]
            mended.append(pair)
        body.lines.append(f"  br label %trig{g}.end")
        body.lines.append(f"trig{g}.end:")
        for a, fast, slow in zip(angles, near, mended, strict=True):
            for op, x, y in zip(("sin", "cos"), fast, slow, strict=True):
                self.known[op, a] = body.new(f"phi {V} [{x}, %{start}], [{y}, %trig{g}.far]")

    def all_near(self, angles: Sequence[str]) -> list[tuple[str, str]]:
        """Some angles at a time, instruction by instruction: each is a long chain, in which every
        one waits for the one before."""
        found, lines = [], self.body.lines
        groups = -(-len(angles) // AT_ONCE)
        size = -(-len(angles) // groups)
        for k in range(0, len(angles), size):
            chains = []
            for x in angles[k : k + size]:
                start = len(lines)
                found.append(self.near(x))
                chains.append(lines[start:])
                del lines[start:]
            lines += chain.from_iterable(zip(*chains, strict=True))
        return found

    def near(self, x: str) -> tuple[str, str]:
        """Sine and cosine of |x| up to FAR."""
        body, T = self.body, self.body.real.name
        V, lanes, new, splat = body.vector, body.lanes, body.new, body.splat
        bits = 64 if T == "double" else 32
        I = f"<{lanes} x i{bits}>"
        fma = f"call {V} @llvm.fma.v{lanes}{body.real.suffix}"

        def integer(k: int) -> str:
            return f"splat (i{bits} {k})"

        turns = new(f"{fma}({V} {x}, {V} {splat(TWO_OVER_PI)}, {V} {splat(MAGIC[T])})")
        quadrant = new(f"bitcast {V} {turns} to {I}")
        k = new(f"fsub {V} {turns}, {splat(MAGIC[T])}")
        minus_k = new(f"fneg {V} {k}")
        r = x
        for part in PARTS[T]:
            r = new(f"{fma}({V} {minus_k}, {V} {splat(part)}, {V} {r})")
        z = new(f"fmul {V} {r}, {r}")

        def polynomial(coefficients: Sequence[float]) -> str:
            value = splat(coefficients[-1])
            for c in reversed(coefficients[:-1]):
                value = new(f"{fma}({V} {value}, {V} {z}, {V} {splat(c)})")
            return value

        rz = new(f"fmul {V} {r}, {z}")
        s = new(f"{fma}({V} {rz}, {V} {polynomial(SIN[T])}, {V} {r})")
        zz = new(f"fmul {V} {z}, {z}")
        half = new(f"{fma}({V} {z}, {V} {splat(-0.5)}, {V} {splat(1.0)})")
        c = new(f"{fma}({V} {zz}, {V} {polynomial(COS[T])}, {V} {half})")

        odd = new(f"and {I} {quadrant}, {integer(1)}")
        swap = new(f"icmp ne {I} {odd}, zeroinitializer")
        sine = new(f"select <{lanes} x i1> {swap}, {V} {c}, {V} {s}")
        cosine = new(f"select <{lanes} x i1> {swap}, {V} {s}, {V} {c}")
        after = new(f"add {I} {quadrant}, {integer(1)}")

        def signed(value: str, turn: str) -> str:
            second = new(f"and {I} {turn}, {integer(2)}")
            sign = new(f"shl {I} {second}, {integer(bits - 2)}")
            raw = new(f"bitcast {V} {value} to {I}")
            return new(f"bitcast {I} {new(f'xor {I} {raw}, {sign}')} to {V}")

        return signed(sine, quadrant), signed(cosine, after)

    def far(self, x: str) -> str:
        body, V = self.body, self.body.vector
        size = body.new(f"call {V} @llvm.fabs.v{body.lanes}{body.real.suffix}({V} {x})")
        return body.new(f"fcmp ogt {V} {size}, {body.splat(FAR[body.real.name])}")
