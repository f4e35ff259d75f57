"""Trajectories from one position to another, and through several.

The joints move together: all start and end at the same times, and between two positions they
move along a straight line. Positions are in rad or m, times in s.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from appell.control.trajectories.piecewise import Piecewise, hermite
from appell.control.trajectories.trajectory import Timed, Trajectory, times
from appell.errors import InputError
from appell.given import ends, limits, number, one_of, positions
from appell.robots.robot import Array, Numbers

Ends = Literal["clamped", "natural", "not-a-knot", "periodic"]

_LONGEST = 1e30  # s: its seventh power, and that of its inverse, are still numbers


def ramp(
    q0: Numbers, q1: Numbers, duration: float | None = None, *, speed: Numbers | None = None
) -> Trajectory:
    """The motion from q0 to q1 at constant velocity, which jumps at both ends.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        duration: How long it takes, s; or ``speed`` instead.
        speed: What no joint may exceed, rad/s or m/s, one number or one per joint.

    Returns:
        A `Trajectory`.

    Examples:
        >>> appell.control.ramp([0.0, 0.0], [1.0, 2.0], speed=0.5).duration
        4.0
    """
    start, end = ends("ramp", q0, q1)
    if (duration is None) == (speed is None):
        raise InputError("ramp: expected either duration or speed.")
    if duration is None:
        rate = _fastest(np.abs(end - start), limits("ramp: speed", speed, len(start)))
        _refuse_rest("ramp", rate, "duration")
        duration = 1 / rate
    T = number("ramp: duration", duration)
    law = Piecewise(np.array([0.0, T]), np.array([[[0.0], [1 / T]]]))
    return Timed("ramp", _straight(start, end), law)


def cubic(
    q0: Numbers, q1: Numbers, duration: float, *, v0: Numbers = 0.0, v1: Numbers = 0.0
) -> Trajectory:
    """The polynomial of third degree with given velocities at the ends; accelerations jump there.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        duration: How long it takes, s.
        v0: Velocities at the start, rad/s or m/s, one number or one per joint.
        v1: Velocities at the end, rad/s or m/s.

    Returns:
        A `Trajectory`.

    Examples:
        >>> q, v, a = appell.control.cubic([0.0], [1.0], 2.0)(1.0)
        >>> q, v
        (array([0.5]), array([0.75]))
    """
    return _polynomial("cubic", q0, q1, duration, [(v0, v1)])


def quintic(
    q0: Numbers,
    q1: Numbers,
    duration: float,
    *,
    v0: Numbers = 0.0,
    v1: Numbers = 0.0,
    a0: Numbers = 0.0,
    a1: Numbers = 0.0,
) -> Trajectory:
    """The polynomial of fifth degree with given velocities and accelerations at the ends; from rest
    to rest its accelerations are continuous.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        duration: How long it takes, s.
        v0: Velocities at the start, rad/s or m/s, one number or one per joint.
        v1: Velocities at the end, rad/s or m/s.
        a0: Accelerations at the start, rad/s^2 or m/s^2.
        a1: Accelerations at the end, rad/s^2 or m/s^2.

    Returns:
        A `Trajectory`.

    Examples:
        >>> move = appell.control.quintic([0, 0], [1, 0.5], 2.0)
        >>> move.start, move.end, move.n
        (array([0., 0.]), array([1. , 0.5]), 2)
    """
    return _polynomial("quintic", q0, q1, duration, [(v0, v1), (a0, a1)])


def septic(
    q0: Numbers,
    q1: Numbers,
    duration: float,
    *,
    v0: Numbers = 0.0,
    v1: Numbers = 0.0,
    a0: Numbers = 0.0,
    a1: Numbers = 0.0,
) -> Trajectory:
    """The polynomial of seventh degree with given velocities and accelerations, and no jerk, at the
    ends; from rest to rest its jerk is continuous.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        duration: How long it takes, s.
        v0: Velocities at the start, rad/s or m/s, one number or one per joint.
        v1: Velocities at the end, rad/s or m/s.
        a0: Accelerations at the start, rad/s^2 or m/s^2.
        a1: Accelerations at the end, rad/s^2 or m/s^2.

    Returns:
        A `Trajectory`.

    Examples:
        >>> appell.control.septic([0.0], [1.0], 2.0)(1.0)[0]
        array([0.5])
    """
    return _polynomial("septic", q0, q1, duration, [(v0, v1), (a0, a1), (0.0, 0.0)])


def trapezoidal(
    q0: Numbers, q1: Numbers, speed: Numbers, acceleration: Numbers, duration: float | None = None
) -> Trajectory:
    """The fastest motion from rest to rest along a line of joint positions, with constant
    acceleration, constant velocity and constant deceleration. Accelerations jump.

    A short way has no time at constant velocity.

    Args:
        q0: Where it begins, (n,), rad or m.
        q1: Where it ends, (n,), rad or m.
        speed: What no joint exceeds, rad/s or m/s, one number or one per joint.
        acceleration: What no joint exceeds, rad/s^2 or m/s^2.
        duration: Slows the whole down, s; not shorter than the fastest.

    Returns:
        A `Trajectory`.

    Examples:
        >>> appell.control.trapezoidal([0.0], [1.0], speed=1.0, acceleration=2.0).duration
        1.5
    """
    start, end = ends("trapezoidal", q0, q1)
    way, n = np.abs(end - start), len(start)
    v = _fastest(way, limits("trapezoidal: speed", speed, n))
    a = _fastest(way, limits("trapezoidal: acceleration", acceleration, n))
    _refuse_rest("trapezoidal", v, "a quintic's duration")
    v = min(v, np.sqrt(a))  # half the way at most is spent on speeding up
    rise, least = v / a, 1 / v + v / a
    T = least if duration is None else number("trapezoidal: duration", duration)
    if least > T * (1 + 1e-12):
        raise InputError(
            f"trapezoidal: duration={T:g} s is too short; within these speeds and accelerations "
            f"the way takes {least:.6g} s."
        )
    slow = least / T
    v, a, rise = v * slow, a * slow * slow, rise / slow
    knots, c = [0.0, rise, T - rise, T], np.zeros((3, 3, 1))
    up = a * rise * rise / 2
    c[:, :, 0] = [[0, 0, a / 2], [up, v, 0], [1 - up, v, -a / 2]]
    if T - 2 * rise <= 1e-12 * T:
        knots, c = [0.0, T / 2, T], c[[0, 2]]
    return Timed("trapezoidal", _straight(start, end), Piecewise(np.array(knots), c))


def spline(points: Numbers, t: Numbers, *, ends: Ends = "clamped") -> Trajectory:
    """The cubic spline through points: accelerations are continuous, except at the ends.

    Args:
        points: Positions to pass, (m, n), rad or m.
        t: When, (m,), s, beginning with 0.
        ends: At its ends it rests ("clamped"), has no acceleration ("natural"), is smooth beyond
            one knot ("not-a-knot"), or goes round and round ("periodic").

    Returns:
        A `Trajectory`.

    Examples:
        >>> way = appell.control.spline([[0, 0], [1, 0.5], [0, 1]], [0, 1, 3])
        >>> way.duration
        3.0
    """
    from scipy.interpolate import CubicSpline

    at, q = times("spline: t", t), positions("spline: points", points, 2)
    if at.ndim != 1 or len(at) != len(q) or len(at) < 2:
        raise InputError(
            f"spline: {q.shape[0]} points and times of shape {at.shape}; expected a time for each "
            "of at least two points."
        )
    if at[0] != 0 or not (np.isfinite(at).all() and (np.diff(at) > 0).all()):
        raise InputError("spline: t must begin with 0 and increase from point to point.")
    one_of("spline: ends", ends, get_args(Ends))
    if ends == "periodic" and np.abs(q[0] - q[-1]).max() > 1e-9:
        raise InputError("spline: a periodic one ends where it begins.")
    if ends == "periodic":
        q[-1] = q[0]
    try:
        with np.errstate(all="ignore"):
            pieces = CubicSpline(at, q, bc_type=ends).c
    except ValueError:  # SciPy's, of slopes that are no numbers
        pieces = np.array(np.nan)
    if not np.isfinite(pieces).all():
        raise InputError(
            f"spline: points up to {np.abs(q).max():.3g} at times {np.diff(at).min():.3g} s apart, "
            "with which its accelerations are no numbers any more; expected smaller ones."
        )
    path = Piecewise(np.array(at), np.ascontiguousarray(np.moveaxis(pieces[::-1], 0, 1)))
    return Timed("spline", path, identity(float(at[-1])))


def identity(duration: float) -> Piecewise:
    """The law s = t."""
    return Piecewise(np.array([0.0, duration]), np.array([[[0.0], [1.0]]]))


def _polynomial(
    name: str, q0: Numbers, q1: Numbers, duration: float, derivatives: list[tuple[Any, Any]]
) -> Trajectory:
    start, end = ends(name, q0, q1)
    T, n = number(f"{name}: duration", duration), len(start)
    if not 1 / _LONGEST <= T <= _LONGEST:
        raise InputError(
            f"{name}: duration = {T:g} s, with which its accelerations are no numbers any more; "
            f"expected {1 / _LONGEST:g} to {_LONGEST:g} s."
        )
    at_ends = [np.array([start, end])]
    for order, pair in enumerate(derivatives):
        what = ("v0", "v1", "a0", "a1")[2 * order : 2 * order + 2] or ("jerk", "jerk")
        values = [positions(f"{name}: {w}", x, None, n) for w, x in zip(what, pair, strict=True)]
        at_ends.append(np.array([np.broadcast_to(x, n) for x in values]))
    knots = np.array([0.0, T])
    if any(np.any(x) for x in at_ends[1:]):
        return Timed(name, hermite(knots, at_ends), identity(T))
    zero = np.zeros((2, 1))
    law = hermite(knots, [np.array([[0.0], [1.0]]), *[zero] * len(derivatives)])
    return Timed(name, _straight(start, end), law)


def _straight(start: Array, end: Array) -> Piecewise:
    return Piecewise(np.array([0.0, 1.0]), np.array([[start, end - start]]))


def _fastest(way: Array, limit: Array) -> float:
    """How fast the whole way may be run through, 1/s, if each joint has a limit."""
    with np.errstate(divide="ignore"):
        return float(np.min(np.where(way > 0, limit / np.where(way > 0, way, 1.0), np.inf)))


def _refuse_rest(name: str, rate: float, instead: str) -> None:
    if rate == np.inf:
        raise InputError(
            f"{name}: q0 and q1 are the same, so the way takes no time; use {instead}."
        )
