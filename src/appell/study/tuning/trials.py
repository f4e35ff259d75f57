"""Trials: the samples of a study, computed with parameters of one's choice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.robots.dynamics import Array
from appell.study.scenario import Scenario
from appell.study.scenario_build import build, robot_of
from appell.study.sweeps.design import Design
from appell.study.sweeps.fields import changes_of, fields_at
from appell.study.sweeps.measures import Chosen, chosen, parts_of
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage.block_table import Columns
from appell.study.sweeps.study_file import Study
from appell.study.sweeps.tuning_section import Parameter
from appell.study.sweeps.variable import Variable
from appell.study.tuning.aims import aims_of, measures_of
from appell.study.tuning.search_space import SearchSpace, check_names


class Samples:
    """The points of a study, or one where nothing varies, each with the same parameters: a design
    of points, as `Points` asks for."""

    def __init__(self, study: Study, parameters: dict[str, float]) -> None:
        self._design = Design(study) if study.vary else None
        self.parameters = parameters
        self.count = self._design.count if self._design is not None else 1

    def values(self, first: int, last: int) -> dict[str, Any]:
        """The values of variables and parameters at samples first to last - 1."""
        varied = {} if self._design is None else self._design.values(first, last)
        return varied | {
            name: np.full(last - first, x) for name, x in (self.parameters or _NOTHING).items()
        }

    def middle(self) -> dict[str, Any]:
        """A usual sample."""
        return {name: x[0] for name, x in self.values(0, 1).items()}


_NOTHING = {"nothing": 0.0}  # of a scenario as it stands: points are counted by their values


class Trials(Points):
    """The samples of a study, with parameters of one's choice; with ``parts``, measures that joints
    have are kept of each of them, too."""

    def __init__(self, study: Study, target: str = "auto", parts: bool = False) -> None:
        parameters = check_names(study)
        self.asked, self.space, self.aims = study, SearchSpace(study), aims_of(study)
        varied = {name: _as_variable(p) for name, p in parameters.items()}
        measures = measures_of(self.aims, study)
        changed = {"vary": {**study.vary, **varied}, "measures": measures, "tune": None}
        samples = Samples(study, self.space.named(self.space.middle))
        self.samples, self.parts = samples, parts
        try:
            super().__init__(study.model_copy(update=changed), target, samples)
        except AppellError as problem:
            raise _culprit(study, self.space) or problem from None
        if study.function is None:
            self._check_ends()

    @property
    def count(self) -> int:
        """Number of samples."""
        return self.samples.count

    def columns(self, x: Array, first: int, last: int) -> Columns:
        """Failures and measures of samples first to last - 1 with the parameters of each row of x,
        one row after another."""
        rows, n = np.atleast_2d(x), last - first
        values = {
            name: np.tile(y, len(rows))
            for name, y in self.samples.values(first, last).items()
            if name not in self.space.names
        }
        values |= {name: np.repeat(rows[:, k], n) for k, name in enumerate(self.space.names)}
        whole = {name for name, p in self.space.parameters.items() if p.whole}
        values |= {name: values[name].astype(np.int64) for name in whole}
        return self.compute_at(values, len(rows) * n)

    @cached_property
    def measures(self) -> Any:
        """Measures that are kept of each sample; for gradients also those of each joint."""
        own = super().measures
        return own if not self.parts or not own else (*own, *self._parts(own))

    def _parts(self, measures: Sequence[Chosen]) -> Iterator[Chosen]:
        robot = robot_of(self.scenario)
        for x in measures:
            if x.measure is not None and x.measure.axis and not x.part:
                yield from chosen([f"{x.name}.{k}" for k in range(parts_of(x, robot))],
                                  self.scenario)  # fmt: skip

    # Refusals

    def _check_ends(self) -> None:
        """Refuse bounds of parameters that their fields do not take."""
        middle = self.samples.middle()
        for name, p in self.space.parameters.items():
            gain = all(c.path.startswith("law.") for c in self.changes if c.name == name)
            for end in p.between:
                values = middle | {name: int(end) if p.whole else end}
                try:
                    self.at(values)
                    why = self._refused(values) if gain else None
                except AppellError as problem:
                    why = str(problem)
                if why is not None:
                    place = self.asked.source.place(("tune", "parameters", name, "between"))
                    raise InputError(f"{place}: {end:g} is not allowed: {why}")


def scenario_with(study: Study, values: Mapping[str, float]) -> Scenario:
    """The scenario of a study with parameters, and without what varies."""
    assert study.tune is not None
    parameters = [(name, p) for name, p in study.tune.parameters.items() if name in values]
    fields = fields_at(study.base, changes_of(parameters), values)
    return study.base.changed(fields)


def _culprit(study: Study, space: SearchSpace) -> InputError | None:
    """The parameter by which a scenario that can be built cannot be."""
    if study.function is not None:
        return None
    for name, x in space.named(space.middle).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                build(study.base)
                try:
                    build(scenario_with(study, {name: x}))
                except AppellError as problem:
                    place = study.source.place(("tune", "parameters", name))
                    cure = " Give whole = true." if _takes(study, name, round(x)) else ""
                    return InputError(f"{place} = {x:g}: {problem}{cure}")
        except AppellError:  # the scenario by itself cannot be, and the variables cure it
            return None
    return None


def _takes(study: Study, name: str, value: float) -> bool:
    """Whether the scenario can be built with a value of a parameter."""
    try:
        build(scenario_with(study, {name: value}))
    except AppellError:
        return False
    return True


def _as_variable(p: Parameter) -> Variable:
    """A parameter as something that varies: values of whole numbers can be counted."""
    low, high = p.between
    kind: dict[str, Any] = {"whole": (int(low), int(high))} if p.whole else {"uniform": (low, high)}
    return Variable(**kind, sets=p.sets, scales=p.scales)


class AsItStands(Points):
    """The samples of a study with the scenario's own parameters, where these are not one number
    each."""

    def __init__(self, trials: Trials) -> None:
        study = trials.asked
        changed = {"measures": trials.study.measures, "tune": None}
        samples = Samples(study, {})
        super().__init__(study.model_copy(update=changed), trials.target, samples)

    def columns(self) -> Columns:
        """Failures and measures of all samples."""
        count = self.design.count
        return self.compute_at(self.design.values(0, count), count)
