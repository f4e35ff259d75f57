"""Closed mechanisms that come with Appell; each is a function that gives a ClosedRobot."""

from __future__ import annotations

from collections.abc import Callable

from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.library.delta import delta
from appell.robots.closed.library.planar_loops import five_bar, four_bar, planar_3rrr
from appell.robots.closed.library.stewart import stewart_gough
from appell.robots.closed.library.wheels import differential_drive, rolling_disc, snakeboard

CLOSED: dict[str, Callable[..., ClosedRobot]] = {
    "four_bar": four_bar,
    "five_bar": five_bar,
    "planar_3rrr": planar_3rrr,
    "delta": delta,
    "stewart_gough": stewart_gough,
    "differential_drive": differential_drive,
    "rolling_disc": rolling_disc,
    "snakeboard": snakeboard,
}
