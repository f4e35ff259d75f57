"""Measures of a point: numbers by name, the same for runs of a rollout and for exact runs.

A measure that joints have is that of all of them, the largest, or with a joint's name behind a dot
that joint's: ``worst_error.joint2``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.control.rollouts.rollout import Rollout
from appell.errors import InputError, nearest
from appell.model.units import units_of
from appell.robots.dynamics import Array, Dynamics
from appell.simulation import Run
from appell.simulation.contacts.impact import STOPS
from appell.study.own_code import called
from appell.study.positions import coordinate_places
from appell.study.run_scenario import Result
from appell.study.scenario import Scenario
from appell.study.scenario_tasks import FollowedTask


class Measure(NamedTuple):
    """A number of a run. ``axis`` is that of its parts, "n" speeds, "d" actuators or "q"
    coordinates, or empty. ``of_run`` gives it, or its parts; ``reduction`` names what a rollout
    watches for it, if it can."""

    unit: str
    axis: str
    of_run: Callable[[Run, Any], Any]
    reduction: str | None
    of_rollout: Callable[[Rollout], Array] | None = None
    follows: bool = False  # whether there must be something to follow


def _squares(run: Run) -> Array:
    return np.sqrt(np.mean(run.error**2, axis=0))


def _acting(run: Run) -> tuple[Array, Array]:
    """Lengths of the stretches between instants, and the torques in them."""
    return np.diff(run.t), run.tau[:-1]


def _effort(run: Run, tolerance: Any) -> float:
    dt, tau = _acting(run)
    return float(dt @ np.sum(tau**2, axis=1))


def _work(run: Run, tolerance: Any) -> float:
    dt, tau = _acting(run)
    robot = run.robot
    assert robot is not None
    places = [robot.independent.index(x) for x in robot.actuated if x in robot.independent]
    if len(places) != tau.shape[1]:
        raise InputError("work: the actuators are not those of the independent joints.")
    v = run.v[:, places]
    moved = dt[:, None] * (v[:-1] + v[1:]) / 2
    if run.desired is None and robot.nq == robot.nv:  # steps as long as its integrator takes
        moved = np.diff(run.q[:, places], axis=0)
    return float(np.sum(tau * moved))


def _settled(run: Run, tolerance: Any) -> float:
    out = np.flatnonzero((np.abs(run.error) > tolerance).any(axis=1))
    if not out.size:
        return 0.0
    return float(run.t[out[-1] + 1]) if out[-1] + 1 < len(run.t) else np.inf


def _violated(run: Run, tolerance: Any) -> float:
    return min((x.time for x in run.exceeded), default=np.inf)


def _success(run: Run, tolerance: Any) -> float:
    ends_well = bool((np.abs(run.error[-1]) <= tolerance).all())
    return float(ends_well and not run.exceeded)


def _times(run: Run, *, walls: bool = False) -> list[float]:
    """Times of impacts: all of them, or those in which a wall took part."""
    return [x.time for x in run.impacts if not walls or not {*x.walls} <= {*STOPS}]


def _last(name: str) -> Callable[[Run, Any], Array]:
    return lambda run, tolerance: getattr(run, name)[-1]


_EFFORT = "N² m² s"
MEASURES: dict[str, Measure] = {
    "worst_error": Measure("rad or m", "n", lambda run, _: np.abs(run.error).max(axis=0),
                           "worst_error", follows=True),
    "rms_error": Measure("rad or m", "n", lambda run, _: _squares(run), "rms_error", follows=True),
    "final_error": Measure("rad or m", "n", lambda run, _: np.abs(run.error[-1]), "final_error",
                           lambda x: np.abs(x.final_error), follows=True),
    "settling_time": Measure("s", "", _settled, "settling_time", follows=True),
    "success": Measure("1 or 0", "", _success, "success", follows=True),
    "peak_torque": Measure("N m or N", "d",
                           lambda run, _: np.abs(run.tau[:-1]).max(axis=0, initial=0.0),
                           "peak_torque"),
    "peak_speed": Measure("rad/s or m/s", "n", lambda run, _: run.largest_speeds,
                          "peak_speed"),
    "effort": Measure(_EFFORT, "", _effort, "effort"),
    "work": Measure("J", "", _work, "work"),
    "cost": Measure("", "", lambda run, _: np.nan, "cost"),  # a function of the user's
    "energy_start": Measure("J", "", lambda run, _: run.energy[0], "energy",
                            lambda x: x.energy[:, 0]),
    "energy_end": Measure("J", "", lambda run, _: run.energy[-1], "energy",
                          lambda x: x.energy[:, 1]),
    "first_violation": Measure("s", "", _violated, "first_violation"),
    "q": Measure("rad or m", "q", _last("q"), "q", lambda x: x.q),
    "v": Measure("rad/s or m/s", "n", _last("v"), "v", lambda x: x.v),
    "impacts": Measure("", "", lambda run, _: float(len(_times(run))), None),
    "first_impact": Measure("s", "", lambda run, _: min(_times(run), default=np.inf), None),
    "wall_impacts": Measure("", "", lambda run, _: float(len(_times(run, walls=True))), None),
    "first_wall_impact": Measure("s", "", lambda run, _: min(_times(run, walls=True),
                                                             default=np.inf), None),
    "expected": Measure("1 or 0", "", lambda run, _: np.nan, None),
}  # fmt: skip
ALWAYS = ("first_violation", "q", "v", "cost")  # of a rollout, whatever it is asked to watch


def unit_for(robot: Any, unit: str, part: str = "") -> str:
    """The unit of a measure, such as "rad or m", for a robot: one of both if all its joints, or
    the one of the name ``part``, have it."""
    joints = list(robot.joint_names)
    if part.isdigit() and robot.nq != robot.nv:  # a part of a quaternion has no unit
        return unit
    units = dict(zip(joints, units_of(robot.joint_kinds, len(joints)), strict=True))
    kinds = {units[part]} if part in units else set(units.values())
    if len(kinds) != 1:
        return "N² m² s and N² s" if unit == _EFFORT else unit
    own = kinds.pop()
    own_units = {
        "rad or m": own.position, "rad/s or m/s": own.speed, "N m or N": own.force,
        _EFFORT: _EFFORT if own.force == "N m" else "N² s",
    }  # fmt: skip
    return own_units.get(unit, unit)


class Chosen(NamedTuple):
    """A measure that a study keeps: of all joints, or of one; or a function of the user's."""

    name: str
    measure: Measure | None
    part: str = ""

    @property
    def column(self) -> str:
        """Name of its column; a function may give others."""
        return self.name.rpartition(":")[2]

    @property
    def function(self) -> str | None:
        """module:name of a function of the `Result`."""
        return self.name if self.measure is None else None


