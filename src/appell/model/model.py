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
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from appell.errors import InputError, ModelError
from appell.maths.rotation import After, Matrix, Rotation, about_z
from appell.maths.scalar import Scalar, is_zero
from appell.maths.vector import Symmetric, Tensor, Vector, Z
from appell.model.inertia import NOTHING, Inertia
from appell.model.shapes import Shape

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
HELICAL = "helical"  # a screw of the pitch that its joint has


@dataclass(frozen=True)
class Joint:
    """A joint's drive and limits. Friction is viscous * v + coulomb * sign(v), with the size
    ``coulomb_backwards``, if given, while v < 0. A spring takes stiffness * (position - rest). The
    ``kind`` is a name in KINDS, or "helical", with its ``pitch`` in m/rad; ``screw`` is what it
    stands for."""

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
    pitch: Scalar = 0
    coulomb_backwards: Scalar | None = None
    stiffness: Scalar = 0
    rest: Scalar = 0
    screw: Screw = field(init=False)

    def __post_init__(self) -> None:
        known = {**KINDS, HELICAL: Screw(1, self.pitch)}
        if self.kind not in known:
            names = ", ".join(known)
            raise ModelError(f"joint '{self.name}': kind = {self.kind!r}; expected one of {names}.")
        if (self.kind == HELICAL) == (self.pitch == 0):
            raise ModelError(
                f"joint '{self.name}': kind = {self.kind!r} with pitch = {self.pitch} m/rad; a "
                "helical joint has a pitch, and no other has."
            )
        object.__setattr__(self, "screw", known[self.kind])
        levels = (
            "viscous",
            "coulomb",
            "coulomb_backwards",
            "stiffness",
            "rotor",
            "speed",
            "effort",
        )
        for what in levels:
            level = getattr(self, what)
            if level is not None and not level >= 0:
                raise ModelError(f"joint '{self.name}': {what} = {level}; expected zero or more.")
        if self.coulomb_backwards == self.coulomb:
            object.__setattr__(self, "coulomb_backwards", None)
        if not -inf < self.rest < inf or not self.stiffness < inf:
            raise ModelError(
                f"joint '{self.name}': stiffness = {self.stiffness}, rest = {self.rest}; expected "
                "finite numbers."
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

    @property
    def dry(self) -> tuple[Scalar, Scalar]:
        """Coulomb friction as one level in both directions and a constant force besides: half the
        sum and half the difference of its sizes forwards and backwards."""
        if self.coulomb_backwards is None:
            return self.coulomb, 0
        return (self.coulomb + self.backwards) / 2, (self.coulomb - self.backwards) / 2

    @property
    def backwards(self) -> Scalar:
        """Coulomb friction while the speed is negative."""
        return self.coulomb if self.coulomb_backwards is None else self.coulomb_backwards


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

    def stretch(self, q: Scalar) -> Scalar:
        """How far the joint's spring is from rest; q counts as the equations of bodies do."""
        return q - (self.joint.rest + self.shift - self.zero)

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


# How the bodies of a compound joint stand on each other: z is the parent's x, and so on.
CYCLE = Matrix(Tensor(Vector(0, 0, 1), Vector(1, 0, 0), Vector(0, 1, 0)))


class Compound(NamedTuple):
    """A joint whose coordinates end in a quaternion: a ball's four, or a free body's position and
    quaternion. Its bodies are three turns, or three slides and three turns, of which all but the
    last only carry: see `appell.equations.instant`."""

    name: str
    body: int  # the first of its bodies
    speed: int  # and the first of its speeds
    size: int  # how many of each: 3, or 6 of a free joint

    @property
    def free(self) -> bool:
        return self.size == FREE

    def behind(self, n: int) -> Compound:
        """The same with so many bodies and speeds before it."""
        return self._replace(body=self.body + n, speed=self.speed + n)

    @property
    def last(self) -> int:
        """The body that it carries."""
        return self.body + self.size - 1


@runtime_checkable
class Placed(Protocol):
    """What knows its place on a model: see `appell.model.place.Place`."""

    def on(self, model: Model) -> Frame: ...


FrameName = str | Placed  # a frame as users give it: a link's name, or a place on one


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
    compounds: tuple[Compound, ...] = ()  # joints with quaternions, in the order of their speeds
    points: tuple[str, ...] = ()  # frames whose origins can touch a wall; all of them if none
    ground: Inertia = NOTHING  # of the links on a fixed base: for what is built from this model
    spread_out: bool = False  # whether states have been spread to the bodies' joints: see spread
    shapes: tuple[Shape, ...] = field(default=(), compare=False, repr=False)  # of links, drawn

    @property
    def nv(self) -> int:
        """How many speeds."""
        return len(self.joints)

    @property
    def nq(self) -> int:
        """How many coordinates: a quaternion has four for its three speeds."""
        return self.nv + len(self.compounds)

    @property
    def free(self) -> bool:
        """Whether its root itself moves freely: then its six speeds are the first."""
        return any(
            c.free and c.speed == 0 and self.frames[0].body == c.last for c in self.compounds
        )

    def place(self, k: int) -> int:
        """Where in q the coordinate of joint k is; of a compound joint's turns, none is."""
        return k + sum(c.speed + c.size <= k for c in self.compounds)

    @cached_property
    def is_coordinate(self) -> tuple[bool, ...]:
        """Of each joint, whether its speed is the rate of a coordinate of its own."""
        turning = {k for c in self.compounds for k in range(c.speed, c.speed + c.size)}
        return tuple(k not in turning for k in range(self.nv))

    @cached_property
    def links(self) -> dict[int, Body]:
        """The bodies there are, by number, without those of compound joints that only carry."""
        carriers = {i for c in self.compounds for i in range(c.body, c.last)}
        return {i: b for i, b in enumerate(self.bodies) if i not in carriers}

    @cached_property
    def driven(self) -> dict[int, Body]:
        """The bodies on joints of their own, by number, which can have rotors and friction: all but
        those of compound joints."""
        compound = {c.last for c in self.compounds}
        return {i: b for i, b in self.links.items() if i not in compound}

    @cached_property
    def passive(self) -> tuple[int, ...]:
        """Which speeds have no motor: those of free joints, and of a base that is planar."""
        found = {k for c in self.compounds if c.free for k in range(c.speed, c.speed + c.size)}
        planar = self.frames[0].name == "world" and {"slide", "slider"} <= {
            frame.name for frame in self.frames
        }
        slides = ("X1", "X2", "turn") if planar else ()
        found |= {k for k, joint in enumerate(self.joints) if joint.name in slides}
        return tuple(sorted(found))

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

    @property
    def springs(self) -> bool:
        """Whether a joint has a spring."""
        return any(b.joint.stiffness != 0 for b in self.bodies)

    @property
    def lopsided(self) -> bool:
        """Whether the Coulomb friction of a joint is another backwards than forwards."""
        return any(b.joint.coulomb_backwards is not None for b in self.bodies)

    @cached_property
    def body_by_body(self) -> bool:
        """Whether the i-th coordinate is the position of the i-th body's joint, and the bodies are
        all that there is."""
        plain = all(b.coordinate == i and b.shift == 0 for i, b in enumerate(self.bodies))
        return plain and not self.mimics and not self.compounds and not self.springs

    @cached_property
    def in_bodies(self) -> Model:
        """The same model for equations of bodies: q are the positions of the bodies' joints."""
        return replace(self, spread_out=True)

    def outwards(self) -> Iterator[tuple[int, Body]]:
        """Bodies from the base to the tips, for equations of bodies."""
        if not (self.spread_out or self.body_by_body):
            raise InputError(
                f"'{self.name}': "
                + (
                    "an equation of bodies leaves out the joints' springs; "
                    if self.springs
                    else "the coordinates are not the positions of the bodies' joints one by one "
                    "(a free base, or joints that are turned, mimic or stand in another order), so "
                    "an equation of bodies would take one for another; "
                )
                + "ask robot.equation(quantity, formulation), which takes the robot's coordinates."
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

    def frame(self, name: FrameName | None, asked: str = "frame") -> Frame:
        """A frame by name, or a place on a link; without one, the tip of a robot that has only one.
        ``asked`` is what the user calls it."""
        if isinstance(name, Placed):
            return name.on(self)
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
