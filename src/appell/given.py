"""Arguments, checked: numbers, positions, limits and names."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from appell.robots.robot import Array


def number(what: str, x: Any) -> float:
    """A positive number."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        value = np.nan
    if not 0 < value < np.inf:
        raise InputError(f"{what} = {x!r}; expected a number greater than zero.")
    return value


def positions(
    what: str, x: Any, axes: int | None = 1, n: int | None = None, ndmin: int = 0
) -> Array:
    """Finite numbers with so many axes (any without), the last one of n joints; or one number
    where any will do."""
    try:
        q = np.array(x, dtype=float, ndmin=ndmin)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected real numbers.") from None
    if not np.isfinite(q).all():
        held = "None" if holds_none(x) else "NaN or infinity"
        raise InputError(f"{what} holds {held}; expected finite numbers.")
    if axes is None:
        if q.shape not in ((), (n,)):
            raise InputError(f"{what} has shape {q.shape}; expected a number, or {n} numbers.")
    elif q.ndim != axes or q.size == 0:
        wanted = "(joints,)" if axes == 1 else "(points, joints)"
        raise InputError(f"{what} has shape {q.shape}; expected {wanted}.")
    return q


def holds_none(x: Any) -> bool:
    """Whether a NaN that NumPy found is a None, which it takes for one."""
    return None in np.asarray(x, dtype=object).ravel().tolist()


def ends(what: str, q0: Any, q1: Any) -> tuple[Array, Array]:
    """Two positions of the same joints; a number is one joint's."""
    start = positions(f"{what}: q0", q0, ndmin=1)
    end = positions(f"{what}: q1", q1, ndmin=1)
    if start.shape != end.shape:
        raise InputError(
            f"{what}: q0 has {len(start)} joints and q1 {len(end)}; expected as many in both."
        )
    return start, end


def limits(what: str, x: Any, n: int) -> Array:
    """What no joint may exceed: a positive number, or one per joint; infinity is none."""
    try:
        limit = np.array(x, dtype=float)
    except (TypeError, ValueError):
        limit = np.array(np.nan)
    if limit.shape not in ((), (n,)):
        raise InputError(
            f"{what} has shape {limit.shape}; expected a number, or {n}, one per joint."
        )
    if not (limit > 0).all():
        raise InputError(f"{what} = {x!r}; expected numbers greater than zero.")
    return np.broadcast_to(limit, (n,)).copy()


def is_number(x: Any) -> bool:
    """Whether it is a real number; True and False are none."""
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def whole(what: str, x: Any, least: int = 0) -> int:
    """A whole number that is not too small; NumPy's whole numbers count as well."""
    try:
        number = least - 1 if isinstance(x, bool) else index(x)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{what} = {x!r}; expected a whole number, {least} or more.")
    return number


def one_of(what: str, x: Any, known: Iterable[str]) -> str:
    """One of the names that are known."""
    known = tuple(known)
    if not isinstance(x, str) or x not in known:
        hint = did_you_mean(x, known)
        raise InputError(f"{what} = {x!r}; expected one of {', '.join(known)}.{hint}")
    return x


def names_of(what: str, x: Any, known: Iterable[str]) -> list[str]:
    """Some of the names that are known, one or several, each once."""
    known = tuple(known)
    if not isinstance(x, str | Iterable):
        raise InputError(f"{what} = {x!r}; expected one or several of {', '.join(known)}.")
    return [one_of(what, name, known) for name in ([x] if isinstance(x, str) else dict.fromkeys(x))]


def vector(what: str, x: Any, n: int, why: str = "") -> Array:
    """n finite numbers; ``why`` tells an error of their shape why there are n."""
    try:
        if x is None or np.iscomplexobj(x):
            raise TypeError
        numbers = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {x!r}; expected {n} numbers.") from None
    if numbers.shape != (n,):
        raise InputError(f"{what} has shape {numbers.shape}; {why}expected ({n},).")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(f"{what}[{bad[0]}] is {numbers[bad[0]]}; expected finite numbers.")
    return numbers


def optional(what: str, x: Any, kind: Any, expected: str) -> None:
    """Refuse what is neither None nor of a kind; ``expected`` describes the kind."""
    if x is not None and not isinstance(x, kind):
        raise InputError(f"{what} = {x!r}; expected {expected}.")


def refuse_crooked(what: str, T: Array) -> None:
    """Refuse matrices (..., 4, 4) that are not homogeneous."""
    R = T[..., :3, :3]
    crooked = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    if crooked > 1e-6 or (np.linalg.det(R) < 0).any():
        raise InputError(
            f"{what}: its axes are not a rotation: R^T R differs from 1 by {crooked:.3g}, or R is "
            "a reflection; expected orthonormal right-handed axes."
        )
    if np.abs(T[..., 3, :] - [0, 0, 0, 1]).max(initial=0.0) > 1e-9:
        raise InputError(f"{what}: the last row of a homogeneous matrix is 0, 0, 0, 1.")
