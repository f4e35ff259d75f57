"""What a spherical parallel robot is: a platform on limbs whose joints' axes meet in one centre.

A limb is a chain of curved links from the base to the platform, with one joint more than links; all
bodies turn about the centre. The symbols are those of Abedloo et al. 2014, equations 20 and 27 to
29, for any number of limbs i and links j; angles are in radians, the rest is SI; all of it is
frozen.

What describes the motion: the platform's Euler angles, and of each limb the angles of its joints
but the last three, which follow from these (one solution of two, the limb's branch). A limb may
instead *carry* the platform: then its own joint angles stand in the place of the Euler angles. So
does the one limb of fewer than three joints that there may be, as it leaves the platform fewer
freedoms. There are 3 + sum (joints of the limb - 3) coordinates in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import pi
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.maths.rotation import AboutX, AboutZ, After, Rotation
from appell.maths.scalar import Scalar, cos, sin, snap
from appell.maths.vector import Symmetric, Vector
from appell.model.inertia import Inertia
from appell.model.model import GRAVITY, Joint

BRANCHES = {"+": 1, "-": -1}
CLOSING = 3  # joints of a limb whose angles follow from the platform's orientation
EULER = ("yaw", "pitch", "roll")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass(frozen=True)
class Arc:
    """A curved link: the angle alpha between the axes of its two joints, and its inertia.

    Its frame has the inner joint's axis as z; x is normal to the link, so that the link lies in
    the plane of y and z, towards negative y. The inertia is about the centre.
    """

    alpha: Scalar
    inertia: Inertia

    @property
    def bend(self) -> AboutX:
        """The rotation Rx(alpha) from the inner joint's axis to the outer's, which is its z."""
        return AboutX(*_arms(self.alpha))

    @property
    def end(self) -> Vector:
        """The outer joint's axis in the link's frame."""
        c, s = self.bend
        return Vector(0, -s, c)


@dataclass(frozen=True)
class Limb:
    """A limb's places on the base (lam, gamma) and on the platform (eta, beta), and its links."""

    lam: Scalar
    gamma: Scalar
    eta: Scalar
    beta: Scalar
    links: tuple[Arc, ...]

    @property
    def joints(self) -> int:
        """How many joints the limb has, those on the base and on the platform included."""
        return len(self.links) + 1

    @property
    def base(self) -> Rotation:
        """Rz(lambda) Rx(gamma - pi), of (27): z is u, the axis of the limb's first joint."""
        return After(AboutZ(*_arms(self.lam)), AboutX(*_arms(self.gamma - pi)))

    @property
    def mount(self) -> Rotation:
        """Rz(eta) Rx(-beta), of (28), in the platform's axes: z is v*."""
        return After(AboutZ(*_arms(self.eta)), AboutX(*_arms(-self.beta)))

    @property
    def platform_axis(self) -> Vector:
        """v* (28), the axis of the limb's last joint in the platform's axes."""
        (c, s), (along, across) = _arms(self.eta), _arms(self.beta)
        return Vector(_exact(-s * across), _exact(c * across), along)


