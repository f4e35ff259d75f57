"""Sine and cosine of one large angle, in LLVM IR (Payne and Hanek, 1983).

|x| = m 2^e with a whole m. Of 2/pi only the bits matter that give m 2^e 2/pi modulo 4: 192 of
them, from a table, times m. The two uppermost bits of the product are the quadrant, the
others a fraction of a quarter turn: no angle of this format is so near to a multiple of pi/2
that its first 62 bits are zero. The fraction times pi/2 is kept in two parts, so that sine
and cosine err by less than one unit in the last place. Whole numbers of 32 bits make it the
same on every processor, without any library.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from appell.compile.trigonometry import COS, FAR, SIN

if TYPE_CHECKING:
    from appell.compile.llvm import Float

_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d0856033046",
    16,
)  # its first 1184 bits
HALF_PI = 0xC90FDAA22168C235  # pi/2, times 2^63


def two_over_pi(T: str) -> list[int]:
    """Words of 32 bits, the first of them zero, as many as angles of this format need."""
    bits = f"{_TWO_OVER_PI:01184b}"
    words = [int(bits[k : k + 32], 2) for k in range(0, len(bits), 32)]
    return [0, *words][: 38 if T == "double" else 11]


def far_functions(real: Float, lanes: int) -> str:
    """``far``: sine and cosine in the lanes whose angle is beyond FAR, one after another."""
    return "\n".join([_table(real.name), _Far(real).text(), _far_lanes(real, lanes)])


def _table(T: str) -> str:
    words = two_over_pi(T)
    listed = ", ".join(f"i32 {word}" for word in words)
    return f"@two_over_pi = internal constant [{len(words)} x i32] [{listed}], align 64"


class _Far:
    """Writes ``far_one``, value by value."""

    def __init__(self, real: Float) -> None:
        self.real, self.T = real, real.name
        self.double = real.size == 8
        self.bits = 8 * real.size
        self.fraction = 52 if self.double else 23  # bits of it that are stored
        self.lines: list[str] = []

    def text(self) -> str:
        T = self.T
        q, r, low = self.reduced()
        s, c = self.polynomials(r, low)
        odd = self.new(f"trunc i64 {q} to i1")
        sine = self.new(f"select i1 {odd}, {T} {c}, {T} {s}")
        cosine = self.new(f"select i1 {odd}, {T} {s}, {T} {c}")
        after = self.new(f"add i64 {q}, 1")
        sine = self.signed(sine, self.new(f"xor i{self.bits} {self.half_turn(q)}, %sign"))
        cosine = self.signed(cosine, self.half_turn(after))
        first = self.new(f"insertvalue {{{T}, {T}}} undef, {T} {sine}, 0")
        both = self.new(f"insertvalue {{{T}, {T}}} {first}, {T} {cosine}, 1")
        special = 2047 if self.double else 255
        return "\n".join([
            f"define internal {{{T}, {T}}} @far_one({T} %x) noinline cold nounwind {{",
            f"  %bits = bitcast {T} %x to i{self.bits}",
            f"  %sign = and i{self.bits} %bits, {-(2 ** (self.bits - 1))}",
            f"  %shifted = lshr i{self.bits} %bits, {self.fraction}",
            f"  %exponent = and i{self.bits} %shifted, {special}",
            f"  %infinite = icmp eq i{self.bits} %exponent, {special}",
            "  br i1 %infinite, label %none, label %some",
            "none:",
            f"  %nan = fsub {T} %x, %x",
            f"  %one = insertvalue {{{T}, {T}}} undef, {T} %nan, 0",
            f"  %two = insertvalue {{{T}, {T}}} %one, {T} %nan, 1",
            f"  ret {{{T}, {T}}} %two",
            "some:",
            *self.lines,
            f"  ret {{{T}, {T}}} {both}",
            "}",
        ])  # fmt: skip

    def new(self, expression: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def reduced(self) -> tuple[str, str, str]:
        """The quadrant, and what is left of |x| in two parts."""
        product = self.product(self.window())
        h, middle = (self.joined(product[k], product[k - 1]) for k in (5, 3))
        upper = self.joined_shifted(h, self.new(f"lshr i64 {middle}, 62"))
        lower = self.joined_shifted(middle, self.new(f"lshr i64 {product[1]}, 30"))
        quadrant = self.new(f"lshr i64 {h}, 62")
        more = self.new(f"lshr i64 {upper}, 63")  # half a quarter turn, or more
        quadrant = self.new(f"add i64 {quadrant}, {more}")
        below = self.new(f"ashr i64 {upper}, 63")
        upper, lower = (self.new(f"xor i64 {x}, {below}") for x in (upper, lower))
        zeros = self.new(f"call i64 @llvm.ctlz.i64(i64 {upper}, i1 false)")
        left = self.new(f"shl i64 {upper}, {zeros}")
        right = self.new(f"lshr i64 {lower}, 1")
        right = self.new(f"lshr i64 {right}, {self.new(f'sub i64 63, {zeros}')}")
        angle = self.high(self.new(f"or i64 {left}, {right}"), HALF_PI)
        r, low = self.parts(angle, zeros)
        minus = self.sized(self.new(f"and i64 {below}, {-(2**63)}"))
        return quadrant, self.signed(r, minus), self.signed(low, minus)

    def window(self) -> list[str]:
        """192 bits of 2/pi from where the product is below 4, the lowest word first."""
        wide = "%exponent" if self.double else self.new("zext i32 %exponent to i64")
        first = self.new(f"add i64 {wide}, {30 - (1075 if self.double else 150)}")
        word = self.new(f"lshr i64 {first}, 5")
        shift = self.new(f"and i64 {first}, 31")
        words = []
        for k in range(7):
            at = self.new(f"add i64 {word}, {k}")
            at = self.new(f"getelementptr i32, ptr @two_over_pi, i64 {at}")
            words.append(self.new(f"zext i32 {self.new(f'load i32, ptr {at}')} to i64"))
        shifted = [
            self.new(f"lshr i64 {self.new(f'shl i64 {self.joined(a, b)}, {shift}')}, 32")
            for a, b in pairwise(words)
        ]
        return shifted[::-1]

    def product(self, words: Sequence[str]) -> list[str]:
        """The lowest 192 bits of m times the window, in words, the lowest first."""
        stored = self.new(f"and i{self.bits} %bits, {2**self.fraction - 1}")
        m = self.new(f"or i{self.bits} {stored}, {2**self.fraction}")
        if self.double:
            limbs = [self.new(f"and i64 {m}, {2**32 - 1}"), self.new(f"lshr i64 {m}, 32")]
        else:
            limbs = [self.new(f"zext i32 {m} to i64")]
        made = ["0"] * 6
        for j, limb in enumerate(limbs):
            carry = "0"
            for i in range(6 - j):
                t = self.new(f"mul i64 {words[i]}, {limb}")
                t = self.new(f"add i64 {t}, {made[i + j]}")
                t = self.new(f"add i64 {t}, {carry}")
                made[i + j] = self.new(f"and i64 {t}, {2**32 - 1}")
                carry = self.new(f"lshr i64 {t}, 32")
        return made

    def joined(self, high: str, low: str) -> str:
        """Two words as one of 64 bits."""
        return self.new(f"or i64 {self.new(f'shl i64 {high}, 32')}, {low}")

    def joined_shifted(self, high: str, low: str) -> str:
        return self.new(f"or i64 {self.new(f'shl i64 {high}, 2')}, {low}")

    def high(self, x: str, y: int) -> str:
        """The upper 64 bits of a product."""
        x0, x1 = self.new(f"and i64 {x}, {2**32 - 1}"), self.new(f"lshr i64 {x}, 32")
        y0, y1 = y & (2**32 - 1), y >> 32
        a = self.new(f"mul i64 {x0}, {y0}")
        b = self.new(f"mul i64 {x1}, {y0}")
        b = self.new(f"add i64 {b}, {self.new(f'lshr i64 {a}, 32')}")
        c = self.new(f"mul i64 {x0}, {y1}")
        c = self.new(f"add i64 {c}, {self.new(f'and i64 {b}, {2**32 - 1}')}")
        d = self.new(f"mul i64 {x1}, {y1}")
        d = self.new(f"add i64 {d}, {self.new(f'lshr i64 {b}, 32')}")
        return self.new(f"add i64 {d}, {self.new(f'lshr i64 {c}, 32')}")

    def parts(self, angle: str, zeros: str) -> tuple[str, str]:
        """The angle's 64 bits as two numbers; words of 32 bits become numbers by an instruction."""
        T, constant = self.T, self.real.constant
        if not self.double:
            high = self.number(self.new(f"lshr i64 {angle}, 40"))
            rest = self.new(f"and i64 {self.new(f'lshr i64 {angle}, 16')}, {2**24 - 1}")
            unit = self.power(104, zeros)
            low = self.new(f"fmul {T} {self.number(rest)}, {constant(2.0**-24)}")
        else:
            high = self.number(self.new(f"lshr i64 {angle}, 32"))
            high = self.new(f"fmul {T} {high}, {constant(2.0**32)}")
            rest = self.number(self.new(f"and i64 {angle}, {2**32 - 2**11}"))
            high = self.new(f"fadd {T} {high}, {rest}")
            low = self.number(self.new(f"and i64 {angle}, {2**11 - 1}"))
            unit = self.power(960, zeros)
        return self.new(f"fmul {T} {high}, {unit}"), self.new(f"fmul {T} {low}, {unit}")

    def number(self, word: str) -> str:
        return self.new(f"uitofp i32 {self.new(f'trunc i64 {word} to i32')} to {self.T}")

    def power(self, exponent: int, zeros: str) -> str:
        """The power of two whose stored exponent is this, less the zeros."""
        stored = self.sized(
            self.new(
                f"shl i64 {self.new(f'sub i64 {exponent}, {zeros}')}, "
                f"{64 - self.bits + self.fraction}"
            )
        )
        return self.new(f"bitcast i{self.bits} {stored} to {self.T}")

    def sized(self, x: str) -> str:
        """The upper bits, as many as a number has."""
        return x if self.double else self.new(f"trunc i64 {self.new(f'lshr i64 {x}, 32')} to i32")

    def polynomials(self, r: str, low: str) -> tuple[str, str]:
        """Sine and cosine of r + low, as in fdlibm."""
        T, constant = self.T, self.real.constant

        def fma(a: str, b: str, c: str) -> str:
            name = f"@llvm.fma.{self.real.suffix}"
            return self.new(f"call {T} {name}({T} {a}, {T} {b}, {T} {c})")

        def horner(coefficients: Sequence[float]) -> str:
            value = constant(coefficients[-1])
            for x in reversed(coefficients[:-1]):
                value = fma(value, z, constant(x))
            return value

        z = self.new(f"fmul {T} {r}, {r}")
        half = self.new(f"fmul {T} {z}, {constant(0.5)}")
        tail = fma(self.new(f"fneg {T} {half}"), low, low)
        tail = fma(self.new(f"fmul {T} {r}, {z}"), horner(SIN[T]), tail)
        sine = self.new(f"fadd {T} {r}, {tail}")
        main = self.new(f"fsub {T} {constant(1.0)}, {half}")
        lost = self.new(f"fsub {T} {self.new(f'fsub {T} {constant(1.0)}, {main}')}, {half}")
        rest = fma(self.new(f"fmul {T} {z}, {z}"), horner(COS[T]), lost)
        rest = fma(self.new(f"fneg {T} {r}"), low, rest)
        return sine, self.new(f"fadd {T} {main}, {rest}")

    def half_turn(self, quadrant: str) -> str:
        """The sign bit, set in the third and fourth quadrant."""
        second = self.new(f"and i64 {quadrant}, 2")
        return self.sized(self.new(f"shl i64 {second}, 62"))

    def signed(self, x: str, sign: str) -> str:
        raw = self.new(f"bitcast {self.T} {x} to i{self.bits}")
        turned = self.new(f"xor i{self.bits} {raw}, {sign}")
        return self.new(f"bitcast i{self.bits} {turned} to {self.T}")


