"""Films in reports: the motion that a report is about, as a picture that moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.model.shapes import Array
from appell.robots.dynamics import Dynamics
from appell.show.figure import Film, Picture
from appell.show.film import film_element
from appell.show.film_page import view_of
from appell.show.viewer.played_motion import PlayedMotion

LONGEST = 10.0  # s of a motion that are shown: more would be a film that nobody watches to its end
_RATE, _FEWEST, _MOST = 8.0, 24, 80  # frames per second of the motion, and in all
_SHORTEST = 2.5  # s that a film lasts

Moved = tuple[Dynamics, Any, Any]


def motion_film(title: str, caption: str, moved: Callable[[], Moved]) -> Picture:
    """A picture in which a robot moves; a report has one at most, as its parts have names.

    ``moved`` gives the robot, times (N,) in s and its coordinates (N, nq). What is shown ends where
    times go back, as where data of two runs were joined, and after `LONGEST`.
    """
    return Picture(title, caption, lambda: _drawn(title, *moved()))


def _drawn(title: str, robot: Dynamics, t: Any, q: Any) -> Film:
    t, q = _first_part(np.asarray(t, dtype=float), np.asarray(q, dtype=float))
    long = float(t[-1] - t[0])
    frames = int(np.clip(_RATE * long, _FEWEST, _MOST))
    still = np.zeros(robot.nv)

    def nearest(time: float) -> tuple[Array, Array]:
        # Between samples a closed robot's loops would be open.
        return q[int(np.abs(t - time).argmin())], still

    motion = PlayedMotion(robot, t, nearest, ())
    seconds = max(_SHORTEST, long)
    return Film(film_element(motion, view_of(motion), seconds=seconds, frames=frames, title=title))


def _first_part(t: Array, q: Array) -> tuple[Array, Array]:
    back = np.flatnonzero(np.diff(t) <= 0)
    end = int(back[0]) + 1 if back.size else len(t)
    end = min(end, int(np.searchsorted(t[:end], t[0] + LONGEST, side="right")))
    return t[:end], q[:end]
