"""Walls: surfaces that points of a robot cannot pass.

A wall answers one question: how far is a point from it, ``gap(x, y, z)``, positive where the
robot may be, zero on the wall. Circles, ellipses and planes in x and y are the walls of a robot
that moves in that plane; in space they stand upright along z.

    appell.simulate(robot, q0, v0, until=1.5, walls=[appell.walls.Circle(2.5)])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot, inf
from typing import Any, ClassVar

import numpy as np

from appell.errors import InputError
from appell.given import is_number
from appell.maths.scalar import Scalar, sqrt
from appell.maths.vector import Vector

__all__ = ["Circle", "Cylinder", "Ellipse", "Implicit", "Plane", "Sphere", "Wall"]

# Added to the square of a distance from a centre, in squares of the radius: there the distance
# has no derivative, and at the wall the number is far below rounding.
_CORE = 1e-24

Check = Callable[[str, Any], Any]  # (what it is, what was given) -> the value, or an error


def restitution_of(what: str, e: Any) -> float:
    """A coefficient of restitution, checked."""
    if not (is_number(e) and 0 <= e <= 1):
        raise InputError(
            f"{what} = {e!r}; expected a number from 0 (no rebound) to 1 (no loss of energy)."
        )
    return float(e)


def check_mu(what: str, mu: Any) -> None:
    """Raise unless it is a coefficient of friction, or None."""
    if mu is not None and not (is_number(mu) and 0 <= mu < inf):
        raise InputError(f"{what} = {mu!r}; expected a coefficient of friction, zero or more.")


def _number(what: str, x: Any) -> float:
    """A finite number."""
    if not is_number(x) or not np.isfinite(x):
        raise InputError(f"{what} = {x!r}; expected a finite number.")
    return float(x)


def _length(what: str, x: Any) -> float:
    """A positive number, m."""
    if not is_number(x) or not 0 < x < inf:
        raise InputError(f"{what} = {x!r}; expected a positive number, in m.")
    return float(x)


def _numbers(what: str, values: Any, counts: tuple[int, ...]) -> tuple[float, ...]:
    """So many finite numbers."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or len(array) not in counts or not np.isfinite(array).all():
        wanted = " or ".join(map(str, counts))
        raise InputError(f"{what} = {values!r}; expected {wanted} finite numbers.")
    return tuple(map(float, array))


def _lengths(what: str, values: Any) -> tuple[float, ...]:
    """Two positive numbers, m."""
    return tuple(_length(what, x) for x in _numbers(what, values, (2,)))


def _direction(what: str, values: Any, counts: tuple[int, ...]) -> tuple[float, ...]:
    """The unit vector along some numbers; a missing z is zero."""
    direction = (*_numbers(what, values, counts), 0.0)[:3]
    length = hypot(*direction)
    if not length > 0:
        raise InputError(f"{what} = {values!r} has no direction.")
    return tuple(x / length for x in direction)


_IN_PLANE = partial(_numbers, counts=(2,))
_IN_SPACE = partial(_numbers, counts=(3,))
_NORMAL, _AXIS = partial(_direction, counts=(2, 3)), partial(_direction, counts=(3,))


@dataclass(frozen=True, kw_only=True)
class Wall:
    """What all walls have.

    A shape of your own subclasses this and gives ``gap(x, y, z)``, the distance of a point from
    the wall in m, negative behind it.

    Args:
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records; its description without one.
    """

    restitution: float | None = None
    mu: float | None = None
    name: str | None = None

    _checks: ClassVar[Mapping[str, Check]] = {}  # of the fields that make the shape
    _shown: ClassVar[str | None] = None  # the field that its description tells

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if self.restitution is not None:
            restitution_of(f"{kind}: restitution", self.restitution)
        check_mu(f"{kind}: mu", self.mu)
        for name, check in self._checks.items():
            object.__setattr__(self, name, check(f"{kind}: {name}", getattr(self, name)))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the wall.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.

        Examples:
            >>> appell.walls.Plane((0, 0, 1), -0.5).gap(0.0, 0.0, 0.0)
            0.5
        """
        raise NotImplementedError(f"{type(self).__name__} has no gap(x, y, z)")

    @property
    def label(self) -> str:
        """The wall's name, or its description, such as ``Circle(2.5)``."""
        return self.name if self.name is not None else self._described

    @property
    def _described(self) -> str:
        if self._shown is None:
            return type(self).__name__
        numbers = np.atleast_1d(getattr(self, self._shown))
        return f"{type(self).__name__}({', '.join(f'{x:g}' for x in numbers)})"


@dataclass(frozen=True)
class Plane(Wall):
    """A plane; the robot is where normal . x > offset.

    Args:
        normal: Its direction; the length does not matter.
        offset: m along the normal.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> floor = appell.walls.Plane((0, 1, 0), -1.5, restitution=0.5, mu=0.3)
        >>> floor.gap(0.0, 0.0, 0.0), floor.label
        (1.5, 'Plane(0, 1, 0)')
    """

    normal: Sequence[float]
    offset: float = 0.0

    _checks: ClassVar = {"normal": _NORMAL, "offset": _number}
    _shown = "normal"

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the plane.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.
        """
        a, b, c = self.normal
        return a * x + b * y + c * z - self.offset


@dataclass(frozen=True)
class Circle(Wall):
    """A circle in the x, y plane.

    Args:
        radius: m.
        centre: (x, y), m.
        inside: Whether the robot is inside it, or outside.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> appell.walls.Circle(2.5).gap(0.0, 2.0, 0.0)
        0.5
    """

    radius: float
    centre: Sequence[float] = (0.0, 0.0)
    inside: bool = True

    _checks: ClassVar = {"radius": _length, "centre": _IN_PLANE}
    _shown = "radius"

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the circle.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.
        """
        x, y = x - self.centre[0], y - self.centre[1]
        return _round(self, x * x + y * y)


