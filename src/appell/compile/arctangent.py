"""The angle of a point, atan2(y, x), over lanes, as a polynomial.

With a = min(|x|, |y|) / max(|x|, |y|) the angle is m pi/4 + atan(t) or m pi/4 - atan(t),
where t is a, or (a - 1)/(a + 1) if a is beyond tan(pi/8): one division makes either. The
polynomials are the minimax ones of the C library fdlibm (Sun, 1993) and, in single
precision, of Cephes (Moshier, 1989). Zeros, infinities and NaN give what C gives; the sum of
two finite coordinates must be finite. Masks take the place of choices where they can: they
leave the units free that multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COTANGENT = 2.414213562373095  # of pi/8
QUARTER = {  # pi/4 in two parts
    "double": (0.7853981633974483, 3.061616997868383e-17),
    "float": (0.785398185253143310546875, -2.185569500093121e-8),
}
ATAN = {
    "double": (
        -3.33333333333329318027e-01, 1.99999999998764832476e-01, -1.42857142725034663711e-01,
        1.11111104054623557880e-01, -9.09088713343650656196e-02, 7.69187620504482999495e-02,
        -6.66107313738753120669e-02, 5.83357013379057348645e-02, -4.97687799461593236017e-02,
        3.65315727442169155270e-02, -1.62858201153657823623e-02,
    ),
    "float": (-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1, 8.05374449538e-2),
}  # fmt: skip


def arctangent(body: Any, y: str, x: str) -> str:
    """Writes atan2(y, x) into a body and gives its name."""
    T, lanes, new, splat = body.real.name, body.lanes, body.new, body.splat
    V, suffix, some = body.vector, f"v{lanes}{body.real.suffix}", f"<{lanes} x i1>"
    I = f"<{lanes} x i{8 * body.real.size}>"
    sign_bit = f"splat (i{8 * body.real.size} {-(2 ** (8 * body.real.size - 1))})"

    def fma(a: str, b: str, c: str) -> str:
        return new(f"call {V} @llvm.fma.{suffix}({V} {a}, {V} {b}, {V} {c})")

    def magnitude(a: str) -> str:
        return new(f"call {V} @llvm.fabs.{suffix}({V} {a})")

    def bits(a: str) -> str:
        return new(f"bitcast {V} {a} to {I}")

    def number(a: str) -> str:
        return new(f"bitcast {I} {a} to {V}")

    def mask(condition: str) -> str:
        """All bits of a lane set or none."""
        return new(f"sext {some} {condition} to {I}")

    def where(chosen: str, a: str) -> str:
        """a, or zero in lanes that are not chosen."""
        return number(new(f"and {I} {chosen}, {bits(a)}"))

    def signed(a: str, sign: str) -> str:
        """a with its sign changed where the sign bit is set."""
        return number(new(f"xor {I} {bits(a)}, {sign}"))

    def horner(z: str, coefficients: Sequence[float]) -> str:
        value = splat(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = fma(value, z, splat(c))
        return value

    width, height = magnitude(x), magnitude(y)
    higher = new(f"fcmp ogt {V} {height}, {width}")
    longer = new(f"select {some} {higher}, {V} {height}, {V} {width}")
    shorter = new(f"select {some} {higher}, {V} {width}, {V} {height}")

    # Two infinities are beyond tan(pi/8), as NaN is "less" here; two zeros are not.
    limit = fma(shorter, splat(-COTANGENT), longer)
    beyond = mask(new(f"fcmp ult {V} {limit}, zeroinitializer"))
    above = new(f"fsub {V} {shorter}, {where(beyond, longer)}")
    below = new(f"fadd {V} {longer}, {where(beyond, shorter)}")
    unequal = mask(new(f"fcmp une {V} {height}, {width}"))
    t = where(unequal, new(f"fdiv {V} {above}, {below}"))
    z = new(f"fmul {V} {t}, {t}")
    zz = new(f"fmul {V} {z}, {z}")
    even, odd = (horner(zz, ATAN[T][k::2]) for k in (0, 1))  # two chains beside each other
    angle = fma(new(f"fmul {V} {t}, {z}"), fma(odd, z, even), t)

    # pi/2 - angle where the point is steep, then pi - angle where it is left: angle changes its
    # sign, and with it 1 - m, and then 2 - m.
    steep_sign = new(f"and {I} {mask(higher)}, {sign_bit}")
    left_sign = new(f"and {I} {bits(x)}, {sign_bit}")
    flat = new(f"xor {I} {beyond}, splat (i{8 * body.real.size} -1)")
    m = new(f"fadd {V} {signed(where(flat, splat(1.0)), steep_sign)}, {splat(1.0)}")
    m = new(f"fsub {V} {splat(2.0)}, {signed(m, left_sign)}")
    angle = signed(angle, new(f"xor {I} {steep_sign}, {left_sign}"))
    high, low = QUARTER[T]
    angle = fma(m, splat(high), fma(m, splat(low), angle))
    return signed(angle, new(f"and {I} {bits(y)}, {sign_bit}"))
