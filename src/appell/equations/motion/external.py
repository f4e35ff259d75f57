"""External forces: what a wrench on a frame is to the speeds, and what it changes.

A wrench w, a force and a moment at the frame's origin, does the work w . V = w . (J v): it is the
force J^T w on the speeds. Inverse dynamics then needs as much less, and accelerations follow from
as much more. This holds in any quasi-speeds, so for every kind of robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.equations.linear import dot, solve
from appell.maths.scalar import Scalar

Scalars = Sequence[Scalar]
Ask = Callable[..., Any]  # another of the robot's equations, by its name


def on_speeds(ask: Ask, q: Scalars, frame: Any, wrench: Scalars, axes: str) -> list[Scalar]:
    """J^T w; a wrench in the frame's own axes is turned into the base's first."""
    if axes == "local":
        R = [row[:3] for row in ask("forward_kinematics", q, frame)[:3]]
        wrench = [dot(row, part) for part in (wrench[:3], wrench[3:]) for row in R]
    return [dot(column, wrench) for column in zip(*ask("jacobian", q, frame), strict=True)]


# Each takes the equation without external forces, the forces Q on the speeds, and the state;
# ``direct`` tells whether every speed has an actuator of its own, so that Q adds to tau.


def _forces(ask: Ask, direct: bool, equation: Callable[..., Any], Q: Scalars, *state: Any) -> Any:
    """M a + C v + g - Q."""
    return [x - y for x, y in zip(equation(*state), Q, strict=True)]


def _torques(
    ask: Ask, direct: bool, equation: Callable[..., Any], Q: Scalars, q: Any, *others: Any
) -> Any:
    """What the actuators give besides."""
    given = Q if direct else ask("actuator_torques", q, Q)
    return [x - y for x, y in zip(equation(q, *others), given, strict=True)]


def _accelerations(
    ask: Ask, direct: bool, equation: Callable[..., Any], Q: Scalars, q: Any, v: Any, *tau: Any
) -> Any:
    """a with M a = tau - (C v + g) + Q; or the state's rate, which ends in it."""
    if direct:
        return equation(q, v, [x + y for x, y in zip(*tau, Q, strict=True)])
    n = len(Q)
    more = solve(ask("mass_matrix", q), Q, [range(i + 1) for i in range(n)])
    results = equation(q, v, *tau)
    *before, a = results if isinstance(results, tuple) else (results,)
    a = [*a[:-n], *(x + y for x, y in zip(a[-n:], more, strict=True))]
    return (*before, a) if before else a


FORCED: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": _torques,
    "generalised_forces": _forces,
    "bias": _forces,
    "forward_dynamics": _accelerations,
    "motion": _accelerations,
    "flow": _accelerations,
    "free_motion": _accelerations,
}
