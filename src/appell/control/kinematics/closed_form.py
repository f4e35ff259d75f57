"""The closed form of an arm with a spherical wrist, compiled."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from appell.compile.make import kernel_of
from appell.control.kinematics.arm import spherical_arm
from appell.equations.spherical_wrist import BRANCHES, Arm, inverse_kinematics
from appell.robots.robot import Robot

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel

_INPUTS = {"pose": (4, 4)}
_OUTPUTS = {"q": (len(BRANCHES), 6), "beyond": (len(BRANCHES) // 2,)}


def closed_form(robot: Robot, frame: str | None = None) -> Kernel:
    """All branches of many poses at once: ``q, beyond = closed_form(robot)(pose)``.

    Of poses (..., 4, 4), in the base's axes, of a frame (the tip without a name), q has the shape
    (..., 8, 6): joint positions of the branches in the order of :data:`BRANCHES`, angles from -pi
    to pi. beyond, (..., 4), is zero where the wrist is within reach of the branches 2 k and
    2 k + 1; else it is the excess of the square of a length, m^2, and q means nothing.
    """
    return _compiled(spherical_arm(robot, frame).arm)


@lru_cache(maxsize=32)
def _compiled(arm: Arm) -> Kernel:
    return kernel_of(
        "inverse_kinematics",
        partial(inverse_kinematics, arm),
        _INPUTS,
        _OUTPUTS,
        origin=(_compiled, (arm,)),
        doc="inverse kinematics of an arm with a spherical wrist",
    )
