"""Objective and constraints: numbers of a measure over the samples.

Samples are the points of a study. A failed sample has no measures: parameters at which one fails
keep no constraint, however good the others are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError, nearest
from appell.robots.dynamics import Array
from appell.study.sweeps.measures import MEASURES, chosen, unit_for
from appell.study.sweeps.study_file import Study
from appell.study.sweeps.tuning_section import Over


class Aim(NamedTuple):
    """A number of a measure over the samples. ``sign`` is 1 where a large one is bad (to be
    minimised, at most a bound), and -1 where a small one is."""

    measure: str
    sign: int
    over: Over
    bound: float | None = None  # None: the objective
    entry: tuple[str, ...] = ()  # of the study file
    own_unit: str | None = None  # of the measure for a robot, once that is known

    @property
    def column(self) -> str:
        """The name of the measure's column: of module:name, the name."""
        return self.measure.rpartition(":")[2]

    def of(self, values: Array) -> float:
        """The mean, the worst, or the value that a share of the samples do not exceed in badness:
        one of them, so that infinite ones do no harm."""
        return self.sign * self._bad(self.sign * values)

    def _bad(self, x: Array) -> float:
        if self.over == "mean":
            with np.errstate(invalid="ignore"):
                return float(np.mean(x))
        if self.over == "worst":
            return float(np.max(x))
        return float(np.sort(x)[self.place(len(x))])

    def place(self, count: int) -> int:
        """Place of a quantile among so many samples, the best first."""
        assert not isinstance(self.over, str)
        return min(count - 1, max(0, int(np.ceil(self.over * count - 1e-9)) - 1))

    def margin(self, value: float) -> float:
        """Distance of a value from its bound; negative beyond it."""
        assert self.bound is not None
        return self.sign * (self.bound - value)

    @property
    def scale(self) -> float:
        """Size of the bound, by which margins are divided to compare them."""
        assert self.bound is not None
        return abs(self.bound) or 1.0

    @property
    def unit(self) -> str:
        """Unit of the measure."""
        if self.own_unit is not None:
            return self.own_unit
        known = MEASURES.get(self.measure.partition(".")[0])
        return known.unit if known is not None else ""

    def in_words(self, samples: int) -> str:
        """Aim in words: "effort", "mean effort", "effort that 95 % do not exceed"."""
        if samples < 2:
            return self.column
        if isinstance(self.over, str):
            return f"{self.over} {self.column}"
        verb = "do not exceed" if self.sign > 0 else "reach"
        return f"{self.column} that {100 * self.over:g} % of the samples {verb}"

    @property
    def limit(self) -> str:
        """The bound in words."""
        return f"at {'most' if self.sign > 0 else 'least'} {self.bound:g}"


