"""Enclosures: bounds of a recorded function over a box, recorded as a function of the box.

An interval is its middle c and its radius r. Each operation of the function is replaced by one
that bounds it for all arguments of their intervals; |x| is the only branch it needs, so that the
result is again plain arithmetic, which can be compiled like any other. Where an operation is not
defined on the whole interval the radius is infinite or not a number: nothing is known then.
Bounds hold in exact arithmetic; rounding is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import pi
from typing import Any

import casadi
from casadi import SX

Interval = tuple[Any, Any]  # middle and radius; the radius of what is exact is None


class Unbounded(Exception):
    """A function has an operation for which no bound is known; its message names it."""


def enclose(function: casadi.Function, middles: Sequence[SX], radii: Sequence[SX]) -> list[SX]:
    """Middles and radii of the outputs of an SX function, in turn, one column each, while its
    inputs are anywhere in the box of ``middles`` and ``radii``."""
    work: dict[int, Interval] = {}
    results: list[list[Interval]] = [
        [(SX(0), None)] * function.numel_out(k) for k in range(function.n_out())
    ]
    rows = [function.sparsity_out(k).row() for k in range(function.n_out())]
    rules = _rules()
    for k in range(function.n_instructions()):
        op, target = function.instruction_id(k), function.instruction_output(k)
        if op == casadi.OP_OUTPUT:
            number, element = target
            results[number][rows[number][element]] = work[function.instruction_input(k)[0]]
        elif op == casadi.OP_CONST:
            work[target[0]] = (SX(function.instruction_constant(k)), None)
        elif op == casadi.OP_INPUT:
            number, element = function.instruction_input(k)
            work[target[0]] = (middles[number][element], radii[number][element])
        elif op not in rules:
            raise Unbounded(f"CasADi's operation {op}")
        else:
            places = function.instruction_input(k)
            rule, count = rules[op]
            arguments = [work[j] for j in places[:count]]
            if op == casadi.OP_MUL and places[0] == places[1]:
                work[target[0]] = _square(arguments[0])
            else:
                work[target[0]] = rule(*arguments)
    columns = []
    for row in results:
        columns.append(casadi.densify(casadi.vertcat(*(c for c, _ in row))))
        columns.append(casadi.densify(casadi.vertcat(*(_radius(r) for _, r in row))))
    return columns


def _radius(r: Any) -> Any:
    return SX(0) if r is None else r


def _positive(x: Any) -> Any:
    """x, or zero where it is negative."""
    return (x + casadi.fabs(x)) * 0.5


def _least(x: Any, y: Any) -> Any:
    return (x + y - casadi.fabs(x - y)) * 0.5


def _between(low: Any, high: Any) -> Interval:
    return (low + high) * 0.5, (high - low) * 0.5


def _sum(x: Interval, y: Interval) -> Interval:
    return x[0] + y[0], _wider(x[1], y[1])


def _difference(x: Interval, y: Interval) -> Interval:
    return x[0] - y[0], _wider(x[1], y[1])


def _wider(r: Any, s: Any) -> Any:
    if r is None or s is None:
        return s if r is None else r
    return r + s


def _product(x: Interval, y: Interval) -> Interval:
    (c, r), (d, s) = x, y
    if r is None and s is None:
        return c * d, None
    if r is None:
        return c * d, casadi.fabs(c) * s
    if s is None:
        return c * d, casadi.fabs(d) * r
    return c * d, casadi.fabs(c) * s + r * (casadi.fabs(d) + s)


def _square(x: Interval) -> Interval:
    c, r = x
    if r is None:
        return c * c, None
    size = casadi.fabs(c)
    return _between(_positive(size - r) ** 2, (size + r) ** 2)


def _inverse(x: Interval) -> Interval:
    c, r = x
    if r is None:
        return 1 / c, None
    size = casadi.fabs(c)
    room = _positive(size - r) * (size + r)  # zero where the interval reaches zero
    return c / room, r / room


def _quotient(x: Interval, y: Interval) -> Interval:
    return _product(x, _inverse(y))


def _sine(x: Interval) -> Interval:
    return _turned(x, casadi.sin, casadi.cos)


def _cosine(x: Interval) -> Interval:
    return _turned(x, casadi.cos, casadi.sin)


def _turned(x: Interval, f: Callable[..., Any], slope: Callable[..., Any]) -> Interval:
    """|sin(c + d) - sin c| <= |cos c| |d| + d^2 / 2, and never more than 1 + |sin c|."""
    c, r = x
    y = f(c)
    if r is None:
        return y, None
    return y, _least(casadi.fabs(slope(c)) * r + r * r * 0.5, 1 + casadi.fabs(y))


def _tangent(x: Interval) -> Interval:
    return _quotient(_sine(x), _cosine(x))


def _hyperbolic_cosine(x: Interval) -> Interval:
    c, r = x
    y = casadi.cosh(c)
    return y, None if r is None else casadi.cosh(casadi.fabs(c) + r) - y


def _absolute(x: Interval) -> Interval:
    return casadi.fabs(x[0]), x[1]


def _sign(x: Interval) -> Interval:
    c, r = x
    return casadi.sign(c), None if r is None else 1 - casadi.sign(casadi.fabs(c) - r)


def _root(x: Interval) -> Interval:
    c, r = x
    if r is None:
        return casadi.sqrt(c), None
    return _between(casadi.sqrt(_positive(c - r)), casadi.sqrt(c + r))


def _angle(y: Interval, x: Interval) -> Interval:
    """From a point at a distance, whatever moves it by d turns its direction by asin(d / distance)
    at most; across the cut, where y = 0 and x < 0, the angle jumps by a whole turn."""
    (d, s), (c, r) = y, x
    angle = casadi.atan2(d, c)
    if s is None and r is None:
        return angle, None
    s, r = _radius(s), _radius(r)
    moved, distance = casadi.sqrt(s * s + r * r), casadi.sqrt(c * c + d * d)
    cut = casadi.sign(_positive(s - casadi.fabs(d)) * _positive(r - c))
    return angle, pi / 2 * moved / _positive(distance - moved) + 2 * pi * cut


def _power(x: Interval, y: Interval) -> Interval:
    """A power; one whose exponent varies, or is no whole number, needs a positive base."""
    (c, r), (p, s) = x, y
    if s is not None or not p.is_constant():
        return _EXPONENTIAL(_product(y, _LOGARITHM(x)))
    exponent = float(p)
    if r is None:
        return c**exponent, None
    if exponent < 0:
        return _inverse(_power(x, (-p, None)))
    if exponent == int(exponent):
        size = casadi.fabs(c)
        return c**exponent, (size + r) ** exponent - size**exponent
    return _between((c - r) ** exponent, (c + r) ** exponent)


def _monotone(f: Callable[..., Any]) -> Callable[[Interval], Interval]:
    """The rule of a function that only rises, or only falls."""

    def rule(x: Interval) -> Interval:
        c, r = x
        if r is None:
            return f(c), None
        middle, radius = _between(f(c - r), f(c + r))
        return middle, casadi.fabs(radius)

    return rule


_EXPONENTIAL, _LOGARITHM = _monotone(casadi.exp), _monotone(casadi.log)


@cache
def _rules() -> dict[int, tuple[Callable[..., Interval], int]]:
    """For each operation of CasADi its rule, and how many arguments it has."""
    c = casadi
    rules: dict[int, tuple[Callable[..., Interval], int]] = {
        c.OP_ADD: (_sum, 2), c.OP_SUB: (_difference, 2), c.OP_MUL: (_product, 2),
        c.OP_DIV: (_quotient, 2), c.OP_ATAN2: (_angle, 2),
        c.OP_POW: (_power, 2), c.OP_CONSTPOW: (_power, 2),
        c.OP_NEG: (lambda x: (-x[0], x[1]), 1),
        c.OP_TWICE: (lambda x: _product((SX(2), None), x), 1),
        c.OP_SQ: (_square, 1), c.OP_INV: (_inverse, 1), c.OP_SQRT: (_root, 1),
        c.OP_SIN: (_sine, 1), c.OP_COS: (_cosine, 1), c.OP_TAN: (_tangent, 1),
        c.OP_EXP: (_EXPONENTIAL, 1), c.OP_LOG: (_LOGARITHM, 1),
        c.OP_COSH: (_hyperbolic_cosine, 1), c.OP_FABS: (_absolute, 1), c.OP_SIGN: (_sign, 1),
    }  # fmt: skip
    for op, f in (
        (c.OP_SINH, c.sinh), (c.OP_TANH, c.tanh),
        (c.OP_ATAN, c.atan), (c.OP_ASIN, c.asin), (c.OP_ACOS, c.acos),
    ):  # fmt: skip
        rules[op] = (_monotone(f), 1)
    return rules
