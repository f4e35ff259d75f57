"""Gains as users give them: a number, one a joint, or a matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.robot import Array


class Kind(NamedTuple):
    """What a gain may be: numbers, one a joint or ``per`` something else, or a matrix."""

    per: str = "joint"
    matrix: bool = True
    positive: bool = False


def gain(what: str, given: Any, n: int, kind: Kind) -> Array:
    """The gain as an array (n,), or (n, n) where a matrix may be given and is."""
    x = _numbers(what, given)
    if x.shape not in ((), (n,), *([(n, n)] if kind.matrix else [])):
        also = f", or a matrix ({n}, {n})" if kind.matrix else ""
        raise InputError(
            f"{what} has shape {x.shape}; expected a number, or {n}, one for each {kind.per}{also}."
        )
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        raise InputError(f"{what}{_at(bad[0])} is {x[tuple(bad[0])]}; expected finite numbers.")
    if x.ndim == 2:
        lowest = float(np.linalg.eigvalsh((x + x.T) / 2)[0])
        if lowest < -1e-12 * float(np.abs(x).max()):
            raise InputError(
                f"{what}: the matrix has a negative eigenvalue, {lowest:.4g}; a gain must not feed "
                "an error: expected a matrix that is positive definite."
            )
    else:
        bad = np.argwhere(x <= 0 if kind.positive else x < 0)
        if len(bad):
            wanted = "more than zero" if kind.positive else "zero or more"
            raise InputError(f"{what}{_at(bad[0])} = {x[tuple(bad[0])]:g}; expected {wanted}.")
    full = np.array(x if x.ndim else np.full(n, x))
    full.flags.writeable = False
    return full


def shown(x: Array) -> str:
    """A gain as short as it can be written."""
    if x.ndim == 2:
        return f"matrix {x.shape[0]} x {x.shape[1]}"
    if (x == x[0]).all():
        return f"{x[0]:g}"
    numbers = [f"{y:g}" for y in x[:8]]
    return f"({', '.join(numbers)}{', ...' if len(x) > 8 else ''})"


def _numbers(what: str, given: Any) -> Array:
    try:
        x = np.asarray(given)
        if x.dtype.kind not in "fiu":
            raise TypeError
        return x.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {given!r}; expected numbers.") from None


def _at(index: Any) -> str:
    return f"[{', '.join(map(str, index))}]" if len(index) else ""
