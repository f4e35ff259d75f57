"""Numbers of sensors and drives, one for all joints or one per joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.laws.gains import EACH, gain
from appell.errors import InputError
from appell.robots.dynamics import Array, Dynamics
from appell.robots.robot import Robot


def a_count(counts: Any, robot: Dynamics) -> Array:
    """What one count of an encoder is worth: counts are of a revolution, or of a metre."""
    return one_turn(robot) / gain("encoder", counts, robot.nv, EACH)


def one_turn(robot: Dynamics) -> Array:
    """What encoders count on: a revolution, or a metre."""
    return np.array([2 * np.pi if joint.screw.angle else 1.0 for joint in robot.model.joints])


def motors(robot: Dynamics) -> list[int]:
    """The actuators that have a motor: all but those of free bodies and of balls."""
    plain = getattr(robot.model, "is_coordinate", ())
    count = robot.system.size("d")
    return [k for k in range(count) if len(plain) != count or plain[k]]


def torque_limits(given: Any, robot: Dynamics) -> Array | None:
    """The largest torques of the actuators: the joints' own efforts for True, none for None."""
    if given is None or given is False:
        return None
    if given is not True:
        return gain("torque_limit", given, robot.system.size("d"), EACH)
    if not isinstance(robot, Robot):
        raise InputError(
            f"track: torque_limit=True: the joints of '{robot.name}' have no efforts of their own; "
            "give the largest torques."
        )
    efforts = {joint.name: joint.effort for joint in robot.model.joints}
    return np.array([efforts[name] for name in robot.actuated])
