"""What an excitation may not exceed: the joints' own limits, and the room that frames have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.given import limits as positive
from appell.robots.robot import Array, Robot

Point = tuple[float, float, float]


@dataclass(frozen=True)
class HalfSpace:
    """A half-space in which a point of a frame stays: normal . p >= offset.

    Args:
        frame: A link's name.
        normal: In the base's axes.
        offset: m.
        point: In the frame; its origin without it.

    Examples:
        >>> appell.identify.HalfSpace("link6", normal=(0, 0, 1), offset=0.1).offset
        0.1
    """

    frame: str
    normal: Point
    offset: float
    point: Point = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"HalfSpace of '{self.frame}'"
        length = np.linalg.norm(_three(what, self.normal))
        given = isinstance(self.offset, Real) and np.isfinite(float(self.offset))
        if not (0 < length < np.inf and given):
            raise InputError(
                f"{what}: normal = {self.normal}, offset = {self.offset}; no half-space."
            )


@dataclass(frozen=True)
class Box:
    """A box in which a point of a frame stays; infinity is no limit.

    Args:
        frame: A link's name.
        low: The lower corner, in the base's axes, m.
        high: The upper corner.
        point: In the frame; its origin without it.

    Examples:
        >>> appell.identify.Box("link6", (-1, -1, 0), (1, 1, np.inf)).low
        (-1, -1, 0)
    """

    frame: str
    low: Point
    high: Point
    point: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of n joints: positions from lower to upper, and the largest speeds, accelerations and
    torques; infinity is none. And half-spaces for frames."""

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    torque: Array
    rooms: tuple[HalfSpace, ...] = ()

    @property
    def middle(self) -> Array:
        """The middle of each joint's range."""
        return (self.lower + self.upper) / 2

    @property
    def half(self) -> Array:
        """Half of each joint's range."""
        return (self.upper - self.lower) / 2


def limits(
    robot: Robot, position: Any, speed: Any, acceleration: Any, torque: Any, workspace: Any
) -> MotionLimits:
    """The limits that are given, and the model's own where none are."""
    n, joints = robot.nv, robot.model.joints
    lower, upper = _range(robot, position)
    for j, joint in enumerate(joints):
        if not (np.isfinite(lower[j]) and np.isfinite(upper[j])):
            raise InputError(
                f"excite: joint '{joint.name}' of '{robot.name}' may go from {lower[j]:g} to "
                f"{upper[j]:g}; expected a range to move in: give position=(lower, upper)."
            )
        if not lower[j] < upper[j]:
            raise InputError(
                f"excite: joint '{joint.name}' may go from {lower[j]:g} to {upper[j]:g}; expected "
                "the lower limit first, and room between them."
            )
    own = [j.speed for j in joints], [j.effort for j in joints]
    v = positive("excite: speed", own[0] if speed is None else speed, n)
    for k in np.flatnonzero(np.isinf(v)).tolist():
        raise InputError(
            f"excite: joint '{joints[k].name}' of '{robot.name}' has no limit of speed; give "
            "speed=, in rad/s (m/s of a prismatic joint), a number or one per joint."
        )
    return MotionLimits(
        lower,
        upper,
        v,
        positive("excite: acceleration", np.inf if acceleration is None else acceleration, n),
        positive("excite: torque", own[1] if torque is None else torque, n),
        _rooms(robot, workspace),
    )


def _range(robot: Robot, position: Any) -> tuple[Array, Array]:
    n, joints = robot.nv, robot.model.joints
    if position is None:
        return np.array([j.lower for j in joints]), np.array([j.upper for j in joints])
    try:
        if isinstance(position, tuple) and len(position) == 2:
            ends = [np.array(x, dtype=float) for x in position]
        else:
            ends = [-np.array(position, dtype=float), np.array(position, dtype=float)]
        lower, upper = (np.broadcast_to(x, (n,)).copy() for x in ends)
    except (TypeError, ValueError):
        raise InputError(
            f"excite: position = {position!r}; expected a number or {n} (both ways), or a pair "
            "(lower, upper) of such."
        ) from None
    return lower, upper


def _rooms(robot: Robot, workspace: Any) -> tuple[HalfSpace, ...]:
    given = [workspace] if isinstance(workspace, Box | HalfSpace) else workspace
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InputError(f"excite: workspace = {workspace!r}; expected Box(...), HalfSpace(...).")
    rooms: list[HalfSpace] = []
    for room in given:
        if not isinstance(room, Box | HalfSpace):
            raise InputError(f"excite: workspace holds {room!r}; expected Box or HalfSpace.")
        robot.model.frame(room.frame)
        rooms += _sides(room) if isinstance(room, Box) else [_unit(room)]
    return tuple(rooms)


def _sides(box: Box) -> list[HalfSpace]:
    """A box as half-spaces, those without limits left out."""
    low, high = (_three(f"Box of '{box.frame}'", x) for x in (box.low, box.high))
    if not (low < high).all():
        raise InputError(
            f"Box of '{box.frame}': from {box.low} to {box.high}; expected room in each direction."
        )
    sides = []
    for k, axis in enumerate(np.eye(3)):
        for sign, offset in ((1.0, low[k]), (-1.0, -high[k])):
            if np.isfinite(offset):
                x, y, z = (sign * axis).tolist()
                sides.append(HalfSpace(box.frame, (x, y, z), float(offset), box.point))
    return sides


def _unit(room: HalfSpace) -> HalfSpace:
    normal = np.array(room.normal, dtype=float)
    length = float(np.linalg.norm(normal))
    x, y, z = (normal / length).tolist()
    return HalfSpace(room.frame, (x, y, z), room.offset / length, room.point)


def _three(what: str, x: Any) -> Array:
    try:
        numbers = np.array(x, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (3,) or np.isnan(numbers).any():
        raise InputError(f"{what}: {x!r}; expected three numbers, in m.")
    return numbers
