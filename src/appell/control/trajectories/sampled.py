"""What is desired of the joints, at every sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.given import is_number, vector
from appell.robots.dynamics import Array, Dynamics

Motion = Callable[[Any], tuple[Any, Any, Any]]


_MOST = 10_000_000  # samples, that memory holds them


class SampledMotion(NamedTuple):
    """Times (N,), and positions, speeds and accelerations, each (N, n)."""

    t: Array
    q: Array
    v: Array
    a: Array


def planned(trajectory: Any, n: int, period: float, until: float | None) -> SampledMotion:
    """A trajectory, or a set point, at the samples up to its end or a time."""
    duration = getattr(trajectory, "duration", None)
    end = duration if until is None else until
    if end is None:
        raise InputError(
            "track: until is missing; a set point, or a trajectory without a duration, does not "
            "say when the run ends."
        )
    most = _MOST * period
    if not is_number(end) or not 0 < end <= most:
        raise InputError(
            f"track: until = {end!r}; expected a time in s, more than zero and {most:g} at most: "
            f"{_MOST:,} samples, {period:g} s apart."
        )
    count = int(np.ceil(float(end) / period - 1e-9))
    t = np.arange(count + 1) * period
    if not callable(trajectory):
        goal, still = vector("track: trajectory", trajectory, n), np.zeros((len(t), n))
        return SampledMotion(t, np.tile(goal, (len(t), 1)), still, still)
    q, v, a = _evaluated(trajectory, t if duration is None else np.minimum(t, duration), n)
    if duration is not None:  # after the end, the last position
        after = t > duration + 1e-9 * period
        v[after], a[after] = 0.0, 0.0
    return SampledMotion(t, q, v, a)


def followed(robot: Dynamics, plan: SampledMotion, start: Array | None) -> SampledMotion:
    """The plan with all coordinates (N, nq): of a closed robot, its other joints follow along the
    loops, from a start or the robot's reference."""
    own = list(robot.system.coordinates)
    if robot.nq == len(own):
        return plan
    places = np.empty((len(plan.t), robot.nq))
    q = robot.neutral() if start is None else robot.normalise(start)
    for k, wanted in enumerate(plan.q):
        if (q[own] != wanted).any():
            try:
                q = robot.integrate(q, wanted - q[own])
            except InputError as problem:
                raise InputError(f"track: trajectory at {plan.t[k]:g} s: {problem}") from None
        places[k] = q
    return plan._replace(q=places)


def _evaluated(trajectory: Motion, t: Array, n: int) -> tuple[Array, Array, Array]:
    made = trajectory(t)
    if not isinstance(made, tuple) or len(made) != 3:
        raise InputError(
            f"track: trajectory(t) gave {made!r}; expected positions, speeds and accelerations."
        )
    for name, x in zip("qva", made, strict=True):
        if np.shape(x) != (len(t), n):
            raise InputError(
                f"track: trajectory(t) at {len(t)} times gave {name} of shape {np.shape(x)}; "
                f"expected ({len(t)}, {n})."
            )
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            k, j = bad[0]
            raise InputError(
                f"track: trajectory({t[k]:g}) has {name}[{j}] = {x[k, j]}; expected finite numbers."
            )
    q, v, a = (np.array(x, dtype=float) for x in made)
    return q, v, a
