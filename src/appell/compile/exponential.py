"""Exponential, logarithm, power and hyperbolic functions, as routines.

The polynomials are the minimax ones of the C library fdlibm (Sun, 1993). Zeros, infinities and
NaN give what C gives; what is beyond the range of numbers is 0 or infinite.
"""

from __future__ import annotations

from typing import Any

from appell.compile.lower import Real, Value, fma, horner, select, step

EXP = {
    "double": (
        1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
        -1.65339022054652515390e-06, 4.13813679705723846039e-08,
    ),
    "float": (1.6666625440e-1, -2.7667332906e-3),
}  # fmt: skip
LOG = (
    5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01,
    2.72728123808534006489e-01, 2.30660745775561754067e-01, 2.06975017800338417784e-01,
)  # fmt: skip
ENDS = {"double": (-746.0, 710.0), "float": (-104.0, 89.0)}  # beyond, e^x is 0 or infinite
# Numbers of more digits than double precision has, in two parts.
LN2 = (0.6931471805599453, 2.3190468138462996e-17)
LN_3_2 = (0.4054651081081644, -2.8811380259626426e-18)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def exponential(real: Real, x: Value) -> Value:
    """e^x."""
    return _exponential(real, x)


def _exponential(real: Real, x: Value, low: Value | None = None) -> Value:
    lowest, highest = ENDS[real.name]
    k, p = _power(real, _at_most(highest, select(x < lowest, lowest, x)), low)
    return _scaled(real, p + 1.0, k)


def _power(real: Real, x: Value, low: Value | None = None) -> tuple[Value, Value]:
    """k and p, such that e^(x + low) = 2^k (1 + p): p = e^r - 1, with r between -ln(2)/2 and
    ln(2)/2. Taking away k ln 2 is exact in its first part."""
    k = fma(x, 1 / LN2[0], real.magic) - real.magic
    first, second = _parts(real, LN2)
    r = fma(-k, second, fma(-k, first, x))
    r = r if low is None else r + low
    t = r * r
    c = fma(-t, horner(t, EXP[real.name]), r)
    return k, fma(r, c / (2.0 - c), r)


def _scaled(real: Real, x: Value, k: Value) -> Value:
    """x 2^k, in two factors: one alone might be beyond the range of numbers."""
    half = fma(k, 0.5, real.magic) - real.magic
    return x * _two_to(real, half) * _two_to(real, k - half)


def _two_to(real: Real, k: Value) -> Value:
    return (((k + real.magic).bits + real.bias) << real.fraction).number


def logarithm(real: Real, x: Value) -> Value:
    """The natural logarithm."""
    return _logarithm(real, x)[0]


def _logarithm(real: Real, x: Value) -> tuple[Value, Value]:
    """The logarithm in two parts, with twice the digits (fdlibm's e_pow.c).

    x = 2^k b (1 + s)/(1 - s) with b = 1 or 3/2 and |s| < 0.102, and log (1 + s)/(1 - s) =
    2/3 s (3 + s^2 + 3/5 s^4 + ...).
    """
    tiny = x < 2.0 ** (1 - real.bias)
    up = real.fraction + 1
    bits = select(tiny, x * 2.0**up, x).bits
    m = (bits & (2**real.fraction - 1) | real.power_bits(0)).number
    large = m >= 3**0.5
    m = select(large, m * 0.5, m)
    middle = m >= 1.5**0.5
    b = select(middle, 1.5, 1.0)
    stored = (bits >> real.fraction | real.power_bits(real.fraction)).number
    k = stored - (2.0**real.fraction + real.bias)
    k = k - select(tiny, float(up), 0.0) + select(large, 1.0, 0.0)

    above, below = m - b, m + b
    inverse, lost = 1.0 / below, m - (below - b)
    s = above * inverse
    s_low = inverse * fma(-s, lost, fma(-s, below, above))
    z = s * s
    t = z + 3.0
    rest = fma(z * z, horner(z, LOG), fma(s + s, s_low, fma(s, s, -z)))
    t_low = (z - (t - 3.0)) + rest
    p, p_low = _times(_times((s, s_low), (t, t_low)), _parts(real, TWO_THIRDS))

    q, q_low = _by(k, _parts(real, LN2))
    first, second = (select(middle, part, 0.0) for part in _parts(real, LN_3_2))
    sum_1 = q + first
    sum_2 = sum_1 + p
    low = (first - (sum_1 - q)) + (p - (sum_2 - sum_1)) + (q_low + second + p_low)
    high = sum_2 + low
    low = low - (high - sum_2)

    high = select(x <= real.largest, high, x)
    infinite = step("mask", step("eq", x, 0.0)) & real.power_bits(real.bias + 1)
    return high - infinite.number + _none(real, x < 0.0), low


