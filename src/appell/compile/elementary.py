"""The elementary functions that every emitter knows, by the operations of a tape."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from appell.compile import exponential
from appell.compile.emit import trigonometry
from appell.compile.lower import Real, Routine, Value, select, traced


def sign_of(real: Real, x: Value) -> Value:
    """-1 or 1, or x itself where it is zero or no number."""
    return select(abs(x) > 0.0, (x.sign | real.power_bits(0)).number, x)


def reciprocal(real: Real, x: Value) -> Value:
    """1/x."""
    return 1.0 / x


ROUTINES: dict[str, Callable[..., Any]] = {
    "sincos": trigonometry.sine_cosine, "far": trigonometry.far_sine_cosine,
    "atan2": trigonometry.arctangent, "exp": exponential.exponential, "log": exponential.logarithm,
    "pow": exponential.power_of, "sinh": exponential.hyperbolic_sine,
    "cosh": exponential.hyperbolic_cosine, "tanh": exponential.hyperbolic_tangent,
    "sign": sign_of, "inv": reciprocal,
}  # fmt: skip


@cache
def routine(op: str, real: Real) -> Routine:
    """The routine of an operation that is no primitive."""
    return traced(ROUTINES[op], real)
