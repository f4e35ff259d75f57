"""Configurations: where a robot is, and how it gets from one place to another.

Most coordinates are numbers on a line, whose rates are the speeds. A free body's are not: its
position and quaternion (x, y, z, w) are moved by six speeds in its own axes; so is the quaternion
of a ball joint by three. What is special about such coordinates is the data of a `Space`;
joints that bring others add theirs here.

The functions take arrays (..., nq) and (..., nv), whose leading axes broadcast, and compute in
their dtype. A quaternion may have any length but zero: the rotation is that of the unit one, which
is what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, ModelError, quoted
from appell.maths.exponential_map import (
    adjoint,
    jacobian,
    motion_between,
    moved_by,
    turn_between,
    turned_by,
    unit_quaternion,
)
from appell.model.limits import limits
from appell.model.model import Model

if TYPE_CHECKING:
    from appell.model.spherical import SphericalModel

Array = npt.NDArray[np.floating[Any]]
Random: TypeAlias = "np.random.Generator | int | None"  # NumPy imports its generators when asked


class Space(NamedTuple):
    """What coordinates mean: how many there are for how many speeds, and how they are moved."""

    nq: int
    nv: int
    neutral: float | tuple[float, ...]
    normalise: Callable[[Array], Array]
    integrate: Callable[[Array, Array], Array]
    difference: Callable[[Array, Array], Array]
    random: Callable[[Array, np.random.Generator], Array]  # from coordinates drawn as on a line


def neutral(model: Model | SphericalModel) -> Array:
    """The coordinates (nq,) from which joints count: zeros, and no turn of a free base."""
    q = np.zeros(model.nq)
    for space, coordinates, _ in _spaces(model):
        q[coordinates] = space.neutral
    return q


def random(
    model: Model,
    rng: np.random.Generator,
    shape: tuple[int, ...] = (),
    *,
    limited: bool = True,
    room: float = np.pi,
) -> Array:
    """Coordinates (*shape, nq) drawn uniformly within the joints' limits, those of joints that
    mimic others included; where there is none, or with ``limited=False``, within half a turn or
    ``room``, in m, both ways. Every orientation of a free base is as likely."""
    half = np.full(model.nq, room)
    half[[model.place(k) for k, joint in enumerate(model.joints) if joint.screw.angle]] = np.pi
    low, high = _ranges(model, half) if limited else (-half, half)
    q = rng.uniform(low, high, (*shape, model.nq))
    for space, coordinates, _ in _spaces(model):
        q[..., coordinates] = space.random(q[..., coordinates], rng)
    return q


@np.errstate(all="ignore")
def normalise(model: Model | SphericalModel, q: Array) -> Array:
    """The same configurations (..., nq) with quaternions of length one."""
    parts = [space.normalise(q[..., at]) for space, at, _ in _spaces(model)]
    return np.concatenate(parts, axis=-1)


@np.errstate(all="ignore")
def integrate(model: Model | SphericalModel, q: Array, dv: Array) -> Array:
    """Coordinates (..., nq) after speeds dv, constant in the axes they are in, for unit time."""
    parts = [space.integrate(q[..., i], dv[..., j]) for space, i, j in _spaces(model)]
    return np.concatenate(parts, axis=-1)


@np.errstate(all="ignore")
def difference(model: Model | SphericalModel, q1: Array, q2: Array) -> Array:
    """The constant speeds (..., nv) that lead from q1 to q2 in unit time, the shorter way round:
    ``integrate(model, q1, difference(model, q1, q2))`` is q2, up to a quaternion's sign."""
    parts = [space.difference(q1[..., i], q2[..., i]) for space, i, _ in _spaces(model)]
    return np.concatenate(parts, axis=-1)


def integrate_derivatives(model: Model | SphericalModel, dv: Array) -> tuple[Array, Array]:
    """How ``integrate(model, q, dv)`` moves with displacements of q and changes of dv, (..., nv,
    nv) each: exp(-A) and J(-A), with the adjoint A of dv (`appell.maths.exponential_map`)."""
    by_q, by_dv = _unit_matrices(dv), _unit_matrices(dv)
    for space, _, j in _spaces(model):
        if space is not LINE:
            A = -adjoint(dv[..., j])
            by_dv[..., j, j] = jacobian(A, dv[..., j])
            by_q[..., j, j] += A @ by_dv[..., j, j]
    return by_q, by_dv


