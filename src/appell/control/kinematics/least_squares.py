"""Inverse kinematics of any robot: damped least squares within the joints' limits.

Levenberg and Marquardt's method on what tasks miss, for many targets at a time, with the last
steps bent along the curvature (Transtrum and Sethna 2012), without which it creeps near
singularities. A joint at a limit that would pass it is held there. Where one start leads nowhere,
others are drawn at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from appell.control.kinematics.goal import Goal, norm, unmoved
from appell.robots.robot import Array

_STEPS = 200  # from one start; a solution takes about 15
_FIRST, _MOST = 1.0, 1e14  # of the damping's factor m
_LEAST = 1e-15  # damping
_PROBE = 0.1  # of a step, to feel its curvature
_WHILE, _NEAR = 20, 0.1  # steps, m or rad
_ROUNDING, _TIGHT = 1e-14, 1e-12
_FLAT = 1e-10  # a gradient of the squared error: nothing is left to gain


class NearestPositions(NamedTuple):
    """The best positions (N, n), and what is missing there: m and rad, each (N,)."""

    q: Array
    distance: Array
    angle: Array

    def within(self, tolerance: float) -> npt.NDArray[np.bool_]:
        return (self.distance <= tolerance) & (self.angle <= tolerance)

    @property
    def missing(self) -> Array:
        """How much is missing in all, (N,): infinitely much where an error has no value."""
        total = np.hypot(self.distance, self.angle)
        return np.where(np.isnan(total), np.inf, total)


def solve(
    goal: Goal,
    start: Array,
    limits: tuple[Array, Array],
    tolerance: float,
    restarts: int,
    draw: np.random.Generator,
) -> NearestPositions:
    """From a start (N, n), and from random ones where it does not lead to the goal."""
    best = descend(goal, start, limits)
    low, high = (np.clip(side, -np.pi, np.pi) for side in limits)
    wide = limits[1] - limits[0] > 2 * np.pi
    low, high = np.where(wide, low, limits[0]), np.where(wide, high, limits[1])
    for _ in range(restarts):
        (left,) = np.nonzero(~best.within(tolerance))
        if not len(left):
            break
        fresh = goal.normalised(draw.uniform(low, high, (len(left), start.shape[1])))
        fixed = unmoved(goal)
        fresh[:, fixed] = start[left][:, fixed]
        other = descend(goal.of(left), fresh, limits)
        better = other.missing < best.missing[left]
        for mine, new in zip(best, other, strict=True):
            mine[left[better]] = new[better]
    (left,) = np.nonzero(~best.within(tolerance))
    if len(left):  # how far they are from their goals is to be known well
        one = left[[int(np.argmax(best.missing[left]))]]
        for mine, new in zip(best, descend(goal.of(one), best.q[one], limits, True), strict=True):
            mine[one] = new
    return best


def descend(
    goal: Goal, start: Array, limits: tuple[Array, Array], patient: bool = False
) -> NearestPositions:
    """Steps dq = J^T (J J^T + m |e|^2)^-1 e, each taken only if the error shrinks by it.

    The damping m |e|^2 lets the last steps double the digits. Without patience, a descent ends
    that is far from the goal and has not halved its error in a while.
    """
    q = np.clip(start, *limits)
    e, J = goal.both(q)
    m = np.full(len(q), _FIRST)
    active = np.arange(len(q))
    before = norm(e)
    for k in range(_STEPS):
        size = norm(e[active])
        free = _free(goal, q[active], e[active], J[active], limits)
        gradient = np.abs(_times(np.swapaxes(free, -1, -2), e[active])).max(axis=-1)
        going = (size > _ROUNDING) & (gradient > _FLAT * size) & (m[active] < _MOST)
        if k % _WHILE == _WHILE - 1 and not patient:
            going &= (size < 0.5 * before[active]) | (size < _NEAR)
            before[active] = size
        active, free, size = active[going], free[going], size[going]
        if not len(active):
            break
        part = goal.of(active)
        damping = np.maximum(m[active] * np.minimum(1.0, size) ** 2, _LEAST)
        step, straight = _bent(part, free, q[active], e[active], damping)
        tried = np.clip(part.moved(q[active], step), *limits)
        error, slope = part.both(tried)
        better = straight & (norm(error) < size)
        for mine, new in ((q, tried), (e, error), (J, slope)):
            mine[active[better]] = new[better]
        done = ~better & (size < _TIGHT)  # what is left is rounding
        m[active] *= np.where(better, 0.5, np.where(done, np.inf, 4.0))
    return NearestPositions(q, *goal.parts(e))


def _free(goal: Goal, q: Array, e: Array, J: Array, limits: tuple[Array, Array]) -> Array:
    """The Jacobian without the joints that would pass a limit at which they are."""
    wanted = _times(np.swapaxes(J, -1, -2), e)
    low, high = (goal.of_speeds(side) for side in (q <= limits[0], q >= limits[1]))
    held = (low & (wanted < 0)) | (high & (wanted > 0))
    return np.where(held[:, None, :], 0.0, J)


def _bent(
    goal: Goal, J: Array, q: Array, e: Array, damping: Array
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """A step, near the goal with half of its acceleration, and whether it is so straight that it
    can be taken."""
    step = _step(J, e, damping)
    near = norm(e) < _NEAR
    if not near.any():
        return step, ~near
    away = (e - goal.error(goal.moved(q, _PROBE * step))) / _PROBE - _times(J, step)
    bend = -_step(J, 2 / _PROBE * away, damping)
    straight = ~near | (2 * norm(bend) <= 0.75 * norm(step))
    return step + np.where(near[:, None], 0.5 * bend, 0.0), straight


def _step(J: Array, e: Array, damping: Array) -> Array:
    A = J @ np.swapaxes(J, -1, -2) + damping[:, None, None] * np.eye(J.shape[1])
    return _times(np.swapaxes(J, -1, -2), np.linalg.solve(A, e[..., None])[..., 0])


def _times(A: Array, x: Array) -> Array:
    return (A @ x[..., None])[..., 0]
