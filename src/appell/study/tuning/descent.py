"""Descent along derivatives: sequential quadratic programming (Kraft 1988), by `scipy.optimize`'s
SLSQP, with derivatives of the rollouts.

The worst of the samples is no smooth function. It is minimised as the least t that none of them
exceeds: a variable more, and a constraint for each sample and joint (the epigraph form). A
constraint on the worst is one for each of them, too. A quantile, and the largest of the joints
within a mean, have the derivatives of the sample or joint that they are at the moment (a
subgradient).
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.robots.dynamics import Array
from appell.study.sweeps.storage.block_table import Columns
from appell.study.sweeps.tuning_section import TuneSection
from appell.study.tuning.aims import Aim, Evaluation
from appell.study.tuning.evaluator import Evaluator
from appell.study.tuning.evolution import Ended, counted
from appell.study.tuning.slopes import NoSlopeError, Row, Slopes

TOLERANCE = 1e-6
_INSIDE = 2.0  # tolerances that bounds are kept from within, as SLSQP keeps them to one
_BEYOND = 1e6  # of the objective at the start: what is told of parameters with failed samples


class _Terms:
    """The numbers of an aim that are smooth: one, or with the worst one for each sample and joint.
    They are counted as bad: what is to be large has the other sign."""

    def __init__(self, aim: Aim, slopes: Slopes, count: int) -> None:
        self.aim, self.count = aim, count
        numbered = (f"{aim.column}.{k}" for k in range(len(slopes.measures)))
        self.parts = list(takewhile(slopes.measures.__contains__, numbered)) or [aim.column]
        # The least over samples of the largest of joints is not split into joints.
        self.split = aim.over == "worst" and (aim.sign > 0 or len(self.parts) == 1)

    def table(self, columns: Columns) -> Array:
        """Values of all samples and joints, (samples, joints)."""
        return np.stack([columns[name] for name in self.parts], axis=1)

    def values(self, table: Array) -> Array:
        """The terms."""
        if self.split:
            return self.aim.sign * table.ravel()
        return np.array([self.aim.sign * self.aim.of(table.max(axis=1))])

    def rows(self, table: Array) -> tuple[list[Row], Array]:
        """Measures of samples on which the terms depend, and the weights of each, (terms, rows)."""
        joint = table.argmax(axis=1)
        if self.split:
            pairs = [(s, j) for s in range(self.count) for j in range(len(self.parts))]
            weights = np.eye(len(pairs))
        elif self.aim.over == "mean":
            pairs = [(s, joint[s]) for s in range(self.count)]
            weights = np.full((1, len(pairs)), 1 / self.count)
        else:
            order = np.argsort(self.aim.sign * table.max(axis=1), kind="stable")
            last = -1 if self.aim.over == "worst" else self.aim.place(self.count)
            s = int(order[last])
            pairs, weights = [(s, joint[s])], np.ones((1, 1))
        return [Row(s, self.parts[j]) for s, j in pairs], self.aim.sign * weights


class Descent:
    """A search along derivatives. The objective, the constraints and their derivatives are those at
    coordinates u, and with the epigraph form t, all of the size of one."""

    def __init__(self, evaluate: Evaluator, tune: TuneSection) -> None:
        self.evaluate, self.trials, self.tune = evaluate, evaluate.trials, tune
        self.slopes, self.space = Slopes(self.trials), self.trials.space
        aims, count = self.trials.aims, self.trials.count
        self.objective = _Terms(aims.objective, self.slopes, count)
        self.constraints = [_Terms(x, self.slopes, count) for x in aims.constraints]
        self.tolerance = tune.tolerance or TOLERANCE
        evaluate.terms = self.terms
        start = self.space.start
        if start is None:
            raise InputError(
                f"tune.parameters.{self.space.without_start[0]}: there is no start: the scenario "
                "has no value of it, or several; give start = ..., where the gradient method "
                "begins."
            )
        self.u = self.space.coordinates(start)
        self.epigraph = self.objective.split and len(self.objective.parts) * count > 1
        self.scale = 1.0  # of the objective

    def search(self) -> Ended:
        """Search; the evaluator keeps the evaluations."""
        from scipy import optimize
        from threadpoolctl import threadpool_limits

        minimize: Any = threadpool_limits.wrap(1, "blas")(optimize.minimize)  # more: other bits
        first, count = self.at(self.u), self.trials.count
        if first.failed:
            raise InputError(
                f"tune: {first.failed} of {count} samples fail where the search starts "
                f"({first.reason}); the gradient method needs a start where none does: give start "
                "of the parameters, or choose method = 'differential_evolution'."
            )
        self.scale = abs(self.bad(first)) or 1.0
        y = self.u if not self.epigraph else np.append(self.u, self.bad(first) / self.scale)
        held = {"type": "ineq", "fun": self.margins, "jac": self.margin_slopes}
        try:
            minimum = minimize(
                self.value,
                y,
                jac=self.gradient,
                method="SLSQP",
                bounds=[(0.0, 1.0)] * len(self.u) + [(None, None)] * (len(y) - len(self.u)),
                constraints=[held] if self.count else [],
                callback=lambda _: self.evaluate.next_iteration(),
                options={"maxiter": self.tune.iterations, "ftol": self.tolerance},
            )
        except NoSlopeError as fault:
            return Ended(False, f"it cannot go on: {fault}")
        return _ended(minimum, self.count > 0)._replace(iterations=int(minimum.nit))

    # Evaluations

    def at(self, u: Array) -> Evaluation:
        """The evaluation at coordinates."""
        return self.evaluate(self.space.values(u))[0]

    def terms(self, columns: Columns) -> tuple[float, ...]:
        """The table of all aims, one after another, as it is kept."""
        tables = [x.table(columns).ravel() for x in (self.objective, *self.constraints)]
        return tuple(map(float, np.concatenate(tables)))

    def tables(self, e: Evaluation) -> list[Array]:
        """The values of samples and joints of each aim."""
        tables, begin = [], 0
        for x in (self.objective, *self.constraints):
            size = self.trials.count * len(x.parts)
            part = np.array(e.terms[begin : begin + size])
            tables.append(part.reshape(self.trials.count, len(x.parts)))
            begin += size
        return tables

    def bad(self, e: Evaluation) -> float:
        """The objective, counted as bad."""
        return self.objective.aim.sign * e.objective

    def jacobians(self, u: Array) -> list[Array]:
        """Derivatives of the terms of each aim with respect to coordinates, (terms, parameters)."""
        x = self.space.values(u)
        key = tuple(map(float, x))
        e = self.at(u)
        if e.failed:
            raise NoSlopeError(f"{e.failed} samples fail at the step's end: {e.reason}")
        tables = self.tables(e)
        terms = [
            y.rows(t) for y, t in zip((self.objective, *self.constraints), tables, strict=True)
        ]
        kept = self.evaluate.memory.find("slope", key)
        if kept is None:
            rows = list(dict.fromkeys(row for some, _ in terms for row in some))
            of_row = dict(zip(rows, self.slopes.of(x, rows), strict=True))
            slopes = [
                (weights @ np.array([of_row[row] for row in some])).tolist()
                for some, weights in terms
            ]
            self.evaluate.memory.keep("slope", key, {"slopes": slopes})
        else:
            slopes = kept["slopes"]
        return [np.array(part) * self.space.slope(x) for part in slopes]

    # What SLSQP asks for, of y = (u, t)

    def value(self, y: Array) -> float:
        e = self.at(y[: len(self.u)])
        if e.failed:
            return _BEYOND * (1 + e.failed / self.trials.count)
        return float(y[-1]) if self.epigraph else self.bad(e) / self.scale

    def gradient(self, y: Array) -> Array:
        if self.epigraph:
            return np.append(np.zeros(len(self.u)), 1.0)
        return self.jacobians(y)[0][0] / self.scale

    def margins(self, y: Array) -> Array:
        """Margins, which must not be negative."""
        e = self.at(y[: len(self.u)])
        if e.failed:
            return np.full(self.count, -1.0)
        own, *others = self.tables(e)
        margins = []
        if self.epigraph:
            margins.append(y[-1] - self.objective.values(own) / self.scale)
        for x, table in zip(self.constraints, others, strict=True):
            bound = x.aim.sign * (x.aim.bound or 0.0)
            beyond = (x.values(table) - bound) / x.aim.scale
            margins.append(-beyond - _INSIDE * self.tolerance)
        return np.concatenate([np.zeros(0), *margins])

    def margin_slopes(self, y: Array) -> Array:
        own, *others = self.jacobians(y[: len(self.u)])
        slopes = []
        if self.epigraph:
            slopes.append(np.hstack([-own / self.scale, np.ones((len(own), 1))]))
        for x, slope in zip(self.constraints, others, strict=True):
            t = np.zeros((len(slope), len(y) - len(self.u)))
            slopes.append(np.hstack([-slope / x.aim.scale, t]))
        return np.concatenate([np.zeros((0, len(y))), *slopes])

    @property
    def count(self) -> int:
        """Number of margins."""
        every = self.trials.count
        split = [self.objective] if self.epigraph else []
        return sum(every * len(x.parts) if x.split else 1 for x in (*split, *self.constraints))


def _ended(minimum: Any, constrained: bool) -> Ended:
    status = int(minimum.status)
    if status == 0:
        return Ended(True, f"converged after {counted(minimum.nit, 'iteration')}")
    if status == 9:
        over = counted(minimum.nit, "iteration")
        return Ended(False, f"stopped after {over}, as asked; more may find better")
    if status == 8:
        return Ended(False, "no step along the derivatives leads further down")
    if status == 4 and constrained:
        return Ended(False, "near the last parameters, no step keeps all constraints")
    return Ended(False, f"SLSQP: {minimum.message}")
