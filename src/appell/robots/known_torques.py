"""Torques that are known and that no inertial parameter explains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.errors import InputError, quoted
from appell.robots.dynamics import Forces, Numbers


def known_torques(robot: Any, q: Numbers, forces: Forces = None, axes: str = "base") -> Any:
    """The actuators' forces that springs in the joints take, less what external ``forces`` do:
    tau = Y p + these."""
    outside = external_torques(robot, q, forces, axes)
    if not getattr(robot.model, "springs", False):
        return outside
    return _of_actuators(robot, q, robot.kernel("springs")(q)) + outside


def external_torques(robot: Any, q: Numbers, forces: Forces, axes: str = "base") -> Any:
    """What external ``forces`` add to the actuators' forces: -J^T w."""
    Q: Any = 0.0
    for frame, wrench in wrenches_of("forces", forces).items():
        J = robot.jacobian(q, frame, axes=axes)
        Q = Q - np.einsum("...ij,...i->...j", J, np.asarray(wrench, dtype=float))
    return _of_actuators(robot, q, Q) if forces else Q


def _of_actuators(robot: Any, q: Numbers, Q: Any) -> Any:
    """Forces on the speeds as forces of the actuators."""
    return Q if robot.system.direct else robot.kernel("actuator_torques")(q, Q)


def wrenches_of(what: str, forces: Any) -> Mapping[str, Any]:
    """Wrenches by frame, each (..., 6), checked; none where there are none."""
    if forces is None:
        return {}
    if not isinstance(forces, Mapping):
        raise InputError(
            f"{what} = {quoted(forces)}; expected wrenches by frame: "
            "{'hand': (fx, fy, fz, mx, my, mz)}."
        )
    for frame, wrench in forces.items():
        shape = np.shape(wrench)
        if shape[-1:] != (6,):
            raise InputError(f"{what}: that on {frame} has shape {shape}; expected (..., 6).")
    return forces
