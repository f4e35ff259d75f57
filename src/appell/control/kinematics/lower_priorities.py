"""Tasks of lower priority: as near to their targets as those of higher priority let them come.

One priority after another is improved along what the ones before leave free, by steps of
`appell.control.kinematics.bounded.prioritised`, each followed by a return to where the
tasks before are served as well as they were (a generalised reduced gradient).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from appell.control.kinematics.bounded import Level, prioritised
from appell.control.kinematics.goal import Goal, norm
from appell.control.kinematics.least_squares import descend
from appell.robots.robot import Array

_STEPS = 300
_RADIUS, _LEAST = 0.5, 1e-9  # rad or m: the longest step, and one that is none
_BESIDE = 1e-3  # rad or m
_GAIN = 1e-12  # of a squared error: nothing is left to gain


def settled(goal: Goal, q: Array, limits: tuple[Array, Array], tolerance: float) -> Array:
    """Coordinates (N, nq) at which lower priorities are served, from some where the first is."""
    ends = goal.stack.ends
    for k in range(len(q)) if len(ends) > 1 else ():
        one, here = goal.of(np.array([k])), q[k : k + 1]
        for start, end in pairwise(ends):
            here = _improved(one, here, start, end, limits, tolerance)
        q[k] = here[0]
    return q


def _improved(
    goal: Goal, q: Array, start: int, end: int, limits: tuple[Array, Array], tolerance: float
) -> Array:
    """The rows from start to end, made small while those before stay as they are."""
    whole = goal._replace(rows=end)
    e, J = whole.both(q)
    offset = e[:, :start]
    offset[:, : goal.rows] = 0.0  # the first are reached
    held = goal._replace(rows=start, offset=offset)
    if not np.isfinite(e).all():  # as that of a gaze at a point straight behind: begin beside it
        aside = np.random.default_rng(0).uniform(-_BESIDE, _BESIDE, J[:, 0].shape)
        beside = descend(held, np.clip(goal.moved(q, aside), *limits), limits)
        error, slope = whole.both(beside.q)
        if not beside.within(tolerance)[0] or not np.isfinite(error).all():
            return q
        q, e, J = beside.q, error, slope
    radius = _RADIUS
    for _ in range(_STEPS):
        if radius < _LEAST:
            break
        loops = slice(end, None)
        before = np.vstack([J[0, :start], J[0, loops]])
        missing = np.concatenate([held.error(q)[0, :start], e[0, loops]])
        low, high = (goal.of_speeds(side - q)[0] for side in limits)
        low, high = np.clip(low, -radius, 0), np.clip(high, 0, radius)
        step = prioritised(
            [Level(before, missing), Level(J[0, start:end], e[0, start:end])], low, high
        )
        if np.abs(step).max() < _LEAST:
            break
        tried = descend(held, np.clip(goal.moved(q, step[None]), *limits), limits)
        error, slope = whole.both(tried.q)
        size, now = norm(e[:, start:end])[0] ** 2, norm(error[:, start:end])[0] ** 2
        if tried.within(tolerance)[0] and now < size:
            q, e, J = tried.q, error, slope
            radius = min(2 * radius, _RADIUS)
            if size - now <= _GAIN * size:
                break
        else:
            radius = min(radius, float(np.abs(step).max())) / 4
    return q
