"""Points as runs of one rollout: which fields of a scenario may differ between its lanes.

A field that may is an argument of `appell.rollout` with a row per run. Every other field needs a
rollout of its own for each of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from appell.control.rollouts.payload import Payload
from appell.control.tracking.closed_loop import ROUNDING
from appell.control.tracking.hardware import Friction
from appell.maths.scalar import sign
from appell.model.limits import limits
from appell.robots.dynamics import Array
from appell.robots.robot import is_tree
from appell.study.disturbances import window
from appell.study.positions import positions_of
from appell.study.scenario import Payload as PayloadSection
from appell.study.scenario import Rubbing, Scenario
from appell.study.scenario_build import Built, build, rubbing_joints
from appell.study.sweeps.fields import Change
from appell.study.sweeps.study_file import RolloutSection


class Lane(NamedTuple):
    """An argument of the rollout that a field becomes, ``gains.NAME`` of the law's: some columns of
    it, or all. Values of ``least`` and below are looked at one by one before they run."""

    argument: str
    columns: tuple[int, ...] | None = None
    unit: float = 1.0
    least: float = -np.inf

    @property
    def name(self) -> str:
        """Name of the argument, or of the gain."""
        return self.argument.removeprefix(_GAINS)

    @property
    def place(self) -> Any:
        """Columns as an index."""
        return slice(None) if self.columns is None else list(self.columns)


class NoRolloutError(Exception):
    """Raised where a scenario cannot be a rollout, with the reason."""


class Prepared:
    """A scenario as a rollout: its arguments, and those that differ from run to run."""

    def __init__(self, scenario: Scenario, changes: Sequence[Change], how: RolloutSection) -> None:
        self.scenario = scenario
        self.built = build(_bare(scenario, [c.path for c in changes]))
        self.lanes: dict[str, Lane] = {}
        for c in changes:
            lane = lane_of(c.path, self.built)
            if lane is None:
                raise NoRolloutError(f"'{c.path}' cannot differ between runs of this robot and law")
            self.lanes[c.path] = lane
        self.arguments = _arguments(self.built, how)
        self.stops = {x: self.arguments.pop(x) for x in _STOPS if x in self.arguments}
        self.base = bases(scenario, self.built, {x.argument for x in self.lanes.values()})
        own_start = _start(self.built, "q0")[None]
        if self.has_stops and "q0" not in self.base and self._beyond(own_start).any():
            raise NoRolloutError("the runs start beyond a limit at which a joint stops")

    @property
    def has_stops(self) -> bool:
        """Whether joints stop at limits."""
        return bool(self.stops)

    def of(
        self, changes: Sequence[Change], values: Mapping[str, Array], *, stops: bool
    ) -> dict[str, Any]:
        """The arguments of the rollout at points with these values of variables, (runs,) each.
        With ``stops``, joints stop at their limits if they have some."""
        runs = len(next(iter(values.values())))
        rows = {name: np.tile(x, (runs, 1)) for name, x in self.base.items()}
        for c in changes:
            lane = self.lanes[c.path]
            given = values[c.name][:, None]
            to, k = rows[lane.argument], lane.place
            to[:, k] = to[:, k] * given if c.scales else lane.unit * given
        arguments = self.arguments | _as_given(rows, self.built)
        return arguments | self.stops if stops else arguments

    def doubtful(self, changes: Sequence[Change], values: Mapping[str, Array]) -> Any:
        """Points that may have values which their fields refuse, True or False, (runs,)."""
        runs = len(next(iter(values.values())))
        doubtful = np.zeros(runs, dtype=bool)
        for c in changes:
            doubtful |= ~(values[c.name] > self.lanes[c.path].least)
        law = self.built.law
        if law is not None and len(law.damps) > 2:
            doubtful |= any(f"{_GAINS}{x}" in self.base for x in law.damps)
        return doubtful

    def behind(self, changes: Sequence[Change], values: Mapping[str, Array]) -> Any:
        """Points that start beyond a limit at which their joints stop, True or False, (runs,)."""
        if not self.has_stops or "q0" not in self.base:
            return np.zeros(len(next(iter(values.values()))), dtype=bool)
        return self._beyond(self.of(changes, values, stops=False)["q0"])

    def _beyond(self, q: Array) -> Array:
        """Whether coordinates (runs, nq) are beyond a limit of the joints."""
        return np.any([x.beyond(q) > 0 for x in limits(self.built.robot.model)], axis=0)


def lane_of(path: str, built: Built) -> Lane | None:
    """The argument of a rollout that a field is, if it is one."""
    table, *keys = path.split(".")
    if table == "robot" and len(keys) > 1:
        return _robot_lane(keys, built)
    if table == "law" and built.law is not None:
        gain = built.law._values.get(keys[0], np.zeros(0))
        return None if gain.ndim > 1 else _part(f"{_GAINS}{keys[0]}", keys[1:], len(gain), 0.0)
    if table == "start" and len(keys) == 2:
        return _start_lane(keys[0], keys[1], built)
    if (table, keys[:1]) == ("actuators", ["torque_limit"]):
        return _part(keys[0], keys[1:], built.robot.system.size("d"), 0.0)
    if (table, keys[:1]) == ("sensors", ["encoder"]):
        return _part(keys[0], keys[1:], built.robot.nv, 0.0)
    return Lane("delay", None, 1.0, -1.0) if path == "sampling.delay" else None


_STOPS = ("stops", "stop_restitution")
_GAINS = "gains."  # before the name of a law's gain, which an argument of rollouts may have, too
_NEGATIVE = -5e-324  # a least value that allows zero


def _part(name: str, rest: list[str], size: int, least: float) -> Lane | None:
    """One number for all of so many columns, or one of them."""
    if not size:
        return None
    if not rest:
        return Lane(name, None, 1.0, least)
    known = len(rest) == 1 and rest[0].isdigit() and int(rest[0]) < size
    return Lane(name, (int(rest[0]),), 1.0, least) if known else None


def _robot_lane(keys: list[str], built: Built) -> Lane | None:
    """A load, gravity or friction, of which the law does not know."""
    scenario, robot, what = built.scenario, built.robot, keys[0]
    believes = scenario.law.believes if scenario.law is not None else None
    apart = built.law is None or getattr(believes, what, None) is not None
    if getattr(scenario.task, "timing", None) == "time_optimal" and what != "friction":
        return None  # how fast the motors can go depends on the load and gravity
    if what == "payload" and apart and is_tree(robot):
        if keys[1:] == ["mass"]:
            return Lane("payload", (0,), 1.0, _NEGATIVE)
        part = _part("com", keys[2:], 3, -np.inf) if keys[1] == "com" else None
        columns = None if part is None else part.columns
        return None if columns is None else Lane("payload", (1 + columns[0],))
    if what == "gravity" and apart and is_tree(robot):
        return _part("gravity", keys[1:], 3, -np.inf)
    if what == "friction" and isinstance(scenario.robot.friction, Rubbing):
        # A level that is given beside coulomb stays as it is, and then there are two of them.
        others = (scenario.robot.friction.stiction, scenario.robot.friction.coulomb_backwards)
        one_level = keys[1] == "coulomb" and others == (None, None)
        if keys[1] != "viscous" and not one_level:
            return None
        places = [*range(robot.nv)]
        if built.law is None:  # the joints that can have some, in their own order
            places = [robot.independent.index(name) for name in rubbing_joints(robot)]
        lane = _part(keys[1], keys[2:], len(places), _NEGATIVE)
        if lane is None:
            return None
        return lane._replace(columns=tuple(places[k] for k in lane.columns or range(len(places))))
    return None


def _start_lane(what: str, joint: str, built: Built) -> Lane | None:
    """Lane of a start, if a run depends on it only through its start."""
    scenario, robot = built.scenario, built.robot
    if not is_tree(robot) or robot.nq != robot.nv:
        return None
    names, given = robot.independent, getattr(scenario.start, what, None)
    numbered = joint.isdigit() and isinstance(given, tuple)
    place = names.index(joint) if joint in names else int(joint) if numbered else robot.nv
    if place >= robot.nv:
        return None
    task = scenario.task
    unit = float(positions_of(scenario, robot).scale[place])
    if what == "v":
        return Lane("v0", (place,), unit)
    elsewhere = task.kind == "hold" and getattr(task, "at", None) is not None
    begins_anywhere = task.kind in ("fall", "torque") or elsewhere
    return Lane("q0", (place,), unit) if what == "q" and begins_anywhere else None


def bases(scenario: Scenario, built: Built, arguments: Iterable[str]) -> dict[str, Array]:
    """The scenario's own numbers of arguments that differ from run to run, (1, columns) each; it
    may have been built without its load."""
    own = numbers_of(scenario, built)
    return {name: own[name].reshape(1, -1) for name in arguments}


def numbers_of(scenario: Scenario, built: Built) -> dict[str, Array]:
    """The numbers of all arguments that may differ from run to run."""
    robot, law, options = built.robot, built.law, built.options
    load = scenario.robot.payload or PayloadSection(mass=0.0)
    numbers: dict[str, Any] = {
        "q0": _start(built, "q0"),
        "v0": _start(built, "v0"),
        "payload": [load.mass, *load.com],
        "gravity": robot.system.values("gravity") if is_tree(robot) else (),
    }
    with suppress(NoRolloutError):
        levels = _rubbing(built, options.get("friction", False))
        numbers |= {name: levels[name] for name in ("viscous", "coulomb") if name in levels}
    if law is not None:
        numbers |= {f"{_GAINS}{name}": np.ravel(x) for name, x in law._values.items()}
        numbers["delay"] = [options["delay"]]
        for name, size in (("torque_limit", robot.system.size("d")), ("encoder", robot.nv)):
            own = options[name]
            numbers[name] = np.full(size, np.nan if own is None or own is True else own)
    return {name: np.asarray(x, dtype=float).ravel() for name, x in numbers.items()}


def _start(built: Built, name: str) -> Any:
    """Where a run starts. Speeds are at rest but for those that are given, of which a field that
    varies is one."""
    own = built.options.get(name)
    if own is not None:
        return own
    if name == "v0" or built.law is None or not callable(built.trajectory):
        return np.zeros(built.robot.nv)
    return built.trajectory(np.zeros(1))[0][0]


def words_for(name: str) -> str:
    """Name of a scenario's number, in words."""
    return _WORDS.get(name, name.replace(_GAINS, "law."))


