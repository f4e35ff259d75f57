"""Steps in time: explicit Runge-Kutta methods from their tableaux, and SciPy's implicit ones.

A tableau is data (`appell.maths.tableau.Tableau`): a new method is a new tableau. Steps are
as long as the error estimate allows, by the rules of Hairer, Norsett and Wanner (section II.4)
as SciPy has them, so that DOP853, RK45 and RK23 take the very steps of SciPy's; without an
estimate all steps are equally long. SciPy's own classes spend most of their time between the
evaluations of a robot's motion: docs/speed.md shows by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.maths.tableau import RK4, Tableau
from appell.robots.dynamics import Array
from appell.simulation.path import NODES, Piece

Rate = Callable[[float, Array], Array]

EXPLICIT: dict[str, Tableau | None] = {  # by name; None: SciPy has its coefficients
    "DOP853": None, "RK45": None, "RK23": None, "RK4": RK4,
}  # fmt: skip
IMPLICIT = ("Radau", "BDF")
SMALLEST_RTOL = 100 * float(np.finfo(float).eps)
_SAFETY, _SHRINK, _GROWTH = 0.9, 0.2, 10.0  # of the next step, by the last one


class Failed(Exception):
    """No step meets the tolerances; the message says why."""


def steps(
    method: str | Tableau, rate: Rate, t: float, y: Array, until: float, *, rtol: float,
    atol: float, max_step: float = inf,
) -> Stepper | ImplicitStepper:  # fmt: skip
    """The steps of a motion y' = rate(t, y) from a state on, by a method of some name or tableau.

    ``rate`` may be given the same array again with other numbers, and must not keep it.
    """
    if method in IMPLICIT:
        return ImplicitStepper(str(method), rate, t, y, until, rtol, atol, max_step)
    stepper = Stepper(tableau(method), rate, len(y), rtol, atol, max_step)
    stepper.begin(t, y, until)
    return stepper


def tableau(method: str | Tableau) -> Tableau:
    """The tableau of an explicit method, given as itself or by name."""
    if isinstance(method, Tableau):
        return method
    if method not in EXPLICIT:
        raise InputError(
            f"method = {method!r}; expected one of {', '.join(EXPLICIT)}, or a Tableau."
        )
    return EXPLICIT[method] or _of_scipy(method)


@lru_cache
def _of_scipy(name: str) -> Tableau:
    """The tableau that a class of SciPy's has as attributes."""
    import scipy.integrate

    known: Any = getattr(scipy.integrate, name)
    eighth = name == "DOP853"
    powers: Any = None if eighth else np.arange(1, known.P.shape[1] + 1)
    return Tableau(
        name,
        c=known.C[1:].tolist(),
        a=[row[:k].tolist() for k, row in enumerate(known.A[1:], start=1)],
        b=known.B.tolist(),
        errors=[known.E5.tolist(), known.E3.tolist()] if eighth else [known.E.tolist()],
        order=known.error_estimator_order,
        more_c=known.C_EXTRA.tolist() if eighth else (),
        more_a=[x[:k].tolist() for k, x in enumerate(known.A_EXTRA, 13)] if eighth else (),
        dense=_dense_of_order_seven(known) if eighth else lambda x: known.P @ x**powers,
    )


def _dense_of_order_seven(known: Any) -> Callable[[float], Any]:
    """The weights of DOP853's sixteen rates within a step (Hairer's contd8)."""
    b, unit = np.append(known.B, np.zeros(4)), np.eye(16)
    rows = [b, unit[0] - b, 2 * b - unit[12] - unit[0], *known.D]

    def dense(x: float) -> Any:
        weights = np.zeros(16)
        for k, row in enumerate(reversed(rows)):
            weights = (weights + row) * (x if k % 2 == 0 else 1 - x)
        return weights

    return dense


