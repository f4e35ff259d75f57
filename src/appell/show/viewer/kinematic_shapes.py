"""Shapes of robots whose description has none, from where their joints are.

A joint that turns is a cylinder about its axis and one that slides a box along it; capsules lead
from a joint to the next ones, to frames and to where loops close. A body without any of these is
the box that has its inertia. Thicknesses follow from the longest of the distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import acos
from typing import Any

import numpy as np

from appell.model.axes import as_array, frame_along
from appell.model.model import BASE, Frame, Model
from appell.model.shapes import Array, Shape
from appell.model.solids import equal_box
from appell.model.spherical import SphericalModel
from appell.robots.closed.places import placed

_THICKNESS = 0.055  # radius of a capsule, of the longest distance between joints
_LEAST = 1e-9  # m: places nearer than that are one


class KinematicShapes:
    """The shapes of a tree, with the constraints that close it, at its neutral configuration."""

    def __init__(self, model: Model, constraints: Sequence[Any], neutral: Array) -> None:
        self.model = model
        self.owners = _owners(model)
        self.ends: dict[int, list[Array]] = {i: [] for i in range(BASE, len(model.bodies))}
        for body in model.bodies:
            self.ends[body.parent].append(_array(body.s0))
        for frame in model.frames:
            self.ends[frame.body].append(_array(frame.s))
        self.wheels: list[tuple[Frame, float]] = []
        self.closing: list[tuple[Frame, str]] = []  # joints that close loops
        for c in constraints:
            for side in ("a", "b"):
                if hasattr(c, side):
                    place = placed(getattr(c, side)).on(model)
                    self.ends[place.body].append(_array(place.s))
            if hasattr(c, "b"):
                self.closing.append((placed(c.b).on(model), c.kind))
            if hasattr(c, "wheel"):
                self.wheels.append((placed(c.wheel).on(model), c.radius))
        self.slid = _slid(model, neutral)
        lengths = [_length(x) for ends in self.ends.values() for x in ends]
        lengths += [2 * _length(_array(b.inertia.com)) for b in model.bodies if b.mass]
        lengths += [*map(abs, self.slid.values()), *(r for _, r in self.wheels)]
        longest = max(lengths, default=0.0)
        if not longest > _LEAST:
            boxes = (equal_box(b.inertia)[0].max() for b in model.bodies if b.mass)
            longest = float(max(boxes, default=0.0)) or 0.3
        self.length = longest
        self.radius = _THICKNESS * self.length

    def of_body(self, i: int) -> list[Shape]:
        """The shapes of a body, or of the base, on one of its links."""
        if i not in self.owners:
            return []
        shapes = self._bars(i)
        if i != BASE:
            body = self.model.bodies[i]
            shapes += self._joint(i)
            on_wheel = any(frame.body == i for frame, _ in self.wheels)
            if not shapes and body.mass and not on_wheel:
                edges, axes = equal_box(body.inertia)
                sizes = tuple(map(float, np.maximum(edges, 0.2 * self.radius)))
                shapes = [self._shape(i, "box", sizes, axes, _array(body.inertia.com))]
        for frame, kind in self.closing:
            if frame.body == i and kind in ("revolute", "spherical", "universal"):
                r = self.radius
                turns = kind == "revolute"
                name, sizes = ("cylinder", (1.45 * r, 3.2 * r)) if turns else ("sphere", (1.5 * r,))
                shapes.append(self._shape(i, name, sizes, as_array(frame.R), _array(frame.s)))
        for frame, radius in self.wheels:
            if frame.body == i:
                sizes = (radius, max(0.15 * radius, 0.3 * self.radius))
                shapes.append(self._shape(i, "cylinder", sizes, as_array(frame.R), _array(frame.s)))
        return shapes

    def _bars(self, i: int) -> list[Shape]:
        """Capsules from the joint to the places on the body; without any, through its mass."""
        ends = [x for x in self.ends[i] if np.linalg.norm(x) > _LEAST]
        on_wheel = any(frame.body == i for frame, _ in self.wheels)
        if not ends and i != BASE and not on_wheel and self.model.bodies[i].mass:
            com = 2 * _array(self.model.bodies[i].inertia.com)
            ends = [com] if np.linalg.norm(com) > _LEAST and i in self.model.driven else []
        if i in self.slid and abs(self.slid[i]) > _LEAST:
            ends = [*ends, np.array([0.0, 0.0, -self.slid[i]])]
        unique: list[Array] = []
        for end in ends:
            if all(np.linalg.norm(end - x) > _LEAST for x in unique):
                unique.append(end)
        return [self._bar(i, end) for end in unique]

    def _bar(self, i: int, end: Array) -> Shape:
        length = float(np.linalg.norm(end))
        thin = 0.6 if i == BASE else 1.0
        R = frame_along(end, "bar")
        return self._shape(i, "capsule", (thin * self.radius, length), R, end / 2)

    def _joint(self, i: int) -> list[Shape]:
        body, r = self.model.bodies[i], self.radius
        if i not in self.model.driven:
            ball = any(c.last == i and not c.free for c in self.model.compounds)
            return [self._shape(i, "sphere", (1.5 * r,), np.eye(3), np.zeros(3))] if ball else []
        if body.rho:
            return [self._shape(i, "cylinder", (1.45 * r, 3.2 * r), np.eye(3), np.zeros(3))]
        if not body.mass and i not in self.slid:
            return []  # a coordinate of a base that slides over a plane
        return [self._shape(i, "box", (2.4 * r, 2.4 * r, 4.0 * r), np.eye(3), np.zeros(3))]

    def _shape(self, i: int, kind: str, sizes: tuple[float, ...], R: Array, s: Array) -> Shape:
        """A shape given in a body's axes, on the link that the body is known by."""
        frame = self.owners[i]
        E = as_array(frame.R).T
        return Shape(frame.name, kind, sizes, E @ R, E @ (s - _array(frame.s)))