_WORDS = {"q0": "where the run starts", "v0": "the speeds at the start"}


def _as_given(rows: dict[str, Array], built: Built) -> dict[str, Any]:
    """Rows by the arguments of `appell.rollout` that they are part of."""
    arguments: dict[str, Any] = {}
    gains: dict[str, Any] = {}
    for name, x in rows.items():
        if name == "payload":
            load = built.scenario.robot.payload
            link = load.link if load is not None else None
            inertia = load.inertia if load is not None else (0.0, 0.0, 0.0)
            arguments["payload"] = Payload(x[:, 0], x[:, 1:], link, inertia)
        elif name == "gravity":
            arguments["parameters"] = {"gravity": x}
        elif name == "delay":
            arguments["delay"] = np.rint(x[:, 0]).astype(int)
        elif name.startswith(_GAINS):
            gains[name.removeprefix(_GAINS)] = x
        else:
            arguments[name] = x
    return arguments | ({"gains": gains} if gains else {})


def _bare(scenario: Scenario, paths: Sequence[str]) -> Scenario:
    """The scenario without the load that differs from run to run: a rollout adds it."""
    if not any(path.startswith("robot.payload.") for path in paths):
        return scenario
    load = scenario.robot.payload
    return scenario if load is None else scenario.changed({"robot.payload.mass": 0.0})


