"""Contacts: every point of a robot with every wall, and the stops of its joints.

A contact has a gap g(q), positive where there is room. Recorded once for all of them, with its
derivatives along the motion: the rate dg/dt = J v, J itself, and dJ/dt v, so that the gap's
second derivative is J a + dJ/dt v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import casadi
import numpy as np
import numpy.typing as npt
from casadi import SX, jacobian, jtimes, vertcat

from appell.compile.make import kernel_of
from appell.compile.record import Recorded, as_sx
from appell.compile.tape import Foreign, Tape
from appell.equations.instant import coordinate_rates
from appell.errors import InputError
from appell.model.limits import Limit, limits
from appell.model.model import Model
from appell.model.place import Place
from appell.model.spherical import SphericalModel
from appell.robots.dynamics import Array
from appell.simulation.contacts.points import (
    Choice,
    Point,
    contact_points,
    place_of,
    positions,
)
from appell.simulation.contacts.surface import surface
from appell.walls import Implicit, Wall

Ask = Callable[[Array, Array], Any]
Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
Described = tuple[dict[str, Shape], dict[str, Shape], Callable[[], Any]]  # inputs, outputs, records


_ROUNDING = 64 * 2.0**-52  # of a sum of products, with room


@dataclass(frozen=True)
class Geometry:
    """What contacts are recorded from. Of a wall, that is its recorded surface: the code of one
    that a user wrote, and what it reads, may change from one simulation to the next."""

    model: Model | SphericalModel
    points: tuple[Point, ...]
    surfaces: tuple[str, ...]
    stops: tuple[Limit, ...]

    @property
    def pairs(self) -> int:
        """How many contacts are of a point with a wall."""
        return len(self.points) * len(self.surfaces)

    def __len__(self) -> int:
        return self.pairs + len(self.stops)


class ContactState(NamedTuple):
    """All contacts at one instant; m contacts, k points."""

    gap: Array  # (m,)
    rate: Array  # (m,) J v
    J: Array  # (m, nv)
    drift: Array  # (m,) dJ/dt v
    normal: Array  # (m, 3) away from the wall; zero for stops
    P: Array  # (k, 3, nv) points' Jacobians
    turning: Array  # (k, 3) dP/dt v


def no_contacts(n: int) -> ContactState:
    """The state of no contacts, of a robot with n speeds."""
    shapes: tuple[Any, ...] = (0, 0, (0, n), 0, (0, 3), (0, 3, n), (0, 3))
    return ContactState(*(np.empty(shape) for shape in shapes))


@dataclass(frozen=True)
class Contacts:
    """The contacts of a robot: points with walls in turn, then stops."""

    model: Model | SphericalModel
    points: tuple[Point, ...]
    walls: tuple[Wall, ...]
    stops: tuple[Limit, ...]

    def __len__(self) -> int:
        return len(self.points) * len(self.walls) + len(self.stops)

    @cached_property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Of each contact, the point (or joint) and the wall (or limit)."""
        pairs = [(p.name, w.label) for p in self.points for w in self.walls]
        return (*pairs, *((s.joint, s.label) for s in self.stops))

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where each point is: its link, and the place in the link's axes."""
        return {point.name: place_of(self.model, point) for point in self.points}

    @cached_property
    def of_point(self) -> npt.NDArray[np.intp]:
        """Each contact's point; -1 for a stop."""
        points = np.repeat(np.arange(len(self.points)), len(self.walls))
        return np.concatenate([points, np.full(len(self.stops), -1)]).astype(np.intp)

    @cached_property
    def implicit(self) -> npt.NDArray[np.bool_]:
        """Which contacts are with a wall that is given by a function of the user's."""
        return self.per_contact(lambda wall: isinstance(wall, Implicit), False).astype(bool)

    def per_contact(
        self, of_wall: Callable[[Wall], float | None], otherwise: float, at_stops: float = 0.0
    ) -> Array:
        """A number of each contact's wall, ``otherwise`` where the wall has none; and that of the
        stops."""
        of_walls = [otherwise if (x := of_wall(w)) is None else x for w in self.walls]
        return np.array([*of_walls * len(self.points), *[at_stops] * len(self.stops)])

    @cached_property
    def geometry(self) -> Geometry:
        """What the contacts are recorded from."""
        surfaces = tuple(surface(wall).serialize() for wall in self.walls)
        return Geometry(self.model, self.points, surfaces, self.stops)

    @cached_property
    def gaps(self) -> Ask:
        """(q, v) -> gap, rate, each (..., m)."""
        return _compiled(_gaps, self.geometry)

    @cached_property
    def bounds(self) -> Ask:
        """(path, span) -> bounds of the gaps and their rates: see `.bounds`."""
        from appell.simulation.contacts.bounds import described

        return _compiled(described, self.geometry)

    @cached_property
    def foreign(self) -> npt.NDArray[np.bool_]:
        """Which contacts are with a wall that has no known bound, and is sampled."""
        from appell.simulation.contacts.bounds import unbounded

        return unbounded(self.geometry)

    @cached_property
    def any_foreign(self) -> bool:
        """Whether any wall has no known bound."""
        return bool(self.foreign.any())

    @cached_property
    def tape(self) -> Tape:
        """What ``at`` is computed from, of q and v."""
        inputs, outputs, function = _contacts(self.geometry)
        return Tape.from_casadi(function(), inputs, outputs)

    @cached_property
    def _full(self) -> Ask:
        return _compiled(_contacts, self.geometry)

    def at(self, q: Array, v: Array) -> ContactState:
        """All contacts at one instant."""
        gap, rate, J, drift, normal, P, turning = self._full(q, v)
        P, turning = P.reshape(-1, 3, self.model.nv), turning.reshape(-1, 3)
        return ContactState(gap, rate, J, drift, normal, P, turning)


