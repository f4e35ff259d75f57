"""The points of a robot that can touch walls: which they are, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from appell.equations.coordinates import in_joints
from appell.equations.motion.kinematics import poses
from appell.equations.spherical.spherical_quantities import orientation
from appell.errors import InputError
from appell.maths.rotation import AboutZ
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector
from appell.model.model import BASE, Frame, Model
from appell.model.place import Place
from appell.model.spherical import SphericalModel

Choice = Sequence[Any] | Mapping[str, Any] | None


class Point(NamedTuple):
    """A place on a body that can touch a wall."""

    name: str
    body: int
    s: Vector  # in the body's frame


def contact_points(model: Model | SphericalModel, points: Choice = None) -> tuple[Point, ...]:
    """The points that can touch a wall, without those that cannot move.

    None takes the model's: those it names, or the origins of all links on bodies with a mass. A
    sequence of links' names and of ``appell.Frame(link, (x, y, z))`` takes these alone; a mapping
    {name: (link, (x, y, z))} adds places on links to the model's. Of a spherical parallel robot
    all origins are in the centre, which stands still.
    """
    own: list[Point] = []
    if isinstance(model, Model):
        own = [_point(model, name) for name in model.points or _massive(model)]
    elif not isinstance(points, Mapping):
        raise InputError(
            f"walls: all links of '{model.name}' have their origins in its centre, which touches "
            "none; give places on them, points={name: (link, (x, y, z))}."
        )
    if points is None:
        found = own
    elif isinstance(points, Mapping):
        found = [*own, *(_placed(model, name, at) for name, at in points.items())]
    elif isinstance(points, str | Place):
        found = [_point(model, points)]
    elif isinstance(points, Sequence):
        found = [_point(model, name) for name in points]
    else:
        raise InputError(
            f"points = {points!r}; expected names of links, or {{name: (link, (x, y, z))}}."
        )
    places: dict[tuple[int, Vector], Point] = {}
    for point in found:
        places.setdefault((point.body, point.s), point)
    return _moving(model, tuple(p for p in places.values() if p.body != BASE))


def positions(
    model: Model | SphericalModel, q: Sequence[Scalar], points: Sequence[Point]
) -> list[Vector]:
    """Where the points are in the world, over any scalar."""
    if isinstance(model, SphericalModel):
        return [orientation(model, q, model.frames[p.body + 1]) @ p.s for p in points]
    return in_joints(_places, model, {"q": q}, (points,))


def _places(model: Model, q: Sequence[Scalar], points: Sequence[Point]) -> list[Vector]:
    at = poses(model, q)
    return [at[p.body].s + at[p.body].R @ p.s for p in points]


def _point(model: Model | SphericalModel, name: Any) -> Point:
    if not isinstance(name, str | Place):
        raise InputError(
            f"points: {name!r}; expected names of links, appell.Frame(link, (x, y, z)), or "
            "{name: (link, (x, y, z))}."
        )
    if isinstance(name, Place):
        return _placed(model, str(name), (name.link, name.position))
    frame = _frame(model, name)
    return Point(name, frame.body, frame.s)


def _frame(model: Model | SphericalModel, name: str) -> Frame:
    """A link's frame; the links of a spherical robot are numbered as they are listed, from the
    base."""
    if isinstance(model, Model):
        return model.frame(name)
    return Frame(name, model.frames.index(model.frame(name)) - 1, AboutZ(1, 0), ZERO)


def _massive(model: Model) -> list[str]:
    """Links on bodies that have a mass; others only carry, as the slides of a planar base do."""
    heavy = [f for f in model.frames if f.body != BASE and model.bodies[f.body].mass > 0]
    return [frame.name for frame in heavy]


def _placed(model: Model | SphericalModel, name: Any, at: Any) -> Point:
    try:
        link, offset = (at.link, at.position) if isinstance(at, Place) else at
        x, y, z = map(float, offset)
        given = isinstance(name, str) and isinstance(link, str)
    except (TypeError, ValueError):
        given = False
    if not given or not all(map(isfinite, (x, y, z))):
        raise InputError(
            f"points: {name!r}: {at!r}; expected a link and a place on it, (link, (x, y, z))."
        )
    frame = _frame(model, link)
    return Point(name, frame.body, frame.s + frame.R @ Vector(x, y, z))


def place_of(model: Model | SphericalModel, point: Point) -> Place:
    """A point as a place on one of the links of its body."""
    if isinstance(model, SphericalModel):
        return Place(model.frames[point.body + 1], _floats(point.s))
    frame = next(frame for frame in model.frames if frame.body == point.body)
    return Place(frame.name, _floats(frame.R.T @ (point.s - frame.s)))


def _floats(s: Vector) -> tuple[float, float, float]:
    return float(s.x), float(s.y), float(s.z)


@lru_cache(maxsize=64)
def _moving(model: Model | SphericalModel, points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Those that any joint moves; one on the axis of the first joint stays where it is."""
    if isinstance(model, SphericalModel):
        return tuple(p for p in points if any(p.s))
    draw = np.random.default_rng(0)
    places = np.array(
        [positions(model, draw.uniform(0.5, 1.5, model.nq).tolist(), points) for _ in range(3)],
        dtype=float,
    ).reshape(3, -1, 3)
    moves = np.ptp(places, axis=0).max(axis=1, initial=0.0) > 1e-12
    return tuple(p for p, m in zip(points, moves, strict=True) if m)