# The arguments that all runs have in common


def _arguments(built: Built, how: RolloutSection) -> dict[str, Any]:
    """The options of a run as arguments of `appell.rollout`; raises why there are none."""
    options = dict(built.options)
    common = {
        "law": built.law,
        "q0": options["q0"],
        "v0": options["v0"],
        "integrator": how.integrator,
        "slip": how.slip,
        "formulation": options["formulation"],
    }
    if options["forces"] is not None:
        raise NoRolloutError("forces act on frames")
    if options["walls"]:
        raise NoRolloutError("walls are struck, which needs the instant of an impact")
    if options["stops"] and _can_stop(built):
        if not is_tree(built.robot):
            raise NoRolloutError("a robot with loops has joints that stop at limits")
        common |= {"stops": True, "stop_restitution": options["stop_restitution"]}
    if built.law is None:
        return common | _alone(built, how, options)
    period = options["period"]
    if options["adc"] is not None or options["motor"] is not None:
        raise NoRolloutError("sensors have converters, or actuators motors")
    if options["method"] != "DOP853":
        raise NoRolloutError(f"integrator.method = {options['method']!r} is asked for")
    until = options["until"]
    substeps = max(1, int(np.ceil(period / how.step - 1e-9)))
    return common | _rubbing(built, options["friction"]) | {
        "trajectory": built.trajectory,
        "dt": period,
        "steps": None if until is None else int(np.ceil(until / period - 1e-9)),
        "substeps": substeps,
        "delay": options["delay"],
        "encoder": options["encoder"],
        "speeds": options["speeds"],
        "torque_limit": options["torque_limit"],
        "external": _pushes(built),
    }  # fmt: skip


