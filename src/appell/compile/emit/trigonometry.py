"""Sine, cosine and arctangent, as routines.

The polynomials are the minimax ones of the C library fdlibm (Sun, 1993) and, in single
precision, of Cephes (Moshier, 1989). Zeros, infinities and NaN give what C gives.
"""

from __future__ import annotations

from typing import Any

from appell.compile.lower import Real, Value, fma, horner, select, step

FAR = {"double": 2.0**30, "float": 2.0**16}  # an angle beyond is reduced exactly
TWO_OVER_PI = 0.63661977236758134308
HALF_PI = {  # in three parts
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
COTANGENT = 2.414213562373095  # of pi/8
QUARTER_PI = {
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


def sine_cosine(real: Real, x: Value) -> tuple[Value, Value]:
    """Sine and cosine of |x| up to 2^30, in single precision 2^16. Multiples of pi/2 are subtracted
    in three parts: the first step is exact, and the others leave an error below one unit in the
    last place of the remainder, however near the angle is to a multiple."""
    turns = fma(x, TWO_OVER_PI, real.magic)
    quadrant = turns.bits
    minus_k = -(turns - real.magic)
    r = x
    for part in HALF_PI[real.name]:
        r = fma(minus_k, part, r)
    z = r * r
    s = fma(r * z, horner(z, SIN[real.name]), r)
    zz, half = z * z, fma(z, -0.5, 1.0)
    c = fma(zz, horner(z, COS[real.name]), half)
    return _turned(real, quadrant, s, c)


def far_sine_cosine(real: Real, x: Value, sine: Value, cosine: Value) -> tuple[Value, Value]:
    """Sine and cosine of x where |x| is beyond 2^30 (2^16), else the two given. They err by less
    than one unit in the last place."""
    far = abs(x) > FAR[real.name]
    quadrant, r, low = _reduced(real, select(far, x, FAR[real.name]))
    z = r * r
    half = z * 0.5
    s = r + fma(r * z, horner(z, SIN[real.name]), fma(-half, low, low))
    main = 1.0 - half
    lost = (1.0 - main) - half
    c = main + fma(-r, low, fma(z * z, horner(z, COS[real.name]), lost))
    s, c = _turned(real, quadrant, s, c)
    s = s.signed(x.sign)
    finite, none = abs(x) <= real.largest, x - x
    s, c = (select(finite, y, none) for y in (s, c))
    return select(far, s, sine), select(far, c, cosine)


def _reduced(real: Real, x: Value) -> tuple[Value, Value, Value]:
    """The quadrant of a large |x|, and the remainder in two parts (Payne and Hanek, 1983).

    |x| = m 2^e with a whole m. Of 2/pi only the bits matter that give m 2^e 2/pi modulo 4: 192 of
    them, from a table, times m. The two uppermost bits of the product are the quadrant, the others
    a fraction of a quarter turn: no number is so near to a multiple of pi/2 that its first 62 bits
    are zero.
    """
    p = _product(real, x)
    high, middle = (p[k] << 32 | p[k - 1] for k in (5, 3))
    upper, lower = high << 2 | middle >> 62, middle << 2 | p[1] >> 30
    more = upper >> 63  # half a quarter turn, or more
    quadrant = (high >> 62) + more
    below = 0 - more
    upper, lower = upper ^ below, lower ^ below
    zeros = step("zeros", upper)
    angle = _upper_half(upper << zeros | lower >> 1 >> (63 - zeros), 0xC90FDAA22168C235)  # pi/2
    if real.bits == 64:
        unit = _power_of_two(real, 960 - zeros)
        first = _small(real, angle >> 32) * 2.0**32 + _small(real, angle & (2**32 - 2**11))
        second = _small(real, angle & (2**11 - 1))
    else:
        unit = _power_of_two(real, 104 - zeros)
        first = _small(real, angle >> 40)
        second = _small(real, angle >> 16 & (2**24 - 1)) * 2.0**-24
    minus = step("narrow", more) << (real.bits - 1)
    return step("narrow", quadrant), (first * unit).signed(minus), (second * unit).signed(minus)


def _product(real: Real, x: Value) -> list[Any]:
    """The lowest 192 bits of m times those of 2/pi from where the product is below 4, in words of
    32 bits, the lowest first."""
    bits = x.bits
    exponent = step("wide", bits >> real.fraction & (2 * real.bias + 1))
    first = exponent - (real.bias + real.fraction - 30)
    word, shift = first >> 5, first & 31
    window = [step("look", word + k if k else word) << shift >> 32 for k in (5, 4, 3, 2, 1, 0)]
    m = step("wide", bits & (2**real.fraction - 1) | 2**real.fraction)
    product: list[Any] = [0] * 6
    for j, limb in enumerate([m & (2**32 - 1), m >> 32] if real.bits == 64 else [m]):
        carry: Any = 0
        for i in range(6 - j):
            t = window[i] * limb
            for more in (product[i + j], carry):
                t = t if isinstance(more, int) else t + more
            product[i + j], carry = t & (2**32 - 1), t >> 32
    return product


def _upper_half(x: Value, y: int) -> Value:
    """The upper 64 bits of a product."""
    (x0, x1), (y0, y1) = (x & (2**32 - 1), x >> 32), (y & (2**32 - 1), y >> 32)
    b = x1 * y0 + (x0 * y0 >> 32)
    c = x0 * y1 + (b & (2**32 - 1))
    return x1 * y1 + (b >> 32) + (c >> 32)


def _small(real: Real, word: Value) -> Value:
    """A whole number, of at most 32 bits, or 24 in single precision, as a number."""
    if real.bits == 64:
        return (word | real.power_bits(52)).number - 2.0**52
    upper, lower = (
        (step("narrow", part) | real.power_bits(23)).number - 2.0**23
        for part in (word >> 12, word & (2**12 - 1))
    )
    return upper * 2.0**12 + lower


def _power_of_two(real: Real, stored: Value) -> Value:
    """The power of two with this stored exponent."""
    return (step("narrow", stored) << real.fraction).number


def _turned(real: Real, quadrant: Value, s: Value, c: Value) -> tuple[Value, Value]:
    """Sine and cosine, from those of the remainder and the number of quarter turns before it."""
    odd = step("nonzero", quadrant & 1)
    sine, cosine = select(odd, c, s), select(odd, s, c)
    second, third = (quadrant & 2, (quadrant + 1) & 2)  # half a turn changes the sign
    return sine.signed(second << (real.bits - 2)), cosine.signed(third << (real.bits - 2))


def arctangent(real: Real, y: Value, x: Value) -> Value:
    """The angle of the point (x, y). With a = min(|x|, |y|) / max(|x|, |y|) it is m pi/4 + atan(t)
    or m pi/4 - atan(t), where t is a, or (a - 1)/(a + 1) if a is beyond tan(pi/8): one division
    makes either. The sum of two finite coordinates must be finite."""
    width, height = abs(x), abs(y)
    steep = width < height
    longer, shorter = select(steep, height, width), select(steep, width, height)

    # Masks take the place of choices where they can: they leave the units free that multiply.
    # Two zeros are within tan(pi/8); two infinities are not, as NaN is no number from 0 on.
    every = 2**real.bits - 1
    within = step("mask", fma(shorter, -COTANGENT, longer) >= 0.0)
    beyond, unequal = within ^ every, step("mask", step("eq", height, width)) ^ every
    above, below = shorter - longer.where(beyond), longer + shorter.where(beyond)
    t = (above / below).where(unequal)
    z = t * t
    zz = z * z
    even, odd = (horner(zz, ATAN[real.name][k::2]) for k in (0, 1))  # chains beside each other
    angle = fma(t * z, fma(odd, z, even), t)

    # pi/2 - angle where the point is steep, then pi - angle where it is left: angle changes its
    # sign, and with it 1 - m, and then 2 - m.
    steep_sign = step("mask", steep) & real.sign_bit
    left_sign = x.sign
    m = (within & real.power_bits(0) ^ steep_sign).number + 1.0
    m = 2.0 - m.signed(left_sign)
    angle = angle.signed(steep_sign ^ left_sign)
    high, low = QUARTER_PI[real.name]
    return fma(m, high, fma(m, low, angle)).signed(y.sign)


def two_over_pi(real: Real) -> list[int]:
    """The table that far angles need: 64 bits of 2/pi, from 32 bits before it on, then from 32 bits
    later, and so on."""
    digits = (
        "00000000a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a"
        "424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639"
        "835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f66"
        "9e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046"
    )
    count = 37 if real.bits == 64 else 10
    return [int(digits[8 * k : 8 * k + 16], 16) for k in range(count)]