def difference_derivatives(
    model: Model | SphericalModel, q1: Array, q2: Array
) -> tuple[Array, Array]:
    """How ``difference(model, q1, q2)`` changes with displacements of q1 and of q2, (..., nv, nv)
    each: -J(A)^-1 and J(-A)^-1, with the adjoint A of the difference."""
    d = difference(model, q1, q2)
    by_q1, by_q2 = -_unit_matrices(d), _unit_matrices(d)
    for space, _, j in _spaces(model):
        if space is not LINE:
            A = adjoint(d[..., j])
            by_q1[..., j, j] = -np.linalg.inv(jacobian(A, d[..., j]))
            by_q2[..., j, j] = np.linalg.inv(jacobian(-A, d[..., j]))
    return by_q1, by_q2


def _unit_matrices(x: Array) -> Array:
    return np.zeros((*x.shape, x.shape[-1])) + np.eye(x.shape[-1])


def quaternions(model: Model) -> tuple[int, ...]:
    """Where in q each quaternion begins."""
    return tuple(i.stop - 4 for space, i, _ in _spaces(model) if space is not LINE)


def with_unit_quaternions(q: Array, starts: Sequence[int]) -> Array:
    """Coordinates (..., nq) with the quaternions that begin in these places of length one."""
    if starts:
        q = q.copy()
    for k in starts:
        q[..., k : k + 4] = unit_quaternion(q[..., k : k + 4])
    return q


def _spaces(model: Model | SphericalModel) -> list[tuple[Space, slice, slice]]:
    """The spaces that make up a robot's, with their places in q and v."""
    spaces: list[tuple[Space, slice, slice]] = []
    i = j = 0  # where the next coordinates and speeds stand
    for c in model.compounds if isinstance(model, Model) else ():
        space, between = POSE if c.free else BALL, c.speed - j
        if between:
            spaces.append((LINE, slice(i, i + between), slice(j, j + between)))
        i, j = i + between, c.speed
        spaces.append((space, slice(i, i + space.nq), slice(j, j + space.nv)))
        i, j = i + space.nq, j + space.nv
    if j < model.nv or not spaces:
        spaces.append((LINE, slice(i, None), slice(j, None)))
    return spaces


def _ranges(model: Model, half: Array) -> tuple[Array, Array]:
    """From where to where each coordinate may be; without limits, so far both ways."""
    low, high = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for limit in limits(model):
        k = limit.coordinate
        if limit.side > 0:
            low[k] = max(low[k], limit.value)
        else:
            high[k] = min(high[k], limit.value)
        if low[k] > high[k]:
            raise ModelError(
                f"'{model.name}': {limit} leaves no position to the joints that move together; "
                "check their limits."
            )
    least = np.where(np.isinf(high), -half, high - 2 * half)
    most = np.where(np.isinf(low), half, low + 2 * half)
    return np.where(np.isinf(low), least, low), np.where(np.isinf(high), most, high)


# On a line


LINE = Space(
    nq=1,
    nv=1,
    neutral=0.0,
    normalise=lambda q: q,
    integrate=np.add,
    difference=lambda q1, q2: q2 - q1,
    random=lambda q, rng: q,
)


# In space


def _any_turn(q: Array, rng: np.random.Generator) -> Array:
    return unit_quaternion(rng.normal(size=(*q.shape[:-1], 4)))


def _anywhere(q: Array, rng: np.random.Generator) -> Array:
    return np.concatenate([q[..., :3], _any_turn(q, rng)], axis=-1)


def _unit_pose(q: Array) -> Array:
    return np.concatenate([q[..., :3], unit_quaternion(q[..., 3:])], axis=-1)


POSE = Space(
    nq=7,
    nv=6,
    neutral=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    normalise=_unit_pose,
    integrate=moved_by,
    difference=motion_between,
    random=_anywhere,
)
BALL = Space(
    nq=4,
    nv=3,
    neutral=(0.0, 0.0, 0.0, 1.0),
    normalise=unit_quaternion,
    integrate=turned_by,
    difference=turn_between,
    random=_any_turn,
)


