"""The elementary functions that every emitter knows, by the operations of a tape."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from appell.compile import exponential, noise
from appell.compile.emit import trigonometry
from appell.compile.lower import Real, Routine, Value, select, traced


def sign_of(real: Real, x: Value) -> Value:
    """-1 or 1, or x itself where it is zero or no number."""
    return select(abs(x) > 0.0, (x.sign | real.power_bits(0)).number, x)


def reciprocal(real: Real, x: Value) -> Value:
    """1/x."""
    return 1.0 / x


def choice(real: Real, x: Value, y: Value, less: Value, otherwise: Value) -> Value:
    """``less`` where x < y, else ``otherwise``; where one of the two is no number, too."""
    return select(x < y, less, otherwise)


def nearest_whole(real: Real, x: Value) -> Value:
    """The whole number nearest to x, an even one where two are as near."""
    shift = 2.0**real.fraction  # numbers from here on are whole
    size = abs(x)
    rounded = ((size + shift) - shift).signed(x.sign)
    return select(size < shift, rounded, x)


ROUTINES: dict[str, Callable[..., Any]] = {
    "sincos": trigonometry.sine_cosine, "far": trigonometry.far_sine_cosine,
    "atan2": trigonometry.arctangent, "exp": exponential.exponential, "log": exponential.logarithm,
    "pow": exponential.power_of, "sinh": exponential.hyperbolic_sine,
    "cosh": exponential.hyperbolic_cosine, "tanh": exponential.hyperbolic_tangent,
    "sign": sign_of, "inv": reciprocal, "choose": choice, "round": nearest_whole,
    "uniform": noise.uniform,
}  # fmt: skip


@cache
def routine(op: str, real: Real) -> Routine:
    """The routine of an operation that is no primitive."""
    return traced(ROUTINES[op], real)
