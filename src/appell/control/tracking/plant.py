"""The arm between two samples: its motion under motors that hold what they were told.

The forces are smooth there, so a method of order eight (DOP853) with small tolerances takes one
or two steps per sample. Where dry friction acts they are smooth only while no joint stops, turns
back or breaks loose: see `appell.control.tracking.rubbing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.maths.tableau import Tableau
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.flow import flow
from appell.simulation.path import IntegratorStep, Piece
from appell.simulation.stepper import Failed, Stepper, tableau

External = Callable[[float, Array, Array], Array]

RTOL, ATOL = 1e-11, 1e-12
_SMALLEST, MOST_STEPS = 1e-10, 2000  # in s and in a period: beyond them no arm can be


class Always:
    """A constant force from outside, as a function."""

    def __init__(self, force: Array) -> None:
        self.force = force

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return self.force


class Lost(Exception):
    """The motion cannot be followed any further; its message says why."""


class Plant:
    """An arm whose motors give tau - damping v, with forces from outside added."""

    def __init__(
        self,
        robot: Dynamics,
        damping: Array,
        external: External | None,
        formulation: str | None = None,
        method: str | Tableau = "DOP853",
    ) -> None:
        self.robot, self.n = robot, robot.nv
        nq = robot.nq
        self.damping, self.external = damping, external
        self.plain = external is None and not damping.any()
        self.formulation, self.method = formulation, tableau(method)
        self.flow = flow(robot, formulation)
        self.tau: Array = np.zeros(robot.system.size("d"))
        count = nq + self.n
        self.stepper = Stepper(self.method, self.rate, count, RTOL, ATOL, smallest=_SMALLEST)
        self.stepper.h = np.inf  # tried first: all of the period
        # The state at which a rate is asked for: always the same array.
        self.q, self.v = self.stepper.stage[:nq], self.stepper.stage[nq:]
        self.steps: list[IntegratorStep] = []
        self.pieces: list[Piece] = []

    def begin(self, q: Array, v: Array) -> Array:
        """The state to begin with."""
        return np.concatenate([q, v])

    @property
    def friction(self) -> tuple[Array, Array, Array, Array]:
        """Viscous, Coulomb, stiction and constant friction of all joints, ``damping`` apart."""
        viscous, coulomb, stiction, constant = np.zeros((4, self.robot.model.nv))
        return viscous, coulomb, stiction, constant

    def motors(self, t: float, q: Array, v: Array) -> Array:
        """What the motors give at the robot's speeds v."""
        return self.tau - self.damping * v if self.damping.any() else self.tau

    def of_loops(self, q: Array, v: Array) -> dict[str, Any]:
        """What the run of a closed robot through states (N, ...) has besides."""
        return {}

    def advance(self, start: float, y: Array, tau: Array, period: float) -> Array:
        """The state a period later; the steps to it are kept."""
        self.tau, end = tau, start + period
        self.stepper.begin(start, y, end)
        for _ in range(MOST_STEPS):
            self.step()
            if self.stepper.t >= end:
                return self.stepper.y
        raise self.lost()

    def lost(self) -> Lost:
        return Lost(f"the arm is too fast to be followed beyond {self.stepper.t:.6g} s")

    def step(self) -> None:
        """One step that meets the tolerances, at most to the end of the period."""
        try:
            self.stepper.step()
        except Failed:
            raise self.lost() from None
        self.keep()

    def keep(self) -> None:
        """Keep the last step."""
        stepper = self.stepper
        (start, y0, dy0), y1 = stepper.before, stepper.y
        self.steps.append(IntegratorStep(start, stepper.t, y0, y1, dy0, stepper.f))

    def rate(self, t: float, y: Array) -> Array:
        """dy/dt at the stage's state."""
        if self.plain:
            return self.flow(self.q, self.v, self.tau)
        return self.flow(self.q, self.v, self.forces(t))

    def forces(self, t: float) -> Array:
        """On the joints, friction apart."""
        tau = self.motors(t, self.q, self.v)
        return tau if self.external is None else tau + self.external(t, self.q, self.v)
