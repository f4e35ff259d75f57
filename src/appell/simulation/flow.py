"""The right-hand side of y = (q, v), for one state at a time."""

from __future__ import annotations

from collections.abc import Callable

from appell.robots.dynamics import Array, Dynamics

Flow = Callable[[Array, Array, Array], Array]


def flow(robot: Dynamics, formulation: str | None = None) -> Flow:
    """(q, v, tau) -> dy/dt, with as little Python as there can be."""
    kernel = robot.kernel("flow", formulation=formulation)
    return kernel.single(kernel.bare)
