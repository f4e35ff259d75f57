"""Stribeck's friction: at low speed a joint rubs more,

    tau_f = fv v + (fc + fs exp(-|v / vs|^delta)) sign(v).

For given vs and delta it is linear; these are found by variable projection (Golub and Pereyra
1973): candidates of vs for all joints in one pass over the samples, then Gauss-Newton steps, each
a linear problem with the derivatives by log vs and log delta as further columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.identify.base.entries import Places
from appell.identify.estimate import solve
from appell.identify.estimate.samples import Samples
from appell.identify.estimate.solve import Solution, Triangles
from appell.identify.estimate.task import More, Task
from appell.robots.robot import Array

_CANDIDATES = np.logspace(-2.5, 0, 11)  # of vs, by a joint's typical speed
_STEPS = 30
_FARTHEST = 0.7  # a step of log vs


def bump(v: Array, speed: Array | float, exponent: Array | float) -> Array:
    """exp(-|v / vs|^delta) sign(v)."""
    return np.sign(v) * np.exp(-(np.abs(v / speed) ** exponent))


def exponent_of(given: Any) -> float | None:
    """The exponent to hold, or None to find it: from stribeck=True, or {"delta": ...}."""
    if given is True:
        return 2.0
    if isinstance(given, dict) and set(given) <= {"delta"}:
        delta = given.get("delta", 2.0)
        if delta is None or (isinstance(delta, (int, float)) and 0 < delta <= 10):
            return delta
    raise InputError(
        f"stribeck={given!r}: expected True (delta = 2), or {{'delta': a number up to 10}}, or "
        "{'delta': None} to find it."
    )


@dataclass(frozen=True)
class Found:
    """The data with Stribeck's columns, the solution, and by joint fs, vs and delta with their
    standard deviations."""

    data: Triangles
    solution: Solution
    values: dict[str, Array]
    deviations: dict[str, Array]


def stribeck(task: Task, samples: Samples, delta: float | None) -> Found:
    """The estimate with Stribeck's friction; ``delta`` is found where it is None."""
    n, free = task.joints, 1 if delta is not None else 2
    theta = np.zeros((2, n))
    theta[0] = np.log(_first(task, samples, 2.0 if delta is None else delta))
    theta[1] = np.log(2.0 if delta is None else delta)
    now = _at(task, samples, theta, free)
    for _ in range(_STEPS):
        step = np.zeros((2, n))
        whole = _joint(task, now.data, now.amplitude, free)
        step[:free] = whole.x[task.count + n :].reshape(free, n)
        step = np.clip(step, -_FARTHEST, _FARTHEST)
        if np.abs(step).max(initial=0.0) < 1e-6:
            break
        for share in (1.0, 0.25, 0.06):
            tried = _at(task, samples, theta + share * step, free, now.weights)
            if tried.cost < now.cost:
                break
        else:
            break
        settled = now.cost - tried.cost <= 1e-10 * now.cost
        theta, now = theta + share * step, tried
        if settled:
            break
    return _found(task, now, theta, free)


@dataclass(frozen=True)
class _State:
    data: Triangles  # with columns for fs, and for the derivatives
    solution: Solution
    weights: Array
    cost: float
    amplitude: Array


def _at(
    task: Task, samples: Samples, theta: Array, free: int, weights: Array | None = None
) -> _State:
    """The linear problem at some vs and delta."""
    vs, delta = np.exp(theta)

    def more(j: int, v: Array) -> list[Array]:
        s = bump(v, vs[j], delta[j])
        u = np.abs(v / vs[j]) ** delta[j]
        by_delta = -s * u * np.log(np.maximum(u, 1e-300))
        return [s, s * delta[j] * u, by_delta][: 1 + free]

    data = _compressed(task, samples, more, 1 + free)
    plain = solve.only(data, np.arange(task.count + task.joints))
    prior = np.append(task.start, np.zeros(task.joints))
    w = solve.noise_weights(solve.ordinary(plain, prior).noise) if weights is None else weights
    found = solve.ordinary(plain, prior, w)
    cost = float(np.sum(plain.squares(found.x) * w**2))
    return _State(data, found, w, cost, found.x[task.count :])


def _compressed(task: Task, samples: Samples, more: More, each: int) -> Triangles:
    """All samples in triangles, with so many further columns per joint."""
    n = task.joints
    columns = tuple(
        np.r_[places, task.count + n * np.arange(each) + j] for j, places in enumerate(task.columns)
    )
    count = task.count + each * n
    return samples.compressed(lambda block: task.rows(block, more), columns, count)


def _joint(task: Task, data: Triangles, amplitude: Array, free: int) -> Solution:
    """All unknowns at once, vs and delta by their logarithms."""
    n = task.joints
    factor = np.concatenate([np.ones(task.count + n), np.tile(amplitude, free)])
    whole = solve.only(data, np.arange(data.count), factor)
    prior = np.concatenate([task.start, np.zeros(n * (1 + free))])
    return solve.weighted(whole, prior)


def _first(task: Task, samples: Samples, delta: float) -> Array:
    """For each joint the candidate of vs that leaves least, the others as they are."""
    n, m, speeds = task.joints, len(_CANDIDATES), samples.watch.speeds

    def bumps(j: int, v: Array) -> list[Array]:
        return [bump(v, speeds[j] * c, delta) for c in _CANDIDATES]

    data = _compressed(task, samples, bumps, m)
    chosen = np.full(n, m // 2)

    def left(chosen: Places) -> float:
        unknowns = np.r_[: task.count, task.count + n * chosen + np.arange(n)]
        part = solve.only(data, unknowns)
        found = solve.ordinary(part, np.append(task.start, np.zeros(n)))
        return float(np.sum(part.squares(found.x)))

    for _ in range(2):
        for j in range(n):
            tries = [np.where(np.arange(n) == j, k, chosen) for k in range(m)]
            chosen = min(tries, key=left)
    return speeds * _CANDIDATES[chosen]


def _found(task: Task, now: _State, theta: Array, free: int) -> Found:
    n, first = task.joints, task.count
    whole = _joint(task, now.data, now.amplitude, free)
    known = np.arange(first + n)
    solution = replace(now.solution, covariance=whole.covariance[np.ix_(known, known)])
    deviation = np.sqrt(np.maximum(np.diag(whole.covariance), 0.0))
    vs, delta = np.exp(theta)
    values = {"stribeck": now.amplitude, "speed": vs, "exponent": delta}
    of_log = deviation[first + n :].reshape(free, n)
    deviations = {
        "stribeck": deviation[first : first + n],
        "speed": vs * of_log[0],
        "exponent": delta * of_log[1] if free == 2 else np.zeros(n),
    }
    plain = solve.only(now.data, known)
    return Found(plain, solution, values, deviations)
