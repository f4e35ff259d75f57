"""Walls in the world as they are drawn, and the directions in which they push."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from appell.model.axes import frame_along
from appell.model.shapes import Array, Shape
from appell.show.viewer.net_of_cells import zero_surface
from appell.show.viewer.triangles import Triangles, triangles
from appell.simulation.contacts.sampled_wall import SampledWall
from appell.walls import Circle, Cylinder, Ellipse, Plane, Sphere

_GLASS = (0.52, 0.6, 0.7, 0.28)
_EDGE = (0.35, 0.42, 0.5, 1.0)
_UPRIGHT = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]).T  # an arc about z


def wall_surfaces(wall: Any, width: float) -> list[tuple[Triangles, Shape]]:
    """The surfaces of a wall near a robot of this width, each with the shape whose place it has."""
    if isinstance(wall, SampledWall):
        corners, faces = zero_surface(wall.gaps, wall.low, wall.high)
        net = Triangles(corners.astype(np.float32), faces.astype(np.uint32), _GLASS)
        return [(net, Shape("", "sphere", (0.0,), np.eye(3), np.zeros(3)))] if len(faces) else []
    return [(triangles(shape)[0], shape) for shape in wall_shapes(wall, width)]


def wall_shapes(wall: Any, width: float) -> list[Shape]:
    """The shapes of a wall near a robot of this width."""
    thick = 0.008 * width
    if isinstance(wall, Plane):
        normal = np.array(wall.normal)
        size = (1.6 * width, 1.6 * width, thick)
        R, s = frame_along(normal, "wall"), normal * (wall.offset - thick / 2)
        return [Shape("", "box", size, R, s, _GLASS)]
    if isinstance(wall, Circle):
        ring = (wall.radius, 2 * np.pi, thick)
        return [Shape("", "arc", ring, _UPRIGHT, np.array([*wall.centre, 0.0]), _EDGE)]
    if isinstance(wall, Ellipse):
        return _ellipse(wall, thick)
    if isinstance(wall, Sphere):
        return [Shape("", "sphere", (wall.radius,), np.eye(3), np.array(wall.centre), _GLASS)]
    if isinstance(wall, Cylinder):
        R, centre = frame_along(np.array(wall.axis), "wall"), np.array(wall.centre)
        return [Shape("", "cylinder", (wall.radius, 2 * width), R, centre, _GLASS)]
    return []


def _ellipse(wall: Ellipse, thick: float) -> list[Shape]:
    """Its circumference, as short bars."""
    turn = np.linspace(0, 2 * np.pi, 73)
    a, b = wall.semi_axes
    ring = np.stack([a * np.cos(turn), b * np.sin(turn), 0 * turn], axis=1)
    ring += [*wall.centre, 0.0]
    bars = []
    for start, end in pairwise(ring):
        sizes = (thick, float(np.linalg.norm(end - start)))
        R = frame_along(end - start, "wall")
        bars.append(Shape("", "capsule", sizes, R, (start + end) / 2, _EDGE))
    return bars


def push(wall: Any, point: Array, step: float) -> Array:
    """The direction (3,) in which a wall pushes a point that touches it: that of its gap's growth,
    by differences over a step, as it is drawn and not computed with."""
    ways = step * np.eye(3)
    slope = [float(wall.gap(*(point + d))) - float(wall.gap(*(point - d))) for d in ways]
    length = np.linalg.norm(slope)
    return np.array(slope) / length if length > 0 else np.array([0.0, 0.0, 1.0])
