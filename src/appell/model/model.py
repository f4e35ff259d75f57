"""What a robot is: a tree of bodies, each hung on its parent by one joint.

A body's frame has its origin on its joint's axis and its z along it, as in the
modified Denavit-Hartenberg convention; robots described otherwise are brought
to this form when they are built. Numbers are SI; all of it is frozen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeVar

from appell.errors import InputError, ModelError
from appell.maths.rotation import After, Rotation, about_z
from appell.maths.scalar import Scalar, is_zero
from appell.maths.vector import Symmetric, Vector, Z
from appell.model.inertia import Inertia

BASE = -1
FREE = 6  # speeds of a free body
GRAVITY = Vector(0, 0, -9.81)
T = TypeVar("T")


class Screw(NamedTuple):
    """How a joint at q carries its body: turned by rho q about its axis, slid by sigma q along it.

    A screw of a pitch h, in m/rad, has rho = 1 and sigma = h. The equations speak of joints by
    these two numbers only, and 0 and 1 fold away while an equation is recorded.
    """

    rho: int
    sigma: Scalar

    @property
    def angle(self) -> bool:
        """Whether q is an angle, in rad, rather than a length, in m."""
        return self.rho != 0

    @property
    def periodic(self) -> bool:
        """Whether a whole turn brings the body back to where it was."""
        return self.angle and is_zero(self.sigma)


KINDS: dict[str, Screw] = {"revolute": Screw(1, 0), "prismatic": Screw(0, 1)}


@dataclass(frozen=True)
class Joint:
    """A joint's drive and limits. Friction is viscous * v + coulomb * sign(v). The ``kind`` is a
    name in KINDS; ``screw`` is what it stands for."""

    name: str
    kind: str = "revolute"
    lower: float = -inf
    upper: float = inf
    speed: float = inf
    effort: float = inf
    viscous: Scalar = 0
    coulomb: Scalar = 0
    rotor: Scalar = 0
    gear: Scalar = 1
    screw: Screw = field(init=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            known = " or ".join(KINDS)
            raise ModelError(f"joint '{self.name}': kind = {self.kind!r}; expected {known}.")
        object.__setattr__(self, "screw", KINDS[self.kind])
        for what in ("viscous", "coulomb", "rotor", "speed", "effort"):
            if not getattr(self, what) >= 0:
                raise ModelError(
                    f"joint '{self.name}': {what} = {getattr(self, what)}; expected zero or more."
                )
        if self.gear == 0:
            raise ModelError(f"joint '{self.name}': gear = 0; expected the ratio of the gear.")
        if not self.lower <= self.upper:
            raise ModelError(
                f"joint '{self.name}': lower limit {self.lower} and upper limit {self.upper}; "
                "expected them in this order."
            )

    @property
    def reflected(self) -> Scalar:
        """The rotor's inertia felt at the joint: gear ratio squared times its own."""
        return self.gear * self.gear * self.rotor


@dataclass(frozen=True)
class Body:
    """A moving body: where its joint sits on the parent, and what it weighs.

    Its joint's position is ``ratio * q[coordinate] + shift``; a ratio other than
    one is a joint that mimics another. The description, and with it the joint's limits,
    count that position from elsewhere: there it is ``ratio * q[coordinate] + zero``.
    """

    name: str
    parent: int
    joint: Joint
    R0: Rotation
    s0: Vector
    inertia: Inertia
    coordinate: int
    ratio: Scalar = 1
    shift: Scalar = 0
    zero: Scalar = 0

    @property
    def rho(self) -> int:
        """1 for a joint that turns its body, 0 for one that does not."""
        return self.joint.screw.rho

    @property
    def sigma(self) -> Scalar:
        """How far the joint slides its body, by its position: 0 if it does not."""
        return self.joint.screw.sigma

    def rotation(self, q: Scalar) -> Rotation:
        """From this body's axes to its parent's."""
        return After(self.R0, about_z(q)) if self.rho else self.R0

    def offset(self, q: Scalar) -> Vector:
        """From the parent's origin to this body's, in the parent's axes."""
        return self.s0 + self.R0 @ (Z * (self.sigma * q)) if self.sigma else self.s0

    @property
    def mass(self) -> Scalar:
        return self.inertia.mass

    @property
    def moment(self) -> Vector:
        """m r, with r from the frame's origin to the centre of mass."""
        return self.inertia.moment

    @property
    def tensor(self) -> Symmetric:
        """The inertia tensor about the frame's origin."""
        return self.inertia.tensor


