"""Tasks: what inverse kinematics is to reach, and what a servo loop is to do.

A task has a target, a ``weight`` beside others of the same ``priority``, and a priority: tasks of
0 come first, and a larger number only uses the motions that the smaller ones leave.
`appell.control.inverse_kinematics` reaches all tasks of priority 0, or refuses, and comes as
near as it can to the others. `appell.control.servo` moves towards the targets at the rate
``gain`` (1/s) times what is missing, and adds the ``velocity`` that is wanted besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.control.kinematics.task_equations import KINDS, Part
from appell.errors import InputError, quoted
from appell.given import is_number, one_of, refuse_crooked, whole
from appell.robots.robot import Array, Numbers

Flags = Sequence[bool | int] | npt.NDArray[Any] | None


class TaskKey(NamedTuple):
    """All of a task but its target and velocity, which change from step to step."""

    part: Part
    chosen: tuple[int, ...] | tuple[str, ...] | None  # components, or joints; all without
    weight: tuple[float, ...]
    priority: int
    gain: float
    velocity_only: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What all tasks have: see `appell.control.kinematics.tasks`."""

    weight: float | Sequence[float] = 1.0
    priority: int = 0
    gain: float = 10.0
    part: Part = field(init=False, repr=False)
    target: Array | None = field(init=False, repr=False)  # (..., numbers)
    wanted: Array | None = field(init=False, repr=False)  # the velocity, (rows,)
    key: TaskKey = field(init=False, repr=False)

    def _settle(self, part: Part, target: Any, velocity: Any, chosen: Any = None) -> None:
        """Set what follows from the fields."""
        name = type(self).__name__
        rows = KINDS[part.kind].rows
        whole(f"{name}: priority", self.priority)
        if not is_number(self.gain) or not 0 <= self.gain < np.inf:
            raise InputError(f"{name}: gain = {quoted(self.gain)}; expected 1/s, zero or more.")
        weight = _list(f"{name}: weight", self.weight)
        several = len(weight) > 1 and len(weight) != rows and isinstance(rows, int)
        if not all(x > 0 for x in weight) or not weight or several:
            raise InputError(
                f"{name}: weight = {quoted(self.weight)}; expected one number greater than zero, "
                "or one for each component (a mask leaves components out)."
            )
        if velocity is not None:
            known = rows if isinstance(rows, int) else None  # else the robot knows
            velocity = numbers(f"{name}: velocity", velocity, known)
        key = TaskKey(part, chosen, tuple(weight), self.priority, float(self.gain), target is None)
        for what, value in {"part": part, "target": target, "wanted": velocity, "key": key}.items():
            object.__setattr__(self, what, value)


def chosen_components(what: str, mask: Any, n: int) -> tuple[int, ...] | None:
    """The components that a mask of 0 and 1 leaves; None without one."""
    if mask is None:
        return None
    flags = numbers(f"{what}: mask", mask, n)
    if not np.isin(flags, (0, 1)).all() or not flags.any():
        raise InputError(
            f"{what}: mask = {quoted(mask)}; expected {n} of 0 and 1, 1 where a component counts, "
            "and at least one."
        )
    return tuple(int(k) for k in np.flatnonzero(flags))


