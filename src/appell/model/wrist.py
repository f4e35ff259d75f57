"""What a spherical parallel wrist is: a platform held by three limbs of two curved links.

All axes meet in one centre. Limb i turns about u_i, which is fixed in the base, by an actuator
(theta_i), about w_i between its two links (psi_i), and about v_i on the platform. The
symbols are those of Abedloo et al. 2014, equations 27 to 29; angles are in radians, the rest is
SI; all of it is frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, pi, sin

from appell.errors import InputError
from appell.maths.rotation import AboutX, AboutZ, After, Rotation
from appell.maths.scalar import snap
from appell.maths.vector import Symmetric, Vector
from appell.model.inertia import Inertia
from appell.model.model import GRAVITY

BRANCHES = {"+": 1, "-": -1}


@dataclass(frozen=True)
class Limb:
    """Where a limb's axes are and what its two links weigh.

    The first link's frame has u as its z, the second link's w; x is normal to the link, so
    that the link lies in the plane of y and z, towards negative y. Inertias are about the centre.
    """

    alpha1: float
    alpha2: float
    lam: float
    eta: float
    first: Inertia
    second: Inertia


@dataclass(frozen=True)
class Wrist:
    """Three limbs and the platform, whose inertia is about the centre.

    ``branch`` has a sign a limb: that of equation 34. Nearer than ``margin`` to a singularity,
    nothing is computed.
    """

    name: str
    limbs: tuple[Limb, Limb, Limb]
    beta: float
    gamma: float
    platform: Inertia
    gravity: Vector = GRAVITY
    branch: str = "---"
    margin: float = 1e-4

    @property
    def nq(self) -> int:
        """How many coordinates: three Euler angles."""
        return 3

    @property
    def nv(self) -> int:
        """How many speeds: their rates."""
        return 3

    @property
    def signs(self) -> tuple[int, ...]:
        return tuple(BRANCHES[x] for x in self.branch)

    @property
    def frames(self) -> tuple[str, ...]:
        """The bodies' names."""
        limbs = range(1, 1 + len(self.limbs))
        return (
            "base",
            *(f"{which}{i}" for i in limbs for which in ("first", "second")),
            "platform",
        )

    @property
    def inertias(self) -> dict[str, Inertia]:
        """Of the bodies that move, by their names."""
        links = [link for limb in self.limbs for link in (limb.first, limb.second)]
        return dict(zip(self.frames[1:], (*links, self.platform), strict=True))

    def with_inertias(self, given: Sequence[Inertia]) -> Wrist:
        """The wrist whose bodies have these, in the order of ``inertias``."""
        *links, platform = given
        first, second, third = (
            replace(limb, first=links[2 * k], second=links[2 * k + 1])
            for k, limb in enumerate(self.limbs)
        )
        return replace(self, limbs=(first, second, third), platform=platform)

    def frame(self, name: str | None) -> str:
        """A frame by name; the platform without one."""
        if name is None:
            return "platform"
        if name not in self.frames:
            raise InputError(
                f"'{self.name}' has no frame '{name}'; its frames are {', '.join(self.frames)}."
            )
        return name

    def base_axes(self, limb: Limb) -> Rotation:
        """Rz(lambda) Rx(gamma - pi), of (27): z is u."""
        turn, tilt = limb.lam, self.gamma - pi
        return After(
            AboutZ(snap(cos(turn)), snap(sin(turn))), AboutX(snap(cos(tilt)), snap(sin(tilt)))
        )

    def platform_axis(self, limb: Limb) -> Vector:
        """v* (28), in the platform's axes."""
        reach = sin(self.beta)
        return Vector(
            snap(-sin(limb.eta) * reach), snap(cos(limb.eta) * reach), snap(cos(self.beta))
        )


def arc(density: float, radius: float, angle: float) -> Inertia:
    """A slender arc's inertia about its centre; it runs from z towards negative y.

    A point of it is r (0, -sin x, cos x), with x from 0 to the angle, and has the mass
    density r dx: the integrals of these, of their products, and of the squares.
    """
    c, s = cos(angle), sin(angle)
    mass = density * radius * angle
    moment = density * radius**2
    square = density * radius**3
    yy, zz, yz = (angle - s * c) / 2, (angle + s * c) / 2, -s * s / 2
    return Inertia(
        mass,
        Vector(0, -(1 - c) * moment, s * moment),
        Symmetric(angle * square, 0, zz * square, 0, -yz * square, yy * square),
    )
