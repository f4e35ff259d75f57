"""How places on a robot's links move.

A way leads from a body to a place that it carries, over the joints between them. Seen
from that body, the place's velocity is found joint by joint in the moving axes, so that
the last joints of the way appear in it by few and simple terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.instant import placed as at_this_instant
from appell.equations.instant import positions
from appell.equations.motion.kinematics import ORIGIN, Pose, then
from appell.maths.rotation import Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.model import BASE, Frame, Model
from appell.model.place import WORLD, Place

__all__ = ["WORLD", "Place", "Way", "common", "placed"]


def placed(given: str | Place) -> Place:
    """A place; the name of a link is its frame's origin."""
    return Place(given) if isinstance(given, str) else given


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