def find_contacts(model: Any, walls: Any, points: Choice, stops: bool) -> Contacts:
    """The contacts that a simulation watches."""
    try:
        chosen = (walls,) if isinstance(walls, Wall) else tuple(walls)
    except TypeError:
        raise InputError(f"walls = {walls!r}; expected walls of appell.walls.") from None
    for wall in chosen:
        if not isinstance(wall, Wall):
            raise InputError(
                f"walls: {wall!r} is no wall; expected those of appell.walls, such as "
                "appell.walls.Circle(2.5)."
            )
    own = limits(model) if stops and isinstance(model, Model) else ()
    return Contacts(model, contact_points(model, points) if chosen else (), chosen, own)


# Recording


@lru_cache(maxsize=64)
def _compiled(described: Callable[[Geometry], Described], geometry: Geometry) -> Ask:
    inputs, outputs, function = described(geometry)
    try:
        return kernel_of("contacts", function, inputs, outputs, recorder=_tape).bare
    except Foreign:
        return _by_casadi(function(), inputs, outputs)


def _tape(function: Any, inputs: Any, outputs: Any, _: Any) -> Any:
    return Tape.from_casadi(function(), inputs, outputs)


def _by_casadi(function: Any, inputs: Shapes, outputs: Shapes) -> Ask:
    """The same by CasADi's interpreter, slower, for walls that need what kernels do not have."""

    def ask(*arguments: Array) -> list[Array]:
        axes = [x.shape[: x.ndim - len(s)] for x, s in zip(arguments, inputs.values(), strict=True)]
        batch = np.broadcast_shapes(*axes)
        given = (
            np.broadcast_to(x, batch + s).reshape(-1, prod(s)).T
            for x, s in zip(arguments, inputs.values(), strict=True)
        )
        return [
            np.ascontiguousarray(np.array(y).T).reshape(batch + shape)
            for y, shape in zip(function(*given), outputs.values(), strict=True)
        ]

    return ask


def _gaps(geometry: Geometry, more: Shapes | None = None) -> Described:
    """Gaps and their rates, and more of these shapes."""
    model, m = geometry.model, len(geometry)
    inputs: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,)}
    outputs: dict[str, Shape] = {"gap": (m,), "rate": (m,), **(more or {})}
    return inputs, outputs, partial(_function, geometry, list(outputs))


def _contacts(geometry: Geometry) -> Described:
    """All that a ContactState holds."""
    m, k, nv = len(geometry), 3 * max(len(geometry.points), 1), geometry.model.nv
    more = {"J": (m, nv), "drift": (m,), "normal": (m, 3), "P": (k, nv), "turning": (k,)}
    return _gaps(geometry, more)


def measured(geometry: Geometry, q: Any) -> tuple[list[Any], Any, Any]:
    """Of recorded coordinates q: the points, and of all contacts gaps and normals."""
    scalars = [Recorded(x) for x in casadi.vertsplit(q)]
    at = [vertcat(*map(as_sx, p)) for p in positions(geometry.model, scalars, geometry.points)]
    surfaces = [casadi.Function.deserialize(text) for text in geometry.surfaces]
    found = [f(p) for p in at for f in surfaces]
    stops = [s.side * (q[s.coordinate] - s.value) for s in geometry.stops]
    gap = vertcat(*(g for g, _ in found), *stops)
    return at, gap, vertcat(*(n for _, n in found), *[SX(3, 1)] * len(stops))


def _function(geometry: Geometry, outputs: Sequence[str]) -> Any:
    """The CasADi function of q and v; matrices leave it as columns, row by row."""

    def rows(matrix: Any) -> Any:
        return casadi.vec(casadi.densify(matrix).T)

    model = geometry.model
    q, v = SX.sym("q", model.nq), SX.sym("v", model.nv)
    scalars = [Recorded(x) for x in casadi.vertsplit(q)]
    speeds = [Recorded(x) for x in casadi.vertsplit(v)]
    rates = coordinate_rates(model, scalars, speeds) if isinstance(model, Model) else speeds
    dq = vertcat(*map(as_sx, rates))
    at, gap, normal = measured(geometry, q)
    rate = jtimes(gap, q, dq)
    found = {"gap": gap, "rate": rate}
    if "J" in outputs:
        place = vertcat(*at) if at else SX(3, 1)
        velocity = jtimes(place, q, dq)
        P = jacobian(velocity, v)
        felt = vertcat(*_felt(geometry, jacobian(rate, v), P))
        found |= {
            "rate": rate * felt,
            "J": rows(jacobian(rate, v) * casadi.repmat(felt, 1, model.nv)),
            "drift": jtimes(rate, q, dq),
            "normal": normal,
            "P": rows(P),
            "turning": jtimes(velocity, q, dq),
        }
    return casadi.Function("f", [q, v], [casadi.densify(found[name]) for name in outputs])


def _felt(geometry: Geometry, J: Any, P: Any) -> list[Any]:
    """Of each contact, 1, or 0 where no speed changes its gap: there J is only rounding beside the
    Jacobian of its point, and would hold the robot with a force that does not exist."""
    felt = []
    for k in range(geometry.pairs):
        p = 3 * (k // len(geometry.surfaces))
        margin = casadi.sumsqr(J[k, :]) - _ROUNDING**2 * casadi.sumsqr(P[p : p + 3, :])
        felt.append((1 + casadi.sign(margin)) / 2)
    return [*felt, *[SX(1)] * len(geometry.stops)]