def _owners(model: Model) -> dict[int, Frame]:
    """A link of each body, and of the base, whose frame carries its shapes."""
    owners: dict[int, Frame] = {}
    for frame in model.frames:
        owners.setdefault(frame.body, frame)
    return owners


def _slid(model: Model, neutral: Array) -> dict[int, float]:
    """How far each sliding body is from where its joint is at zero, or can be."""
    found = {}
    for i, body in model.driven.items():
        if not body.rho:
            q = body.ratio * neutral[model.place(body.coordinate)] + body.shift
            upper = body.joint.upper if np.isfinite(body.joint.upper) else 0.0
            if q or upper or np.isfinite(body.joint.lower):
                found[i] = float(q if abs(q) > abs(upper) else upper)
    return found


def spherical_shapes(model: SphericalModel) -> tuple[list[Shape], float]:
    """Arcs of a robot whose bodies turn about one point, and the radius of the outermost."""
    coms = [np.linalg.norm(_array(x.com)) for x in model.inertias.values() if x.mass]
    outer = 1.3 * max([float(x) for x in coms], default=0.0) or 0.1
    thick, none = 0.04 * outer, np.zeros(3)
    shapes = [Shape("base", "sphere", (0.06 * outer,), np.eye(3), none)]
    radius = {}
    for name, (i, j) in model.links.items():
        radius[i, j] = outer * (1 - 0.12 * j)
        arc = model.limbs[i].links[j]
        shapes.append(Shape(name, "arc", (radius[i, j], float(arc.alpha), thick), np.eye(3), none))
        shapes.append(_axle(name, np.array([0.0, 0.0, radius[i, j]]), thick))
    inner = min(radius.values(), default=outer) * 0.88
    for i, limb in enumerate(model.limbs):
        base = as_array(limb.base)[:, 2]
        shapes.append(_axle("base", base * (radius.get((i, 0), outer) + 3 * thick), thick))
        tip = _array(limb.platform_axis)
        shapes.append(_axle("platform", tip * (inner + 2 * thick), thick))
        follower = _array(model.limbs[(i + 1) % len(model.limbs)].platform_axis)
        angle = acos(float(np.clip(tip @ follower, -1, 1)))
        normal = np.cross(follower, tip)
        if np.linalg.norm(normal) > _LEAST:
            x = normal / np.linalg.norm(normal)
            R = np.column_stack([x, np.cross(tip, x), tip])
            shapes.append(Shape("platform", "arc", (inner, angle, 1.3 * thick), R, none))
    return shapes, outer


def _axle(link: str, at: Array, thick: float) -> Shape:
    return Shape(link, "cylinder", (1.6 * thick, 4 * thick), frame_along(at, link), at)


def _length(x: Array) -> float:
    return float(np.linalg.norm(x))


def _array(x: Any) -> Array:
    return np.array([float(y) for y in x])
