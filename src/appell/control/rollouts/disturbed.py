"""Sensors, drives and friction of a rollout, as equations."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from appell.compile.trace import choose, clipped, nearest, random
from appell.maths.scalar import cos, sin, sqrt

List = Sequence[Any]
CHANNELS = 256  # of random numbers at a step


def quantised(q: List, step: List) -> list[Any]:
    """Positions as encoders count them; a step of zero is an exact one."""
    return [
        choose(0.0, s, s * nearest(x / choose(0.0, s, s, 1.0)), x)
        for x, s in zip(q, step, strict=True)
    ]


def normal(count: int, first: int, ids: List, at: List, key: List) -> list[Any]:
    """Independent normal random numbers of mean 0 and deviation 1, two from two uniform ones (Box
    and Muller, 1958); ``first`` is the number of their channel, and they take as many as there
    are."""
    found: list[Any] = []
    for k in range(0, count, 2):
        a, b = (random(ids, (at[0], at[1] + CHANNELS * (first + k + j)), key) for j in range(2))
        radius, angle = sqrt(-2.0 * _log(a)), (2 * pi) * b
        found += [radius * cos(angle), radius * sin(angle)]
    return found[:count]


def _log(x: Any) -> Any:
    return x.log()


def noisy(x: List, deviation: List, numbers: List) -> list[Any]:
    """x with random numbers added."""
    return [a + s * n for a, s, n in zip(x, deviation, numbers, strict=True)]


def late(asked: List, waiting: List, delay: Any) -> tuple[list[Any], list[Any]]:
    """What acts now, asked so many samples ago, and what waits then, the latest first."""
    n = len(asked)
    ages = [list(asked), *([*waiting[k : k + n]] for k in range(0, len(waiting), n))]
    acting = ages[-1]
    if not isinstance(delay, int | float):
        for age in reversed(range(len(ages) - 1)):
            acting = [
                choose(delay, age + 0.5, x, y) for x, y in zip(ages[age], acting, strict=True)
            ]
    return acting, [x for row in ages[:-1] for x in row]


def limited(tau: List, limit: List) -> list[Any]:
    """Within what the drives give."""
    return [clipped(x, -m, m) for x, m in zip(tau, limit, strict=True)]


def rubbing(v: List, viscous: List, coulomb: List, slip: float) -> list[Any]:
    """What friction takes: below the speed ``slip`` dry friction grows with the speed, so that
    steps of fixed length can follow it."""
    return [
        b * x + c * clipped(x / slip, -1.0, 1.0)
        for x, b, c in zip(v, viscous, coulomb, strict=True)
    ]
