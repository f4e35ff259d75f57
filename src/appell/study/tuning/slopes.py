"""Derivatives of measures with respect to parameters, by rollouts: one sweep back through each
run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.control.rollouts.backwards import SMOOTH
from appell.control.rollouts.rollout import rollout
from appell.errors import AppellError, InputError
from appell.robots.dynamics import Array, Dynamics
from appell.study.sweeps.lanes import NoRolloutError, Prepared, lane_of
from appell.study.sweeps.measures import Chosen, parts_of, place_of
from appell.study.tuning.trials import Trials

_WITHOUT = {
    "payload": "a load is no number that a rollout has derivatives by",
    "delay": "a delay is a whole number of samples",
    "encoder": "what is rounded has no derivatives",
}


class Row(NamedTuple):
    """A measure of a sample."""

    sample: int
    measure: str


class NoSlopeError(AppellError):
    """Derivatives that are not finite."""


class Slopes:
    """Derivatives of measures of samples with respect to all parameters."""

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.measures: dict[str, Chosen] = {x.name: x for x in trials.measures}
        self._refuse()

    def of(self, x: Array, rows: Sequence[Row]) -> Array:
        """Derivatives of rows, (rows, parameters)."""
        trials = self.trials
        samples = trials.samples.values(0, trials.count)
        at = np.array([row.sample for row in rows])
        values = {name: y[at] for name, y in samples.items() if name not in trials.space.names}
        values |= {name: np.full(len(rows), y) for name, y in trials.space.named(x).items()}
        slopes = np.zeros((len(rows), len(trials.space.names)))
        for fields, places in trials.groups(values, len(rows)):
            some = {name: y[places] for name, y in values.items()}
            prepared = trials.prepared(fields)
            slopes[places] = self._of_group(prepared, some, [rows[k] for k in places])
        if not np.isfinite(slopes).all():
            k = int(np.flatnonzero(~np.isfinite(slopes).all(axis=1))[0])
            raise NoSlopeError(
                f"the derivatives of {rows[k].measure} of sample {rows[k].sample} are not finite"
            )
        return slopes

    def _of_group(self, prepared: Prepared, values: dict[str, Any], rows: Sequence[Row]) -> Array:
        """Derivatives of rows of one rollout; runs that exceed a limit are computed once more,
        with joints that stop."""
        everyone = np.arange(len(rows))
        runs, slopes = self._backwards(prepared, values, rows, everyone, stops=False)
        beyond = np.flatnonzero(~(runs.beyond_limits <= 0)) if prepared.has_stops else everyone[:0]
        if len(beyond):
            slopes[beyond] = self._backwards(prepared, values, rows, beyond, stops=True)[1]
        return slopes

    def _backwards(
        self,
        prepared: Prepared,
        values: dict[str, Any],
        rows: Sequence[Row],
        places: Any,
        *,
        stops: bool,
    ) -> tuple[Any, Array]:
        """The runs of some rows, and the derivatives of these rows."""
        robot, trials = prepared.built.robot, self.trials
        some = [rows[k] for k in places]
        own = [c for c in trials.lane_changes if c.name in trials.space.names]
        by = dict.fromkeys(prepared.lanes[c.path].name for c in own)
        measures = [self.measures[row.measure] for row in some]
        common = trials.rollout_arguments(prepared, values, places, measures, stops=stops)
        weights = self._weights(robot, common, some)
        runs = rollout(robot, **common, gradient=weights, by=list(by))
        slopes = np.zeros((len(some), len(trials.space.names)))
        for c in own:
            lane = prepared.lanes[c.path]
            slope = np.asarray(runs.gradient[lane.name]).reshape(len(some), -1)[:, lane.place]
            factor = prepared.base[lane.argument][:, lane.place] if c.scales else lane.unit
            slopes[:, trials.space.names.index(c.name)] += np.sum(slope * factor, axis=1)
        still = self._still(runs, some, robot)
        slopes[still] = 0.0
        return runs, slopes

    def _weights(
        self, robot: Dynamics, common: dict[str, Any], rows: Sequence[Row]
    ) -> dict[str, Array]:
        """Derivatives of each row's measure with respect to what the rollout watches: 1 for the
        part that it is."""
        sizes = {"energy": 2}
        weights: dict[str, Array] = {}
        signed = None
        for k, row in enumerate(rows):
            x = self.measures[row.measure]
            assert x.measure is not None
            name = x.measure.reduction
            assert name is not None
            size = parts_of(x, robot) if x.measure.axis else sizes.get(name, 0)
            shape = (len(rows), size) if size else (len(rows),)
            of = weights.setdefault(name, np.zeros(shape))
            if name == "energy":
                of[k, 0 if x.name == "energy_start" else 1] = 1.0
            elif not size:
                of[k] = 1.0
            else:
                place = place_of(x, robot)
                of[k, place] = 1.0
                if name == "final_error":  # its absolute value is the measure
                    signed = rollout(robot, **common) if signed is None else signed
                    of[k, place] = np.sign(signed.final_error[k, place])
        return weights

    def _still(self, runs: Any, rows: Sequence[Row], robot: Dynamics) -> Array:
        """Rows whose measure is a size that is exactly zero, its least: the derivative of a root
        is infinite there, and zero is one of its subgradients."""
        still = np.zeros(len(rows), dtype=bool)
        for k, row in enumerate(rows):
            x = self.measures[row.measure]
            if x.measure is not None and x.measure.reduction == "rms_error":
                still[k] = runs.rms_error[k, place_of(x, robot)] == 0
        return still

    # Refusals

    def _refuse(self) -> None:
        """Refuse what has no derivatives, with the reason."""
        trials = self.trials
        cure = "choose method = 'differential_evolution'"
        place = trials.asked.source.place(("tune", "method"))
        if trials.asked.function is not None:
            raise InputError(
                f"{place} = 'gradient': a function has no derivatives here; expected a scenario. "
                f"Otherwise {cure}."
            )
        for name in trials.aims.columns:
            x = self.measures.get(name)
            reduction = x.measure.reduction if x is not None and x.measure is not None else None
            if reduction not in SMOOTH:
                raise InputError(
                    f"{place} = 'gradient': '{name}' has no derivatives; expected a measure such "
                    f"as effort, work, cost, worst_error, rms_error, final_error, peak_torque. "
                    f"Otherwise {cure}."
                )
        if trials.why_one_by_one is not None:
            raise InputError(
                f"{place} = 'gradient': derivatives are those of rollouts, and these points are "
                f"none: {trials.why_one_by_one}. Otherwise {cure}."
            )
        for fields, _ in trials.groups(trials.samples.values(0, trials.count), trials.count):
            try:
                trials.prepared(fields)
            except NoRolloutError as problem:
                raise InputError(
                    f"{place} = 'gradient': derivatives are those of rollouts, and samples with "
                    f"{fields} are none: {problem}. Otherwise {cure}."
                ) from None
        _, built = trials.representative
        for c in trials.changes:
            if c.name not in trials.space.names:
                continue
            lane = lane_of(c.path, built)
            why = "it is no argument of a rollout" if lane is None else _WITHOUT.get(lane.argument)
            if trials.space.parameters[c.name].whole:
                why = "whole numbers have none"
            if why is not None:
                raise InputError(
                    f"{place} = 'gradient': there is no derivative with respect to '{c.path}': "
                    f"{why}. Otherwise {cure}."
                )