@dataclass(frozen=True)
class Ellipse(Wall):
    """An ellipse in the x, y plane with its axes along x and y.

    Its gap is f / |grad f| with f = (x/a)^2 + (y/b)^2 - 1: the distance to first order, exact where
    it matters, on the wall.

    Args:
        semi_axes: (a, b), m.
        centre: (x, y), m.
        inside: Whether the robot is inside it, or outside.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> appell.walls.Ellipse((2.0, 1.0)).gap(2.0, 0.0, 0.0) == 0
        True
    """

    semi_axes: Sequence[float]
    centre: Sequence[float] = (0.0, 0.0)
    inside: bool = True

    _checks: ClassVar = {"semi_axes": _lengths, "centre": _IN_PLANE}
    _shown = "semi_axes"

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the ellipse to first order.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.
        """
        a, b = self.semi_axes
        u, w = (x - self.centre[0]) / a, (y - self.centre[1]) / b
        f = u * u + w * w - 1
        # With f^2 the root does not vanish in the centre; on the wall it adds nothing.
        slope = sqrt(4 * (u * u / a**2 + w * w / b**2) + f * f / max(a, b) ** 2)
        return -f / slope if self.inside else f / slope


@dataclass(frozen=True)
class Sphere(Wall):
    """A sphere.

    Args:
        radius: m.
        centre: m.
        inside: Whether the robot is inside it, or outside.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> appell.walls.Sphere(2.0).gap(0.0, 0.0, 1.5)
        0.5
    """

    radius: float
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    inside: bool = True

    _checks: ClassVar = {"radius": _length, "centre": _IN_SPACE}
    _shown = "radius"

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the sphere.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.
        """
        r = Vector(x, y, z) - Vector(*self.centre)
        return _round(self, r @ r)


@dataclass(frozen=True)
class Cylinder(Wall):
    """An endless cylinder about a line.

    Args:
        radius: m.
        axis: The line's direction.
        centre: A point of the line, m.
        inside: Whether the robot is inside it, or outside.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> appell.walls.Cylinder(1.0, inside=False).gap(2.0, 0.0, 5.0)
        1.0
    """

    radius: float
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    inside: bool = True

    _checks: ClassVar = {
        "radius": _length,
        "centre": _IN_SPACE,
        "axis": partial(_direction, counts=(3,)),
    }
    _shown = "radius"

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the cylinder.

        Args:
            x: The point's x, m.
            y: The point's y, m.
            z: The point's z, m.

        Returns:
            The distance, m; negative behind it.
        """
        r, axis = Vector(x, y, z) - Vector(*self.centre), Vector(*self.axis)
        across = r - axis * (r @ axis)
        return _round(self, across @ across)


def _round(wall: Circle | Sphere | Cylinder, squared: Scalar) -> Scalar:
    """The gap of a wall with a radius, from the squared distance of a point from its middle."""
    distance = sqrt(squared + _CORE * wall.radius**2)
    return wall.radius - distance if wall.inside else distance - wall.radius


@dataclass(frozen=True)
class Implicit(Wall):
    """The surface f(x, y, z) = 0 of any smooth function written in Python.

    The function is recorded when a simulation begins and its gradient is exact, so it may not
    branch on a value. Use + - * / and **, and NumPy's functions. The gap is f / |grad f|, the
    distance to first order; the gradient may not vanish on the wall.

    Args:
        function: f.
        inside: Whether the robot is inside it, where f < 0, or outside, where f > 0.
        restitution: Its own coefficient, 0 to 1; that of the simulation without it.
        mu: Its own coefficient of Coulomb friction; that of the simulation without it.
        name: For records.

    Examples:
        >>> waves = appell.walls.Implicit(lambda x, y, z: y + 2 - 0.1 * np.sin(x), inside=False)
        >>> chain = appell.load("planar_chain")
        >>> run = appell.simulate(chain, [-0.3, -0.2, -0.1], until=1, walls=waves)
        >>> len(run.impacts) > 0
        True
    """

    function: Callable[[Scalar, Scalar, Scalar], Scalar]
    inside: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise InputError(
                f"Implicit({self.function!r}): expected a function of x, y and z that is zero on "
                "the wall."
            )

    @property
    def _described(self) -> str:
        name = getattr(self.function, "__name__", "function")
        return f"Implicit({'f' if name == '<lambda>' else name})"


# Walls whose gap is a distance as it is written above; another gap is made one, to first order.
_SHAPES: tuple[type[Wall], ...] = (Plane, Circle, Ellipse, Sphere, Cylinder)
DISTANCES = {shape: shape.gap for shape in _SHAPES}
