"""Differential evolution: Storn and Price, "Differential evolution", Journal of Global Optimization
11 (1997) 341-359; constraints by Lampinen's rule, by `scipy.optimize.differential_evolution`.

A whole generation, times all samples, is evaluated at once. Failed samples are a constraint of
their own, their share at most zero: of parameters at which some fail, those with fewer survive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.robots.dynamics import Array
from appell.study.sweeps.tuning_section import TuneSection
from appell.study.tuning.aims import Evaluation
from appell.study.tuning.evaluator import Evaluator

TOLERANCE = 1e-3


class Ended(NamedTuple):
    """How a search ended: whether it converged, why it ended, in words, and after how many
    iterations, if the search has counted them."""

    converged: bool
    why: str
    iterations: int | None = None


def counted(n: int, what: str) -> str:
    """So many of something, in words."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


class Evolution:
    """A search by differential evolution."""

    def __init__(self, evaluate: Evaluator, tune: TuneSection) -> None:
        self.evaluate, self.tune = evaluate, tune
        self.trials = evaluate.trials

    def search(self) -> Ended:
        """Search; the evaluator keeps the evaluations."""
        from scipy import optimize

        evolve: Any = optimize.differential_evolution
        tune, space = self.tune, self.trials.space
        start, tolerance = space.start, tune.tolerance or TOLERANCE
        minimum = evolve(
            self.energies,
            [(0.0, 1.0)] * len(space.names),
            maxiter=tune.iterations,
            popsize=tune.population,
            tol=tolerance,
            rng=np.random.default_rng(tune.seed),
            callback=self.generation_over,
            polish=False,
            x0=None if start is None else space.coordinates(start),
            constraints=[optimize.NonlinearConstraint(self.violations, -np.inf, 0.0)],
            vectorized=True,
            updating="deferred",
        )
        worth = minimum.population_energies
        if np.isfinite(worth).all() and np.std(worth) <= tolerance * abs(np.mean(worth)):
            why = f"the population agrees after {counted(minimum.nit, 'generation')}"
            return Ended(True, why, int(minimum.nit))
        over = counted(minimum.nit, "generation")
        why = f"stopped after {over}, as asked; more may find better"
        return Ended(False, why, int(minimum.nit))

    # What it asks for, of coordinates (parameters, candidates) or (parameters,)

    def at(self, u: Array) -> list[Evaluation]:
        """The evaluations of candidates."""
        rows = np.asarray(u, dtype=float).T.reshape(-1, len(self.trials.space.names))
        return self.evaluate(self.trials.space.values(rows)) if len(rows) else []

    def violations(self, u: Array) -> Array:
        """Violation of each constraint, (constraints, candidates)."""
        aims, count = self.trials.aims, self.trials.count
        found = np.array([aims.violations(e, count) for e in self.at(u)]).T
        return found if u.ndim > 1 else found[:, 0]

    def energies(self, u: Array) -> Array:
        """The objective, counted as bad, of candidates that keep all of them."""
        return np.array([self.trials.aims.objective.sign * e.objective for e in self.at(u)])

    def generation_over(self, intermediate_result: Any) -> None:
        """Count generations."""
        self.evaluate.next_iteration()
