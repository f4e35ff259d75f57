"""Functions of one scalar, whatever kind of number it is.

A scalar is a float, a NumPy array (a batch of numbers), a SymPy expression, a
CasADi SX, a JAX array, or a recorded scalar of `appell.compile`. The
operators ``+ - * /`` work on all of them; these functions do too. A kind of
scalar from outside these libraries brings the functions as methods.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

Scalar = Any

_LIBRARIES = {
    "builtins": "math",
    "numpy": "numpy",
    "sympy": "sympy",
    "casadi": "casadi",
    "jax": "jax.numpy",
    "jaxlib": "jax.numpy",
}


_homes: dict[type, Any] = {}


def _home(kind: type) -> Any:
    """The library that computes with numbers of this kind; the kind itself if none does."""
    if kind not in _homes:
        library = _LIBRARIES.get(kind.__module__.partition(".")[0])
        _homes[kind] = kind if library is None else import_module(library)
    return _homes[kind]


def sin(x: Scalar) -> Scalar:
    """The sine, for scalars of any kind."""
    return _home(type(x)).sin(x)


def cos(x: Scalar) -> Scalar:
    """The cosine, for scalars of any kind."""
    return _home(type(x)).cos(x)


def sqrt(x: Scalar) -> Scalar:
    """The square root, for scalars of any kind."""
    return _home(type(x)).sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), from -pi to pi."""
    number = isinstance(y, int | float)
    return _home(type(x if number else y)).atan2(y, x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1 with the sign of x."""
    home = _home(type(x))
    return (x > 0) - (x < 0) if home is math else home.sign(x)


# Right angles that files print with 14 digits (1.5707963267949) miss their zero by 3.4e-15; what
# rounding leaves of products of rotations is less.
SNAP = 4e-15


def snap(x: float, tolerance: float = SNAP) -> float | int:
    """x, or the whole number 0, 1 or -1 if x differs from it by rounding only.

    Whole numbers fold away while an equation is recorded: 0 x = 0, 1 x = x. ``tolerance`` is that
    of zero, in x's own unit. A cosine is flat at 1, where 4e-15 would be an angle of 9e-8: there x
    has to be as near as a few last digits.
    """
    if abs(x) <= tolerance:
        return 0
    return round(x) if abs(abs(x) - 1) <= 1e-15 else float(x)


def is_zero(x: Scalar) -> bool:
    """Whether x is the number zero, and not a value that may happen to be zero."""
    return isinstance(x, int | float) and x == 0
