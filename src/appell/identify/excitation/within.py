"""Whether a motion keeps within limits, and how much of it does."""

from __future__ import annotations

import numpy as np

from appell.identify.excitation.basis import Basis, State
from appell.identify.excitation.motion_limits import HalfSpace, MotionLimits
from appell.robots.robot import Array, Robot

FINE = 40  # instants per function of the basis: what happens between them is far below SLACK
SLACK = 1e-3  # the part of every limit that is left unused for it
_HALVINGS = 12


def usage(robot: Robot, limits: MotionLimits, state: State) -> dict[str, float]:
    """The largest part of each limit that a motion uses; beyond one it is exceeded. A room counts
    as 1 minus the way left to its border, in m."""
    q, v, a = state
    used = {
        "position": float((np.abs(q - limits.middle) / limits.half).max()),
        "speed": float((np.abs(v) / limits.speed).max()),
        "acceleration": float((np.abs(a) / limits.acceleration).max()),
    }
    if np.isfinite(limits.torque).any():
        tau = robot.inverse_dynamics(q, v, a, friction=True)
        used["torque"] = float((np.abs(tau) / limits.torque).max())
    if limits.rooms:
        used["workspace"] = 1 - min(float(left(robot, room, q).min()) for room in limits.rooms)
    return used


def left(robot: Robot, room: HalfSpace, q: Array) -> Array:
    """The way to the border of a half-space, m, negative beyond it."""
    pose = robot.forward_kinematics(q, room.frame)
    p = pose[..., :3, 3] + pose[..., :3, :3] @ np.array(room.point)
    return p @ np.array(room.normal) - room.offset


class Fitting:
    """Makes motions as small as limits need, on a fine grid."""

    def __init__(self, robot: Robot, limits: MotionLimits, basis: Basis) -> None:
        self.robot, self.limits = robot, limits
        self.P, self.V, self.A = basis(np.linspace(0, basis.duration, FINE * basis.d))

    def used(self, x: Array) -> dict[str, float]:
        """The largest part of each limit that a motion uses."""
        return usage(self.robot, self.limits, (self.P @ x, self.V @ x, self.A @ x))

    def _within(self, x: Array) -> bool:
        return max(self.used(x).values()) <= 1 - SLACK

    def grown(self, x: Array) -> Array:
        """Each joint's shapes as large as its position, speed and acceleration let them be."""
        share = x[1:]
        room = self.limits.half - np.abs(x[0] - self.limits.middle)
        limits = room, self.limits.speed, self.limits.acceleration
        largest = [np.abs(X[:, 1:] @ share).max(axis=0) for X in (self.P, self.V, self.A)]
        with np.errstate(divide="ignore"):
            most = np.min(np.divide(limits, largest), axis=0)
        return np.vstack([x[:1], share * most * (1 - 2 * SLACK)])

    def fitted(self, x: Array) -> Array | None:
        """The motion with all shapes scaled by the largest factor up to one that keeps within all
        limits; None where even its middle does not."""
        if self._within(x):
            return x
        if not self._within(_scaled(x, 0.0)):
            return None
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._within(_scaled(x, middle)):
                low = middle
            else:
                high = middle
        return _scaled(x, low) if low > 0 else None


def _scaled(x: Array, by: float) -> Array:
    return np.vstack([x[:1], by * x[1:]])
