"""What is kept of a run: reductions, which are brought up to date at every sample.

A reduction is an equation of its own variable and of what it looks at, and the number that the
variable starts with. Samples are the times at which the law is asked, and the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

from appell.compile.trace import choose, largest
from appell.maths.scalar import sqrt


class Reduction(NamedTuple):
    """``update(value, *looks_at)`` gives the value after a sample."""

    looks_at: tuple[str, ...]
    axis: str  # of the value: one number, "" , or one for each of "n" speeds or "d" actuators
    start: float
    update: Callable[..., Any]
    finish: Callable[..., Any] | None = None  # (value, t, dt) -> the result, at the end


def _largest(worst: Sequence[Any], x: Sequence[Any]) -> list[Any]:
    return [largest(w, abs(y)) for w, y in zip(worst, x, strict=True)]


def _squares(total: Sequence[Any], x: Sequence[Any]) -> list[Any]:
    return [s + y * y for s, y in zip(total, x, strict=True)]


def _effort(total: Any, tau: Sequence[Any], dt: Any) -> Any:
    return total + dt * sum((x * x for x in tau[1:]), start=tau[0] * tau[0])


def _work(total: Any, tau: Sequence[Any], v: Sequence[Any], dt: Any) -> Any:
    """Before a step and after it, with the torques in it: by the trapezoidal rule."""
    power = [x * y for x, y in zip(tau, v, strict=True)]
    return total + dt / 2 * sum(power[1:], start=power[0])


def _settled(since: Any, error: Sequence[Any], tolerance: Sequence[Any], t: Any) -> Any:
    """The last sample's time at which an error was beyond its tolerance."""
    for e, limit in zip(error, tolerance, strict=True):
        since = choose(limit, abs(e), t, since)
    return since


def _or_never(since: Any, t: Any, dt: Any) -> Any:
    """The time of the sample after that; infinite if it was the last one. Times of samples are
    compared with each other alone: t + dt is not always the next one, for rounding."""
    return choose(since, 0.0, 0.0, choose(since, t, since + dt, inf))


def _root_mean(total: Sequence[Any], t: Any, dt: Any) -> list[Any]:
    samples = t / dt + 1
    return [sqrt(x / samples) for x in total]


def _violated(first: Any, excess: Sequence[Any], t: Any) -> Any:
    """The first time at which anything is beyond its limit."""
    for x in excess:
        first = choose(0.0, x, choose(t, first, t, first), first)
    return first


def _lost(first: Any, q: Sequence[Any], v: Sequence[Any], t: Any) -> Any:
    """The first time at which a number is not finite, or their sizes' sum is not."""
    total = sum((abs(x) for x in (*q[1:], *v)), start=abs(q[0]))
    return choose(total, inf, first, choose(t, first, t, first))


def _least(margin: Any, now: Any) -> Any:
    return choose(now, margin, now, margin)


def _singular(first: Any, margin: Any, t: Any) -> Any:
    """The first time at which loops are so near to a singular configuration that steps of fixed
    length cannot follow them."""
    return choose(margin, SINGULAR, choose(t, first, t, first), first)


def _unsolved(first: Any, unsolved: Any, t: Any) -> Any:
    """The first time at which the equation of an implicit step was not solved."""
    return choose(0.5, unsolved, choose(t, first, t, first), first)


NEVER = -1.0  # a time before the first sample
SINGULAR = 0.02  # of 1, the best margin
REDUCTIONS: dict[str, Reduction] = {
    "worst_error": Reduction(("error",), "n", 0.0, _largest),
    "rms_error": Reduction(("error",), "n", 0.0, _squares, _root_mean),
    "peak_torque": Reduction(("tau",), "d", 0.0, _largest),
    "peak_speed": Reduction(("v",), "n", 0.0, _largest),
    "effort": Reduction(("tau", "dt"), "", 0.0, _effort),
    "work": Reduction(("tau", "moving", "dt"), "", 0.0, _work),
    "settling_time": Reduction(("error", "tolerance", "t"), "", NEVER, _settled, _or_never),
    "beyond_limits": Reduction(("beyond",), "", 0.0, lambda before, beyond: beyond),
    "first_violation": Reduction(("excess", "t"), "", inf, _violated),
    "failed_at": Reduction(("q", "v", "t"), "", inf, _lost),
    "least_margin": Reduction(("margin",), "", 1.0, _least),
    "singular_at": Reduction(("margin", "t"), "", inf, _singular),
    "unsolved_at": Reduction(("unsolved", "t"), "", inf, _unsolved),
}
# What is computed from the first and the last state alone.
ENDS = ("energy", "final_error", "success")
NOT_AT_END = ("peak_torque", "effort", "work")  # torques act until then
# Always there, where the robot or the integrator has it.
UNASKED = ("first_violation", "failed_at", "least_margin", "singular_at", "unsolved_at")
FAILURES = ("failed_at", "singular_at", "unsolved_at")  # times; results of such runs are invalid
