"""The points of a study, computed: many at a time as runs of a rollout, or one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from appell.compile.gpu.driver import has_gpu
from appell.compile.threads import threads
from appell.control.rollouts.rollout import Rollout, rollout
from appell.errors import AppellError, GpuError, InputError
from appell.given import whole
from appell.robots.dynamics import Array, Dynamics
from appell.study.own_code import imported
from appell.study.run_scenario import Result, run
from appell.study.scenario import Scenario
from appell.study.scenario_build import Built, build, robot_of
from appell.study.scenario_tasks import FollowedTask
from appell.study.sweeps.design import Design
from appell.study.sweeps.fields import Change, changes_of, fields_at, plain
from appell.study.sweeps.function import check_cost, check_function, numbers_of
from appell.study.sweeps.lane_check import why_no_lane
from appell.study.sweeps.lanes import Lane, NoRolloutError, Prepared, lane_of
from appell.study.sweeps.measures import (
    Chosen,
    chosen,
    cost_of,
    of_result,
    of_rollout,
    place_of,
    reductions,
)
from appell.study.sweeps.storage.block_table import Columns, Table, reason_of
from appell.study.sweeps.study_file import Study

_STEPS = 2**23  # of all runs of a block
_BLOCK = 32  # points that run one by one
_TRIES = 8  # points, until one can be built


class Points:
    """A study that can be computed: its design, and what each point gives."""

    def __init__(self, study: Study, target: str = "auto", design: Any = None) -> None:
        self.study, self.design = study, Design(study) if design is None else design
        self.changes = changes_of(study.vary.items())
        self.target = target
        self._prepared: dict[tuple[Any, ...], Prepared] = {}
        self._no_rollout: dict[tuple[Any, ...], str | None] = {}  # of groups, by their fields
        self._robots: dict[Any, Dynamics] = {}
        if study.function is None:
            _ = self.scenario  # one that cannot be read is no fault of what varies
            self._check_scenario()
        else:
            check_function(study)

    # What it is

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario whose fields vary."""
        return self.study.base

    @property
    def known_loads(self) -> tuple[str, ...]:
        """Fields of the load that vary, and that the law knows at every point."""
        law = None if self.study.function is not None else self.scenario.law
        if law is None or (law.believes is not None and law.believes.payload is not None):
            return ()
        return tuple(c.path for c in self.changes if c.path.startswith("robot.payload."))

    @cached_property
    def measures(self) -> Any:
        """Measures that are kept of each point."""
        study = self.study
        if study.function is not None:
            return ()
        try:
            return chosen(study.measures, self.scenario)
        except InputError as problem:
            raise InputError(_placed(study, "measures", problem)) from None

    @cached_property
    def cost(self) -> Callable[..., Any] | None:
        """The user's function whose integral is the measure "cost", if that is kept."""
        if not any(x.name == "cost" for x in self.measures):
            return None
        if self.study.cost is None:
            raise InputError("measures: 'cost' is of a function; give it as cost = 'module:name'.")
        function: Callable[..., Any] = imported(self.study.cost, self.scenario.source.folder)
        place = self.study.source.place(("cost",))
        check_cost(place, function, isinstance(self.scenario.task, FollowedTask))
        return function

    @cached_property
    def why_one_by_one(self) -> str | None:
        """Reason why points run one by one; None if they are runs of rollouts."""
        if self.study.function is not None:
            return "the study calls a function"
        if self.study.method == "runs":
            return "method = 'runs'"
        why = self._why_alone()
        if why is not None and self.study.method == "rollout":
            raise InputError(f"method = 'rollout': these points cannot run as rollouts: {why}.")
        return why

    def method_in_words(self, in_this_process: bool) -> str:
        """Method by which points run, and a faster one if there is, in words."""
        if self.why_one_by_one is None:
            return "as rollouts"
        words, cores = f"one by one ({self.why_one_by_one})", threads()
        if not in_this_process or cores < 2:
            return words
        return f"{words}, on one of {cores} cores; --workers {cores} uses all of them"

    def _why_alone(self) -> str | None:
        try:
            reductions(self.measures)
        except ValueError as problem:
            return f"'{problem}' is no measure of a rollout"
        levels = {name: v.levels for name, v in self.study.vary.items()}
        for c in self.group_changes:
            if levels[c.name] is None and c.path in self.known_loads:
                return f"the law knows '{c.path}', so that each point needs a law of its own"
            if levels[c.name] is None or c.scales:
                return f"{self._no_lane[c.path]}, and has too many values"
        try:
            self.prepared(self._representative_fields())
        except NoRolloutError as problem:
            return str(problem)
        return None

    def _representative_fields(self) -> dict[str, Any]:
        """Fields of the representative point that need a rollout of their own."""
        return {c.path: plain(self.representative[0][c.name]) for c in self.group_changes}

    @cached_property
    def lane_changes(self) -> tuple[Change, ...]:
        """Changes that are lanes: they differ between the runs of one rollout."""
        return tuple(c for c in self.changes if self._no_lane[c.path] is None)

    @cached_property
    def _no_lane(self) -> dict[str, str | None]:
        """Reasons why changes are no lanes of a rollout, by field; None for those that are."""
        return {c.path: self._why_no_lane(c) for c in self.changes}

    def _why_no_lane(self, c: Change) -> str | None:
        values, built = self.representative
        others = [x for x in self.changes if x != c]
        lane = lane_of(c.path, built) if self.study.vary[c.name].numeric else None
        if lane is None:
            return f"'{c.path}' is no argument of a rollout"
        try:
            own = self.scenario.changed(fields_at(self.scenario, others, values))
            return self._checked(c, lane, own)
        except AppellError:  # the scenario needs this one, too
            return self._checked(c, lane, self.at(values))

    def _checked(self, c: Change, lane: Lane, scenario: Scenario) -> str | None:
        """Reason why a field of a scenario is not all of its lane; None if it is."""
        variable = self.study.vary[c.name]
        return why_no_lane(c, variable, lane, scenario, lambda x: build(x, self._robot(x)))

    @cached_property
    def group_changes(self) -> tuple[Change, ...]:
        """Changes by which points are grouped: each group has a rollout of its own."""
        return tuple(c for c in self.changes if c not in self.lane_changes)

    @cached_property
    def representative(self) -> tuple[dict[str, Any], Built]:
        """A point that can be built, and what is built there: the median of all variables, or else
        one of the first points."""
        refused: AppellError | None = None
        first = self.design.values(0, min(_TRIES, self.design.count))
        points = [self.design.middle()]
        points += [
            {n: x[k] for n, x in first.items()} for k in range(len(next(iter(first.values()))))
        ]
        for values in points:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return values, build(self.at(values))
            except AppellError as problem:
                refused = refused or problem
        assert refused is not None
        raise refused

    def _check_scenario(self) -> None:
        """Refuse at once what no point could be: fields, joints and measures that are not there."""
        try:
            robot = self.representative[1].robot
        except AppellError as problem:
            raise InputError(self._blamed(problem)) from None
        _ = self.cost
        self._check_tolerance(robot)
        for x in self.measures:
            if x.part:
                try:
                    place_of(x, robot)
                except InputError as problem:
                    raise InputError(_placed(self.study, "measures", problem)) from None
            if x.function:
                imported(x.function, self.scenario.source.folder)

    def _blamed(self, problem: AppellError) -> str:
        """Error of all points, with the variable that causes it if there is one."""
        middle = self.design.middle()
        for c in self.changes:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    build(self.scenario.changed(fields_at(self.scenario, (c,), middle)))
            except AppellError as own:
                cure = " Give whole = [from, to]." if self._takes_whole(c, middle) else ""
                return f"{self.study.source.place(('vary', c.name))}: {own}{cure}"
        return str(problem)

    def _takes_whole(self, c: Change, values: Mapping[str, Any]) -> bool:
        """Whether a field takes a whole number in place of a value."""
        value = values[c.name]
        if not isinstance(value, float):
            return False
        return self._refused({**values, c.name: round(value)}, (c,)) is None

    def _check_tolerance(self, robot: Dynamics) -> None:
        """Refuse a tolerance of another number of joints."""
        given, names = self.study.tolerance, robot.independent
        if isinstance(given, tuple) and len(given) != len(names):
            raise InputError(
                f"{self.study.source.place(('tolerance',))}: {len(given)} numbers; expected one "
                f"for all joints, or one each: {', '.join(names)}."
            )

    # Blocks

    @cached_property
    def block(self) -> int:
        """Number of points that are computed and written together."""
        if self.study.block is not None:
            return self.study.block
        if self.why_one_by_one is not None:
            return _BLOCK
        arguments = self.prepared(self._representative_fields()).arguments
        steps = arguments["steps"]
        if steps is None:
            steps = arguments["trajectory"].duration / arguments["dt"]
        each = max(1.0, steps * arguments.get("substeps", 1))
        return int(2 ** np.clip(np.floor(np.log2(_STEPS / each)), 6, 16))

    def compute(self, first: int, last: int, tick: Callable[[int], None] | None = None) -> Columns:
        """The columns of points first to last - 1: their numbers, variables, whether they failed
        and why, and measures. ``tick`` is called with the number of points as they are done."""
        values = self.design.values(first, last)
        columns = self.compute_at(values, last - first, tick)
        for name in columns:
            if name in values:
                raise InputError(f"'{name}' is a variable and a measure; rename one of them.")
        return {"point": np.arange(first, last), **values, **columns}

    def compute_at(
        self, values: Columns, count: int, tick: Callable[[int], None] | None = None
    ) -> Columns:
        """Whether points with these values of the variables failed, why, and their measures."""
        table = Table(count)
        done = tick or _ignore
        if self.why_one_by_one is None:
            self._by_rollouts(values, table)
            done(table.count)
        else:
            for k in range(table.count):
                point = {n: x[k] for n, x in values.items()}
                table.put_one(k, partial(self.measured, point))
                done(1)
        return table.columns(self.expected_columns)

    def lost(self, first: int, last: int, why: str) -> Columns:
        """The columns of points that could not be computed, for a reason."""
        table = Table(last - first)
        for k in range(table.count):
            table.fail(k, why)
        values = self.design.values(first, last)
        return {"point": np.arange(first, last), **values, **table.columns(self.expected_columns)}

    @property
    def expected_columns(self) -> tuple[str, ...]:
        """The names of measures that are known before a point has run."""
        return tuple(x.name for x in self.measures if x.measure is not None)

    # One by one

    def values_at(self, point: int) -> dict[str, Any]:
        """The values of the variables at a point."""
        count, k = self.design.count, whole("point", point)
        if k >= count:
            raise InputError(f"point {k}: the study has points 0 to {count - 1}.")
        return {name: x[0] for name, x in self.design.values(k, k + 1).items()}

    def at(self, values: Mapping[str, Any]) -> Scenario:
        """The scenario of a point."""
        return self.scenario.changed(fields_at(self.scenario, self.changes, values))

    def result(self, values: Mapping[str, Any]) -> Result:
        """The run of a point by itself."""
        scenario = self.at(values)
        return run(scenario, robot=self._robot(scenario))

    def _robot(self, scenario: Scenario) -> Dynamics:
        """The robot of a scenario; points that differ in other things share it, and its kernels."""
        key = scenario.robot.model_dump_json(), scenario.angles
        if key not in self._robots:
            self._robots[key] = robot_of(scenario)
            while len(self._robots) > _KEPT:
                del self._robots[next(iter(self._robots))]
        return self._robots[key]

    def measured(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The measures of a point that runs by itself."""
        study = self.study
        if study.function is not None:
            return numbers_of(study, {name: plain(x) for name, x in values.items()})
        result = self.result(values)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.run.stopped is not None:
            raise AppellError(result.run.stopped)
        return self.measures_of(result)

    def measures_of(self, result: Result) -> dict[str, float]:
        """The measures of a run by itself."""
        numbers = of_result(self.measures, result, self.study.tolerance)
        return numbers | ({"cost": cost_of(result.run, self.cost)} if self.cost else {})

    # Many at a time

    def _by_rollouts(self, values: Columns, table: Table) -> None:
        for fields, places in self.groups(values, table.count):
            self._group(fields, places, {n: x[places] for n, x in values.items()}, table)

    def groups(self, values: Mapping[str, Any], count: int) -> list[tuple[dict[str, Any], Any]]:
        """Points that are runs of the same rollout: the values of the fields in `group_changes`,
        and which points have them."""
        if not self.group_changes:
            return [({}, np.arange(count))]
        members: dict[tuple[Any, ...], list[int]] = {}
        columns = [map(plain, values[c.name]) for c in self.group_changes]
        for k, key in enumerate(zip(*columns, strict=True)):
            members.setdefault(tuple(map(_hashable, key)), []).append(k)
        return [
            ({c.path: plain(values[c.name][some[0]]) for c in self.group_changes}, np.array(some))
            for some in members.values()
        ]

    def _group(self, fields: Any, places: Array, values: Columns, table: Table) -> None:
        """Points of one rollout; those that are refused are told apart by halves."""
        try:
            prepared = self.prepared(fields)
        except AppellError as problem:
            for k in places:
                table.fail(k, reason_of(problem))
            return
        except NoRolloutError as problem:  # the usual point is one, and these are not
            for i, k in enumerate(places):
                point = {n: x[i] for n, x in values.items()}
                if self.study.method == "rollout":
                    table.fail(k, f"method = 'rollout': {problem}")
                else:
                    table.put_one(k, partial(self.measured, point))
            return
        doubtful = prepared.doubtful(self.lane_changes, values)
        for k in np.flatnonzero(doubtful):
            why = self._refused({n: x[k] for n, x in values.items()})
            if why is None:
                doubtful[k] = False
            else:
                table.fail(int(places[k]), why)
        behind = prepared.behind(self.lane_changes, values) & ~doubtful
        for k in np.flatnonzero(behind):  # refused, with the words of a run by itself
            point = {n: x[k] for n, x in values.items()}
            table.put_one(int(places[k]), partial(self.measured, point))
        good = np.flatnonzero(~doubtful & ~behind)
        if len(good):
            self._run(prepared, places[good], {n: x[good] for n, x in values.items()}, table)

    def _refused(
        self, values: Mapping[str, Any], changes: Sequence[Change] | None = None
    ) -> str | None:
        """Reason why a point cannot be built, of all ``changes`` or some; None if it can."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                some = self.changes if changes is None else changes
                build(self.scenario.changed(fields_at(self.scenario, some, values)))
        except AppellError as problem:
            return reason_of(problem)
        return None

    def _run(self, prepared: Prepared, places: Array, values: Columns, table: Table) -> None:
        try:
            runs = self._rolled(prepared, values)
        except AppellError as problem:
            if len(places) == 1:
                if isinstance(problem, GpuError):  # that of the machine, and none of the point
                    raise
                table.fail(int(places[0]), reason_of(problem))
                return
            half = len(places) // 2
            for part in (slice(half), slice(half, None)):
                some = {n: x[part] for n, x in values.items()}
                self._run(prepared, places[part], some, table)
            return
        for piece in runs:
            lost = piece.runs.failed
            rows = of_rollout(self.measures, piece.runs, prepared.built.robot)
            at = places[piece.places]
            table.put(at[~lost], {name: x[~lost] for name, x in rows.items()})
            for k in np.flatnonzero(lost):
                table.fail(int(at[k]), _lost(piece.runs, int(k)))

    def _rolled(self, prepared: Prepared, values: Columns) -> list[_Part]:
        """The runs; those in which a joint passes its limit once more, with joints that stop."""
        everyone = np.arange(len(next(iter(values.values()))))
        runs = self._rollout(prepared, values, everyone, stops=False)
        beyond = np.flatnonzero(~(runs.beyond_limits <= 0)) if prepared.has_stops else everyone[:0]
        if not len(beyond):
            return [_Part(runs, everyone)]
        again = self._rollout(prepared, values, beyond, stops=True)
        kept = np.setdiff1d(everyone, beyond)
        rest = _chosen_runs(runs, kept)
        return [_Part(rest, kept), _Part(again, beyond)]

    def _rollout(self, prepared: Prepared, values: Columns, places: Any, *, stops: bool) -> Rollout:
        """Some of the points as one rollout."""
        arguments = self.rollout_arguments(prepared, values, places, self.measures, stops=stops)
        return rollout(prepared.built.robot, **arguments)

    def rollout_arguments(
        self,
        prepared: Prepared,
        values: Columns,
        places: Any,
        measures: Sequence[Chosen],
        *,
        stops: bool,
    ) -> dict[str, Any]:
        """The arguments of a rollout of some of the points: with joints that stop at limits, or
        with joints that pass them, which ``beyond_limits`` then tells."""
        watched = ("beyond_limits",) if prepared.has_stops and not stops else ()
        some = {n: x[places] for n, x in values.items()}
        cuda = self.target == "cuda" or (self.target == "auto" and has_gpu())
        return prepared.of(self.lane_changes, some, stops=stops) | {
            "runs": len(places),
            "reduce": (*reductions(measures), *watched),
            "tolerance": self.study.tolerance,
            "cost": self.cost,
            "target": "cuda" if cuda else "cpu",
        }

    def prepared(self, fields: dict[str, Any]) -> Prepared:
        """The scenario with values of the fields of `group_changes`, as a rollout."""
        key = tuple(_hashable(x) for x in fields.values())
        why = self._no_rollout.get(key)
        if why is not None:
            raise NoRolloutError(why)
        if key not in self._prepared:
            try:
                self._prepared[key] = self._prepare(key, fields)
            except NoRolloutError as problem:
                self._no_rollout[key] = str(problem)
                raise
            while len(self._prepared) > _KEPT:
                del self._prepared[next(iter(self._prepared))]
        return self._prepared[key]

    def _prepare(self, key: tuple[Any, ...], fields: dict[str, Any]) -> Prepared:
        try:
            scenario = self.scenario.changed(fields)
            prepared = Prepared(scenario, self.lane_changes, self.study.rollout)
        except AppellError:  # the scenario needs what differs from run to run, too
            own = [c for c in self.lane_changes if not c.scales]
            usual = fields_at(self.scenario, own, self.representative[0])
            scenario = self.scenario.changed(usual | fields)
            prepared = Prepared(scenario, self.lane_changes, self.study.rollout)
        if fields and key not in self._no_rollout:
            # What is a lane for the representative point need not be one with another law.
            for c in self.lane_changes:
                why = self._checked(c, prepared.lanes[c.path], scenario)
                if why is not None:
                    raise NoRolloutError(why)
            self._no_rollout[key] = None
        return prepared


_KEPT = 64  # rollouts that are kept prepared, and robots


class _Part(NamedTuple):
    """Some of the runs of a block, and which they are."""

    runs: Rollout
    places: Any


def _ignore(count: int) -> None:
    """Progress that nobody looks at."""


def _chosen_runs(runs: Rollout, places: Any) -> Rollout:
    watched = {name: x[places] for name, x in runs.reductions.items()}
    return Rollout(runs.q[places], runs.v[places], watched, runs.t, {})


def _placed(study: Study, entry: str, problem: InputError) -> str:
    """Error about an entry of the study, with its place in the file."""
    place = study.source.place((entry,))
    return f"{place}{str(problem).removeprefix(entry)}"


def _lost(runs: Rollout, k: int) -> str:
    """Reason why a run of a rollout failed."""
    at = runs.reductions["failed_at"][k]
    if np.isfinite(at):
        return f"numbers are not finite from {at:.6g} s on"
    singular = runs.reductions.get("singular_at")
    if singular is not None and np.isfinite(singular[k]):
        return f"near a singular configuration of its loops at {singular[k]:.6g} s"
    at = runs.reductions["unsolved_at"][k]
    return f"the iteration of implicit_midpoint did not converge at {at:.6g} s; take shorter steps"


def _hashable(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x