@dataclass(frozen=True)
class SphericalModel:
    """Limbs and the platform, whose inertia is about the centre.

    ``actuated`` are the driven joints as pairs (limb, joint), counted from zero, in the order of
    the torques; ``carrier`` is the limb whose joint angles describe the platform, Euler angles do
    without one. ``branch`` has one sign per other limb: that of equation 34. Nearer than
    ``margin`` to a singularity, nothing is computed.
    """

    name: str
    limbs: tuple[Limb, ...]
    platform: Inertia
    actuated: tuple[tuple[int, int], ...]
    branch: str
    carrier: int | None = None
    gravity: Vector = GRAVITY
    margin: float = 1e-4

    # What a tree of bodies may have: a free base, joints that mimic others, bodies each on a joint
    # of its own with limits and friction.
    free: ClassVar[bool] = False
    mimics: ClassVar[bool] = False
    bodies: ClassVar[tuple[()]] = ()

    # Coordinates

    @cached_property
    def carried(self) -> int:
        """How many coordinates describe the platform."""
        return len(EULER) if self.carrier is None else self.limbs[self.carrier].joints

    @cached_property
    def nv(self) -> int:
        """How many speeds: the rates of the coordinates."""
        return self.carried + sum(self.limbs[i].joints - CLOSING for i in self.closing)

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.nv

    @cached_property
    def sizes(self) -> dict[str, int]:
        """What the axes of its quantities count: coordinates, speeds, both, actuators, passive
        joints between links, actuated and passive ones, limbs that close loops (without such, one
        that always reaches), inertial parameters, frames."""
        return {
            "q": self.nq, "n": self.nv, "y": self.nq + self.nv, "d": len(self.actuated),
            "passive": len(self.passive), "joints": len(self.reported),
            "limbs": max(1, len(self.closing)), "p": 10 * len(self.inertias),
            "links": len(self.frames),
        }  # fmt: skip

    @cached_property
    def closing(self) -> tuple[int, ...]:
        """The limbs that do not carry the platform: each closes a loop."""
        return tuple(i for i in range(len(self.limbs)) if i != self.carrier)

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Where the coordinates that move each limb stand: the platform's, then its own."""
        found, at = [], self.carried
        for i, limb in enumerate(self.limbs):
            own = 0 if i == self.carrier else limb.joints - CLOSING
            found.append((*range(self.carried), *range(at, at + own)))
            at += own
        return tuple(found)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """Which coordinates the inertia matrix couples: for each, those before it and itself."""
        paths = [tuple(range(k + 1)) for k in range(self.carried)]
        for places in self.places:
            paths += [places[: k + 1] for k in range(self.carried, len(places))]
        return tuple(paths)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates' names."""
        leading = EULER if self.carrier is None else self._named(self.carrier, self.carried)
        own = (self._named(i, self.limbs[i].joints - CLOSING) for i in self.closing)
        return (*leading, *(name for names in own for name in names))

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The coordinates as those of joints without limits."""
        return tuple(Joint(name) for name in self.coordinates)

    # The limbs' joints

    @cached_property
    def joint_names(self) -> dict[str, tuple[int, int]]:
        """All joints, limb by limb, as "limb1.joint1": limb and number, from zero."""
        return {
            name: (i, j)
            for i, limb in enumerate(self.limbs)
            for j, name in enumerate(self._named(i, limb.joints))
        }

    @cached_property
    def passive(self) -> tuple[tuple[int, int], ...]:
        """The joints between links (and between base and links) that are not driven."""
        between = ((i, j) for i, limb in enumerate(self.limbs) for j in range(len(limb.links)))
        return tuple(joint for joint in between if joint not in self.actuated)

    @property
    def reported(self) -> tuple[tuple[int, int], ...]:
        """The actuated joints, then the passive ones."""
        return self.actuated + self.passive

    def moving(self, i: int) -> int:
        """How many of a limb's joints matter: the one on the platform only if it is driven."""
        limb = self.limbs[i]
        return limb.joints if (i, limb.joints - 1) in self.actuated else limb.joints - 1

    @property
    def signs(self) -> tuple[int, ...]:
        """The branches of the closing limbs, 1 or -1."""
        return tuple(BRANCHES[x] for x in self.branch)

    def _named(self, i: int, count: int) -> list[str]:
        return [f"limb{i + 1}.joint{j + 1}" for j in range(count)]

    # Bodies

    @property
    def frames(self) -> tuple[str, ...]:
        """The bodies' names: links as "second3", the second of the third limb."""
        return ("base", *self.links, "platform")

    @cached_property
    def links(self) -> dict[str, tuple[int, int]]:
        """All links by their names: limb and number, from zero."""
        return {
            f"{_ordinal(j)}{i + 1}": (i, j)
            for i, limb in enumerate(self.limbs)
            for j in range(len(limb.links))
        }

    @property
    def inertias(self) -> dict[str, Inertia]:
        """The inertias of the bodies that move, by their names."""
        links = {name: self.limbs[i].links[j].inertia for name, (i, j) in self.links.items()}
        return {**links, "platform": self.platform}

    def with_inertias(self, inertias: Sequence[Inertia]) -> SphericalModel:
        """The model whose bodies have these inertias, in the order of ``inertias``."""
        *links, platform = inertias
        rest = iter(links)
        limbs = (
            replace(limb, links=tuple(replace(link, inertia=next(rest)) for link in limb.links))
            for limb in self.limbs
        )
        return replace(self, limbs=tuple(limbs), platform=platform)

    # Its numbers as arguments

    def values(self, group: str) -> npt.NDArray[np.float64]:
        """The numbers of a group: mass (n,), com (n, 3) and inertia about the centre of mass (n, 6)
        of all bodies, gravity (3,), and geometry (g,): limb by limb lam, gamma, eta, beta and the
        links' alpha."""
        bodies = self.inertias.values()
        numbers: dict[str, Any] = {
            "mass": [body.mass for body in bodies],
            "com": [body.com for body in bodies],
            "inertia": [body.central for body in bodies],
            "gravity": self.gravity,
            "geometry": [
                x
                for limb in self.limbs
                for x in (limb.lam, limb.gamma, limb.eta, limb.beta, *(k.alpha for k in limb.links))
            ],
        }
        return np.array(numbers[group], dtype=float)

    def with_values(self, given: Mapping[str, Any]) -> SphericalModel:
        """The model with these numbers, scalars of any kind, in the place of its own."""
        model = self
        if "geometry" in given:
            rest = iter(given["geometry"])
            limbs = []
            for limb in self.limbs:
                lam, gamma, eta, beta = (next(rest) for _ in range(4))
                links = tuple(replace(link, alpha=next(rest)) for link in limb.links)
                limbs.append(Limb(lam, gamma, eta, beta, links))
            model = replace(model, limbs=tuple(limbs))
        if "gravity" in given:
            model = replace(model, gravity=Vector(*given["gravity"]))
        if not given.keys() & {"mass", "com", "inertia"}:
            return model
        own = self.inertias.values()
        masses = given.get("mass", [body.mass for body in own])
        centres = given.get("com", [body.com for body in own])
        tensors = given.get("inertia", [body.central for body in own])
        return model.with_inertias(
            [
                Inertia.about_com(m, Vector(*c), Symmetric(*I))
                for m, c, I in zip(masses, centres, tensors, strict=True)
            ]
        )

    def frame(self, name: str | None) -> str:
        """A frame by name; the platform without one."""
        if name is None:
            return "platform"
        if name not in self.frames:
            raise InputError(
                f"'{self.name}' has no frame '{name}'; its frames are {', '.join(self.frames)}."
            )
        return name


def _exact(x: Scalar) -> Scalar:
    """A number that is 0, 1 or -1 but for rounding as a whole number."""
    return snap(x) if isinstance(x, int | float) else x


def _arms(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine, as exact as they can be."""
    return _exact(cos(angle)), _exact(sin(angle))


def _ordinal(j: int) -> str:
    return _ORDINALS[j] if j < len(_ORDINALS) else f"{j + 1}th_"
