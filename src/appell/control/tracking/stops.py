"""What a tracked robot strikes: the limits of its joints, and walls.

It moves freely from sample to sample, and where it would pass a limit or a wall, the sample is
moved through once more as a flight with impacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from appell.control.tracking.looped_plant import SINGULAR
from appell.control.tracking.plant import ATOL, MOST_STEPS, RTOL, Lost, Plant
from appell.errors import InputError
from appell.robots.closed.near_singular import first_limit
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.contacts.contact import find_contacts
from appell.simulation.contacts.impact import Impact
from appell.simulation.contacts.points import Choice
from appell.simulation.events import Degenerate, Gaps
from appell.simulation.flight import Flight, Options, Stopped
from appell.simulation.mechanics import Mechanics, mechanics_of
from appell.simulation.path import IntegratorStep, Piece, quintics

_BEYOND = 1e-6  # rad or m that a start may be beyond a limit, as for simulate
_TOUCH = 1e-9  # rad or m
_IMPACTS = 10_000  # within one second, as for simulate


class Surroundings(NamedTuple):
    """What can be struck, and how: as :func:`appell.simulate` has it."""

    stops: bool
    stop_restitution: float
    walls: Any
    restitution: float
    mu: float
    points: Choice


class Stops:
    """The stops of a robot's joints at their limits and the walls around it, and what struck
    them."""

    def __init__(self, robot: Dynamics, plant: Plant, q: Array, given: Surroundings) -> None:
        self.plant, self.given = plant, given
        self.contacts = find_contacts(robot.model, given.walls, given.points, given.stops)
        self.impacts: list[Impact] = []
        # Bounds of gaps take the speeds of all joints, which steps of robots with loops have not.
        self.looped = bool(self.contacts.walls) and robot.nv != robot.model.nv
        beyond = [(limit, float(limit.beyond(q))) for limit in self.contacts.stops]
        for limit, by in beyond:
            if by > _BEYOND:
                raise InputError(
                    f"track: the arm starts {by:.3g} beyond {limit}; change q0 or the trajectory, "
                    "or pass stops=False."
                )
        self.limits = [(limit, max(by, 0.0)) for limit, by in beyond]
        lower, upper = np.full(len(q), -np.inf), np.full(len(q), np.inf)
        for limit, by in self.limits:
            k, bound = limit.coordinate, limit.value - limit.side * by
            if limit.side > 0:
                lower[k] = max(lower[k], bound)
            else:
                upper[k] = min(upper[k], bound)
        self.lower, self.upper = lower, upper

    # Whether a limit is passed

    def touched(self, y: Array) -> bool:
        """Whether a joint is on a stop, or a point on a wall; without walls, in any of several
        states."""
        if any(np.any(limit.beyond(y) > -_TOUCH) for limit, _ in self.limits):
            return True
        if not self.contacts.walls or self.looped:
            return self.looped
        nq = self.contacts.model.nq
        gap, _ = self.contacts.gaps(y[:nq], y[nq:])
        return not bool((gap > _TOUCH).all())

    def passed(self, steps: Sequence[IntegratorStep], pieces: Sequence[Piece] = ()) -> bool:
        """Whether any limit is passed, or a wall, within some steps or pieces."""
        if self.contacts.walls:
            none = np.zeros(len(self.contacts), dtype=bool)
            moved = [Gaps(self.contacts, p) for p in (*pieces, *quintics(steps))]
            return any(gaps.closing(none, none, none) is not None for gaps in moved)
        if not self.limits:
            return False
        suspects = [*pieces, *quintics([step for step in steps if not self._keeps(step)])]
        return any(first_limit(self.limits, p.start, p.end, p.at) is not None for p in suspects)

    def _keeps(self, step: IntegratorStep) -> bool:
        """Whether all positions of a step are certainly within the limits."""
        points = _control_points(step)
        return bool((points <= self.upper).all() and (points >= self.lower).all())

    # The motion with stops

    @cached_property
    def mechanics(self) -> Mechanics:
        """How the robot moves, with the friction of the plant."""
        mechanics = mechanics_of(self.plant.robot, self.plant.formulation, SINGULAR)
        viscous, coulomb, _, constant = self.plant.friction
        mechanics.friction = viscous, coulomb, constant
        return mechanics

    def advance(self, start: float, y: Array, period: float) -> tuple[Array, Array, Array]:
        """The state a period later, and the forces of the stops at its beginning and its end; the
        pieces and the impacts on the way are kept."""
        plant, mechanics, nq = self.plant, self.mechanics, self.plant.robot.nq
        options = Options(
            restitution=self.given.restitution, stop_restitution=self.given.stop_restitution,
            mu=self.given.mu, law="newton", gap=_BEYOND,
            friction=True, method=plant.method, rtol=RTOL, atol=ATOL, max_step=period,
            max_impacts=_IMPACTS, max_steps=MOST_STEPS,
        )  # fmt: skip
        flight = Flight(mechanics, self.contacts, plant.motors, options, None)
        on_joints = flight.holder.torque

        def forces(t: float, q: Array, u: Array) -> Array:
            f = on_joints(t, q, u)
            if plant.external is None:
                return f
            return f + mechanics.pushed(q, plant.external(t, q, mechanics.own(q, u)))

        flight.holder.torque = forces
        flight.holder.stiction = plant.friction[2]
        flight.begin(start, y[:nq], y[nq:])
        try:
            flight.fly(start + period, lambda t, impacts: None)
        except (Stopped, Degenerate) as reason:
            raise Lost(str(reason)) from None
        finally:
            plant.pieces.extend(flight.pieces)
            self.impacts.extend(flight.impacts)
        first = [row for row in flight.rows if row[0] == start][-1]
        after = np.concatenate([flight.q, mechanics.own(flight.q, flight.v)])
        return after, first[3], flight.rows[-1][3]


def _control_points(step: IntegratorStep) -> Array:
    """The control points, in Bernstein's form, (6, n), of the polynomial of degree five by which
    positions move within a step. It stays between the least and the largest of them."""
    n = len(step.y0) // 2
    h = step.end - step.start
    q0, q1, v0, v1 = step.y0[:n], step.y1[:n], h * step.y0[n:], h * step.y1[n:]
    a0, a1 = h * h * step.dy0[n:], h * h * step.dy1[n:]
    return np.array(
        [q0, q0 + v0 / 5, q0 + 0.4 * v0 + a0 / 20, q1 - 0.4 * v1 + a1 / 20, q1 - v1 / 5, q1]
    )
