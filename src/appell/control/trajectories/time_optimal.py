"""The fastest motion along a path that the motors can give.

Along a path q(s) the joint forces are tau = a(s) s'' + b(s) s'^2 + c(s), with a = M q',
b = M q'' + C(q, q') q' and c = g: linear in u = s'' and x = s'^2 (Bobrow, Dubowsky and Gibson
1985). On a grid of s, from the end back, the largest x is found from which the end can still be
reached; then, from the start on, u is always the largest that stays below it (Pham and Pham
2018, "TOPP-RA"). In one interval u is constant, and limits are kept at both of its ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.control.trajectories.piecewise import Piecewise
from appell.control.trajectories.trajectory import Timed, Trajectory
from appell.errors import InputError
from appell.given import limits
from appell.robots.robot import Array, Numbers, Robot

_MOST = 1e12  # x where nothing limits it


class Rows(NamedTuple):
    """low <= a u + b x + c <= high at each point of the grid: each (points, rows)."""

    a: Array
    b: Array
    c: Array
    low: Array
    high: Array


class LineBounds(NamedTuple):
    """u >= lower[0] + lower[1] x, u <= upper[0] + upper[1] x, and x within bounds."""

    lower: Array  # (2, rows)
    upper: Array
    least: float
    most: float


def time_optimal(
    robot: Robot,
    path: Trajectory,
    torque: Numbers | None = None,
    speed: Numbers | None = None,
    acceleration: Numbers | None = None,
    *,
    points: int = 500,
) -> Trajectory:
    """The fastest motion along the path of a trajectory, from rest to rest, within limits. Friction
    is not counted.

    Velocities are continuous, accelerations and torques jump.

    Args:
        robot: Whose dynamics counts.
        path: The trajectory whose path is kept.
        torque: The largest, N m or N, one number or one per joint; the robot's own without it.
        speed: The largest, rad/s or m/s; the robot's own without it.
        acceleration: The largest, rad/s^2 or m/s^2; none without it.
        points: Intervals of the path in which its acceleration s'' is constant.

    Returns:
        A `Trajectory`.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> slow = appell.control.quintic([0, 0], [1, 0.5], 5.0)
        >>> fast = appell.control.time_optimal(arm, slow, torque=60, speed=3, points=100)
        >>> fast.duration < slow.duration
        True
    """
    if not isinstance(path, Timed):
        raise InputError(
            f"time_optimal: path={path!r}; expected a trajectory of one piece, such as a line, "
            "whose timing is to be replaced."
        )
    if path.n != robot.nv or robot.nq != robot.nv:
        raise InputError(
            f"time_optimal: the path moves {path.n} joints, and '{robot.name}' has {robot.nv} with "
            f"{robot.nq} coordinates; expected as many."
        )
    if not isinstance(points, int | np.integer) or not 10 <= points <= 100_000:
        raise InputError(f"time_optimal: points={points!r}; expected from 10 to 100,000 intervals.")
    n, joints = robot.nv, robot.model.joints
    tau = limits(
        "time_optimal: torque", [j.effort for j in joints] if torque is None else torque, n
    )
    v = limits("time_optimal: speed", [j.speed for j in joints] if speed is None else speed, n)
    a = limits("time_optimal: acceleration", np.inf if acceleration is None else acceleration, n)
    if not np.isfinite([*tau, *a]).any():
        raise InputError(
            "time_optimal: no joint's torque or acceleration is limited, so there is no fastest "
            "motion; give torque."
        )
    s = np.linspace(0, path.path.length, points + 1)
    q, q1, q2 = path.path(s)
    _refuse_stop(s, q1)
    rows = _rows(robot, (q, q1, q2), tau, a)
    _refuse_weak(robot, s, rows, tau)
    x = _profile(s, rows, _speed_limit(q1, v))
    return Timed("time-optimal", path.path, _law(s, x))


def _rows(robot: Robot, path: tuple[Array, Array, Array], tau: Array, acceleration: Array) -> Rows:
    """The limits of torques and of accelerations; those that are infinite are left out."""
    q, q1, q2 = path
    zero = np.zeros_like(q)
    c = robot.inverse_dynamics(q, zero, zero)
    a = robot.inverse_dynamics(q, zero, q1) - c
    b = robot.inverse_dynamics(q, q1, q2) - c
    some, more = np.isfinite(tau), np.isfinite(acceleration)
    high = np.concatenate([tau[some], acceleration[more]])
    return Rows(
        np.concatenate([a[:, some], q1[:, more]], axis=1),
        np.concatenate([b[:, some], q2[:, more]], axis=1),
        np.concatenate([c[:, some], zero[:, more]], axis=1),
        np.broadcast_to(-high, (len(q), len(high))),
        np.broadcast_to(high, (len(q), len(high))),
    )


def _speed_limit(q1: Array, v: Array) -> Array:
    """The largest x, (points,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fastest = np.where(np.abs(q1) > 0, v / np.abs(q1), np.inf)
    return np.minimum(fastest.min(axis=1) ** 2, _MOST)


def _profile(s: Array, rows: Rows, most: Array) -> Array:
    """x at the points: the reachable ends backwards, the greatest steps forwards."""
    step = np.diff(s)
    low, high = np.zeros(len(s)), most.copy()
    low[-1] = high[-1] = 0.0
    lines = [_lines(rows, k, step[k], most) for k in range(len(step))]
    for k in reversed(range(len(step))):
        low[k], high[k] = _interval(lines[k], _next(step[k], low[k + 1], high[k + 1]))
        if not low[k] <= high[k]:
            raise InputError(_stuck(s, k))
    if low[0] > 0:
        raise InputError(_stuck(s, 0))
    x = np.zeros(len(s))
    for k, line in enumerate(lines):
        upper = np.minimum(line.upper[0] + line.upper[1] * x[k], np.inf).min(initial=np.inf)
        greatest = x[k] + 2 * step[k] * upper
        x[k + 1] = np.clip(greatest, low[k + 1], high[k + 1])
        if x[k + 1] <= 0 and k + 1 < len(step):
            raise InputError(_stuck(s, k))
    return x


def _lines(rows: Rows, k: int, step: float, most: Array) -> LineBounds:
    """The limits at both ends of an interval, solved for u: x is at its beginning, and x + 2 step u
    at its end."""
    a = np.concatenate([rows.a[k], rows.a[k + 1] + 2 * step * rows.b[k + 1]])
    b, c, low, high = (np.concatenate([part[k], part[k + 1]]) for part in rows[1:])
    steep = np.abs(a) > 1e-14 * (1 + np.abs(b) * step)
    first = np.where(a > 0, low, high)[steep]
    last = np.where(a > 0, high, low)[steep]
    slope = -b[steep] / a[steep]
    lower = np.array([(first - c[steep]) / a[steep], slope])
    upper = np.array([(last - c[steep]) / a[steep], slope])
    least, greatest = 0.0, float(most[k])
    for bk, ck, lk, hk in zip(b[~steep], c[~steep], low[~steep], high[~steep], strict=True):
        if abs(bk) > 1e-14:
            sides = sorted(((lk - ck) / bk, (hk - ck) / bk))
            least, greatest = max(least, sides[0]), min(greatest, sides[1])
    return LineBounds(lower, upper, least, greatest)


def _next(step: float, low: float, high: float) -> tuple[Array, Array]:
    """u brings x into an interval: as a lower and an upper line."""
    slope = -1 / (2 * step)
    return np.array([[-low * slope], [slope]]), np.array([[-high * slope], [slope]])


def _interval(lines: LineBounds, following: tuple[Array, Array]) -> tuple[float, float]:
    """The x for which some u is above all lower lines and below all upper ones: each pair of a
    lower and an upper line bounds x."""
    lower = np.concatenate([lines.lower, following[0]], axis=1)
    upper = np.concatenate([lines.upper, following[1]], axis=1)
    slope = lower[1][:, None] - upper[1]
    room = upper[0] - lower[0][:, None]
    flat = np.abs(slope) <= 1e-14 * (np.abs(lower[1][:, None]) + np.abs(upper[1]))
    if (room[flat] < -1e-9 * (np.abs(lower[0]).max() + np.abs(upper[0]).max())).any():
        return np.inf, -np.inf
    bound = room / np.where(flat, 1.0, slope)
    most = bound[~flat & (slope > 0)].min(initial=lines.most)
    least = bound[~flat & (slope < 0)].max(initial=lines.least)
    return float(least), float(most)


def _law(s: Array, x: Array) -> Piecewise:
    """s(t), of second degree in each interval."""
    step, speed = np.diff(s), np.sqrt(x)
    t = np.concatenate([[0.0], np.cumsum(2 * step / (speed[1:] + speed[:-1]))])
    u = np.diff(x) / (2 * step)
    return Piecewise(t, np.stack([s[:-1], speed[:-1], u / 2], axis=1)[:, :, None])


def _refuse_stop(s: Array, q1: Array) -> None:
    size = np.abs(q1).max(axis=1)
    k = int(np.argmin(size))
    if size[k] < 1e-9 * size.max():
        raise InputError(
            f"time_optimal: the path stands still at s = {s[k]:.4g}, where its derivative "
            "vanishes; expected one that always moves, such as a spline with ends='natural'."
        )


def _refuse_weak(robot: Robot, s: Array, rows: Rows, tau: Array) -> None:
    """At rest the motors must hold the arm."""
    held = np.abs(rows.c[[0, -1], : int(np.isfinite(tau).sum())])
    excess = held - tau[np.isfinite(tau)]
    if excess.size and excess.max() >= 0:
        k, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        joint = np.nonzero(np.isfinite(tau))[0][j]
        raise InputError(
            f"time_optimal: at s = {s[[0, -1]][k]:.4g} joint '{robot.joint_names[joint]}' needs "
            f"{held[k, j]:.4g} to hold the arm, and its torque is limited to {tau[joint]:.4g}; "
            "expected motors that hold it where it rests."
        )


def _stuck(s: Array, k: int) -> str:
    return (
        f"time_optimal: no motion from rest to rest stays within the limits near s = {s[k]:.4g} of "
        f"{s[-1]:.4g}; expected larger limits, more points, or a smoother path."
    )