# For users


class Configurations:
    """What every robot answers about its configurations.

    Results are float64, or float32 where all arguments are; leading axes are batches and
    broadcast, and NaN goes through.
    """

    model: Model | SphericalModel

    @property
    def nq(self) -> int:
        """How many coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """How many speeds."""
        return self.model.nv

    def neutral(self) -> Array:
        """The coordinates from which joints count; of a robot with loops, its reference.

        Returns:
            The coordinates, (nq,), rad or m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.neutral().tolist()
            [0.0, 0.0]
        """
        return neutral(self.model)

    def random(self, rng: Random = None, count: int | Sequence[int] | None = None) -> Array:
        """A configuration drawn at random, or many.

        Positions are within the joints' limits; where a joint has none, within half a turn or 3.14
        m both ways. Every orientation of a free base is as likely.

        Args:
            rng: A generator of NumPy's, or a seed; another draw each time without it.
            count: How many; one without it.

        Returns:
            The coordinates, (nq,) or (count, nq), rad or m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.random(0, count=5).shape
            (5, 2)
        """
        assert isinstance(self.model, Model)  # others draw otherwise
        return random(self.model, *drawing(rng, count))

    def integrate(self, q: npt.ArrayLike, dv: npt.ArrayLike) -> Array:
        """Coordinates after a displacement: after speeds dv for one second, constant in the axes
        they are in, which are a free base's own.

        Args:
            q: Coordinates, (..., nq), rad or m.
            dv: The displacement, (..., nv), rad or m.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> chain = appell.load("free_chain", n=1)
            >>> moved = chain.integrate(chain.neutral(), np.full(chain.nv, 0.1))
            >>> moved.shape, chain.nv
            ((7,), 6)
        """
        return integrate(self.model, *arrays("integrate", q=(q, self.nq), dv=(dv, self.nv)))

    def difference(self, q1: npt.ArrayLike, q2: npt.ArrayLike) -> Array:
        """The displacement that leads from q1 to q2: ``integrate(q1, difference(q1, q2))`` is q2,
        up to a quaternion's sign. A free base turns the shorter way.

        Args:
            q1: Coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.

        Returns:
            The displacement, (..., nv), rad or m.

        Examples:
            >>> chain = appell.load("free_chain", n=1)
            >>> q1, q2 = chain.random(0, count=2)
            >>> q3 = chain.integrate(q1, chain.difference(q1, q2))
            >>> bool(chain.distance(q2, q3) < 1e-9)
            True
        """
        return difference(self.model, *arrays("difference", q1=(q1, self.nq), q2=(q2, self.nq)))

    def integrate_derivatives(self, q: npt.ArrayLike, dv: npt.ArrayLike) -> tuple[Array, Array]:
        """How ``integrate(q, dv)`` moves with small displacements of q, and with small changes of
        dv: displacements of the result, in its own axes, as all derivatives by q are. Pinocchio's
        dIntegrate.

        Args:
            q: Coordinates, (..., nq), rad or m.
            dv: The displacement, (..., nv), rad or m.

        Returns:
            Two matrices, each (..., nv, nv), rad or m per rad or m.

        Examples:
            >>> chain = appell.load("free_chain", n=1)
            >>> by_q, by_dv = chain.integrate_derivatives(chain.neutral(), np.zeros(chain.nv))
            >>> np.allclose(by_dv, np.eye(chain.nv))
            True
        """
        q, dv = arrays("integrate_derivatives", q=(q, self.nq), dv=(dv, self.nv))
        shape = np.broadcast_shapes(q.shape[:-1], dv.shape[:-1])
        found = integrate_derivatives(self.model, np.broadcast_to(dv, (*shape, self.nv)))
        return found[0].astype(dv.dtype, copy=False), found[1].astype(dv.dtype, copy=False)

    def difference_derivatives(self, q1: npt.ArrayLike, q2: npt.ArrayLike) -> tuple[Array, Array]:
        """How ``difference(q1, q2)`` changes with small displacements of q1, and of q2. Pinocchio's
        dDifference.

        Args:
            q1: Coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.

        Returns:
            Two matrices, each (..., nv, nv), rad or m per rad or m.

        Examples:
            >>> chain = appell.load("free_chain", n=1)
            >>> by_q1, by_q2 = chain.difference_derivatives(chain.neutral(), chain.neutral())
            >>> np.allclose(by_q1, -by_q2)
            True
        """
        q1, q2 = arrays("difference_derivatives", q1=(q1, self.nq), q2=(q2, self.nq))
        found = difference_derivatives(self.model, q1, q2)
        return found[0].astype(q1.dtype, copy=False), found[1].astype(q1.dtype, copy=False)

    def interpolate(self, q1: npt.ArrayLike, q2: npt.ArrayLike, s: npt.ArrayLike) -> Array:
        """Coordinates between q1 and q2, at constant speeds: a free base moves along a screw, its
        quaternion on a great circle.

        Args:
            q1: Coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.
            s: From 0, at q1, to 1, at q2, (...), no unit.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.interpolate([0, 0], [1, 2], 0.5).tolist()
            [0.5, 1.0]
        """
        q1, q2, s = arrays("interpolate", q1=(q1, self.nq), q2=(q2, self.nq), s=(s, None))
        return self.integrate(q1, s[..., None] * self.difference(q1, q2))

    def normalise(self, q: npt.ArrayLike) -> Array:
        """The same configurations with quaternions of length one and, of a robot with loops, these
        closed.

        Args:
            q: Coordinates, (..., nq), rad or m.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> chain = appell.load("free_chain", n=1)
            >>> chain.normalise([0, 0, 0, 0, 0, 0, 2]).tolist()
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        """
        return normalise(self.model, *arrays("normalise", q=(q, self.nq)))

    def distance(self, q1: npt.ArrayLike, q2: npt.ArrayLike) -> Array:
        """The Euclidean norm of the `difference`.

        Args:
            q1: Coordinates, (..., nq), rad or m.
            q2: Others, (..., nq), rad or m.

        Returns:
            The distance, (...), rad or m, which count the same.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> float(arm.distance([0, 0], [3, 4]))
            5.0
        """
        return np.linalg.norm(self.difference(q1, q2), axis=-1)


def drawing(rng: Random, count: Any) -> tuple[np.random.Generator, tuple[int, ...]]:
    """A generator, and the shape of what it is to draw."""
    shape = () if count is None else tuple(count) if isinstance(count, list | tuple) else (count,)
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"random(count={quoted(count)}): expected a whole number, 0 up.")
    try:
        return np.random.default_rng(rng), shape
    except (TypeError, ValueError):
        raise InputError(
            f"random(rng={quoted(rng)}): expected a generator of NumPy's, or a seed."
        ) from None


def arrays(method: str, **arguments: tuple[Any, int | None]) -> list[Array]:
    """Arguments as arrays (..., n), of float32 if all are and else of float64; refused if they are
    no real numbers, have another shape or do not broadcast together."""
    found: dict[str, Any] = {}
    for name, (given, n) in arguments.items():
        expected = f"expected real numbers, {'(...)' if n is None else f'(..., {n})'}."
        try:
            x = np.asarray(given)
        except ValueError:
            raise InputError(f"{method}: {name} is ragged; {expected}") from None
        if given is None:
            raise InputError(f"{method}: {name} is missing; {expected}")
        if x.dtype.kind not in "fiub" or hasattr(given, "mask"):
            raise InputError(f"{method}: {name} is {type(given).__name__} of {x.dtype}; {expected}")
        if n is not None and x.shape[-1:] != (n,):
            raise InputError(f"{method}: {name} has shape {x.shape}; {expected}")
        found[name] = x
    shapes = {k: x.shape if arguments[k][1] is None else x.shape[:-1] for k, x in found.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"{method}: leading axes do not broadcast together: {shown}.") from None
    single = all(x.dtype == np.float32 for x in found.values())
    return [x.astype(np.float32 if single else np.float64, copy=False) for x in found.values()]
