"""Missions: what an arm is to do once it is homed, cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from appell.control.laws.law import Law
from appell.control.trajectories.sampled import planned
from appell.errors import InputError
from appell.given import is_number, vector, whole
from appell.model.units import Units
from appell.rig.machine.machine import Machine
from appell.rig.machine.outputs import Switch, bits_of, schedule
from appell.robots.robot import Array

Reference = tuple[Array, Array, Array]
_GENTLE = 0.25  # of the machine's speed, on the way to where a mission begins


class Mission(Protocol):
    """A position to begin at (None: wherever the arm is), and a reference a cycle from there."""

    @property
    def start(self) -> Array | None: ...

    @property
    def law(self) -> Law | None:
        """A law of the mission's own, instead of the one that homes the arm and brings it there."""

    def at(self, k: int, q: Array) -> Reference | None:
        """The reference k cycles after the start, the joints being at q; None at the end."""

    # A mission may have outputs(k), too: the names of the machine's digital outputs that are on.


def outputs_of(mission: Any, k: int, machine: Machine) -> int:
    """The bits of the outputs that are on k cycles after the start."""
    if isinstance(mission, Follow | Yield):
        return mission.bits(k)
    own = getattr(mission, "outputs", None)
    return 0 if own is None else bits_of(own(k), machine.outputs)


def refuse_mission(mission: Any, machine: Machine) -> None:
    """Refuse, before anything moves, a mission of your own that is not as `Mission` says."""
    name, n = type(mission).__name__, machine.n
    if isinstance(mission, type):
        raise InputError(f"rig: {mission.__name__} is a class; expected a mission made by it.")
    missing = [x for x in ("start", "law", "at") if not hasattr(mission, x)]
    if missing:
        raise InputError(
            f"rig: {name} has no {' and no '.join(missing)}; expected a mission with start (None, "
            f"or {n} positions), law (None, or a Law) and at(k, q)."
        )
    if mission.law is not None and not isinstance(mission.law, Law):
        raise InputError(f"rig: {name}.law = {mission.law!r}; expected None, or a Law.")
    if mission.start is not None:
        start = vector(f"rig: {name}.start", mission.start, n)
        _refuse_far(start[np.newaxis], machine)


def reference_refusal(given: Any, before: Array, machine: Machine, most: float) -> str | None:
    """Why what a mission of your own gives in a cycle is no reference; ``most`` rad are a jump."""
    n = machine.n
    fits = isinstance(given, tuple | list) and len(given) == 3
    if not fits or any(np.shape(x) != (n,) or not np.isfinite(x).all() for x in given):
        return f"mission: at gave {given!r}; expected three arrays of {n} finite numbers"
    q = np.asarray(given[0])
    far = (q < np.asarray(machine.lower)) | (q > np.asarray(machine.upper))
    jumps = np.abs(q - before) > most
    if not (far | jumps).any():
        return None
    j = int(np.argmax(far | jumps))
    what = "beyond the machine's range" if far[j] else f"a jump from {before[j]:.4g}"
    return (
        f"mission: the reference of joint {j + 1} is {q[j]:.4g} {machine.units[j].position}, {what}"
    )


class Follow:
    """Along a trajectory, so many times, and then at rest for some time."""

    law: Law | None = None

    def __init__(
        self,
        trajectory: Any,
        machine: Machine,
        repeat: int = 1,
        rest: float = 0.0,
        switches: Iterable[Switch] = (),
    ) -> None:
        whole("repeat", repeat, 1)
        if not is_number(rest) or not 0 <= rest < np.inf:
            raise InputError(f"rest = {rest!r}; expected a time in s, zero or more.")
        plan = planned(trajectory, machine.n, machine.period, None)
        self.q, self.v, self.a = (np.ascontiguousarray(x) for x in (plan.q, plan.v, plan.a))
        _refuse_far(self.q, machine)
        _refuse_fast(self.q, self.v, machine)
        apart = np.abs(self.q[-1] - self.q[0])
        j = int(np.argmax(apart))
        if repeat > 1 and apart[j] > 1e-6:
            raise InputError(
                f"repeat = {repeat}: the trajectory ends {apart[j]:.3g} {machine.units[j].position}"
                " from where it begins; expected one that comes back."
            )
        self.round = len(self.q) - 1
        self.moving = repeat * self.round
        self.cycles = self.moving + round(rest / machine.period)
        self.levels = schedule(switches, machine.outputs, self.round, machine.period).tolist()

    @property
    def start(self) -> Array:
        """Where the trajectory begins."""
        return self.q[0]

    def at(self, k: int, q: Array) -> Reference | None:
        """The reference k cycles after the start; None at the end."""
        if k > self.cycles:
            return None
        if k >= self.moving:
            still = np.zeros(len(q))
            return self.q[-1], still, still
        k %= self.round
        return self.q[k], self.v[k], self.a[k]

    def bits(self, k: int) -> int:
        """Of the outputs, which are switched alike in every round."""
        return int(self.levels[k % self.round if k < self.moving else -1])


