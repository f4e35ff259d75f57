"""An arm with dry friction in its joints: what turns, what sticks, and when that changes.

Every joint turns forwards, turns backwards or sticks. A joint that turns has the Coulomb force
against it; one that sticks has no acceleration, by whatever force that takes, up to its stiction
(`appell.simulation.friction`). While no joint changes, the equations are smooth and are
integrated as such. A change is located within the step in which it happens, as the root of a speed
or of a force's reserve, and the step is cut there: no force ever switches to and fro, so nothing
chatters, and a joint at rest is at rest to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from appell.control.laws.compiled import Shapes, single_kernel
from appell.control.tracking.held_joints import held_motion
from appell.control.tracking.plant import External, Lost, Plant
from appell.maths.tableau import Tableau
from appell.model.model import Model
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.friction import SPARE, sticking
from appell.simulation.path import IntegratorStep

_STILL = 1e-12  # rad/s backwards that rounding explains
_INSTANT = 1e-13  # s
_CHANGES = 1000  # within one period


@lru_cache(maxsize=64)
def holding(
    model: Model, formulation: str | None = None
) -> Callable[[Array, Array, Array, Array], Array]:
    """(q, v, tau, free) -> v, accelerations, and what holds those that are not free."""
    inputs: Shapes = dict.fromkeys(("q", "v", "tau", "free"), (model.nv,))
    return single_kernel(held_motion, inputs, 3 * model.nv, model, formulation)


class RubbingPlant(Plant):
    """The same, with coulomb * sign(v) taken from each joint that turns, and up to its stiction
    from each that does not, and a constant force from both."""

    def __init__(
        self,
        robot: Dynamics,
        damping: Array,
        external: External | None,
        dry: Sequence[Array],
        formulation: str | None = None,
        method: str | Tableau = "DOP853",
    ) -> None:
        super().__init__(robot, damping, external, formulation, method)
        self.coulomb, self.stiction, self.constant = dry
        self.rubs = self.stiction > 0
        self.holding = holding(robot.model, formulation)
        self.changes = 0
        self.held: list[Array] = []  # friction of what sticks, at each stage that was asked for
        self.set(np.zeros(self.n), np.zeros(self.n, dtype=bool))

    @property
    def friction(self) -> tuple[Array, Array, Array, Array]:
        return super().friction[0], self.coulomb, self.stiction, self.constant

    def set(self, way: Array, stuck: npt.NDArray[np.bool_]) -> None:
        """Which way joints turn, and which of them stick."""
        self.way, self.stuck, self.free = way, stuck, np.where(stuck, 0.0, 1.0)
        self.dry = self.coulomb * way + self.constant

    def advance(self, start: float, y: Array, tau: Array, period: float) -> Array:
        self.tau, self.changes = tau, 0
        self.settle(start, y, {})
        if self.stuck.all() and self.external is None:  # nothing moves, and nothing will
            still = np.zeros_like(y)
            self.steps.append(IntegratorStep(start, start + period, y, y, still, still))
            return y
        return super().advance(start, y, tau, period)

    def rate(self, t: float, y: Array) -> Array:
        made = self.holding(self.q, self.v, self.forces(t) - self.dry, self.free)
        self.held.append(made[2 * self.n :])
        return made[: 2 * self.n]

    # Changes

    def keep(self) -> None:
        """Keep the last step, or as much of it as passes before a joint changes."""
        stepper, count = self.stepper, self.stepper.stages
        spoilt = (self.margins(count) < 0).any(axis=1)
        if not spoilt.any():
            super().keep()
            return
        times = np.array([*stepper.method.c, 1.0])
        h, which = self.change(float(times[spoilt].min()) * stepper.length)
        whole = h == stepper.length
        stepper.again(h, stepper.t if whole else stepper.before[0] + h)
        super().keep()
        if which is not None:
            self.changes += 1
            if self.changes > _CHANGES:
                raise Lost(f"joints stick and break loose endlessly at {stepper.t:.6g} s")
            loosened, y = {}, stepper.y
            if self.stuck[which]:
                loosened[which] = float(np.sign(self.held[-1][which]))
            else:
                y[self.n + which] = 0.0
            self.settle(stepper.t, y, loosened)
            stepper.put(y)

    def margins(self, count: int) -> Array:
        """How far each joint is from changing, (count, n), by the last rates of the last trial;
        negative where it should have changed."""
        turning = self.way * self.stepper.K[-count:, : self.n] + _STILL
        with np.errstate(divide="ignore", invalid="ignore"):
            reserve = 1 + SPARE - np.abs(self.held[-count:]) / self.stiction
        margins: Array = np.where(self.stuck, reserve, np.where(self.way != 0, turning, np.inf))
        return margins

    def change(self, h: float) -> tuple[float, int | None]:
        """When within h of the last step's beginning the first joint changes, and which; all of h
        if none does."""
        stepper = self.stepper
        t, y, stepper.f = stepper.before

        def margin(x: float) -> float:
            self.held.clear()
            stepper.trial(t, y, x)
            return float(self.margins(1).min())

        if margin(h) >= 0:
            return h, None
        low = h / 2
        while margin(low) < 0 and low > _INSTANT:
            h, low = low, low / 2
        if low > _INSTANT:
            h = float(scipy.optimize.brentq(margin, low, h, xtol=_INSTANT, rtol=1e-15))
        margin(h)
        return h, int(np.argmin(self.margins(1)))

    def settle(self, t: float, y: Array, loosened: dict[int, float]) -> None:
        """Find which joints stick, and which way the others set out, where some are at rest."""
        self.stepper.stage[:] = y
        way: Array = np.where(self.rubs, np.sign(self.v), 0.0)

        def motion(way: Array, stuck: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
            self.set(way, stuck)
            return self.rate(t, y)[self.n :], self.held[-1]

        self.set(*sticking(motion, way, self.rubs & (way == 0), self.stiction, loosened))
        self.held.clear()
