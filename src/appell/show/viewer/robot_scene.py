"""What is to be seen of a robot, as data: shapes on its links, and where these are."""

from __future__ import annotations

from colorsys import hls_to_rgb
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from appell.model.axes import as_array
from appell.model.model import BASE, Model
from appell.model.shapes import Array, Colour, Shape, link_shapes
from appell.model.spherical import SphericalModel
from appell.robots.closed.places import placed
from appell.robots.dynamics import Dynamics
from appell.show.viewer.kinematic_shapes import KinematicShapes, spherical_shapes

_GOLDEN = 0.618033988749895  # of a turn: hues so far apart stay apart, however many there are
BASE_COLOUR: Colour = (0.45, 0.48, 0.52, 1.0)


class PlacedShape(NamedTuple):
    """A shape, and its pose (4, 4) in the world."""

    shape: Shape
    pose: Array


class JointAxis(NamedTuple):
    """A joint: its link, and a point (3,) and a direction (3,) of its axis in the link's frame."""

    joint: str
    link: str
    point: Array
    direction: Array


class Bar(NamedTuple):
    """A bar between two links that keeps their places at a distance: ends by link and place."""

    name: str
    ends: tuple[tuple[str, Array], tuple[str, Array]]
    length: float
    radius: float


@dataclass(frozen=True)
class RobotScene:
    """The shapes of a robot on its links, from its description or, where that has none or they are
    to be ``plain``, from its kinematics; they have colours that stay apart."""

    robot: Dynamics
    plain: bool = False

    def placed(self, q: Any) -> list[PlacedShape]:
        """The shapes where they are at coordinates q."""
        where = dict(zip(self.links, self.poses(q), strict=True))
        return [PlacedShape(x, where[x.link] @ x.pose) for x in self.shapes]

    def poses(self, q: Any) -> Array:
        """The poses (links, 4, 4) of the links in the world, as ``links`` lists them."""
        return np.asarray(self.robot.poses(q), dtype=float)

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(self.robot.link_names)

    @property
    def up(self) -> Array:
        """The direction against gravity, or z."""
        g = np.array([float(x) for x in self.robot.model.gravity])
        length = np.linalg.norm(g)
        return -g / length if length > 0 else np.array([0.0, 0.0, 1.0])

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """All shapes with their colours."""
        model = self.robot.model
        if isinstance(model, SphericalModel):
            of = {link: k for k, link in enumerate(self.links)}
            return tuple(_coloured(x, of[x.link] - 1) for x in spherical_shapes(model)[0])
        found: list[Shape] = []
        for i in (BASE, *model.links):
            frames = [frame.name for frame in model.frames if frame.body == i]
            described = () if self.plain else model.shapes
            own = [x for link in frames for x in link_shapes(described, link)]
            bare = not own and (not described or (i != BASE and model.bodies[i].mass > 0))
            found += [_coloured(x, i) for x in (self._kinematic.of_body(i) if bare else own)]
        return tuple(found)

    @cached_property
    def length(self) -> float:
        """A length, in m, after which what is drawn beside the robot is sized."""
        model = self.robot.model
        if isinstance(model, SphericalModel):
            return spherical_shapes(model)[1]
        return self._kinematic.length

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        """The bars that close loops by a distance."""
        found = []
        for c in getattr(self.robot, "constraints", ()):
            if getattr(c, "kind", "") == "distance":
                a, b = ((x.link, np.array(x.position)) for x in (placed(c.a), placed(c.b)))
                found.append(Bar(c.name, (a, b), c.length, 0.6 * self._kinematic.radius))
        return tuple(found)

    @cached_property
    def joint_axes(self) -> tuple[JointAxis, ...]:
        """The axes of the joints that are one turn or slide."""
        model = self.robot.model
        if isinstance(model, SphericalModel):
            up = np.array([0.0, 0.0, 1.0])
            return tuple(JointAxis(f"{x} axis", x, np.zeros(3), up) for x in model.links)
        axes = []
        for i, body in model.driven.items():
            frame = self._kinematic.owners.get(i)
            if frame is not None:
                E, s = as_array(frame.R).T, np.array([float(x) for x in frame.s])
                axes.append(JointAxis(body.joint.name, frame.name, -E @ s, E[:, 2]))
        return tuple(axes)

    @cached_property
    def inertias(self) -> dict[str, Any]:
        """The inertia of each moving body, by the link in whose frame it is given."""
        model = self.robot.model
        if isinstance(model, SphericalModel):
            return dict(model.inertias)
        found = {}
        for i, body in model.links.items():
            frame = self._kinematic.owners.get(i)
            if frame is not None and body.mass > 0:
                back = frame.R.T
                found[frame.name] = body.inertia.moved(back, back @ (frame.s * -1))
        return found

    @cached_property
    def _kinematic(self) -> KinematicShapes:
        model = self.robot.model
        assert isinstance(model, Model)
        constraints = getattr(self.robot, "constraints", ())
        return KinematicShapes(model, constraints, np.asarray(self.robot.neutral(), dtype=float))


def _coloured(shape: Shape, body: int) -> Shape:
    """The shape with its own colour, or that of its body."""
    if shape.colour is not None or shape.kind == "mesh":  # whose file may have colours
        return shape
    return replace(shape, colour=body_colour(body))


def body_colour(body: int) -> Colour:
    """A colour that no other body has; the base is grey."""
    if body == BASE:
        return BASE_COLOUR
    hue = (0.58 + _GOLDEN * body) % 1.0
    r, g, b = hls_to_rgb(hue, 0.52 if body % 2 else 0.46, 0.58)
    return r, g, b, 1.0
