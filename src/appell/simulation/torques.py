"""Torque laws: what moves the joints, checked at every call."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nextafter
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import vector
from appell.robots.dynamics import Array

Torque = Callable[[float, Array, Array], Array]


class BadTorque(Exception):
    """A torque law that failed while a run was under way; its message says how."""


class Segmented:
    """A torque law between two breakpoints: within a step that ends or begins at one, it has the
    value of this side."""

    def __init__(self, law: Torque) -> None:
        self.law = law
        self.between(-inf, inf)

    def between(self, start: float, end: float) -> None:
        """Go on from one breakpoint to the next."""
        self.first, self.last = nextafter(start, inf), nextafter(end, -inf)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return self.law(min(max(t, self.first), self.last), q, v)


def breakpoints_of(torque: Any, given: Any) -> tuple[float, ...]:
    """Times at which a law of time may jump: those given, and those the law has itself."""
    own = getattr(torque, "breakpoints", ()) if callable(torque) else ()
    try:
        times = np.sort(
            np.concatenate([np.array(x, dtype=float).reshape(-1) for x in (own, given)])
        )
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if not np.isfinite(times).all():
        raise InputError(f"breakpoints = {given!r} and {own!r}; expected times in s.")
    return tuple(map(float, np.unique(times)))


def torque_law(given: Any, nv: int) -> Torque:
    """The law (t, q, v) -> tau, (nv,), that is given as nothing, an array or a function."""
    if not callable(given):
        tau = np.zeros(nv) if given is None else vector("torque", given, nv)
        return lambda t, q, v: tau

    def law(t: float, q: Array, v: Array) -> Array:
        try:
            tau = given(t, q.copy(), v.copy())  # a law may write to what it is given
        except Exception as problem:
            raise BadTorque(f"the torque law raised {problem!r} at {t:.6g} s") from problem
        usual = type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == (nv,)
        if usual and np.isfinite(tau.sum()):
            return tau
        try:
            return vector(f"the torque law at {t:.6g} s: tau", tau, nv)
        except InputError as problem:
            raise BadTorque(str(problem)) from None

    return law
