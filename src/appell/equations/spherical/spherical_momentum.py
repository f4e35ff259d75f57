"""Centre of mass and momentum of spherical parallel robots, whose bodies turn about the centre."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.gibbs_jacobian import Pair, combined
from appell.maths.rotation import Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross
from appell.model.inertia import Inertia


class Turning(NamedTuple):
    """A body about the centre: its axes, inertia, and angular velocities by unit speeds, with
    their rates."""

    R: Rotation
    inertia: Inertia
    J: Sequence[Vector]
    dJ: Sequence[Vector]

    @property
    def whole(self) -> Inertia:
        """The inertia in the base's axes."""
        return self.inertia.moved(self.R, ZERO)


def centre_of_mass(bodies: Sequence[Turning]) -> Vector:
    """The centre of mass of bodies, in the base."""
    total = sum((body.inertia.mass for body in bodies), start=0)
    return sum((body.whole.moment for body in bodies), start=ZERO) * (1 / total)


def momentum_columns(bodies: Sequence[Turning]) -> list[Pair]:
    """p = w x h and, about the centre of mass c, L = I w - c x p, of unit speeds."""
    c = centre_of_mass(bodies)
    columns = [Pair(ZERO, ZERO) for _ in bodies[0].J]
    for body in bodies:
        _, h, I = body.whole
        for k, w in enumerate(body.J):
            p = cross(w, h)
            columns[k] = columns[k] + Pair(p, I @ w - cross(c, p))
    return columns


def momentum_rates(bodies: Sequence[Turning], v: Sequence[Scalar]) -> list[Pair]:
    """The rates of these columns."""
    total = sum((body.inertia.mass for body in bodies), start=0)
    c, dc = centre_of_mass(bodies), combined(momentum_columns(bodies), v).linear * (1 / total)
    columns = [Pair(ZERO, ZERO) for _ in v]
    for body in bodies:
        _, h, I = body.whole
        W = sum((w * x for w, x in zip(body.J, v, strict=True)), start=ZERO)
        for k, (w, dw) in enumerate(zip(body.J, body.dJ, strict=True)):
            p, dp = cross(w, h), cross(dw, h) + cross(w, cross(W, h))
            dL = I @ dw + cross(W, I @ w) - I @ cross(W, w)
            columns[k] = columns[k] + Pair(dp, dL - cross(dc, p) - cross(c, dp))
    return columns
