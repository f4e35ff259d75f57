"""Places on a robot's links, and poses as people write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, ModelError, quoted
from appell.maths.rotation import AboutZ, After
from appell.maths.vector import ZERO
from appell.model.axes import as_array, as_rotation, as_vector, frame_along, from_rpy, rpy
from appell.model.model import BASE, Frame, Model

Array = npt.NDArray[np.float64]
Pose = Any  # what pose_of reads

WORLD = "world"


@dataclass(frozen=True)
class Place:
    """A frame on a link, or on the "world".

    Args:
        link: The link.
        position: In the link's axes, m.
        axis: The direction of its z; or ``rpy`` instead.
        rpy: How it is turned: roll, pitch and yaw, rad, as in URDF.

    Examples:
        >>> from appell.robots.closed import Place
        >>> Place("link1", (0.5, 0, 0), axis=(0, 0, 1)).position
        (0.5, 0.0, 0.0)
    """

    link: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] | None = None
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for what in ("position", "axis", "rpy"):
            given = getattr(self, what)
            if given is not None:
                object.__setattr__(self, what, _three(f"place on '{self.link}': {what}", given))
        if self.axis is not None and any(self.rpy):
            raise InputError(f"place on '{self.link}': give either axis or rpy, not both.")

    def __str__(self) -> str:
        where = ", ".join(f"{x:g}" for x in (*self.position, *(self.axis or self.rpy)))
        return f"{self.link} at {where}"

    def on(self, model: Model) -> Frame:
        """The same place on a body of the model."""
        known = [frame.name for frame in model.frames]
        if self.link == WORLD and WORLD not in known:
            link = Frame(WORLD, BASE, AboutZ(1, 0), ZERO)
        elif self.link in known:
            link = model.frame(self.link)
        else:
            raise ModelError(
                f"'{model.name}' has no link '{self.link}'; its links are {', '.join(known)}, and "
                f"'{WORLD}' is what does not move."
            )
        turned = After(link.R, as_rotation(self._rotation()))
        s = link.s + link.R @ as_vector(self.position)
        size = max(abs(float(x)) for x in (*link.s, *self.position))
        return replace(link, R=as_rotation(as_array(turned)), s=as_vector(s, size))

    def _rotation(self) -> Any:
        if self.axis is not None:
            return frame_along(np.array(self.axis), self.link)
        return from_rpy(self.rpy)


def frame_on(link: str, pose: Pose = None) -> Place:
    """A frame on a link, which methods take for a link's name.

    Args:
        link: The link that carries the frame.
        pose: Where it is in the link's axes: a position (x, y, z) in m, a position with roll, pitch
            and yaw (6 numbers), a position with a quaternion x, y, z, w (7), a matrix (4, 4), or
            Pinocchio's SE3; without one, the link's own frame.

    Returns:
        A place that can be given as ``frame``, in ``forces`` and in ``points``.

    Examples:
        >>> puma = appell.load("puma560")
        >>> tool = appell.Frame(puma.link_names[-1], (0, 0, 0.1))
        >>> puma.jacobian(np.zeros(6), tool).shape
        (6, 6)
    """
    R, s = pose_of(f"Frame on '{link}'", pose)
    x, y, z = map(float, s)
    return Place(link, (x, y, z), rpy=rpy(R))


_POSES = (
    "a position (x, y, z), a position with roll, pitch and yaw (6 numbers), a position with a "
    "quaternion x, y, z, w (7 numbers), or a homogeneous matrix (4, 4)"
)


def pose_of(what: str, pose: Pose) -> tuple[Array, Array]:
    """The rotation and the position of a pose: None for none, a position (x, y, z), a position with
    roll, pitch and yaw (6 numbers), a position with a quaternion x, y, z, w (7 numbers), a
    homogeneous matrix (4, 4), or Pinocchio's SE3."""
    if pose is None:
        return np.eye(3), np.zeros(3)
    try:
        numbers = np.array(getattr(pose, "homogeneous", pose), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: pose = {quoted(pose)}; expected {_POSES}.") from None
    if not np.isfinite(numbers).all() or numbers.shape not in ((3,), (6,), (7,), (4, 4)):
        raise InputError(f"{what}: pose = {quoted(pose)}; expected {_POSES}, of finite numbers.")
    if numbers.shape == (4, 4):
        R = numbers[:3, :3]
        square = np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-9) and np.linalg.det(R) > 0
        if not (square and np.array_equal(numbers[3], [0, 0, 0, 1])):
            raise InputError(f"{what}: {numbers.tolist()} is no pose; expected {_POSES}.")
        return R, numbers[:3, 3]
    if len(numbers) == 7:
        return _turned(what, numbers[3:]), numbers[:3]
    return from_rpy(numbers[3:].tolist() or (0.0, 0.0, 0.0)), numbers[:3]


def _turned(what: str, quaternion: Array) -> Array:
    """The rotation of a quaternion x, y, z, w of any length but zero."""
    length = np.linalg.norm(quaternion)
    if length == 0:
        raise InputError(f"{what}: the quaternion is zero; no rotation is 0, 0, 0, 1.")
    x, y, z, w = quaternion / length
    R = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(R)


def _three(what: str, given: Any) -> tuple[float, float, float]:
    try:
        x, y, z = (float(x) for x in given)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {given!r}; expected three numbers.") from None
    if not np.isfinite([x, y, z]).all():
        raise InputError(f"{what} = {given!r}; expected finite numbers.")
    return x, y, z