class Aims(NamedTuple):
    """The objective and the constraints of a study."""

    objective: Aim
    constraints: tuple[Aim, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that they look at."""
        return tuple(dict.fromkeys(x.column for x in (self.objective, *self.constraints)))

    def in_units_of(self, robot: Any) -> Aims:
        """The same, with the units that measures have for a robot."""
        first, *others = (
            x._replace(own_unit=unit_for(robot, x.unit, x.measure.partition(".")[2]))
            for x in (self.objective, *self.constraints)
        )
        return Aims(first, tuple(others))

    def evaluated(self, x: Sequence[float], columns: Mapping[str, Any], count: int) -> Evaluation:
        """Evaluation of parameters, from the columns of their samples."""
        pairs = zip(columns["failed"], columns["reason"], strict=True)
        reasons = [str(why) if lost else None for lost, why in pairs]
        if None in reasons:
            self._refuse_unknown(columns)
        for name in self.columns:
            for k in np.flatnonzero(np.isnan(columns.get(name, np.full(count, np.nan)))):
                reasons[k] = reasons[k] or f"{name} is not a number"
        good = np.array([why is None for why in reasons])
        lost = int(count - good.sum())

        def number(aim: Aim) -> float:
            return aim.of(columns[aim.column][good]) if good.any() else np.nan

        objective = number(self.objective) if lost == 0 else np.nan
        why = next((text for text in reasons if text is not None), None)
        if lost == 0 and np.isnan(objective):
            why, lost = f"the {self.objective.in_words(count)} is not a number", count
        return Evaluation(
            tuple(map(float, x)), objective, tuple(map(number, self.constraints)), lost, why
        )

    def _refuse_unknown(self, columns: Mapping[str, Any]) -> None:
        """A measure that is not among those which came."""
        names = list(columns)
        there = names[names.index("reason") + 1 :]
        for aim in (self.objective, *self.constraints):
            if aim.column not in there:
                near = nearest(aim.column, there)
                hint = f"did you mean {near!r}?" if near else f"there are {', '.join(there)}."
                raise InputError(f"{'.'.join(aim.entry)}: there is no '{aim.column}'; {hint}")

    # Which parameters are better

    def violations(self, e: Evaluation, samples: int) -> Array:
        """The share of failed samples, and by how much each constraint is not kept, of its
        bound."""
        beyond = [-aim.margin(x) / aim.scale
                  for aim, x in zip(self.constraints, e.constraints, strict=True)]  # fmt: skip
        violations = np.array([e.failed / samples, *beyond])
        violations[np.isnan(violations)] = np.inf
        return np.maximum(violations, 0.0)

    def feasible(self, e: Evaluation) -> bool:
        """Whether no sample failed and all constraints are kept."""
        return not self.violations(e, 1).any()

    def rank(self, e: Evaluation, samples: int) -> tuple[Any, ...]:
        """The smaller, the better: feasible ones by the objective, before others by the share of
        failed samples and what they violate."""
        if self.feasible(e):
            return 0, self.objective.sign * e.objective, 0.0
        lost, *beyond = self.violations(e, samples)
        return 1, float(lost), float(np.sum(beyond))


class Evaluation(NamedTuple):
    """What parameters are worth: the objective, which is NaN if a sample failed, and the numbers
    that are held to bounds, over the samples that did not. ``terms`` are numbers that the gradient
    method asks for besides."""

    x: tuple[float, ...]
    objective: float
    constraints: tuple[float, ...]
    failed: int
    reason: str | None
    terms: tuple[float, ...] = ()


def aims_of(study: Study) -> Aims:
    """The objective and the constraints of a study, if their measures are known."""
    tune = study.tune
    assert tune is not None
    unit = "" if study.function is not None else None  # of a function, which may use any name
    word = "minimise" if tune.minimise is not None else "maximise"
    objective = Aim(tune.objective, 1 if word == "minimise" else -1, tune.over,
                    entry=("tune", word), own_unit=unit)  # fmt: skip
    constraints = []
    for name, bound in tune.constraints.items():
        entry = ("tune", "constraints", name)
        if bound.at_most is not None:
            constraints.append(Aim(name, 1, bound.over, bound.at_most, entry, unit))
        if bound.at_least is not None:
            constraints.append(Aim(name, -1, bound.over, bound.at_least, entry, unit))
    aims = Aims(objective, tuple(constraints))
    if study.function is None:
        for aim in (objective, *constraints):
            _check(aim, study)
    return aims


def measures_of(aims: Aims, study: Study) -> tuple[str, ...]:
    """The measures that are kept of every sample: those of the aims, and functions of the user's,
    which may give them."""
    if study.function is not None:
        return ()
    own = [x.measure for x in (aims.objective, *aims.constraints) if _is_known(x.measure)]
    return tuple(dict.fromkeys([*own, *(x for x in study.measures if ":" in x)]))


def _is_known(measure: str) -> bool:
    return ":" in measure or measure.partition(".")[0] in MEASURES


def _check(aim: Aim, study: Study) -> None:
    """Refuse a measure that is none, unless functions of the user's may give it."""
    if not _is_known(aim.measure) and any(":" in x for x in study.measures):
        return
    try:
        chosen([aim.measure], study.base)
    except InputError as problem:
        place = study.source.place(aim.entry)
        raise InputError(f"{place}: {str(problem).removeprefix('measures: ')}") from None
