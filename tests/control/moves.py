"""Motions to follow, and arms to move."""

from __future__ import annotations

import numpy as np

from appell.control.trajectories.joint_space import quintic
from appell.model.library.planar import planar_chain
from appell.robots.robot import Robot

START = np.radians([90, 0, 90, 0, 0, 0])  # Lee 1982, section 5
GOAL = np.radians([45, 30, 0, 45, 60, 90])


class Wave:
    """Sines about a position, one per joint."""

    def __init__(self, about, size, speed, duration=10.0):
        self.about, self.size, self.speed = map(np.asarray, (about, size, speed))
        self.duration = duration

    def __call__(self, t):
        x = self.speed * np.asarray(t)[..., None]
        A, w = self.size, self.speed
        return self.about + A * np.sin(x), A * w * np.cos(x), -A * w * w * np.sin(x)


LEE = quintic(START, GOAL, 2.0)
PUMA_WAVE = Wave(
    [0.3, -0.5, 0.8, 0.2, 0.5, 0.1], [0.5, 0.4, 0.5, 0.3, 0.4, 0.3], [1.0, 1.3, 1.7, 2.0, 2.3, 1.1]
)


def bars(n: int) -> Robot:
    """Bars of 1 m and 1 kg in a vertical plane."""
    return Robot(planar_chain(n))