@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame in a pose, or its origin at a point.

    Args:
        frame: A link's name or an `appell.Frame`; the tip without it.
        pose: A pose (..., 4, 4) or a point (..., 3) in the base, or in the frame ``relative_to``.
        weight: How much it counts beside tasks of the same priority, one number or one per
            component.
        priority: 0 is served first, then 1, and so on.
        gain: How fast `servo` reduces what is missing, 1/s.
        velocity: A twist (6,) in the same axes, linear first, or (3,) beside a point; may stand
            alone.
        mask: 0 or 1 for each component of what is missing, m along x, y and z and then rad about
            them: ``(1, 1, 1, 1, 1, 0)`` with ``axes="local"`` leaves the turn about the tool's own
            z open.
        axes: "base", or "local", the frame's own.
        relative_to: A frame that is taken for the base.

    Examples:
        >>> puma, q0 = appell.load("puma560"), [0.1, -0.8, 0.3, 0.2, 0.7, 0.1]
        >>> pose = puma.forward_kinematics(q0)
        >>> task = appell.control.FrameTask(pose=pose, axes="local", mask=(1, 1, 1, 1, 1, 0))
        >>> q = appell.control.inverse_kinematics(puma, [task], start=q0)
        >>> np.allclose(puma.forward_kinematics(q)[:3, 3], pose[:3, 3])
        True
    """

    frame: Any = None
    pose: Numbers | None = None
    velocity: Numbers | None = field(default=None, kw_only=True)
    mask: Flags = field(default=None, kw_only=True)
    axes: str = field(default="base", kw_only=True)
    relative_to: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        one_of("FrameTask: axes", self.axes, ("base", "local"))
        if self.pose is None and self.velocity is None:
            raise InputError("FrameTask: give a pose, a point, or a velocity.")
        target, place = None, False
        if self.pose is not None:
            target, place = poses("pose", self.pose)
        kind = "twist" if target is None else "position" if place else "pose"
        part = Part(kind, self.frame, self.relative_to, self.axes)
        chosen = chosen_components("FrameTask", self.mask, 3 if place else 6)
        self._settle(part, target, self.velocity, chosen)


@dataclass(frozen=True, eq=False)
class CentreOfMassTask(Task):
    """The centre of mass at a point.

    Args:
        point: (..., 3) in the base, m.
        weight: How much it counts beside tasks of the same priority.
        priority: 0 is served first, then 1, and so on.
        gain: How fast `servo` reduces what is missing, 1/s.
        velocity: (3,), m/s; may stand alone.
        mask: Which components count: ``(1, 1, 0)`` leaves its height open.

    Examples:
        >>> chain = appell.load("planar_chain")
        >>> task = appell.control.CentreOfMassTask(velocity=[0.1, 0, 0], mask=(1, 0, 0))
        >>> appell.control.servo(chain, [0.3, 0.2, 0.1], task, dt=0.01).shape
        (3,)
    """

    point: Numbers | None = None
    velocity: Numbers | None = field(default=None, kw_only=True)
    mask: Flags = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.point is None and self.velocity is None:
            raise InputError("CentreOfMassTask: give a point or a velocity.")
        point = self.point
        target = None if point is None else batch("CentreOfMassTask: point", point, 3)
        chosen = chosen_components("CentreOfMassTask", self.mask, 3)
        self._settle(Part("centre_of_mass"), target, self.velocity, chosen)


@dataclass(frozen=True, eq=False)
class GazeTask(Task):
    """A frame whose axis points at a point: a camera that looks at it. What is missing is 2
    sin(angle / 2).

    Args:
        frame: A link's name or an `appell.Frame`.
        point: (..., 3) in the base, m.
        axis: The direction that points there, in the frame's own axes.
        weight: How much it counts beside tasks of the same priority.
        priority: 0 is served first, then 1, and so on.
        gain: How fast `servo` reduces what is missing, 1/s.

    Examples:
        >>> puma = appell.load("puma560")
        >>> look = appell.control.GazeTask(puma.link_names[-1], [1.0, 0.2, 0.0])
        >>> appell.control.servo(puma, [0.1, -0.8, 0.3, 0.2, 0.7, 0.1], look, dt=0.01).shape
        (6,)
    """

    frame: Any
    point: Numbers
    axis: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        target = batch("GazeTask: point", self.point, 3)
        axis = numbers("GazeTask: axis", self.axis, 3)
        length = np.linalg.norm(axis)
        if length < 1e-9:
            raise InputError(f"GazeTask: axis = {quoted(self.axis)}; expected a direction.")
        axis = axis / length
        beside = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
        beside = beside / np.linalg.norm(beside)
        across = (beside, np.cross(axis, beside), axis)
        part = Part("gaze", self.frame, across=tuple(tuple(x.tolist()) for x in across))
        self._settle(part, target, None)


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Coordinates to be at: what to do with the motions that other tasks leave. Free bases and
    balls have no part in it.

    Args:
        q: (..., nq).
        weight: How much it counts beside tasks of the same priority.
        priority: 1 by default: after the others.
        gain: How fast `servo` reduces what is missing, 1/s.
        velocity: (nv,), of all joints; may stand alone.
        joints: The joints that count; all without names.

    Examples:
        >>> chain = appell.load("planar_chain")
        >>> rest = appell.control.PostureTask([0.0, 0.0, 0.0])
        >>> appell.control.servo(chain, [0.3, 0.2, 0.1], rest, dt=0.01).shape
        (3,)
    """

    q: Numbers | None = None
    priority: int = field(default=1, kw_only=True)
    velocity: Numbers | None = field(default=None, kw_only=True)
    joints: Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.q is None and self.velocity is None:
            raise InputError("PostureTask: give q or a velocity.")
        joints: Any = self.joints
        several = isinstance(joints, Iterable) and not isinstance(joints, str)
        chosen = tuple(joints) if several else ()
        if joints is not None and not (chosen and all(isinstance(x, str) for x in chosen)):
            raise InputError(
                f"PostureTask: joints = {quoted(joints)}; expected one or more names in a list."
            )
        target = None if self.q is None else batch("PostureTask: q", self.q)
        self._settle(Part("posture"), target, self.velocity, chosen or None)


def numbers(what: str, x: Any, n: int | None = None) -> Array:
    """Finite numbers, n of them where n is given."""
    try:
        array = np.array(x, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {quoted(x)}; expected numbers.") from None
    if n is not None and array.shape != (n,):
        raise InputError(f"{what} has shape {array.shape}; expected ({n},).")
    if not np.isfinite(array).all():
        raise InputError(f"{what} holds NaN or infinity; expected finite numbers.")
    return array


def _list(what: str, x: Any) -> list[float]:
    if is_number(x) and np.isfinite(x):
        return [float(x)]
    return [float(y) for y in numbers(what, x).ravel()]


def batch(what: str, x: Any, n: int | None = None) -> Array:
    """Finite numbers (..., n)."""
    array = numbers(what, x)
    if array.ndim == 0 or (n is not None and array.shape[-1] != n):
        raise InputError(f"{what} has shape {array.shape}; expected (..., {n or 'coordinates'}).")
    return array


def poses(what: str, pose: Any) -> tuple[Array, bool]:
    """Homogeneous matrices as (..., 12), or points (..., 3) and True."""
    try:
        T = np.array(getattr(pose, "homogeneous", pose), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected numbers, (..., 4, 4) or (..., 3).") from None
    if T.shape[-2:] != (4, 4) and T.shape[-1:] != (3,):
        raise InputError(
            f"{what} has shape {T.shape}; expected homogeneous matrices (..., 4, 4), or positions "
            "(..., 3)."
        )
    if not np.isfinite(T).all():
        raise InputError(f"{what} holds NaN or infinity; expected finite numbers.")
    if T.shape[-2:] != (4, 4):
        return T, True
    refuse_crooked(what, T)
    return T[..., :3, :].reshape(*T.shape[:-2], 12), False