def _alone(built: Built, how: RolloutSection, options: dict[str, Any]) -> dict[str, Any]:
    """A fall, or constant torques."""
    torque, until = options["torque"], options["until"]
    if callable(torque):
        raise NoRolloutError("the torques are a function, or joints are pushed")
    if options["method"] != "DOP853":
        raise NoRolloutError(f"integrator.method = {options['method']!r} is asked for")
    steps = max(1, int(np.ceil(until / how.step - 1e-9)))
    arguments = {"dt": until / steps, "steps": steps, "tau": torque}
    return arguments | _rubbing(built, options["friction"])


def _rubbing(built: Built, friction: Friction | bool) -> dict[str, Any]:
    """Friction of the joints that a rollout has: viscous, and dry of one level."""
    if friction is False:
        return {}
    level = Friction.of(built.robot) if friction is True else friction
    if not is_tree(built.robot):
        raise NoRolloutError("joints of a robot with loops rub")
    viscous, coulomb, stiction, constant = level.levels(built.robot.nv)
    if constant.any() or (stiction != coulomb).any():
        raise NoRolloutError("friction has a stiction, or differs backwards")
    return {"viscous": viscous, "coulomb": coulomb}


def _can_stop(built: Built) -> bool:
    """Whether a joint has a limit of position."""
    bodies = getattr(built.robot.model, "bodies", ())
    return any(np.isfinite([b.joint.lower, b.joint.upper]).any() for b in bodies)


def _pushes(built: Built) -> Any:
    """Forces on joints in windows of time, as an equation of time."""
    scenario, robot = built.scenario, built.robot
    if built.options["external"] is None:
        return None
    period = scenario.sampling.period
    windows: list[tuple[int, float, int, int | None]] = []
    for d in scenario.disturbances:
        assert d.joint is not None
        assert isinstance(d.force, float)
        ends = [x / period for x in window(d, period) if x < np.inf]
        if any(abs(x - round(x)) > ROUNDING for x in ends):
            raise NoRolloutError("a disturbance begins or ends between samples")
        start, end = round(ends[0]), None if d.end is None else round(ends[1])
        windows.append((robot.independent.index(d.joint), d.force, start, end))

    def external(t: Any, q: Any, v: Any) -> list[Any]:
        push: list[Any] = [0.0] * robot.nv
        for k, force, start, end in windows:
            after = (1 + sign(t - (start - 0.5) * period)) / 2
            before = 1.0 if end is None else (1 - sign(t - (end - 0.5) * period)) / 2
            push[k] = push[k] + force * after * before
        return push

    return external
