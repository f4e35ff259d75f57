"""The parameters that are tuned: between numbers, and as coordinates from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.robots.dynamics import Array
from appell.study.field_units import common_unit
from appell.study.scenario import Scenario
from appell.study.scenario_build import Built, build
from appell.study.sweeps.fields import changes_of, own_value
from appell.study.sweeps.lanes import lane_of, numbers_of
from appell.study.sweeps.study_file import Study, keyword_of
from appell.study.sweeps.tuning_section import Parameter

_SAME = 1e-12  # of a coordinate, which optimisers return with another last digit


class SearchSpace:
    """The box in which parameters are searched. Optimisers move in coordinates u from 0 to 1, of
    which a parameter is low + u (high - low), or low (high / low)^u if it is logarithmic."""

    def __init__(self, study: Study) -> None:
        assert study.tune is not None
        self.study, self.parameters = study, study.tune.parameters
        self.names = tuple(self.parameters)
        self.low, self.high = np.array([p.between for p in self.parameters.values()]).T
        self._logarithmic = np.array([p.logarithmic for p in self.parameters.values()])
        self._whole = np.array([p.whole for p in self.parameters.values()])
        self.own = own_numbers(study)
        self._start = self._starts()

    # Coordinates

    def values(self, u: Array) -> Array:
        """Parameters at coordinates, (..., parameters) each."""
        u = np.clip(u, 0.0, 1.0)
        with np.errstate(all="ignore"):  # the one of both that is not taken
            ratio = np.where(self._logarithmic, self.high / self.low, 1.0)
            x = np.where(
                self._logarithmic, self.low * ratio**u, self.low + u * (self.high - self.low)
            )
        x = np.where(self._whole, np.rint(x), np.clip(x, self.low, self.high))
        known = ~np.isnan(self._start)
        here = np.abs(u - self.coordinates(np.where(known, self._start, self.low))) < _SAME
        return np.where(here & known, self._start, x)

    def coordinates(self, x: Array) -> Array:
        """The coordinates of parameters."""
        with np.errstate(all="ignore"):
            part = np.log(x / self.low) / np.log(self.high / self.low)
            u = np.where(self._logarithmic, part, (x - self.low) / (self.high - self.low))
        return np.clip(u, 0.0, 1.0)

    def slope(self, x: Array) -> Array:
        """Derivatives of parameters with respect to their coordinates, (parameters,)."""
        with np.errstate(all="ignore"):
            logarithmic = x * np.log(self.high / self.low)
        return np.where(self._logarithmic, logarithmic, self.high - self.low)

    # Where a search starts

    @property
    def start(self) -> Array | None:
        """Start of a search, if it is known for all parameters."""
        return None if np.isnan(self._start).any() else self._start

    @property
    def middle(self) -> Array:
        """The start, and for parameters that have none the middle."""
        middle = self.values(np.full(len(self.names), 0.5))
        return np.where(np.isnan(self._start), middle, self._start)

    def _starts(self) -> Array:
        found = []
        for name, p in self.parameters.items():
            own = self.own[name]
            given = p.start if p.start is not None else np.nan if own is None else own
            given = np.clip(given, *p.between)
            found.append(np.rint(given) if p.whole else given)
        return np.array(found)

    @property
    def without_start(self) -> tuple[str, ...]:
        """The parameters of which nobody says where they start."""
        return tuple(n for n, x in zip(self.names, self._start, strict=True) if np.isnan(x))

    @property
    def own_values(self) -> Array | None:
        """The scenario's own values, where each is one number."""
        own = [self.own[name] for name in self.names]
        return None if None in own else np.array(own, dtype=float)

    @property
    def moved(self) -> tuple[str, ...]:
        """The parameters whose own values lie outside, so that they start at an end."""
        return tuple(
            name
            for name, p in self.parameters.items()
            if p.start is None
            and (own := self.own[name]) is not None
            and not p.between[0] <= own <= p.between[1]
        )

    # In words

    def named(self, x: Any) -> dict[str, float]:
        """Parameters by name."""
        pairs = zip(self.parameters.items(), x, strict=True)
        return {name: round(y) if p.whole else float(y) for (name, p), y in pairs}

    @property
    def units(self) -> dict[str, str]:
        """Units by name; a factor has none."""
        if self.study.function is not None:
            return dict.fromkeys(self.names, "")
        base = self.study.base
        return {
            name: "" if p.scales else common_unit(p.sets or (name,), base)
            for name, p in self.parameters.items()
        }


# The scenario's own values


def own_numbers(study: Study) -> dict[str, float | None]:
    """What the scenario has in the fields of each parameter, where that is one number; of a factor,
    1. A function has none."""
    assert study.tune is not None
    parameters = study.tune.parameters
    if study.function is not None:
        for name, p in parameters.items():
            if p.sets or p.scales:
                raise InputError(
                    f"{study.source.place(('tune', 'parameters', name))}: sets and scales are "
                    "fields of a scenario; a function gets the parameter by its name: leave them "
                    "out."
                )
        return {name: p.start for name, p in parameters.items()}
    scenario, built = study.base, _Built(study.base)
    own: dict[str, float | None] = {}
    for name, p in parameters.items():
        paths = [c.path for c in changes_of([(name, p)]) if not c.scales]
        numbers = {1.0} if p.scales else set()
        for path in paths:
            numbers |= _numbers_of(path, scenario, built)
        own[name] = numbers.pop() if len(numbers) == 1 else None
    return own


class _Built:
    """A scenario as it stands, built when it is needed; None where it cannot be."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._tried = False
        self._built: Built | None = None

    @property
    def built(self) -> Built | None:
        if not self._tried:
            self._tried = True
            try:
                self._built = build(self.scenario)
            except AppellError:
                self._built = None
        return self._built


def _numbers_of(path: str, scenario: Scenario, of: _Built) -> set[float]:
    """The different numbers of a field: those in the file, or else a law's usual ones."""
    try:
        value = own_value(scenario, path)
    except InputError:
        lane = None if of.built is None else lane_of(path, of.built)
        if lane is None or of.built is None:
            return set()
        numbers = numbers_of(scenario, of.built).get(lane.argument)
        if numbers is None:
            return set()
        return {float(x) / lane.unit for x in numbers[lane.place] if np.isfinite(x)}
    return set(map(float, value)) if isinstance(value, list) else {float(value)}


def check_names(study: Study) -> Mapping[str, Parameter]:
    """The parameters of a study, if none has the name of a variable; of a function, as it gets
    them."""
    assert study.tune is not None
    keyword = (lambda name: name) if study.function is None else keyword_of
    varied = {keyword(name) for name in study.vary}
    for name in study.tune.parameters:
        if keyword(name) in varied:
            place = study.source.place(("tune", "parameters", name))
            raise InputError(
                f"{place}: '{name}' varies, too; expected it either in vary or in tune.parameters."
            )
    return study.tune.parameters