def chosen(names: Sequence[str], scenario: Scenario) -> tuple[Chosen, ...]:
    """The measures of these names; usual ones of the task without names."""
    follows = isinstance(scenario.task, FollowedTask)
    usual = ("worst_error", "final_error", "peak_torque", "settling_time") if follows else (
        ("impacts", "first_impact") if scenario.walls else ("peak_speed", "energy_end")
    )  # fmt: skip
    kept = []
    for name in names or usual:
        what, _, part = name.partition(".")
        if ":" in name:
            kept.append(Chosen(name, None))
            continue
        if what not in MEASURES:
            near = nearest(what, MEASURES)
            meant = f"{near}.{part}" if part else near
            hint = f"did you mean {meant!r}?" if near else f"expected one of {', '.join(MEASURES)}."
            raise InputError(f"measures: there is no '{name}'; {hint}")
        measure = MEASURES[what]
        if measure.follows and not follows:
            raise InputError(f"measures: '{name}': a {scenario.task.kind} follows nothing.")
        if part and not measure.axis:
            raise InputError(f"measures: '{name}': {what} is of the robot, not of joints.")
        if not part and what in ("q", "v"):
            raise InputError(f"measures: '{name}': name a joint, such as {what}.joint1.")
        kept.append(Chosen(name, measure, part))
    columns = {x.column: x.name for x in kept}
    for x in kept:
        if columns[x.column] != x.name:
            raise InputError(
                f"measures: '{x.name}' and '{columns[x.column]}' are both called '{x.column}' in "
                "the table; rename one of the functions."
            )
    return tuple(kept)


def reductions(measures: Sequence[Chosen]) -> tuple[str, ...]:
    """Reductions of a rollout for measures; raises ValueError with a measure that has none."""
    names = []
    for x in measures:
        if x.measure is None or x.measure.reduction is None:
            raise ValueError(x.name)
        names.append(x.measure.reduction)
    return tuple(dict.fromkeys(x for x in names if x not in ALWAYS))