@lru_cache(maxsize=64)
def _weights(method: Tableau) -> tuple[list[tuple[float, Any, int]], list[Any], Array]:
    """The times, rows and widths of all stages after the first, the rows of errors, and the weights
    of all rates at the nodes of a piece, (8, rates). A row stands as what multiplies by it: a
    method of an array is called twice as fast as np.dot."""
    times, rows = (*method.c, 1.0, *method.more_c), (*method.a, method.b, *method.more_a)
    stages = [
        (time, np.array(row, dtype=float).dot, len(row))
        for time, row in zip(times, rows, strict=True)
    ]
    return stages, [np.array(row, dtype=float).dot for row in method.errors], _inside(method)


def _inside(method: Tableau) -> Array:
    if method.dense is not None:
        return np.array([method.dense(float(x)) for x in NODES])
    # The cubic polynomial that has the states and rates of both ends (Hermite).
    x = NODES[:, None]
    first, last = np.eye(len(method.b) + 1)[[0, -1]]
    rise = np.append(method.b, 0.0)
    return x * (1 - x) ** 2 * first + x * x * (x - 1) * last + x * x * (3 - 2 * x) * rise


class Stepper:
    """Steps of an explicit method, as long as the tolerances allow."""

    def __init__(
        self,
        method: Tableau,
        rate: Rate,
        n: int,
        rtol: float,
        atol: float,
        max_step: float = inf,
        smallest: float = 0.0,
    ) -> None:
        self.method, self.rate, self.n = method, rate, n
        self.max_step, self.smallest = max_step, smallest
        self.rtol, self.atol = np.array(rtol), np.array(atol)  # faster than floats
        self.stages = count = len(method.b)
        self.rates = np.empty((count + 1 + len(method.more_c), n))  # all k of the last trial
        self.K = self.rates[: count + 1]  # without those for the inside of a step
        self.stage = np.empty(n)  # the state at which a rate is asked for
        rows, self.errors, self.inside = _weights(method)
        # When, which rate, by its row of weights, of which rates.
        plan = [
            (time, self.rates[k], row, self.rates[:width])
            for k, (time, row, width) in enumerate(rows, start=1)
        ]
        self.plan, self.more = plan[:count], plan[count:]
        self.exponent = -1 / (method.order + 1)
        self.h: float | None = None  # the next step's length, as far as it is known

    def begin(self, t: float, y: Array, until: float) -> None:
        """Start, or start anew, from a state; the length of steps is kept."""
        self.t, self.y, self.until = t, y, until
        self.f = self._rate(t, y)
        if self.h is None:
            with np.errstate(over="ignore", invalid="ignore"):  # step() tells what overflows
                self.h = self._first() if self.errors else inf

    def put(self, y: Array) -> None:
        """Go on from a corrected state."""
        self.y = y
        self.f = self._rate(self.t, y)

    def step(self) -> None:
        """Take one step, at most to the end; raise Failed if none is good enough."""
        assert self.h is not None
        t = self.t
        least = max(10 * (nextafter(t, inf) - t), self.smallest)
        h = self.max_step if self.h > self.max_step else max(self.h, least)
        rejected = False
        while True:
            if h < least:
                raise Failed("the step that its tolerances ask for is too short for float64")
            end = t + h if t + h < self.until - least else self.until  # no splinter is left
            h = end - t
            new, error = self.trial(t, self.y, h)
            if error < 1:
                break
            h *= max(_SHRINK, _SAFETY * error**self.exponent)
            rejected = True
        self._take(end, h, new)
        if self.errors:
            factor = min(_GROWTH, _SAFETY * error**self.exponent) if error else _GROWTH
            self.h = h * (min(1.0, factor) if rejected else factor)

    def again(self, h: float, end: float) -> None:
        """Take the last step again, and make it shorter."""
        self.t, self.y, self.f = self.before
        self._take(end, h, self.trial(self.t, self.y, h)[0])

    def _take(self, end: float, h: float, new: Array) -> None:
        self.before, self.length = (self.t, self.y, self.f), h
        self.t, self.y, self.f = end, new, self.last

    def trial(self, t: float, y: Array, h: float) -> tuple[Array, float]:
        """The state after h, and its error by the measure of the tolerances."""
        self.K[0] = self.f
        self.last = self._evaluate(self.plan, t, y, h)
        new = self.stage.copy()
        return new, self._error(y, new, h) if self.errors else 0.0

    def _evaluate(self, plan: list[Any], t: float, y: Array, h: float) -> Any:
        """The last of the rates of some stages, one after another."""
        stage, rate, length = self.stage, self.rate, np.array(h)
        k = None
        for time, following, weighed, rates in plan:
            weighed(rates, stage)
            stage *= length
            stage += y
            following[:] = k = rate(t + time * h, stage)
        return k

    def _error(self, y: Array, new: Array, h: float) -> float:
        """The error of a step by the tolerances; above 1 it is too large."""
        scale = np.maximum(np.abs(y), np.abs(new))
        scale *= self.rtol
        scale += self.atol
        errors = [weighed(self.K) for weighed in self.errors]
        if len(errors) == 1:
            return _size(errors[0] * h / scale) / sqrt(self.n)
        square, other = (_size(e / scale) ** 2 for e in errors)
        mixed = square + 0.01 * other
        return h * square / sqrt(mixed * self.n) if mixed else 0.0

    def piece(self) -> Piece:
        """The last step as a polynomial."""
        t, y, _ = self.before
        h = self.length
        self._evaluate(self.more, t, y, h)
        nodes = self.inside @ self.rates
        nodes *= h
        nodes += y
        nodes[-1] = self.y
        return Piece(t, self.t, nodes, self.t)

    def _rate(self, t: float, y: Array) -> Array:
        self.stage[:] = y
        return self.rate(t, self.stage)

    def _first(self) -> float:
        """A first step (Hairer, Norsett and Wanner, section II.4)."""
        t, y, f, whole = self.t, self.y, self.f, self.until - self.t
        scale, root = self.atol + np.abs(y) * self.rtol, sqrt(self.n)
        d0, d1 = _size(y / scale) / root, _size(f / scale) / root
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, whole)
        if not h0 > 0:  # rates that overflow: step() tries, and says that it cannot go on
            return 0.0
        d2 = _size((self._rate(t + h0, y + h0 * f) - f) / scale) / root / h0
        if d1 <= 1e-15 and d2 <= 1e-15:
            h1 = max(1e-6, h0 * 1e-3)
        else:
            h1 = (0.01 / max(d1, d2)) ** -self.exponent
        h = min(100 * h0, h1, whole, self.max_step)
        return h if h > 0 else 0.0