def _times(x: tuple[Value, Value], y: tuple[Any, Any]) -> tuple[Value, Value]:
    """A product of numbers in two parts."""
    p, low = _by(x[0], y)
    return p, fma(x[1], y[0], low)


def _by(x: Value, y: tuple[Any, Any]) -> tuple[Value, Value]:
    p = x * y[0]
    return p, fma(x, y[1], fma(x, y[0], -p))


def power_of(real: Real, x: Value, y: Value) -> Value:
    """x^y."""
    size = abs(x)
    z, z_low = _by(y, _logarithm(real, size))
    z_low = select(abs(z) < 1000.0, z_low, 0.0)
    result = _exponential(real, z, z_low)
    result = select(step("eq", size, 1.0) | step("eq", y, 0.0), 1.0, result)

    # Of a negative x, whole powers only; odd ones are negative.
    n, unit = abs(y), 2.0**real.fraction
    large, shifted = n >= unit, n + unit
    whole = large | step("eq", shifted - unit, n)
    lowest = select(large, n, shifted).bits & step("mask", whole & (n < 2 * unit))
    result = result + _none(real, (x < 0.0) & (x >= -real.largest) & ~whole)
    return result.signed(x.sign & lowest << (real.bits - 1))


def hyperbolic_sine(real: Real, x: Value) -> Value:
    """(e^x - e^-x) / 2."""
    size = abs(x)
    k, p = _power(real, _at_most(ENDS[real.name][1] + 2.0, size))
    e = _less_one(real, k, p)
    y = select(size < 20.0, (e + e / (e + 1.0)) * 0.5, _scaled(real, p + 1.0, k - 1.0))
    return y.signed(x.sign)


def hyperbolic_cosine(real: Real, x: Value) -> Value:
    """(e^x + e^-x) / 2."""
    k, p = _power(real, _at_most(ENDS[real.name][1] + 2.0, abs(x)))
    half = _scaled(real, p + 1.0, k - 1.0)
    return half + 0.25 / half


def hyperbolic_tangent(real: Real, x: Value) -> Value:
    """(e^x - e^-x) / (e^x + e^-x)."""
    e = _less_one(real, *_power(real, _at_most(22.0, abs(x)) * 2.0))
    return (e / (e + 2.0)).signed(x.sign)


def _less_one(real: Real, k: Value, p: Value) -> Value:
    """2^k (1 + p) - 1."""
    unit = _two_to(real, k)
    return fma(p, unit, unit - 1.0)


def _at_most(limit: float, x: Value) -> Value:
    return select(x > limit, limit, x)


def _none(real: Real, condition: Value) -> Value:
    """NaN where the condition holds, else 0."""
    bits = real.power_bits(real.bias + 1) + 2 ** (real.fraction - 1)
    return (step("mask", condition) & bits).number


def _parts(real: Real, x: tuple[float, float]) -> tuple[float, float]:
    """A number in two parts of this format."""
    first = real.rounded(x[0])
    return (first, real.rounded(x[0] - first + x[1]))