def _far_lanes(real: Float, lanes: int) -> str:
    T, V = real.name, f"<{lanes} x {real.name}>"
    limit = real.constant(FAR[T])
    return f"""
define internal {{{V}, {V}}} @far({V} %angle, {V} %s, {V} %c) noinline cold nounwind {{
entry:
  br label %lane
lane:
  %i = phi i32 [0, %entry], [%i.next, %next]
  %s.i = phi {V} [%s, %entry], [%s.next, %next]
  %c.i = phi {V} [%c, %entry], [%c.next, %next]
  %x = extractelement {V} %angle, i32 %i
  %size = call {T} @llvm.fabs.{real.suffix}({T} %x)
  %is = fcmp ogt {T} %size, {limit}
  br i1 %is, label %ask, label %next
ask:
  %both.i = call {{{T}, {T}}} @far_one({T} %x)
  %sn = extractvalue {{{T}, {T}}} %both.i, 0
  %cn = extractvalue {{{T}, {T}}} %both.i, 1
  %s.new = insertelement {V} %s.i, {T} %sn, i32 %i
  %c.new = insertelement {V} %c.i, {T} %cn, i32 %i
  br label %next
next:
  %s.next = phi {V} [%s.i, %lane], [%s.new, %ask]
  %c.next = phi {V} [%c.i, %lane], [%c.new, %ask]
  %i.next = add i32 %i, 1
  %done = icmp eq i32 %i.next, {lanes}
  br i1 %done, label %exit, label %lane
exit:
  %one = insertvalue {{{V}, {V}}} undef, {V} %s.next, 0
  %both = insertvalue {{{V}, {V}}} %one, {V} %c.next, 1
  ret {{{V}, {V}}} %both
}}
declare {T} @llvm.fma.{real.suffix}({T}, {T}, {T})
declare {T} @llvm.fabs.{real.suffix}({T})
declare i64 @llvm.ctlz.i64(i64, i1)"""
