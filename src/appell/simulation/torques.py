"""Torques and external forces as functions of time and state, checked at every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, nextafter
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import vector
from appell.robots.dynamics import Array, Dynamics

Torque = Callable[[float, Array, Array], Array]
Pushes = Callable[[float, Array, Array], Mapping[str, Array]]  # wrenches by frame


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


def force_law(given: Any, robot: Dynamics) -> Pushes | None:
    """The function (t, q, v) -> {frame: wrench} of external forces, given as a mapping or as a
    function; None without any."""
    if given is None:
        return None
    if not callable(given):
        wrenches = _wrenches("forces", given, robot)
        return lambda t, q, v: wrenches

    def law(t: float, q: Array, v: Array) -> Mapping[str, Array]:
        try:
            return _wrenches(f"forces at {t:.6g} s", given(t, q.copy(), v.copy()), robot)
        except InputError as problem:
            raise BadTorque(str(problem)) from None
        except Exception as problem:
            raise BadTorque(f"forces raised {problem!r} at {t:.6g} s") from problem

    return law


def _wrenches(what: str, given: Any, robot: Dynamics) -> dict[str, Array]:
    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} = {given!r}; expected wrenches by frame: {{'hand': (fx, fy, fz, mx, my, mz)}}."
        )
    for frame in given:
        robot.system.frame(frame)
    return {frame: vector(f"{what}: that on {frame}", w, 6) for frame, w in given.items()}
