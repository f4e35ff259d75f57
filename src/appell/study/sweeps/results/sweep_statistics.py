"""Statistics of a sweep: for its report, for the terminal and for --json."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.errors import AppellError, InputError
from appell.robots.dynamics import Array
from appell.study.field_units import common_unit
from appell.study.json_numbers import written
from appell.study.scenario import Scenario
from appell.study.sweeps.comparison import Difference, allowed, differences, in_words
from appell.study.sweeps.design import Design
from appell.study.sweeps.measures import MEASURES, unit_for
from appell.study.sweeps.points import Points
from appell.study.sweeps.results.sensitivity import SobolIndices
from appell.study.sweeps.results.statistics import (
    Groups,
    Numbers,
    Response,
    between,
    groups,
    order_of,
    rank_correlations,
    response,
    value_text,
)

if TYPE_CHECKING:
    from appell.study.sweeps.sweep import Sweep

WORST = 10  # points of each measure that are shown
# Measures of which the least values are the worst, and in words what an infinite value means.
GOOD = ("success", "expected")
EARLIEST = ("first_violation", "first_impact", "first_wall_impact")
NEVER = {
    "settling_time": "never settle",
    "first_violation": "exceed no limit",
    "first_impact": "strike nothing",
    "first_wall_impact": "strike no wall",
}
_DRAWN = 2**24  # samples of the bootstrap of Sobol indices, all resamples together
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?([eE][-+]?\d+)?(?!\w)")


class Failure(NamedTuple):
    """A reason why points failed; numbers in it may differ.

    Attributes:
        reason: That of the first of the points.
        total: How many points failed for it.
        points: All of them.
        texts: How many texts differ in their numbers.
    """

    reason: str
    total: int
    points: tuple[int, ...]
    texts: int


class Statistics:
    """Statistics of a sweep; each part is computed once, when it is first used."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._numbers: dict[str, Numbers] = {}
        self._groups: dict[str, Groups] = {}
        self._orders: dict[str, Array] = {}
        self._worst: dict[str, Array] = {}

    # How many

    @cached_property
    def planned(self) -> int:
        """Number of points of the study."""
        return Design(self.sweep.study).count

    @cached_property
    def failed(self) -> int:
        """Number of failed points."""
        return int(np.count_nonzero(self.sweep.failed))

    @cached_property
    def failures(self) -> list[Failure]:
        """Reasons of failed points, the most frequent first."""
        where = np.flatnonzero(self.sweep.failed)
        points = self.sweep["point"][where].tolist()
        kinds: dict[str, str] = {}  # by text
        members: dict[str, list[int]] = {}
        first: dict[str, str] = {}
        for point, reason in zip(points, self.sweep["reason"][where].tolist(), strict=True):
            text = str(reason)
            kind = kinds.get(text)
            if kind is None:
                kind = kinds[text] = without_numbers(text)
                first.setdefault(kind, text)
            members.setdefault(kind, []).append(point)
        texts: dict[str, int] = {}
        for kind in kinds.values():
            texts[kind] = texts.get(kind, 0) + 1
        listed = [
            Failure(first[kind], len(all_), tuple(all_), texts[kind])
            for kind, all_ in members.items()
        ]
        return sorted(listed, key=lambda x: -x.total)

    # Columns

    def is_number(self, name: str) -> bool:
        """Whether a column has numbers, and not names or tuples."""
        return self.sweep[name].dtype != object

    def numbers(self, name: str) -> Numbers:
        """The numbers of a column, sorted."""
        if name not in self._numbers:
            self._numbers[name] = Numbers(self.sweep[name])
        return self._numbers[name]

    def groups(self, variable: str) -> Groups:
        """The points in groups by a variable."""
        if variable not in self._groups:
            order = self.sweep.study.vary[variable].levels or ()
            self._groups[variable] = groups(self.sweep[variable], order)
        return self._groups[variable]

    def response(self, measure: str, variable: str) -> Response:
        """A measure over the groups of a variable."""
        if measure not in self._orders:
            self._orders[measure] = order_of(self.sweep[measure])
        return response(self.groups(variable), self.sweep[measure], self._orders[measure])

    def varies(self, name: str) -> bool:
        """Whether a column has different values."""
        if self.is_number(name):
            return not self.numbers(name).constant
        return len(self.groups(name).centre) > 1

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The names of measures."""
        return self.sweep.measures

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of variables."""
        return self.sweep.variables

    def worst(self, measure: str) -> Array:
        """The numbers of the worst points: the largest values, the earliest times of violations
        and impacts, or the points without success."""
        if measure not in self._worst:
            good = self.succeeds(measure)
            least = good or measure in EARLIEST
            points = self.sweep.worst(measure, WORST, smallest=least)
            values = self.sweep[measure][self.rows(points)]
            kept = values == 0 if good else np.isfinite(values) if least else slice(None)
            self._worst[measure] = points[kept]
        return self._worst[measure]

    def rows(self, points: Any) -> Array:
        """Rows of points in the columns, by their numbers."""
        return np.searchsorted(self.sweep["point"], points)

    # What matters

    @cached_property
    def correlations(self) -> Array:
        """Spearman's rank correlations, (measures, variables); NaN of what is no number."""
        correlations = np.full((len(self.measures), len(self.variables)), np.nan)
        places = [k for k, name in enumerate(self.variables) if self.is_number(name)]
        correlations[:, places] = rank_correlations(
            [self.sweep[x] for x in self.measures],
            [self.sweep[self.variables[k]] for k in places],
        )
        return correlations

    @cached_property
    def _sobol(self) -> tuple[dict[str, SobolIndices], dict[str, str]]:
        indices: dict[str, SobolIndices] = {}
        refused: dict[str, str] = {}
        if self.sweep.study.sampling == "saltelli":
            resamples = int(np.clip(_DRAWN // (self.sweep.study.points or 1), 199, 999))
            for name in self.measures:
                try:
                    indices[name] = self.sweep.indices(name, resamples=resamples)
                except InputError as problem:
                    refused[name] = str(problem)
        return indices, refused

    @property
    def sobol(self) -> dict[str, SobolIndices]:
        """Sobol indices by measure; none unless ``sampling = "saltelli"``."""
        return self._sobol[0]

    @property
    def without_indices(self) -> dict[str, str]:
        """Measures that have no Sobol indices although the points are meant for them, and why."""
        return self._sobol[1]

    def influence(self, measure: str) -> Array:
        """How much each variable matters to a measure, 0 to 1, to put the important ones first:
        the total-order index, the size of the rank correlation, or of variables that are no
        numbers the root of the share of the variance that lies between their values."""
        if measure in self.sobol:
            return np.clip(np.nan_to_num(self.sobol[measure].total), 0.0, None)
        rho = np.abs(self.correlations[self.measures.index(measure)])
        for k, name in enumerate(self.variables):
            if not self.is_number(name):
                rho[k] = np.sqrt(between(self.groups(name), self.sweep[measure]))
        return np.nan_to_num(rho)

    # How it was computed

    @cached_property
    def _points(self) -> Points | None:
        """The points, if they can still be computed: files of the study may be gone."""
        try:
            return Points(self.sweep.study)
        except Exception:  # whatever a user's module raises
            return None

    @cached_property
    def _usual(self) -> Any:
        """The robot and all of a point that can be built, or None."""
        if self._points is None or self.sweep.study.function is not None:
            return None
        return self._points.representative[1]

    @property
    def robot(self) -> Any:
        """The robot of a usual point, or None."""
        return None if self._usual is None else self._usual.robot

    @property
    def task(self) -> str:
        """The kind of a usual point's task; empty if that is not known."""
        return "" if self._usual is None else str(self._usual.scenario.task.kind)

    @cached_property
    def how(self) -> str:
        """Method by which points were computed, in words; empty if that is not known."""
        study = self.sweep.study
        try:
            alone = self._points.why_one_by_one if self._points is not None else ""
        except Exception:  # whatever a user's module raises
            alone = ""
        if alone == "":
            return ""
        if alone is not None:
            return f"points run one by one ({alone})"
        how = study.rollout
        return f"points are runs of rollouts ({how.integrator}, steps of at most {how.step:g} s)"

    @cached_property
    def scenario(self) -> Scenario | None:
        """The scenario whose fields vary; None of a function, or where its file is gone."""
        if self.sweep.study.function is not None:
            return None
        try:
            return self.sweep.study.base
        except AppellError:
            return None

    def unit(self, name: str) -> str:
        """The unit of a measure or a variable; empty if it has none or it is not known."""
        return self._unit_of_variable(name) if name in self.variables else self._unit(name)

    def _unit_of_variable(self, name: str) -> str:
        scenario, variable = self.scenario, self.sweep.study.vary[name]
        if scenario is None or variable.scales or not variable.numeric:
            return ""
        paths = variable.sets or (name,)
        unit = common_unit(paths, scenario)
        if self.robot is None or " or " not in unit:
            return unit
        joints = {path.rpartition(".")[2] for path in paths}
        units = {unit_for(self.robot, unit.replace("deg", "rad"), joint) for joint in joints}
        if len(units) > 1:
            return unit
        own = units.pop()
        return own.replace("rad", "deg") if "deg" in unit else own

    def _unit(self, measure: str) -> str:
        kind, _, part = measure.partition(".")
        apart = self.sweep.study.function is not None  # which may use any name
        if apart or kind not in MEASURES or kind in (*GOOD, "impacts"):
            return ""
        unit, robot = MEASURES[kind].unit, self.robot
        if robot is None:
            return unit
        return unit_for(robot, unit, part)

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """Differences between rollouts and exact runs, by measure."""
        return differences(self.sweep.compared, self.measures)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that one must read before the numbers are used."""
        warnings = []
        if len(self.sweep) < self.planned:
            warnings.append(
                f"The sweep is not complete: {len(self.sweep):,} of {self.planned:,} points are "
                "there. Run the same command again to go on."
            )
        for name, indices in self.sobol.items():
            if not np.isfinite(self.sweep[name]).all():
                warnings.append(
                    f"Sobol indices of {name} are of {indices.samples:,} of "
                    f"{self.sweep.study.points:,} samples: those with a failed point or an "
                    "infinite value are left out."
                )
        for why in self.sweep.compared.get("refused", []):
            warnings.append(f"The rollout has numbers where an exact run is refused: {why}")
        for name, x in self.differences.items():
            if not x.largest <= allowed(self.sweep.study, name, x, self.numbers(name).finite):
                warnings.append(in_words(name, x, self.unit(name), self.sweep.study))
        return tuple(warnings)

    # In words

    @cached_property
    def good(self) -> bool:
        """Whether all points are there, none failed, and all that are to succeed do."""
        whole = not self.failed and len(self.sweep) >= self.planned
        return whole and all(
            self.numbers(x).spread.low == 1 for x in self.measures if self.succeeds(x)
        )

    def succeeds(self, measure: str) -> bool:
        """Whether a measure is 1 for success and 0 for none."""
        return measure in GOOD and self.numbers(measure).binary

    @cached_property
    def verdict(self) -> str:
        """Outcome of the sweep, in a sentence."""
        count = len(self.sweep)
        done = f"{count:,} points" if count != 1 else "1 point"
        if count < self.planned:
            done = f"{count:,} of {self.planned:,} points so far"
        parts = [f"{done}, {f'{self.failed:,}' if self.failed else 'none'} failed"]
        for name in self.measures:
            if self.succeeds(name):
                parts.append(f"{name} at {percent(self.numbers(name).spread.mean)}")
        for name in self.measures:
            some = self.numbers(name)
            known = len(some.finite) or (some.infinite and name not in EARLIEST)
            if not self.succeeds(name) and known:
                parts.append(self._extreme(name))
                break
        return "; ".join(parts)

    def _extreme(self, name: str) -> str:
        numbers, unit = self.numbers(name).spread, self.unit(name)
        least = name in EARLIEST
        values = self.sweep[name].astype(float)
        k = int(np.nanargmin(values) if least else np.nanargmax(values))
        value = numbers.low if least else numbers.high
        if np.isinf(value):
            return f"{name}: {self.never(name)} (point {int(self.sweep['point'][k])})"
        text = f"{name} {'at least' if least else 'at most'} {value:.3g}{unit and ' ' + unit}"
        text += f" (point {int(self.sweep['point'][k])})"
        return f"{text}, {self.never(name)}" if numbers.infinite else text

    def never(self, measure: str) -> str:
        """Number of infinite values, in words."""
        numbers = self.numbers(measure)
        of = numbers.infinite + len(numbers.finite)
        return f"{numbers.infinite:,} of {of:,} {NEVER.get(measure, 'are infinite')}"

    def summary(self) -> dict[str, Any]:
        """All of it as plain data, as ``--json`` prints it."""
        sweep = self.sweep
        summary: dict[str, Any] = {
            "verdict": self.verdict,
            "ok": self.good,
            "warnings": list(self.warnings),
            "points": len(sweep),
            "of": self.planned,
            "failed": self.failed,
            "reasons": {x.reason: x.total for x in self.failures},
            "how": self.how,
            "measures": {},
            "worst": {},
        }
        for name in self.measures:
            spread = self.numbers(name).spread
            summary["measures"][name] = {"unit": self.unit(name), **spread._asdict()}
            summary["worst"][name] = [self.point(int(k), name) for k in self.worst(name)]
        if self.differences:
            summary["compared"] = {name: x._asdict() for name, x in self.differences.items()}
            summary["compared"] |= {"points": list(sweep.compared["point"])}
        if self.sobol:
            summary["sobol"] = {name: _indices(x) for name, x in self.sobol.items()}
        elif sweep.study.sampling != "saltelli" and len(sweep) > 1:
            summary["rank_correlations"] = {
                name: dict(zip(self.variables, row, strict=True))
                for name, row in zip(self.measures, self.correlations, strict=True)
            }
        return dict(written(summary))

    def point(self, point: int, measure: str) -> dict[str, Any]:
        """A point: its number, the value of a measure, and the variables."""
        (k,) = self.rows([point])
        values = {name: self.sweep[name][k] for name in self.variables}
        variables = {n: x if isinstance(x, str) else _item(x) for n, x in values.items()}
        return {
            "point": point,
            "value": float(self.sweep[measure][k]),
            "variables": variables,
        }


def without_numbers(reason: str) -> str:
    """A reason of failures without its numbers: reasons that differ in these alone are one kind.
    Digits of a name, such as joint1, are none."""
    return _NUMBER.sub("…", reason)


def percent(share: float) -> str:
    """A share in percent, that is 100 % only if it is all."""
    text = f"{100 * share:.1f} %"
    if share < 1 and text == "100.0 %":
        return "more than 99.9 %"
    if share > 0 and text == "0.0 %":
        return "less than 0.1 %"
    return text.replace(".0 %", " %")


def _item(x: Any) -> Any:
    """A value of a variable as JSON has it."""
    if isinstance(x, tuple | list):
        return [_item(y) for y in x]
    return x.item() if isinstance(x, np.generic) else x if x is None else _known(x)


def _known(x: Any) -> Any:
    return x if isinstance(x, bool | int | float | str) else value_text(x)


def _indices(x: SobolIndices) -> dict[str, Any]:
    return {
        "confidence": x.confidence,
        "samples": x.samples,
        "variables": {
            name: {
                "first": x.first[k], "first_bounds": x.first_bounds[k],
                "total": x.total[k], "total_bounds": x.total_bounds[k],
            }
            for k, name in enumerate(x.variables)
        },
    }  # fmt: skip


def summary(sweep: Sweep) -> dict[str, Any]:
    """Summary of a sweep as plain data."""
    return sweep.statistics.summary()