@dataclass(frozen=True)
class Frame:
    """A named place on a body (or on the base): a link of the description, or a tool."""

    name: str
    body: int
    R: Rotation
    s: Vector


@dataclass(frozen=True)
class Model:
    """A tree of bodies; a parent stands before its children. Coordinates and speeds are the
    robot's; equations of bodies want them spread to the bodies' joints."""

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...]
    gravity: Vector = GRAVITY
    tip: str | None = None
    free: bool = False  # whether the first six bodies are one free joint's: see equations.free
    points: tuple[str, ...] = ()  # frames whose origins can touch a wall; all of them if none
    spread_out: bool = False  # whether states have been spread to the bodies' joints: see spread

    @property
    def nv(self) -> int:
        """How many speeds."""
        return len(self.joints)

    @property
    def nq(self) -> int:
        """How many coordinates: a free body has seven for its six speeds."""
        return self.nv + self.free

    def place(self, k: int) -> int:
        """Where in q the coordinate of joint k is; of a free body's turns, none is."""
        return k + self.free if k >= FREE else k

    @property
    def links(self) -> tuple[Body, ...]:
        """The bodies there are; a free one's first five only carry it."""
        return self.bodies[FREE - 1 :] if self.free else self.bodies

    @property
    def driven(self) -> tuple[Body, ...]:
        """The bodies on joints of their own, which can have rotors and friction: all but a free
        base."""
        return self.bodies[FREE:] if self.free else self.bodies

    @property
    def mimics(self) -> bool:
        """Whether a joint follows another, or one coordinate moves several bodies."""
        return len(self.bodies) != self.nv or any(b.ratio != 1 for b in self.bodies)

    @property
    def reordered(self) -> bool:
        """Whether coordinates stand in another order than bodies."""
        return any(b.coordinate != i for i, b in enumerate(self.bodies))

    @property
    def rotors(self) -> bool:
        """Whether a joint's rotor has inertia."""
        return any(b.joint.rotor != 0 for b in self.bodies)

    @cached_property
    def body_by_body(self) -> bool:
        """Whether the i-th coordinate is the position of the i-th body's joint."""
        plain = all(b.coordinate == i and b.shift == 0 for i, b in enumerate(self.bodies))
        return plain and not self.mimics and not self.free

    @cached_property
    def in_bodies(self) -> Model:
        """The same model for equations of bodies: q are the positions of the bodies' joints."""
        return replace(self, spread_out=True)

    def outwards(self) -> Iterator[tuple[int, Body]]:
        """Bodies from the base to the tips, for equations of bodies."""
        if not (self.spread_out or self.body_by_body):
            raise InputError(
                f"'{self.name}': the coordinates are not the positions of the bodies' joints one "
                "by one (a free base, or joints that are turned, mimic or stand in another order), "
                "so an equation of bodies would take one for another; ask "
                "robot.equation(quantity, formulation), which takes the robot's coordinates."
            )
        return iter(enumerate(self.bodies))

    def inwards(self) -> Iterator[tuple[int, Body]]:
        """Bodies from the tips to the base, for equations of bodies."""
        return reversed(tuple(self.outwards()))

    @property
    def depth(self) -> int:
        """How many joints stand between the base and the farthest body, its own included."""
        return max(len(path) for path in self.ancestors)

    @cached_property
    def ancestors(self) -> tuple[tuple[int, ...], ...]:
        """For each body, itself and its ancestors, from the base outwards."""
        paths: list[tuple[int, ...]] = []
        for i, body in enumerate(self.bodies):
            paths.append((*(paths[body.parent] if body.parent != BASE else ()), i))
        return tuple(paths)

    def frame(self, name: str | None, asked: str = "frame") -> Frame:
        """A frame by name; without one, the tip of a robot that has only one. ``asked`` is what
        the user calls it."""
        wanted = self.tip if name is None else name
        for frame in self.frames:
            if frame.name == wanted:
                return frame
        known = ", ".join(f.name for f in self.frames)
        if name is None:
            raise InputError(
                f"'{self.name}' has several tips, so a link must be named: {asked}= one of {known}."
            )
        raise InputError(f"'{self.name}' has no frame '{name}'; its frames are {known}.")

    def spread(self, x: Sequence[T], *, shifted: bool = False) -> list[T]:
        """From coordinates (or speeds) to the bodies' joints."""
        joint = [b.ratio * x[b.coordinate] for b in self.bodies]
        return [y + b.shift for y, b in zip(joint, self.bodies, strict=True)] if shifted else joint
