"""How far apart rounding may set two ways to compute the same numbers."""

from __future__ import annotations

from appell.robots.robot import Robot

ULP = 2.0**-53  # what one operation rounds by, of its result


def rounding(robot: Robot, quantity: str, formulation: str, size: float) -> float:
    """A bound, if every operation of a formulation rounds a number about as large as ``size``."""
    count = robot.operations(quantity, formulation=formulation)
    return (count.multiplications + count.additions) * ULP * size
