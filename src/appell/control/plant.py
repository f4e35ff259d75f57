"""The arm between two samples: its motion under motors that hold what they were told.

The forces are smooth there, so a method of order eight (DOP853) with small tolerances takes one
or two steps a sample. Where dry friction acts they are smooth only while no joint stops, turns
back or breaks loose: see :mod:`appell.control.rubbing`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from appell.robot import Array, Robot
from appell.simulation.flow import flow

External = Callable[[float, Array, Array], Array]

RTOL, ATOL = 1e-11, 1e-12
_E3, _E5 = DOP853.E3, DOP853.E5
_TIMES = [*DOP853.C.tolist(), 1.0]
_STAGES = len(DOP853.C)
_SMALLEST, _MOST = 1e-10, 2000  # steps, in s and in a period: beyond them no arm can be


@lru_cache(maxsize=8)
def _weights(h: float) -> list[Array]:
    """What the state and the rates so far weigh in each later stage, and in the state after h."""
    rows = [*DOP853.A[1:], DOP853.B]
    return [np.concatenate([[1.0], h * row[:k]]) for k, row in enumerate(rows, start=1)]


class Lost(Exception):
    """The motion cannot be followed any further; its message says why."""


class Step(NamedTuple):
    """One step of the integrator: states y = (q, v) and their rates at both its ends."""

    start: float
    end: float
    y0: Array
    y1: Array
    dy0: Array
    dy1: Array


class Plant:
    """An arm whose motors give tau - damping v, with forces from outside added."""

    def __init__(
        self,
        robot: Robot,
        damping: Array,
        external: External | None,
        formulation: str | None = None,
    ) -> None:
        self.n = n = robot.nv
        self.damping, self.external = damping, external
        self.plain = external is None and not damping.any()
        self.flow = flow(robot.model, formulation)
        self.origin = 0.0
        self.tau: Array = np.zeros(n)
        self.work = np.empty((_STAGES + 2, 2 * n))  # the state, and its rates at the stages
        self.K = self.work[1:]
        self.y = np.empty(2 * n)  # of a stage
        self.q, self.v = self.y[:n], self.y[n:]
        self.h = np.inf
        self.steps: list[Step] = []

    def advance(self, start: float, y: Array, tau: Array, period: float) -> Array:
        """The state a period later; the steps to it are kept."""
        self.origin, self.tau = start, tau
        t = 0.0
        for _ in range(_MOST):
            t, y = self.step(t, y, period)
            if t >= period:
                return y
        raise self.lost(t)

    def lost(self, t: float) -> Lost:
        return Lost(f"the arm is too fast to be followed beyond {self.origin + t:.6g} s")

    def step(self, t: float, y: Array, period: float) -> tuple[float, Array]:
        """One step that meets the tolerances, at most to the end. Times are of the period."""
        while True:
            last = self.h >= 0.999 * (period - t)
            h = period - t if last else self.h
            new, error = self.trial(t, y, h)
            if error <= 1:
                self.h = h * min(10.0, 0.9 * max(error, 1e-10) ** -0.125)
                return self.taken(t, period if last else t + h, y, new)
            self.h = h * max(0.2, 0.9 * error**-0.125) if error < np.inf else 0.2 * h
            if self.h < _SMALLEST:
                raise self.lost(t)

    def taken(self, t: float, end: float, y: Array, new: Array) -> tuple[float, Array]:
        """Keep a step and move on."""
        start, stop = self.origin + t, self.origin + end
        self.steps.append(Step(start, stop, y, new, self.K[0].copy(), self.K[-1].copy()))
        return end, new

    def trial(self, t: float, y: Array, h: float) -> tuple[Array, float]:
        """The state after h, and its error by the measure of the tolerances."""
        work, K, stage, rate = self.work, self.K, self.y, self.rate
        t += self.origin
        work[0] = stage[:] = y
        K[0] = rate(t)
        for k, weights in enumerate(_weights(h), start=1):
            np.dot(weights, work[: k + 1], out=stage)
            K[k] = rate(t + _TIMES[k] * h)
        new = stage.copy()
        scale = ATOL + RTOL * np.maximum(np.abs(y), np.abs(new))
        e5, e3 = _E5 @ K / scale, _E3 @ K / scale
        fifth, third = float(e5 @ e5), float(e3 @ e3)
        if fifth == 0.0:
            return new, 0.0
        error = h * fifth / np.sqrt((fifth + 0.01 * third) * len(y))
        return new, float(error) if np.isfinite(error) else np.inf

    def rate(self, t: float) -> Array:
        """dy/dt at the stage's state."""
        if self.plain:
            return self.flow(self.q, self.v, self.tau)
        return self.flow(self.q, self.v, self.forces(t))

    def forces(self, t: float) -> Array:
        """On the joints, friction apart."""
        tau = self.tau - self.damping * self.v
        return tau if self.external is None else tau + self.external(t, self.q, self.v)
