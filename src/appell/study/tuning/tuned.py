"""Tuned: the result of a tune, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isinf, isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from appell.robots.dynamics import Array
from appell.study.json_numbers import written
from appell.study.scenario import Scenario
from appell.study.sweeps.comparison import cure
from appell.study.sweeps.study_file import Study
from appell.study.tuning.aims import Aim, Aims, Evaluation
from appell.study.tuning.search_space import SearchSpace

INEXACT = 0.01  # share of a bound that exact runs may be beyond it
_END = 1e-3  # of the range: a best value that close to an end of it is at the end


class Held(NamedTuple):
    """A constraint, and how it is kept. ``margin`` is how far within its bound the tuned value is;
    negative beyond it."""

    what: str
    bound: float
    least: bool  # whether the bound is one from below
    unit: str
    before: float
    after: float
    margin: float

    @property
    def kept(self) -> bool:
        """Whether it is kept."""
        return self.margin >= 0

    @property
    def was_kept(self) -> bool:
        """Whether it was kept before."""
        return self.before >= self.bound if self.least else self.before <= self.bound


class Inexact(NamedTuple):
    """A constraint that a sample keeps as a rollout, and not in an exact run; ``beyond`` is by how
    much, of its bound."""

    aim: Aim
    sample: int
    exact: float
    beyond: float

    @property
    def in_words(self) -> str:
        """Violation in words."""
        return (
            f"{self.aim.column} of sample {self.sample} is {self.exact:.6g}, and not "
            f"{self.aim.limit}"
        )


def inexact(aims: Aims, compared: Mapping[str, Any]) -> list[Inexact]:
    """Constraints on the worst that rollouts keep and exact runs do not, the worst first. Those
    that rollouts do not keep either are known to be broken."""
    broken = [
        Inexact(aim, k, exact, -aim.margin(exact) / aim.scale)
        for aim in aims.constraints
        for k, (rolled, exact) in zip(
            compared.get("point", ()), compared.get(aim.column, ()), strict=False
        )
        if aim.over == "worst" and aim.margin(rolled) >= 0 and not aim.margin(exact) >= 0
    ]
    return sorted(broken, key=lambda x: -x.beyond)


@dataclass(frozen=True, eq=False)
class Tuned:
    """The result of a tune.

    Attributes:
        study: What was tuned.
        parameters: The best parameters that were found, by name.
        own: Those that the scenario has; None where it has several, or none.
        units: Units of the parameters, by name.
        objective: The best value of the objective; NaN if nothing was found without failed samples.
        objective_before: With the scenario's own parameters; NaN if a sample fails with them, or
            if nobody knows them.
        constraints: What is held to bounds, before and after.
        ok: Whether the best keeps all constraints, with no failed sample; also those that are run
            exactly, but for one percent of the bound.
        converged: Whether the search came to its end by itself.
        why: It ended, in words.
        interrupted: Whether the keyboard ended it: the best so far.
        history: Of every evaluation, in order: "iteration", "objective", "feasible", "failed", and
            the parameters by name, an array each.
        samples: Failures and measures of all samples "before" and "after".
        failures: Why samples failed, and in how many evaluations that came first; reasons that
            differ in numbers only are counted with the first.
        iterations: Of the search, as ``why`` counts them: some ask for nothing new.
        compared: Measures of some samples as runs of a rollout, and beside them of exact runs, with
            the best parameters: {"point": [...], measure: [[rollout, exact], ...]}.
        scenario: The scenario with the best parameters; None of a function.
        folder: Where all is kept, or None.
    """

    study: Study
    parameters: dict[str, float]
    own: dict[str, float | None]
    units: dict[str, str]
    objective: float
    objective_before: float
    constraints: tuple[Held, ...]
    ok: bool
    converged: bool
    why: str
    interrupted: bool
    history: dict[str, Array]
    samples: dict[str, dict[str, Any]]
    failures: dict[str, int]
    iterations: int = 0
    compared: dict[str, Any] = field(default_factory=dict)
    scenario: Scenario | None = None
    folder: Path | None = None
    _aims: Aims | None = None
    _failed: tuple[int, str | None] = (0, None)  # samples of the best, and why

    @property
    def aims(self) -> Aims:
        """The objective and the constraints."""
        assert self._aims is not None
        return self._aims

    @property
    def count(self) -> int:
        """Number of samples."""
        from appell.study.tuning.trials import Samples

        return Samples(self.study, {}).count

    @property
    def what(self) -> str:
        """The objective, in words."""
        return self.aims.objective.in_words(self.count)

    @property
    def best_so_far(self) -> Array:
        """The best objective among feasible evaluations up to each one, in its unit; NaN before
        the first."""
        sign = self.aims.objective.sign
        worth = np.where(self.history["feasible"], sign * self.history["objective"], np.inf)
        best = np.minimum.accumulate(worth)
        return np.where(np.isposinf(best), np.nan, sign * best)

    @property
    def verdict(self) -> str:
        """Outcome of the tune, in one sentence."""
        text = self._outcome()
        return f"interrupted; so far, {text}" if self.interrupted else text

    def _outcome(self) -> str:
        lost, why = self._failed
        if lost:
            return (
                f"nothing was found without failed samples: at best, {lost} of {self.count} failed "
                f"({why})"
            )
        broken = [x for x in self.constraints if not x.kept]
        if broken:
            worst = max(broken, key=lambda x: -x.margin / (abs(x.bound) or 1.0))
            return (
                "nothing was found that keeps all constraints: at best, "
                f"{worst.what} is {_in_words(worst.after)}, and not at "
                f"{'least' if worst.least else 'most'} {worst.bound:g}"
            )
        if not self.ok:
            first = self.inexact[0].in_words
            return f"rollouts keep all constraints, and exact runs do not: {first}"
        kept = {0: "", 1: ", the constraint kept"}.get(
            len(self.constraints), ", all constraints kept"
        )
        before, after = self.objective_before, self.objective
        unit = self.aims.objective.unit
        if isnan(before):
            return f"{self.what} is {_in_words(after, unit)}{kept}"
        if after == before:
            return f"nothing better than {self.what} {_in_words(before, unit)} was found{kept}"
        verb = "fell" if after < before else "rose"
        changed = f"{self.what} {verb} from {_in_words(before)} to {_in_words(after, unit)}"
        if self.aims.objective.sign * (after - before) > 0:
            broken = [x for x in self.constraints if not x.was_kept]
            if broken:
                return f"{changed}{kept}: {broken[0].what} was {_in_words(broken[0].before)} before"
            return (
                f"nothing between these bounds is better than the scenario itself: {self.what} is "
                f"{_in_words(after, unit)}, and {_in_words(before)} before{kept}"
            )
        return f"{changed}{kept}"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the result."""
        warnings = []
        if not self.converged and not self.interrupted:
            warnings.append(f"not converged: {self.why}")
        lost, many = int((self.history["failed"] > 0).sum()), len(self.history["failed"])
        if lost:
            warnings.append(f"{lost} of {many} evaluations had failed samples")
        u = SearchSpace(self.study).coordinates(np.array([*self.parameters.values()]))
        ends = [n for n, x in zip(self.parameters, u, strict=True) if min(x, 1 - x) <= _END]
        if ends:
            warnings.append(
                f"at an end of its range: {', '.join(ends)}; a wider range may give a better one"
            )
        if self.inexact:
            warnings.append(f"run exactly, {self.inexact[0].in_words}. {cure(self.study)}")
        return tuple(warnings)

    @property
    def inexact(self) -> list[Inexact]:
        """Constraints that rollouts keep and exact runs of the same samples do not."""
        return inexact(self.aims, self.compared)

    def summary(self) -> dict[str, Any]:
        """Contents of summary.json."""
        history = self.history
        summary = {
            "title": self.study.title,
            "ok": self.ok,
            "verdict": self.verdict,
            "objective": {
                "measure": self.aims.objective.column,
                "over": self.aims.objective.over,
                "unit": self.aims.objective.unit,
                "before": self.objective_before,
                "after": self.objective,
            },
            "parameters": {
                name: {"before": self.own[name], "after": x, "unit": self.units[name]}
                for name, x in self.parameters.items()
            },
            "constraints": [
                {
                    "what": x.what,
                    "at_least" if x.least else "at_most": x.bound,
                    "unit": x.unit,
                    "before": x.before,
                    "after": x.after,
                    "margin": x.margin,
                    "kept": x.kept,
                }
                for x in self.constraints
            ],
            "samples": self.count,
            "converged": self.converged,
            "interrupted": self.interrupted,
            "why": self.why,
            "iterations": self.iterations,
            "evaluations": len(history["iteration"]),
            "with_failed_samples": int((history["failed"] > 0).sum()),
            "failures": self.failures,
            "warnings": list(self.warnings),
            "compared": self.compared,
        }
        return dict(written(summary))


def _in_words(x: float, unit: str = "") -> str:
    """A number with its unit."""
    return "infinite" if isinf(x) else f"{x:.4g} {unit}".rstrip()


def held_by(aims: Aims, before: Evaluation | None, after: Evaluation, count: int) -> list[Held]:
    """The constraints of a study, before and after."""
    held = []
    for k, aim in enumerate(aims.constraints):
        assert aim.bound is not None
        value = after.constraints[k]
        held.append(
            Held(
                aim.in_words(count),
                aim.bound,
                aim.sign < 0,
                aim.unit,
                np.nan if before is None else before.constraints[k],
                value,
                _margin(aim, value, after),
            )
        )
    return held


def _margin(aim: Aim, value: float, after: Evaluation) -> float:
    """A constraint is not kept where samples failed, whatever the others give."""
    margin = aim.margin(value)
    return np.nan if after.failed else margin
