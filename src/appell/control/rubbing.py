"""An arm with dry friction in its joints: what turns, what sticks, and when that changes.

Every joint turns forwards, turns backwards or sticks. A joint that turns has the Coulomb force
against it; one that sticks has no acceleration, by whatever force that takes, up to its stiction.
While no joint changes, the equations are smooth and are integrated as such. A change is located
within the step in which it happens, as the root of a speed or of a force's reserve, and the step
is cut there: no force ever switches to and fro, so nothing chatters, and a joint at rest is at
rest to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.integrate import DOP853
from scipy.optimize import brentq

from appell.control.compiled import Shapes, single_kernel
from appell.control.plant import External, Lost, Plant, Step
from appell.equations.held_joints import held_motion
from appell.model.model import Model
from appell.robot import Array, Robot

_STILL = 1e-12  # rad/s backwards that rounding explains
_SPARE = 1e-10  # of its stiction that the force on a joint at rest may exceed it by
_INSTANT = 1e-13  # s
_CHANGES = 1000  # within one period
_TIMES = np.append(DOP853.C[1:], 1.0)  # of the stages after the first, and of the step's end


@lru_cache(maxsize=64)
def holding(
    model: Model, formulation: str | None = None
) -> Callable[[Array, Array, Array, Array], Array]:
    """(q, v, tau, free) -> v, accelerations, and what holds those that are not free."""
    inputs: Shapes = dict.fromkeys(("q", "v", "tau", "free"), (model.nv,))
    return single_kernel(held_motion, inputs, 3 * model.nv, model, formulation)


class RubbingPlant(Plant):
    """The same, with coulomb * sign(v) taken from each joint that turns, and up to its stiction
    from each that does not."""

    def __init__(
        self,
        robot: Robot,
        damping: Array,
        external: External | None,
        coulomb: Array,
        stiction: Array,
        formulation: str | None = None,
    ) -> None:
        super().__init__(robot, damping, external, formulation)
        self.coulomb, self.stiction, self.rubs = coulomb, stiction, stiction > 0
        self.holding = holding(robot.model, formulation)
        self.changes = 0
        self.held: list[Array] = []  # friction of what sticks, at each stage
        self.set(np.zeros(self.n), np.zeros(self.n, dtype=bool))

    def set(self, way: Array, stuck: npt.NDArray[np.bool_]) -> None:
        """Which way joints turn, and which of them stick."""
        self.way, self.stuck, self.free = way, stuck, np.where(stuck, 0.0, 1.0)
        self.dry = self.coulomb * way

    def advance(self, start: float, y: Array, tau: Array, period: float) -> Array:
        self.origin, self.changes = start, 0
        self.tau = tau
        self.settle(0.0, y, {})
        if self.stuck.all() and self.external is None:  # nothing moves, and nothing will
            still = np.zeros_like(y)
            self.steps.append(Step(start, start + period, y, y, still, still))
            return y
        return super().advance(start, y, tau, period)

    def trial(self, t: float, y: Array, h: float) -> tuple[Array, float]:
        self.held.clear()
        return super().trial(t, y, h)

    def rate(self, t: float) -> Array:
        made = self.holding(self.q, self.v, self.forces(t) - self.dry, self.free)
        self.held.append(made[2 * self.n :])
        return made[: 2 * self.n]

    # Changes

    def taken(self, t: float, end: float, y: Array, new: Array) -> tuple[float, Array]:
        """Keep a step, or as much of it as passes before a joint changes."""
        spoilt = (self.margins()[1:] < 0).any(axis=1)
        if not spoilt.any():
            return super().taken(t, end, y, new)
        first = float(_TIMES[spoilt].min())
        h, which = self.change(t, y, first * (end - t))
        new, _ = self.trial(t, y, h)
        t, new = super().taken(t, end if h == end - t else t + h, y, new)
        if which is not None:
            self.changes += 1
            if self.changes > _CHANGES:
                raise Lost(f"joints stick and break loose endlessly at {self.origin + t:.6g} s")
            if self.stuck[which]:
                self.settle(t, new, {which: float(np.sign(self.held[-1][which]))})
            else:
                new[self.n + which] = 0.0
                self.settle(t, new, {})
        return t, new

    def margins(self) -> Array:
        """Of the last trial, (stages + 1, n): how far a joint is from changing; negative where it
        should have."""
        turning = self.way * self.K[:, : self.n] + _STILL
        with np.errstate(divide="ignore", invalid="ignore"):
            reserve = 1 + _SPARE - np.abs(self.held) / self.stiction
        margins: Array = np.where(self.stuck, reserve, np.where(self.way != 0, turning, np.inf))
        return margins

    def change(self, t: float, y: Array, h: float) -> tuple[float, int | None]:
        """When within h the first joint changes, and which; all of h if none does."""

        def margin(x: float) -> float:
            self.trial(t, y, x)
            return float(self.margins()[-1].min())

        if margin(h) >= 0:
            return h, None
        low = h / 2
        while margin(low) < 0 and low > _INSTANT:
            h, low = low, low / 2
        if low > _INSTANT:
            h = float(brentq(margin, low, h, xtol=_INSTANT, rtol=1e-15))
        margin(h)
        return h, int(np.argmin(self.margins()[-1]))

    def settle(self, t: float, y: Array, loosened: dict[int, float]) -> None:
        """Find which joints stick, and which way the others set out, where some are at rest.

        Joints are let go one at a time, the most overloaded first; one that would set out
        backwards stays.
        """
        self.y[:] = y
        way: Array = np.where(self.rubs, np.sign(self.v), 0.0)
        at_rest = self.rubs & (way == 0)
        for joint, sign in loosened.items():
            way[joint] = sign
        stays = np.zeros(self.n, dtype=bool)
        for _ in range(4 * self.n):
            self.set(way, at_rest & (way == 0))
            a, held = self.rate(self.origin + t)[self.n :], self.held[-1]
            back = at_rest & ~self.stuck & (way * a < -_SPARE)
            over = np.where(self.stuck & ~stays, np.abs(held), 0.0) - self.stiction * (
                1 + _SPARE / 2
            )
            way = way.copy()
            if back.any():
                way[back] = 0.0
                stays |= back
            elif (over > 0).any():
                joint = int(np.argmax(over))
                way[joint] = np.sign(held[joint])
            else:
                return
