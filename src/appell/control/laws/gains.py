"""Gains as users give them: a number, one per joint, or a matrix."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.robots.robot import Array


class Kind(NamedTuple):
    """What a gain may be: numbers, one per joint or ``per`` something else, or a matrix. One that
    is not given may be ``of_inertia`` times what each joint moves."""

    per: str = "joint"
    matrix: bool = True
    positive: bool = False
    of_inertia: float | None = None


_ROOM = Path(__file__).parent

ANY, EACH = Kind(), Kind(matrix=False, positive=True)
STIFFNESS, DAMPING = Kind(of_inertia=100.0), Kind(of_inertia=20.0)  # 1/s^2, 1/s: critically damped


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


class GainWarning(UserWarning):
    """Gains with which a law's errors need not vanish."""


def check_errors(law: str, gains: Mapping[str, Array], joints: Sequence[str]) -> None:
    """Refuse gains with which errors grow, and warn of those that Lee 1982 excludes.

    The gains, (n,) or (n, n), are Kv and Kp of e'' + Kv e' + Kp e = 0 (equation 4.3). A third, Ki,
    is that of the integral of e. Without it errors vanish if Kv is symmetric and has no negative
    eigenvalue, Kp is symmetric and positive definite, and [Kv, Kp Kv, ..., Kp^(n-1) Kv] has the
    rank n, so that every motion of the errors is damped.
    """
    K = [np.diag(x) if x.ndim == 1 else x for x in gains.values()]
    n, order = len(joints), len(K)
    dynamics = np.eye(order * n, k=n)
    dynamics[-n:] = -np.hstack(K[::-1])
    roots = np.linalg.eigvals(dynamics)
    # Rounding moves a double root by 1e-8 of the largest.
    least = 1e-6 * float(np.abs(roots).max(initial=0.0))
    growth = float(roots.real.max(initial=0.0))
    if growth > least:
        raise InputError(
            f"{law}: with these gains errors grow as exp({growth:.3g} t); expected "
            f"{' and '.join(gains)} symmetric and positive definite"
            + (", and ki < kp kd for each joint." if order == 3 else ".")
        )
    problem = _excluded(gains, K, joints)
    swings = (np.abs(roots.real) <= least) & (np.abs(roots.imag) > least)
    if problem is None and order == 3 and swings.any():
        problem = "an error swings for ever, as ki is as large as kp kd"
    if problem is not None:
        warnings.warn(f"{law}: {problem}.", GainWarning, stacklevel=_who_asked())


def _who_asked() -> int:
    """The ``stacklevel`` of whoever makes a law: the first beyond this room and what dataclasses
    generate."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and Path(frame.f_code.co_filename).parent in (_ROOM, Path()):
        level, frame = level + 1, frame.f_back
    return level


def _excluded(gains: Mapping[str, Array], K: list[Array], joints: Sequence[str]) -> str | None:
    """Which of Lee's conditions the gains do not meet, and what follows."""
    (damping, stiffness, *_), (Kv, Kp, *_) = gains, K
    said = "(Lee 1982, after equation 4.3)"
    for name, x in ((damping, Kv), (stiffness, Kp)):
        if np.abs(x - x.T).max() > 1e-12 * np.abs(x).max():
            return f"the matrix {name} is not symmetric, as it must be for errors to vanish {said}"
    size = float(np.abs(Kp).max())
    values, modes = np.linalg.eigh(Kp)
    if values[0] <= 1e-12 * size:
        soft = _moved(modes[:, values <= 1e-12 * size], joints)
        return f"{stiffness} is not positive definite: errors of {soft} need not vanish {said}"
    undamped = _unreached(Kv, Kp / size)
    if undamped.shape[1]:
        free = _moved(undamped, joints)
        return f"{damping} does not damp errors of {free}: they swing for ever {said}"
    return None


def _unreached(Kv: Array, Kp: Array) -> Array:
    """Columns that span what [Kv, Kp Kv, ..., Kp^(n-1) Kv] does not reach."""
    reached = [Kv]
    for _ in range(len(Kv) - 1):
        reached.append(Kp @ reached[-1])
    U, sizes, _ = np.linalg.svd(np.hstack(reached), full_matrices=False)  # (n, n): it is wide
    return U[:, sizes <= 1e-12 * sizes[0]]


def _moved(modes: Array, joints: Sequence[str]) -> str:
    """The joints that move in any of these directions."""
    return ", ".join(j for j, row in zip(joints, modes, strict=True) if np.abs(row).max() > 1e-9)


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
