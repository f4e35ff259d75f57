"""Walls: surfaces that points of a robot cannot pass.

A wall answers one question: how far is a point from it, ``gap(x, y, z)``, positive where the
robot may be, zero on the wall. Circles, ellipses and planes in x and y are the walls of a robot
that moves in that plane; in space they stand upright along z.

    appell.simulate(robot, q0, v0, until=1.5, walls=[appell.walls.Circle(2.5)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import hypot, inf
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.maths.scalar import Scalar, sqrt
from appell.maths.vector import Vector

__all__ = ["Circle", "Cylinder", "Ellipse", "Implicit", "Plane", "Sphere", "Wall"]

# Added to the square of a distance from a centre, in squares of the radius: there the distance
# has no derivative, and at the wall the number is far below rounding.
_CORE = 1e-24


@dataclass(frozen=True, kw_only=True)
class Wall:
    """What all walls have: an own coefficient of restitution and of Coulomb friction (those of
    the simulation if None), and a name for records (its description if None)."""

    restitution: float | None = None
    mu: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_restitution(f"{type(self).__name__}: restitution", self.restitution)
        check_mu(f"{type(self).__name__}: mu", self.mu)

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """The distance of a point from the wall, m; negative behind it."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        return self.name if self.name is not None else self._described

    @property
    def _described(self) -> str:
        return type(self).__name__

    def _set(self, what: str, value: Any) -> None:
        object.__setattr__(self, what, value)


@dataclass(frozen=True)
class Plane(Wall):
    """The robot is where normal . x > offset; the normal's length does not matter, and the offset
    is in m along it."""

    normal: Sequence[float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        n = _numbers("Plane: normal", self.normal, (2, 3))
        n = (*n, 0.0)[:3]
        length = hypot(*n)
        if not length > 0:
            raise InputError(f"Plane: normal = {self.normal!r} has no direction.")
        self._set("normal", tuple(c / length for c in n))
        self._set("offset", _number("Plane: offset", self.offset))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        a, b, c = self.normal
        return a * x + b * y + c * z - self.offset

    @property
    def _described(self) -> str:
        return f"Plane({', '.join(f'{c:g}' for c in self.normal)})"


@dataclass(frozen=True)
class Circle(Wall):
    """A circle in the x, y plane; the robot is inside it, or outside."""

    radius: float
    centre: Sequence[float] = (0.0, 0.0)
    inside: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("radius", _length("Circle: radius", self.radius))
        self._set("centre", _numbers("Circle: centre", self.centre, (2,)))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        x, y = x - self.centre[0], y - self.centre[1]
        distance = sqrt(x * x + y * y + _CORE * self.radius**2)
        return self.radius - distance if self.inside else distance - self.radius

    @property
    def _described(self) -> str:
        return f"Circle({self.radius:g})"


@dataclass(frozen=True)
class Ellipse(Wall):
    """An ellipse in the x, y plane with its axes along x and y.

    Its gap is f / |grad f| with f = (x/a)^2 + (y/b)^2 - 1: the distance to first order, exact
    where it matters, on the wall.
    """

    semi_axes: Sequence[float]
    centre: Sequence[float] = (0.0, 0.0)
    inside: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        axes = _numbers("Ellipse: semi_axes", self.semi_axes, (2,))
        self._set("semi_axes", tuple(_length("Ellipse: semi_axes", a) for a in axes))
        self._set("centre", _numbers("Ellipse: centre", self.centre, (2,)))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        a, b = self.semi_axes
        u, w = (x - self.centre[0]) / a, (y - self.centre[1]) / b
        f = u * u + w * w - 1
        # With f^2 the root does not vanish in the centre; on the wall it adds nothing.
        slope = sqrt(4 * (u * u / a**2 + w * w / b**2) + f * f / max(a, b) ** 2)
        return -f / slope if self.inside else f / slope

    @property
    def _described(self) -> str:
        a, b = self.semi_axes
        return f"Ellipse({a:g}, {b:g})"


@dataclass(frozen=True)
class Sphere(Wall):
    """A sphere; the robot is inside it, or outside."""

    radius: float
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    inside: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("radius", _length("Sphere: radius", self.radius))
        self._set("centre", _numbers("Sphere: centre", self.centre, (3,)))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        r = Vector(x, y, z) - Vector(*self.centre)
        distance = sqrt(r @ r + _CORE * self.radius**2)
        return self.radius - distance if self.inside else distance - self.radius

    @property
    def _described(self) -> str:
        return f"Sphere({self.radius:g})"


@dataclass(frozen=True)
class Cylinder(Wall):
    """An endless cylinder about the line through ``centre`` along ``axis``."""

    radius: float
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    inside: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("radius", _length("Cylinder: radius", self.radius))
        self._set("centre", _numbers("Cylinder: centre", self.centre, (3,)))
        axis = _numbers("Cylinder: axis", self.axis, (3,))
        length = hypot(*axis)
        if not length > 0:
            raise InputError(f"Cylinder: axis = {self.axis!r} has no direction.")
        self._set("axis", tuple(c / length for c in axis))

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        r, axis = Vector(x, y, z) - Vector(*self.centre), Vector(*self.axis)
        across = r - axis * (r @ axis)
        distance = sqrt(across @ across + _CORE * self.radius**2)
        return self.radius - distance if self.inside else distance - self.radius

    @property
    def _described(self) -> str:
        return f"Cylinder({self.radius:g})"


@dataclass(frozen=True)
class Implicit(Wall):
    """The surface f(x, y, z) = 0 of any smooth function written in Python; the robot is inside it,
    where f < 0, or outside, where f > 0.

    The function is recorded when a simulation begins and its gradient is exact, so it may not
    branch on a value.
    Use + - * / and **, and NumPy's functions: ``Implicit(lambda x, y, z: y - 0.1 * np.sin(x),
    inside=False)`` is a wavy floor. The gap is f / |grad f|, the distance to first order; the
    gradient may not vanish on the wall.
    """

    function: Callable[[Scalar, Scalar, Scalar], Scalar]
    inside: bool = field(default=True)

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


def check_restitution(what: str, e: Any) -> None:
    """Raise unless it is a coefficient of restitution, or None."""
    if e is not None and not (_real(e) and 0 <= e <= 1):
        raise InputError(
            f"{what} = {e!r}; expected a number from 0 (no rebound) to 1 (no loss of energy)."
        )


def check_mu(what: str, mu: Any) -> None:
    """Raise unless it is a coefficient of friction, or None."""
    if mu is not None and not (_real(mu) and 0 <= mu < inf):
        raise InputError(f"{what} = {mu!r}; expected a coefficient of friction, zero or more.")


def _real(x: Any) -> bool:
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def _number(what: str, x: Any) -> float:
    if not _real(x) or not np.isfinite(x):
        raise InputError(f"{what} = {x!r}; expected a finite number.")
    return float(x)


def _length(what: str, x: Any) -> float:
    if not _real(x) or not 0 < x < inf:
        raise InputError(f"{what} = {x!r}; expected a positive number, in m.")
    return float(x)


def _numbers(what: str, values: Any, counts: tuple[int, ...]) -> tuple[float, ...]:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or len(array) not in counts or not np.isfinite(array).all():
        wanted = " or ".join(map(str, counts))
        raise InputError(f"{what} = {values!r}; expected {wanted} finite numbers.")
    return tuple(map(float, array))
