"""Runge-Kutta methods as data: Butcher's tableaux, and a step of one over any scalar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appell.errors import InputError
from appell.maths.scalar import Scalar

Rows = Sequence[Sequence[float]]
Rate = Callable[[Scalar, list[Scalar]], Sequence[Scalar]]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method, written down as its coefficients.

    The rates are ``k[0] = f(t, y)`` and ``k[i] = f(t + c[i-1] h, y + h sum_j a[i-1][j] k[j])``; the
    step ends at ``y + h sum_i b[i] k[i]``. The rate at the end of the step is one more k.

    Args:
        name: Of the method.
        c: Times of the stages after the first, as parts of the step.
        a: Rows of weights of the rates before each stage.
        b: Weights of the rates for the step.
        errors: Weights of all these k: h sum_i e[i] k[i] estimates the error of a step. A second
            row refines the estimate as DOP853 does (Hairer, Norsett and Wanner, section II.10).
            Without a row, steps have a fixed length.
        order: The estimate is proportional to h^(order + 1).
        more_c: Times of stages that only the inside of a step needs.
        more_a: Their rows.
        dense: Gives at a share x of the step the weights w of all k, y + h sum_i w[i] k[i]. Without
            it, a cubic polynomial joins the ends of the step.

    Examples:
        >>> midpoint = appell.simulation.Tableau("midpoint", c=(0.5,), a=((0.5,),), b=(0.0, 1.0))
        >>> chain, steps = appell.load("planar_chain"), {"method": midpoint, "max_step": 1e-3}
        >>> run = appell.simulate(chain, [0.3, 0.2, 0.1], until=0.1, **steps)
        >>> run.stopped is None
        True
    """

    name: str
    c: Sequence[float]
    a: Rows
    b: Sequence[float]
    errors: Rows = ()
    order: int = 0
    more_c: Sequence[float] = ()
    more_a: Rows = ()
    dense: Callable[[float], Sequence[float]] | None = None

    def __post_init__(self) -> None:
        stages, rows = len(self.b), list(zip(self.c, self.a, strict=False))
        if len(self.c) != stages - 1 or len(self.a) != stages - 1:
            self._refuse(
                f"{len(self.c)} times in c and {len(self.a)} rows of a, where b has {stages} "
                f"weights; expected {stages - 1} of each, the first stage has none"
            )
        if abs(sum(self.b) - 1) > 1e-9:
            self._refuse(f"the weights b add up to {sum(self.b):.6g}; expected 1")
        for k, (c, row) in enumerate(rows, start=1):
            if len(row) > k or abs(sum(row) - c) > 1e-9:
                self._refuse(
                    f"row {k} of a has {len(row)} weights that add up to {sum(row):.6g}; expected "
                    f"{k} at most, and {c:.6g}"
                )
        if any(len(row) > stages + 1 + k for k, row in enumerate(self.more_a)):
            self._refuse("a row of more_a weighs rates that come after its own")
        wrong = [row for row in self.errors if len(row) != stages + 1]
        if wrong or len(self.errors) > 2 or (self.errors and self.order < 1):
            self._refuse(
                f"errors = {self.errors} of order {self.order}; expected one row or two of "
                f"{stages + 1} weights, the last for the end of the step, and an order above 0"
            )

    def _refuse(self, problem: str) -> None:
        raise InputError(f"Tableau '{self.name}': {problem}.")


RK4 = Tableau(
    "RK4",
    c=(1 / 2, 1 / 2, 1),
    a=((1 / 2,), (0, 1 / 2), (0, 0, 1)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
)


def fixed_step(
    tableau: Tableau,
    rate: Rate,
    y: Sequence[Scalar],
    h: Scalar,
    first: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """The state y, a sequence of any scalars, after a step h.

    ``rate`` takes the time since the step began and a state; ``first`` is its value at the
    beginning, where that is known already.
    """
    k = [rate(0 * h, list(y)) if first is None else first]
    for c, row in zip(tableau.c, tableau.a, strict=True):
        k.append(rate(c * h, _moved(y, h, row, k)))
    return _moved(y, h, tableau.b, k)


def _moved(
    y: Sequence[Scalar], h: Scalar, weights: Sequence[float], k: Sequence[Sequence[Scalar]]
) -> list[Scalar]:
    used = [(w * h, rates) for w, rates in zip(weights, k, strict=False) if w]
    moved = list(y)
    for share, rates in used:
        moved = [x + share * dx for x, dx in zip(moved, rates, strict=True)]
    return moved
