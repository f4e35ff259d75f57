"""Places on a robot's links, and how they move.

A way leads from a body to a place that it carries, over the joints between them. Seen
from that body, the place's velocity is found joint by joint in the moving axes, so that
the last joints of the way appear in it by few and simple terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.equations.instant import placed as at_this_instant
from appell.equations.instant import positions
from appell.equations.kinematics import ORIGIN, Pose, then
from appell.errors import InputError, ModelError
from appell.maths.rotation import AboutZ, After, Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.build import as_array, as_rotation, as_vector, frame_along, from_rpy
from appell.model.model import BASE, Frame, Model

WORLD = "world"


@dataclass(frozen=True)
class Place:
    """A frame on a link (or on the "world"): at ``position`` in the link's axes, its z along
    ``axis``, or turned by roll, pitch and yaw, ``rpy``, as in URDF."""

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


def placed(given: str | Place) -> Place:
    """A place; the name of a link is its frame's origin."""
    return Place(given) if isinstance(given, str) else given


def _three(what: str, given: Any) -> tuple[float, float, float]:
    try:
        x, y, z = (float(x) for x in given)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {given!r}; expected three numbers.") from None
    if not np.isfinite([x, y, z]).all():
        raise InputError(f"{what} = {given!r}; expected finite numbers.")
    return x, y, z


class Way:
    """From a body, or the world, out to a place."""

    def __init__(self, model: Model, q: Sequence[Scalar], place: Frame, start: int = BASE) -> None:
        before = _ancestors(model, start)
        path = [i for i in _ancestors(model, place.body) if i not in before]
        self.model, self.place = model, place
        bodies = at_this_instant(model, q).bodies if model.compounds else model.bodies
        joints = model.spread(positions(model, q), shifted=True)
        self.steps: list[tuple[int, Rotation, Vector]] = [
            (i, bodies[i].rotation(joints[i]), bodies[i].offset(joints[i])) for i in path
        ]

    def pose(self) -> Pose:
        """Of the place, in the axes of the body where the way begins."""
        pose = ORIGIN
        for _, R, s in self.steps:
            pose = then(pose, R, s)
        return then(pose, self.place.R, self.place.s)

    def twist(self, v: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """The place's velocity and angular velocity, in its own axes."""
        rates = self.model.spread(v)
        linear = turning = ZERO
        for i, R, s in self.steps:
            body = self.model.bodies[i]
            linear = R.T @ (linear + cross(turning, s)) + Z * (body.sigma * rates[i])
            turning = R.T @ turning + Z * (body.rho * rates[i])
        R, s = self.place.R, self.place.s
        return R.T @ (linear + cross(turning, s)), R.T @ turning


def common(model: Model, a: int, b: int) -> int:
    """The last body that carries both."""
    shared = [i for i in _ancestors(model, a) if i in _ancestors(model, b)]
    return shared[-1] if shared else BASE


def _ancestors(model: Model, body: int) -> Sequence[int]:
    return () if body == BASE else model.ancestors[body]
