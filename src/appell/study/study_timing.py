"""How long the inverse dynamics of a study take on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from timeit import repeat

import numpy as np

from appell.study.straight_line import StraightLine


@dataclass(frozen=True)
class Timing:
    """Seconds to make the kernel ready, for one call, and for one state of many in a call."""

    ready: float
    cached: bool
    call: float
    state: float
    states: int


def measure(study: StraightLine) -> Timing:
    """The best of several runs, on the states of the study: others can only slow a run down."""
    kernel = study.robot.kernel("inverse_dynamics")
    motions = list(study.motions.values())
    q, v, a = (np.concatenate([getattr(m, x) for m in motions]) for x in ("q", "v", "a"))
    one = q[0], v[0], a[0]
    call = quickest(lambda: kernel(*one), 100)
    state = quickest(lambda: kernel(q, v, a)) / len(q)
    return Timing(kernel.seconds_to_compile, kernel.cached, call, state, len(q))


def quickest(work: Callable[[], object], calls: int = 1, runs: int = 20) -> float:
    """Seconds that a call takes in the quickest of several runs: others can only slow one down."""
    work()
    return min(repeat(work, number=calls, repeat=runs)) / calls
