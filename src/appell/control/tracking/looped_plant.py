"""A robot with loops between two samples: it moves by its own mechanics, which put closed loops
right after each step and say where the motion becomes singular."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.tracking.plant import External, Lost, Plant
from appell.maths.tableau import Tableau
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.mechanics import mechanics_of

SINGULAR = 1e-4  # the margin at which a run ends, as for simulate


class LoopedPlant(Plant):
    """A robot whose motors give tau - damping v, with viscous friction of all its joints and forces
    on its speeds from outside."""

    def __init__(
        self,
        robot: Dynamics,
        damping: Array,
        external: External | None,
        viscous: Array,
        formulation: str | None = None,
        method: str | Tableau = "DOP853",
    ) -> None:
        self.mechanics = mechanics_of(robot, formulation, SINGULAR)
        super().__init__(robot, damping, external, self.mechanics.formulation, method)
        self.viscous = viscous if viscous.any() else None
        self.on_joints = self.mechanics.driven(self.motors)
        self.plain = False

    @property
    def friction(self) -> tuple[Array, Array, Array, Array]:
        none, coulomb, stiction, constant = super().friction
        return none if self.viscous is None else self.viscous, coulomb, stiction, constant

    def begin(self, q: Array, v: Array) -> Array:
        """The state to begin with; refused if it is open or singular."""
        return np.concatenate(self.mechanics.begin(0.0, q, v))

    def of_loops(self, q: Array, v: Array) -> dict[str, Any]:
        mechanics = self.mechanics
        if not mechanics.restores:
            return {}
        return {
            "speeds": mechanics.speeds(q, v),
            "independent": tuple(mechanics.shown.tolist()),
            "opening": mechanics.opening(q),
            "choices": mechanics.choices,
        }

    def keep(self) -> None:
        """Keep the last step, and put the coordinates right at its end."""
        stepper, mechanics = self.stepper, self.mechanics
        piece = mechanics.path(stepper.piece())
        turn = mechanics.turn(piece)
        if turn is not None:
            names = ", ".join(self.robot.independent)
            poor = f"the speeds of {names} do not describe the motion beyond {turn.time:.6g} s"
            raise Lost(turn.reason or poor)
        self.pieces.append(piece)
        if mechanics.restores:
            nq = self.robot.nq
            q = mechanics.restored(stepper.y[:nq])
            stepper.put(np.concatenate([q, stepper.y[nq:]]))

    def forces(self, t: float) -> Array:
        """As the robot's flow takes them: on all joints of a closed robot, of the actuators of
        another."""
        forces = self.on_joints(t, self.q, self.v)
        if self.viscous is not None:
            forces = forces - self.viscous * self.mechanics.speeds(self.q, self.v)
        if self.external is not None:
            forces = forces + self.mechanics.pushed(self.q, self.external(t, self.q, self.v))
        return forces
