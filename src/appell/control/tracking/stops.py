"""Where a tracked arm passes the limits of its joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import InputError
from appell.model.limits import limits
from appell.model.model import Model
from appell.robots.closed.near_singular import first_limit
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.path import IntegratorStep, Piece, quintics

_BEYOND = 1e-6  # rad or m that a start may be beyond a limit, as for simulate


class Stops:
    """The limits of a robot's joints, and how far beyond each of them it starts."""

    def __init__(self, robot: Dynamics, q: Array) -> None:
        known = limits(robot.model) if isinstance(robot.model, Model) else ()
        beyond = [(limit, float(limit.beyond(q))) for limit in known]
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

    def passed(self, steps: Sequence[IntegratorStep], pieces: Sequence[Piece] = ()) -> str | None:
        """The first limit that is passed within some steps or pieces, and when."""
        if not self.limits:
            return None
        suspects = [*pieces, *quintics([step for step in steps if not self._keeps(step)])]
        for piece in suspects:
            reached = first_limit(self.limits, piece.start, piece.end, piece.at)
            if reached is not None:
                return f"{reached[1]} is passed at {reached[0]:.6g} s"
        return None

    def _keeps(self, step: IntegratorStep) -> bool:
        """Whether all positions of a step are certainly within the limits."""
        points = _control_points(step)
        return bool((points <= self.upper).all() and (points >= self.lower).all())


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
