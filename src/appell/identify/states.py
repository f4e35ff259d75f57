"""Random states of any robot that has a regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from appell.constraints.closed import ClosedRobot
from appell.errors import InputError
from appell.parallel.agile_wrist import AgileWrist

Array = npt.NDArray[np.float64]


def random_states(robot: Any, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """q, v and a, (count, ...): positions all over a tree's joints, or about where a closed robot
    can be; speeds and accelerations of the size of one."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or count < 0:
        raise InputError(f"random_states({count!r}): expected a whole number of states, 0 up.")
    if not hasattr(robot, "nq"):
        raise InputError(f"random_states: a {type(robot).__name__} is no robot; give one.")
    draw = np.random.default_rng(seed)
    if isinstance(robot, ClosedRobot):
        q = np.asarray(robot.random_states(count, seed)[0], dtype=np.float64)
    elif isinstance(robot, AgileWrist):
        q = draw.uniform(-0.3, 0.3, (count, robot.nq))
    else:
        q = draw.uniform(-np.pi, np.pi, (count, robot.nq))
        if robot.model.free:
            q[:, 3:7] = draw.normal(size=(count, 4))
            q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, a = draw.normal(size=(2, count, robot.nv))
    return q, v, a