def _size(x: Array) -> float:
    return sqrt(float(x.dot(x)))


class ImplicitStepper:
    """The steps of one of SciPy's implicit methods, with the methods of a `Stepper`."""

    def __init__(
        self, name: str, rate: Rate, t: float, y: Array, until: float, rtol: float, atol: float,
        max_step: float,
    ) -> None:  # fmt: skip
        import scipy.integrate

        kind, options = getattr(scipy.integrate, name), {"rtol": rtol, "atol": atol}
        self.begin = partial(kind, rate, t_bound=until, **options)
        self.solver = self.begin(t, y, max_step=max_step)
        self.t, self.y, self.max_step = t, y, max_step

    def step(self) -> None:
        """Take one step; raise Failed if none is good enough."""
        self.solver.max_step = self.max_step
        problem = self.solver.step()
        if self.solver.status == "failed":
            raise Failed(problem)
        self.t, self.y = float(self.solver.t), self.solver.y

    def put(self, y: Array) -> None:
        """Go on from a corrected state."""
        self.y, left = y, self.solver.t_bound - self.t
        if left > 0:
            first = min(self.solver.step_size, left)
            self.solver = self.begin(self.t, y, max_step=self.max_step, first_step=first)

    def piece(self) -> Piece:
        """The last step as a polynomial."""
        start, full = self.solver.t_old, self.solver.t
        y = self.solver.dense_output()(start + (full - start) * NODES).T.copy()
        y[-1] = self.y
        return Piece(start, full, y, full)