class Yield:
    """Nowhere: the reference is where the arm is, so that a hand can lead it; until ``end()``."""

    def __init__(self, n: int, law: Law | None = None) -> None:
        self.still, self.law, self.ended, self.on = np.zeros(n), law, False, 0

    @property
    def start(self) -> None:
        """None: it begins wherever the arm is."""
        return None

    def end(self) -> None:
        """End it in the next cycle."""
        self.ended = True

    def at(self, k: int, q: Array) -> Reference | None:
        """The reference: where the arm is, at rest."""
        return None if self.ended else (q, self.still, self.still)

    def bits(self, k: int) -> int:
        """Of the outputs, as they were last told to be."""
        return self.on


class Approach:
    """A polynomial of fifth degree from rest to rest, slow enough for every joint."""

    def __init__(self, q0: Array, q1: Array, machine: Machine) -> None:
        self.q0, self.way = q0, q1 - q0
        longest = float(np.max(np.abs(self.way) / np.asarray(machine.speed))) / _GENTLE
        self.T = max(1.875 * longest, 0.5)  # 1.875: the greatest slope of s
        self.period = machine.period

    def at(self, k: int) -> Reference | None:
        """The reference k cycles after the start; None at the end."""
        x = k * self.period / self.T
        if x >= 1:
            return None
        s = x**3 * (10 + x * (6 * x - 15))
        ds = 30 * x**2 * (1 - x) ** 2 / self.T
        dds = 60 * x * (1 - x) * (1 - 2 * x) / self.T**2
        return self.q0 + self.way * s, self.way * ds, self.way * dds


def _refuse_far(q: Array, machine: Machine) -> None:
    lower, upper = np.asarray(machine.lower), np.asarray(machine.upper)
    out = ((q < lower) | (q > upper)).any(axis=0)
    if out.any():
        j = int(np.argmax(out))
        unit = machine.units[j]
        raise InputError(
            f"the trajectory takes joint {j + 1} {_span(q[:, j].min(), q[:, j].max(), unit)}; "
            f"'{machine.name}' goes {_span(lower[j], upper[j], unit)}."
        )


def _span(low: float, high: float, unit: Units) -> str:
    """Positions in SI, and as commands take them."""
    text = f"from {low:.4g} to {high:.4g} {unit.position}"
    if unit.shown == unit.position:
        return text
    return f"{text} ({unit.scale * low:.4g} to {unit.scale * high:.4g} {unit.shown})"


def _refuse_fast(q: Array, v: Array, machine: Machine) -> None:
    """Also what steps from one cycle to the next."""
    fastest, steps = np.asarray(machine.speed), np.abs(np.diff(q, axis=0)) / machine.period
    most = np.concatenate([np.abs(v), steps]).max(axis=0)
    fast = most > fastest
    if fast.any():
        j = int(np.argmax(fast))
        asked, possible = (_speed(x[j], machine.units[j]) for x in (most, fastest))
        raise InputError(
            f"the trajectory moves joint {j + 1} at {asked}; '{machine.name}' goes at {possible} "
            "at most: give it more time."
        )


def _speed(speed: float, unit: Units) -> str:
    text = f"{speed:.4g} {unit.speed}"
    if unit.shown == unit.position:
        return text
    return f"{text} ({unit.scale * speed:.4g} {unit.shown}/s)"