def of_rollout(measures: Sequence[Chosen], runs: Rollout, robot: Dynamics) -> dict[str, Array]:
    """Measures of all runs, (runs,) each."""
    columns = {}
    for x in measures:
        assert x.measure is not None
        assert x.measure.reduction is not None
        of = x.measure.of_rollout
        values = getattr(runs, x.measure.reduction) if of is None else of(runs)
        columns[x.name] = _part(x, values, robot)
    return columns


def of_result(measures: Sequence[Chosen], result: Result, tolerance: Any) -> dict[str, float]:
    """Measures of one run."""
    numbers: dict[str, float] = {}
    known = {x.name for x in measures if x.measure is not None}
    for x in measures:
        if x.measure is None:
            own = _of_function(x.name, result)
            twice = sorted({*own} & {*numbers, *known})
            if twice:
                raise InputError(
                    f"measures: '{x.name}' gives '{twice[0]}', which another measure is called; "
                    "rename it."
                )
            numbers |= own
        elif x.name == "expected":
            numbers[x.name] = float(result.verdict.ok)
        else:
            values = np.asarray(x.measure.of_run(result.run, tolerance), dtype=float)
            numbers[x.name] = float(_part(x, values, result.robot))
    return numbers


def cost_of(run: Run, cost: Callable[..., Any]) -> float:
    """The integral of a cost along a run: under a law by the rule of rectangles over its samples,
    as of a rollout; without one at the middles of short steps."""
    if run.desired is None:
        return _cost_between(run, cost)
    looks = [run.t, run.q, run.v, run.tau]
    if run.desired_v is not None:
        looks += [run.desired, run.desired_v]
    rows = zip(*(x[:-1].tolist() for x in looks), strict=True)
    return float(np.diff(run.t) @ np.array([float(cost(*row)) for row in rows]))


_SHORT = 1e-3  # s


def _cost_between(run: Run, cost: Callable[..., Any]) -> float:
    """The integral of a cost, which is looked at between the instants of the integrator, too."""
    total = 0.0
    for start, end, tau in zip(run.t, run.t[1:], run.tau, strict=False):
        count = max(1, int(np.ceil((end - start) / _SHORT)))
        length = (end - start) / count
        for t in start + length * (np.arange(count) + 0.5):
            q, v = run(t)
            total += length * float(cost(float(t), q.tolist(), v.tolist(), tau.tolist()))
    return total


def _of_function(name: str, result: Result) -> dict[str, float]:
    """Numbers that a user's function returns for a run, by name."""
    value = called(name, result.scenario.source.folder, result)
    short = name.rpartition(":")[2]
    given = value if isinstance(value, dict) else {short: value}
    return {str(key): float(x) for key, x in given.items()}


def _part(x: Chosen, values: Array, robot: Dynamics) -> Any:
    """Value of one joint, or the largest over all."""
    assert x.measure is not None
    if not x.measure.axis:
        return values
    if not x.part:
        return values.max(axis=-1) if values.shape[-1] else np.zeros(values.shape[:-1])
    return values[..., place_of(x, robot)]


def place_of(x: Chosen, robot: Dynamics) -> int:
    """Place of a joint among the parts of a measure, by its name or number."""
    places = _places(x, robot)
    if x.part in places:
        return places[x.part]
    if x.part.isdigit() and int(x.part) < parts_of(x, robot):
        return int(x.part)
    near = nearest(x.part, places)
    hint = f"did you mean '{near}'?" if near else f"expected one of {', '.join(places)}."
    if x.part in coordinate_places(robot):
        what, last = x.name.partition(".")[0], parts_of(x, robot) - 1
        hint = f"it has several coordinates; number them, from {what}.0 to {what}.{last}."
    raise InputError(f"measures: '{x.name}': '{robot.name}' has no '{x.part}'; {hint}")


def _places(x: Chosen, robot: Dynamics) -> dict[str, int]:
    """Places of joints among the parts of a measure, by name."""
    assert x.measure is not None
    if x.measure.axis == "q":
        where = coordinate_places(robot)
        return {name: k.start for name, k in where.items() if k.stop - k.start == 1}
    names = robot.independent if x.measure.axis == "n" else robot.actuated
    return {name: k for k, name in enumerate(names)}


def parts_of(x: Chosen, robot: Dynamics) -> int:
    """Number of parts of a measure that joints have."""
    assert x.measure is not None
    return {"q": robot.nq, "n": robot.nv, "d": len(robot.actuated)}[x.measure.axis]
