"""Wheels, blades and other constraints on velocities, which no position can replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from numpy.random import default_rng

from appell.errors import InputError
from appell.maths.scalar import Scalar, sqrt
from appell.maths.vector import Vector, cross
from appell.model.configuration import random
from appell.model.model import BASE, Model
from appell.robots.closed.dual import Dual, rate
from appell.robots.closed.loops import Rows, Velocity
from appell.robots.closed.places import Place, Way, placed


@dataclass(frozen=True)
class Rolling:
    """A thin wheel on the world's plane z = ``height`` that neither slips nor lifts.

    Upright or leaning, the wheel touches the plane at its rim's lowest point; it may not lie flat.

    Args:
        wheel: Its centre, with z along the axle: a link's name or a `Place`.
        radius: m.
        height: Of the plane, m.
        name: For records.

    Examples:
        >>> from appell.robots.closed import Rolling
        >>> Rolling("left wheel", radius=0.1, height=-0.1).radius
        0.1
    """

    wheel: str | Place
    radius: float
    height: float = 0.0
    name: str = ""

    closures = 1
    rows = ("force along the axle", "force forward", "force up the wheel")

    def __post_init__(self) -> None:
        _name(self, "wheel", "rolling")
        if not _number(self.radius) or not self.radius > 0:
            raise InputError(f"'{self.name}': radius = {self.radius!r}; expected a length in m.")

    def check(self, model: Model) -> None:
        """Refuse a wheel that the model does not have."""
        _check(self, placed(self.wheel), model)

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        """How high the lowest point of the rim is."""
        pose = Way(model, q, placed(self.wheel).on(model)).pose()
        x, y, _ = pose.R.rows.z
        return [pose.s.z - self.height - self.radius * sqrt(x * x + y * y)]

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
        """Of the wheel's point that touches the plane."""
        way = Way(model, q, placed(self.wheel).on(model))
        x, y, _ = way.pose().R.rows.z  # the world's up, across the axle
        k = 1 / sqrt(x * x + y * y)
        up, forward = Vector(k * x, k * y, 0), Vector(-(k * y), k * x, 0)

        def rows(v: Sequence[Scalar]) -> Rows:
            linear, turning = way.twist(v)
            touching = linear - cross(turning, up * self.radius)
            return [touching.z, touching @ forward, touching @ up]

        return rows


@dataclass(frozen=True)
class KnifeEdge:
    """A blade or a skate: its place moves along its x and turns, but never sideways, along y.

    Args:
        blade: A link's name or a `Place`.
        name: For records.

    Examples:
        >>> from appell.robots.closed import KnifeEdge
        >>> KnifeEdge("skate").blade.link
        'skate'
    """

    blade: str | Place
    name: str = ""

    closures = 0
    rows = ("force sideways",)

    def __post_init__(self) -> None:
        _name(self, "blade", "knife edge")

    def check(self, model: Model) -> None:
        """Refuse a blade that the model does not have."""
        _check(self, placed(self.blade), model)

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        """Nothing: a blade holds no position."""
        return []

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
        """The sideways velocity, m/s, which is zero."""
        way = Way(model, q, placed(self.blade).on(model))
        return lambda v: [way.twist(v)[0].y]


