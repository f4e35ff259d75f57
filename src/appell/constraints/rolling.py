"""Wheels, blades and other constraints on velocities, which no position can replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from appell.constraints.loops import Rows, Velocity
from appell.constraints.way import Place, Way, placed
from appell.errors import InputError
from appell.maths.scalar import Scalar, sqrt
from appell.maths.vector import Vector, cross
from appell.model.model import BASE, Model


@dataclass(frozen=True)
class Rolling:
    """A thin wheel on the world's plane z = ``height`` that neither slips nor lifts.

    ``wheel`` is its centre, with z along the axle. Upright or leaning, the wheel touches the
    plane at its rim's lowest point; it may not lie flat.
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
    """A blade or a skate: its place moves along its x and turns, but never sideways, along y."""

    blade: str | Place
    name: str = ""

    closures = 0
    rows = ("force sideways",)

    def __post_init__(self) -> None:
        _name(self, "blade", "knife edge")

    def check(self, model: Model) -> None:
        _check(self, placed(self.blade), model)

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        return []

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
        way = Way(model, q, placed(self.blade).on(model))
        return lambda v: [way.twist(v)[0].y]


@dataclass(frozen=True)
class Custom:
    """Rows of one's own: ``function(q, v)`` gives ``count`` values that must be zero.

    They are linear in the tree's speeds v, and made of q by + - * / and the functions of
    :mod:`appell.maths.scalar`, without branches: scalars here are not only floats. Where they are
    the rates of positions that must be zero, ``closure(q)`` gives those, one a row.
    """

    function: Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]
    count: int = 1
    closure: Callable[[Sequence[Scalar]], Sequence[Scalar]] | None = None
    name: str = "custom"

    @property
    def closures(self) -> int:
        return self.count if self.closure else 0

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(f"row {k + 1}" for k in range(self.count))

    def check(self, model: Model) -> None:
        q = [0.1 * (k + 1) for k in range(model.nq)]
        given = {"function": self.function(q, [1.0] * model.nv)}
        if self.closure:
            given["closure"] = self.closure(q)
        for what, values in given.items():
            if not isinstance(values, list | tuple) or len(values) != self.count:
                raise InputError(
                    f"'{self.name}': its {what} gave {values!r}; expected a list of {self.count}."
                )

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        return list(self.closure(q)) if self.closure else []

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
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
