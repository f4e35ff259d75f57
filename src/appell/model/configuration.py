"""Configurations: where a robot is, and how it gets from one place to another.

Most coordinates are numbers on a line, whose rates are the speeds. A free body's are not: its
position and quaternion (x, y, z, w) are moved by six speeds in its own axes; so is the quaternion
of a ball joint by three. What is special about such coordinates is the data of a :class:`Space`;
joints that bring others add theirs here.

The functions take arrays (..., nq) and (..., nv), whose leading axes broadcast, and compute in
their dtype. A quaternion may have any length but zero: the rotation is that of the unit one, which
is what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, ModelError, quoted
from appell.model.limits import limits
from appell.model.model import Model
from appell.model.spherical import SphericalModel

Array = npt.NDArray[np.floating[Any]]
Random = np.random.Generator | int | None


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


def quaternions(model: Model) -> tuple[int, ...]:
    """Where in q each quaternion begins."""
    return tuple(i.stop - 4 for space, i, _ in _spaces(model) if space is not LINE)


def with_unit_quaternions(q: Array, starts: Sequence[int]) -> Array:
    """Coordinates (..., nq) with the quaternions that begin in these places of length one."""
    if starts:
        q = q.copy()
    for k in starts:
        q[..., k : k + 4] = _unit(q[..., k : k + 4])
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


# In space: the exponential map of rigid motions, with velocities in the body's axes


def _turned_by(p: Array, w: Array) -> Array:
    """The quaternion p after a turn w, a rotation vector in the turning axes."""
    angle = _length(w)
    half = np.where(angle > 0, np.sin(angle / 2) / angle, 0.5)
    step = np.concatenate([half * w, np.cos(angle / 2)], axis=-1)
    return _unit(_product(_unit(p), step))


def _turn(p1: Array, p2: Array) -> Array:
    """The shorter turn from one quaternion to another."""
    step = _product(_unit(p1) * _BACK.astype(p1.dtype), _unit(p2))
    step = np.where(step[..., 3:] < 0, -step, step)
    sine, cosine = _length(step[..., :3]), step[..., 3:]
    angle = 2 * np.arctan2(sine, cosine)
    return np.where(sine > 0, angle / sine, 2) * step[..., :3]


def _moved(q: Array, d: Array) -> Array:
    turn, v, w = _unit(q[..., 3:]), d[..., :3], d[..., 3:]
    angle = _length(w)
    half = np.where(angle > 0, np.sin(angle / 2) / angle, 0.5)
    bend = np.where(angle > _SMALL, (angle - np.sin(angle)) / angle**3, 1 / 6)
    across = _cross(w, v)
    way = v + 2 * half * half * across + bend * _cross(w, across)
    return np.concatenate([q[..., :3] + _turned(turn, way), _turned_by(turn, w)], axis=-1)


def _twist(q1: Array, q2: Array) -> Array:
    back = _unit(q1[..., 3:]) * _BACK.astype(q1.dtype)
    w, r = _turn(q1[..., 3:], q2[..., 3:]), _turned(back, q2[..., :3] - q1[..., :3])
    angle = _length(w)
    half = angle / 2
    bend = np.where(angle > _SMALL, (1 - half / np.tan(half)) / angle**2, 1 / 12)
    across = _cross(w, r)
    return np.concatenate([r - across / 2 + bend * _cross(w, across), w], axis=-1)


def _any_turn(q: Array, rng: np.random.Generator) -> Array:
    return _unit(rng.normal(size=(*q.shape[:-1], 4)))


def _anywhere(q: Array, rng: np.random.Generator) -> Array:
    return np.concatenate([q[..., :3], _any_turn(q, rng)], axis=-1)


def _unit(quaternion: Array) -> Array:
    """Scaled by a power of two first, which is exact, so that no square overflows."""
    largest = np.abs(quaternion).max(axis=-1, keepdims=True)
    scaled = np.ldexp(quaternion, -np.frexp(largest)[1])
    return scaled / _length(scaled)


def _unit_pose(q: Array) -> Array:
    return np.concatenate([q[..., :3], _unit(q[..., 3:])], axis=-1)


def _product(p: Array, q: Array) -> Array:
    """The turn q, then p."""
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + _cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - (p[..., :3] * q[..., :3]).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def _turned(quaternion: Array, r: Array) -> Array:
    u = quaternion[..., :3]
    across = _cross(u, r)
    return r + 2 * (quaternion[..., 3:] * across + _cross(u, across))


def _cross(a: Array, b: Array) -> Array:
    """As np.cross, which takes three times as long for a single pair."""
    return (a * b[..., _NEXT] - a[..., _NEXT] * b)[..., _NEXT]


def _length(x: Array) -> Array:
    return np.sqrt((x * x).sum(axis=-1, keepdims=True))


_NEXT = np.array([1, 2, 0])
_SMALL = 1e-4  # rad: below it the square of an angle is nothing beside one
_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # a unit quaternion's inverse

POSE = Space(
    nq=7,
    nv=6,
    neutral=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    normalise=_unit_pose,
    integrate=_moved,
    difference=_twist,
    random=_anywhere,
)
BALL = Space(
    nq=4,
    nv=3,
    neutral=(0.0, 0.0, 0.0, 1.0),
    normalise=_unit,
    integrate=_turned_by,
    difference=_turn,
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
        """The coordinates (nq,) from which joints count; of a robot with loops, its reference."""
        return neutral(self.model)

    def random(self, rng: Random = None, count: int | Sequence[int] | None = None) -> Array:
        """A configuration (nq,) drawn at random, or ``count`` of them, (count, nq).

        Positions are within the joints' limits; where a joint has none, within half a turn or 3 m
        both ways. Every orientation of a free base is as likely. ``rng`` is a generator of
        NumPy's, or a seed.
        """
        assert isinstance(self.model, Model)  # others draw otherwise
        return random(self.model, *drawing(rng, count))

    def integrate(self, q: npt.ArrayLike, dv: npt.ArrayLike) -> Array:
        """Coordinates (..., nq) after the displacement dv (..., nv): after speeds dv for one
        second, constant in the axes they are in, which are a free base's own."""
        return integrate(self.model, *arrays("integrate", q=(q, self.nq), dv=(dv, self.nv)))

    def difference(self, q1: npt.ArrayLike, q2: npt.ArrayLike) -> Array:
        """The displacement (..., nv) that leads from q1 to q2: ``integrate(q1, difference(q1,
        q2))`` is q2, up to a quaternion's sign. A free base turns the shorter way."""
        return difference(self.model, *arrays("difference", q1=(q1, self.nq), q2=(q2, self.nq)))

    def interpolate(self, q1: npt.ArrayLike, q2: npt.ArrayLike, s: npt.ArrayLike) -> Array:
        """Coordinates (..., nq) on the way from q1, where s (...) is 0, to q2, where it is 1, at
        constant speeds: a free base moves along a screw, its quaternion on a great circle."""
        q1, q2, s = arrays("interpolate", q1=(q1, self.nq), q2=(q2, self.nq), s=(s, None))
        return self.integrate(q1, s[..., None] * self.difference(q1, q2))

    def normalise(self, q: npt.ArrayLike) -> Array:
        """The same configurations (..., nq) with quaternions of length one and, of a robot with
        loops, these closed."""
        return normalise(self.model, *arrays("normalise", q=(q, self.nq)))

    def distance(self, q1: npt.ArrayLike, q2: npt.ArrayLike) -> Array:
        """The Euclidean norm (...) of the difference; rad and m count the same."""
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
