"""Loops: a joint between two places of a tree, which closes a chain.

What the joint forbids of the motion of ``b`` relative to ``a`` are rows, in the axes of b:

| kind | forbids |
| --- | --- |
| fixed | all motion |
| revolute | all but turning about z |
| prismatic | all but sliding along z |
| cylindrical | all but turning about z and sliding along it |
| spherical | that the points part |
| universal | that the points part, and that a's x and b's y leave the right angle |
| planar | that b leaves the plane across a's z |
| distance | that the distance of the points changes |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, get_args

from appell.errors import InputError
from appell.maths.rotation import Matrix, columns
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Tensor, Vector, cross
from appell.model.model import Model
from appell.robots.closed.places import Place, Way, common, placed

Kind = Literal[
    "fixed", "revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "distance"
]
Rows = list[Scalar]
Velocity = Callable[[Sequence[Scalar]], Rows]  # what a constraint forbids, linear in the speeds

# Which components of the relative velocity and angular velocity are forbidden.
_FORBIDDEN: dict[str, tuple[str, str]] = {
    "fixed": ("xyz", "xyz"),
    "revolute": ("xyz", "xy"),
    "prismatic": ("xy", "xyz"),
    "cylindrical": ("xy", "xy"),
    "spherical": ("xyz", ""),
    "universal": ("xyz", "-"),
    "planar": ("z", "xy"),
    "distance": ("-", ""),
}
# Kinds whose axes must point the same way, not the opposite one.
_DIRECTED = [kind for kind, (_, angular) in _FORBIDDEN.items() if angular in ("xyz", "xy")]


@dataclass(frozen=True)
class Loop:
    """A joint between two places that closes a loop.

    Rows are simplest in the axes of the place that comes last on its chain: name it b.

    Args:
        kind: "fixed", "revolute", "prismatic", "cylindrical", "spherical", "universal", "planar" or
            "distance".
        a: A link's name or a `Place`.
        b: Another.
        length: Of the kind "distance", m.
        name: For records.

    Examples:
        >>> from appell.robots.closed import Loop, Place
        >>> Loop("distance", "link1", Place("world", (1, 0, 0)), length=0.5).length
        0.5
    """

    kind: Kind
    a: str | Place = ""
    b: str | Place = ""
    length: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = ", ".join(get_args(Kind))
            raise InputError(f"loop kind = {self.kind!r}; expected one of {known}.")
        for side in ("a", "b"):
            given = getattr(self, side)
            if not isinstance(given, str | Place) or not given:
                raise InputError(
                    f"loop: {side} = {given!r}; expected a link's name or a Place, such as in "
                    "Loop('revolute', 'coupler', 'rocker')."
                )
            object.__setattr__(self, side, placed(given))
        if not isinstance(self.name, str):
            raise InputError(f"loop: name = {self.name!r}; expected a text.")
        if not self.name:
            object.__setattr__(self, "name", f"{_link(self.a)} to {_link(self.b)}")
        if (self.length is None) == (self.kind == "distance") or not _length(self.length):
            expected = "a positive length, in m" if self.kind == "distance" else "no length"
            raise InputError(
                f"loop '{self.name}', {self.kind}: length = {self.length!r}; expected {expected}."
            )

    @property
    def rows(self) -> tuple[str, ...]:
        """What acts along each row: forces and moments on b, in its axes."""
        linear, angular = _FORBIDDEN[self.kind]
        forces = [f"force {x}" if x != "-" else "force along" for x in linear]
        moments = [f"moment {x}" if x != "-" else "moment across" for x in angular]
        return (*forces, *moments)

    @property
    def closures(self) -> int:
        """How many rows of its position are to be zero."""
        return len(self.rows) + (self.kind in _DIRECTED)

    def check(self, model: Model) -> None:
        """Refuse links that are not there, and a loop that closes nothing."""
        a, b = (placed(x).on(model) for x in (self.a, self.b))
        if a.body == b.body:
            raise InputError(
                f"loop '{self.name}': both places are on one body of '{model.name}', which no "
                "joint between them can move; name links of two bodies."
            )

    def position(self, model: Model, q: Sequence[Scalar]) -> Rows:
        """How far the loop is from closed: m and, for angles near zero, rad.

        The sines of angles, which are also zero half a turn off, are followed by 1 - cos of the
        whole angle, which is 2 there. Gauss and Newton's step on both is the sine: it leads away
        from half a turn, and its own rate is zero where the loop is closed."""
        pair = self._pair(model, q)
        if self.kind == "distance":
            assert self.length is not None
            return [0.5 * (pair.p @ pair.p - self.length * self.length)]
        X = pair.X.rows  # its rows are b's axes seen from a
        angles = Vector(X.y.z, -X.x.z, X.x.y)
        linear, angular = _FORBIDDEN[self.kind]
        rows = [
            *(getattr(pair.p, x) for x in linear),
            *(X.y.x if x == "-" else getattr(angles, x) for x in angular),
        ]
        if angular == "xyz":
            rows.append(0.5 * (3 - X.x.x - X.y.y - X.z.z))
        elif angular == "xy":
            rows.append(1 - X.z.z)
        return rows

    def velocity(self, model: Model, q: Sequence[Scalar]) -> Velocity:
        """The rate of each row at given speeds. It is the position's where the loop is closed,
        and written more simply."""
        pair = self._pair(model, q)
        X = pair.X.rows
        linear, angular = _FORBIDDEN[self.kind]
        arm = ZERO if linear == "xyz" else pair.p  # points that may not part: no arm

        def rows(v: Sequence[Scalar]) -> Rows:
            va, wa = pair.a.twist(v)
            vb, wb = pair.b.twist(v)
            w = wb - pair.X @ wa
            moved = vb - pair.X @ va - cross(pair.X @ wa, arm)
            return [
                *(moved @ arm if x == "-" else getattr(moved, x) for x in linear),
                *(w.x * X.z.x - w.z * X.x.x if x == "-" else getattr(w, x) for x in angular),
            ]

        return rows

    def _pair(self, model: Model, q: Sequence[Scalar]) -> _Pair:
        a, b = (placed(x).on(model) for x in (self.a, self.b))
        start = common(model, a.body, b.body)
        one, two = Way(model, q, a, start), Way(model, q, b, start)
        A, B = one.pose(), two.pose()
        X = Matrix(Tensor(*(A.R.T @ axis for axis in columns(B.R))))
        return _Pair(one, two, X, B.R.T @ (B.s - A.s))


class _Pair(NamedTuple):
    """Two places: their ways from the last body that carries both, and b seen from a."""

    a: Way
    b: Way
    X: Matrix  # from a's axes to b's
    p: Vector  # from a's origin to b's, in b's axes


def _link(place: str | Place) -> str:
    return placed(place).link


def _length(x: float | None) -> bool:
    if x is None:
        return True
    return isinstance(x, int | float) and not isinstance(x, bool) and isfinite(x) and x > 0
