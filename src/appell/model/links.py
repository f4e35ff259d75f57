"""Bodies as links whose frames may sit at either end.

A model's frames sit on the joints, as in the modified Denavit-Hartenberg convention: the
near end. In Paul's, the standard one, a link's frame sits at its far end, on the axis of
the next joint, whose turn it does not take part in. On a tree the next joint is the first
child's, and a link without children keeps the frame it has.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.maths.rotation import AboutZ, After, Rotation, about_z
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Symmetric, Vector, Z
from appell.model.model import BASE, Joint, Model

SAME = AboutZ(1, 0)


class Link(NamedTuple):
    """From the parent's frame R0 and s0 lead to the joint; E and r from there to the link's.

    R0 and s0 are in the parent's axes, E in the joint's, r in the link's; so are the centre
    of mass, from the link's origin, and the inertia tensor about it.
    """

    parent: int
    joint: Joint
    R0: Rotation
    s0: Vector
    E: Rotation
    r: Vector
    mass: Scalar
    com: Vector
    central: Symmetric

    @property
    def rho(self) -> int:
        """1 for a joint that turns its link, 0 for one that does not."""
        return self.joint.screw.rho

    @property
    def sigma(self) -> Scalar:
        """How far the joint slides its link, by its position: 0 if it does not."""
        return self.joint.screw.sigma

    @property
    def z(self) -> Vector:
        """The joint's axis in the parent's axes."""
        return self.R0 @ Z

    @property
    def axis(self) -> Vector:
        """The joint's axis in the link's own axes: its turn leaves it where it is."""
        return self.E.T @ Z

    def rotation(self, q: Scalar) -> Rotation:
        """From the link's axes to its parent's."""
        return After(self.R0, After(about_z(q), self.E) if self.rho else self.E)

    def offset(self, q: Scalar) -> Vector:
        """From the parent's origin to the joint, in the parent's axes."""
        return self.s0 + self.z * (self.sigma * q)


def near_ends(model: Model) -> list[Link]:
    """The frames as they are, on the joints."""
    return [
        Link(b.parent, b.joint, b.R0, b.s0, SAME, ZERO, b.mass, b.inertia.com, b.inertia.central)
        for b in model.bodies
    ]


def far_ends(model: Model) -> list[Link]:
    """Paul's frames; the base's stays where it is."""
    following: dict[int, int] = {}  # which joint comes next to a body
    for i, body in enumerate(model.bodies):
        if body.parent != BASE:
            following.setdefault(body.parent, i)
    ends = {i: (model.bodies[k].R0, model.bodies[k].s0) for i, k in following.items()}
    links = []
    for i, link in enumerate(near_ends(model)):
        E, e = ends.get(i, (SAME, ZERO))
        Ep, ep = ends.get(link.parent, (SAME, ZERO))
        follows = following.get(link.parent) == i
        links.append(
            link._replace(
                R0=SAME if follows else After(Ep.T, link.R0),
                s0=ZERO if follows else Ep.T @ (link.s0 - ep),
                E=E,
                r=E.T @ e,
                com=E.T @ (link.com - e),
                central=E.T.congruence(link.central),
            )
        )
    return links