@dataclass(frozen=True)
class Custom:
    """Constraints of your own: values that must be zero.

    They are linear in the tree's speeds v, and made of q by + - * / and sin, cos, sqrt of
    `appell.maths.scalar`, without branches: scalars here are not only floats. Both functions are
    checked when a robot is closed with them.

    Args:
        function: ``function(q, v)`` gives ``count`` values that must be zero.
        count: How many.
        closure: Where the values are the rates of positions that must be zero, ``closure(q)`` gives
            those, one per row.
        name: For records.

    Examples:
        >>> from appell.robots.closed import Custom
        >>> equal = Custom(lambda q, v: [v[0] - v[1]], closure=lambda q: [q[0] - q[1]])
        >>> appell.close(appell.load("planar_chain"), [equal]).nv
        2
    """

    function: Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]
    count: int = 1
    closure: Callable[[Sequence[Scalar]], Sequence[Scalar]] | None = None
    name: str = "custom"

    @property
    def closures(self) -> int:
        """How many rows of its position are to be zero."""
        return self.count if self.closure else 0

    @property
    def rows(self) -> tuple[str, ...]:
        """A name for each of its rows."""
        return tuple(f"row {k + 1}" for k in range(self.count))

    def check(self, model: Model) -> None:
        """Refuse rows that are not ``count`` numbers, linear in the speeds."""
        draw = default_rng(1)
        for q in random(model, draw, (5,), limited=False, room=1.0).tolist():
            v, *along = draw.uniform(-1, 1, (3, model.nv)).tolist()
            for kind in (q, [Dual(x, 1.0) for x in q]):
                self._values("function", self.function, kind, v)
                if self.closure:
                    self._values("closure", self.closure, kind)
            self._refuse_affine(q, model.nv)
            self._refuse_nonlinear(q, v, *along)

    def _refuse_affine(self, q: list[float], n: int) -> None:
        rest = self._values("function", self.function, q, [0.0] * n)
        for k, x in enumerate(rest):
            if x != 0:
                raise InputError(
                    f"'{self.name}': row {k + 1} of its function is {x} while all speeds are zero; "
                    "expected 0: rows are linear in the speeds, without a constant term. A speed "
                    "that is prescribed is no constraint of this kind."
                )

    def _refuse_nonlinear(
        self, q: list[float], v: list[float], one: list[float], two: list[float]
    ) -> None:
        """By the second derivative along two directions, exact, and by adding speeds up."""

        def of(*speeds: Any) -> list[Any]:
            return self._values("function", self.function, q, *speeds)

        moving = [Dual(Dual(x, a), Dual(b, 0.0)) for x, a, b in zip(v, one, two, strict=True)]
        second = [float(rate(rate(x))) for x in of(moving)]
        parts = of(v), of(one), of([x + y for x, y in zip(v, one, strict=True)])
        for k, (bent, x, y, both) in enumerate(zip(second, *parts, strict=True)):
            scale = abs(x) + abs(y) + abs(both)
            if not abs(bent) <= 1e-12 * scale or not abs(x + y - both) <= 1e-9 * scale:
                raise InputError(
                    f"'{self.name}': row {k + 1} of its function is not linear in the speeds at "
                    f"q = {[round(x, 3) for x in q]}; expected a sum of speeds, each times a "
                    "function of q."
                )

    def _values(self, what: str, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        try:
            values = function(*arguments)
        except Exception as problem:  # the user's own code may raise anything
            raise InputError(
                f"'{self.name}': its {what} raised {problem!r}; expected + - * /, sin, cos and "
                "sqrt of appell.maths.scalar, which take scalars of every kind."
            ) from problem
        if not isinstance(values, list | tuple) or len(values) != self.count:
            raise InputError(
                f"'{self.name}': its {what} gave {values!r}; expected a list of {self.count}."
            )
        return list(values)

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        """The user's positions, which are zero."""
        return list(self.closure(q)) if self.closure else []

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
        """The user's rows, which are zero."""
        return lambda v: list(self.function(q, v))


def _name(constraint: Any, where: str, what: str) -> None:
    given = getattr(constraint, where)
    if not isinstance(given, str | Place):
        raise InputError(f"{what}: {where} = {given!r}; expected a link's name or a Place.")
    object.__setattr__(constraint, where, placed(given))
    if not constraint.name:
        object.__setattr__(constraint, "name", f"{what} {placed(given).link}")


def _check(constraint: Any, place: Place, model: Model) -> None:
    if place.on(model).body == BASE:
        raise InputError(
            f"'{constraint.name}': link '{place.link}' of '{model.name}' does not move; name one "
            "that does."
        )


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and isfinite(x)
