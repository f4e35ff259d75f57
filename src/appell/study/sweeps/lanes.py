"""Points as runs of one rollout: which fields of a scenario may differ between its lanes.

A field that may is an argument of `appell.rollout` with a row per run. Every other field needs a
rollout of its own for each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.control.rollouts.payload import Payload
from appell.control.tracking.closed_loop import ROUNDING
from appell.control.tracking.hardware import Friction
from appell.maths.scalar import sign
from appell.robots.dynamics import Array
from appell.robots.robot import is_tree
from appell.study.disturbances import window
from appell.study.positions import positions_of
from appell.study.scenario import Payload as PayloadSection
from appell.study.scenario import Rubbing, Scenario
from appell.study.scenario_build import Built, build
from appell.study.sweeps.fields import Change
from appell.study.sweeps.study_file import RolloutSection


class Lane(NamedTuple):
    """An argument of the rollout that a field becomes: a column of it, or without one all columns.
    Values of ``least`` and below are looked at one by one before they run."""

    argument: str
    column: int | None = None
    unit: float = 1.0
    least: float = -np.inf


class NoRolloutError(Exception):
    """Why a scenario is no rollout."""


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
        names = {lane.argument for lane in self.lanes.values()}
        self.base = bases(scenario, self.built, names)

    def of(self, changes: Sequence[Change], values: Mapping[str, Array]) -> dict[str, Any]:
        """The arguments of the rollout at points with these values of variables, (runs,) each."""
        runs = len(next(iter(values.values())))
        rows = {name: np.tile(x, (runs, 1)) for name, x in self.base.items()}
        for c in changes:
            lane = self.lanes[c.path]
            column = slice(None) if lane.column is None else slice(lane.column, lane.column + 1)
            given = values[c.name][:, None]
            to = rows[lane.argument]
            to[:, column] = to[:, column] * given if c.scales else lane.unit * given
        return self.arguments | _as_given(rows, self.built)

    def doubtful(self, changes: Sequence[Change], values: Mapping[str, Array]) -> Any:
        """Which points may have values that their fields do not take, (runs,)."""
        runs = len(next(iter(values.values())))
        found = np.zeros(runs, dtype=bool)
        for c in changes:
            found |= ~(values[c.name] > self.lanes[c.path].least)
        law = self.built.law
        if law is not None and len(law.damps) > 2:
            gains = [lane.argument for lane in self.lanes.values()]
            found |= any(x in law.damps for x in gains)
        return found

    def behind(self, changes: Sequence[Change], values: Mapping[str, Array]) -> Any:
        """Which points start beyond a limit at which their joints stop, (runs,)."""
        found = np.zeros(len(next(iter(values.values()))), dtype=bool)
        if not self.arguments.get("stops") or "q0" not in self.base:
            return found
        model, q0 = self.built.robot.model, self.of(changes, values)["q0"]
        for body in model.bodies:
            position = body.ratio * q0[:, model.place(body.coordinate)] + body.zero
            found |= (position < body.joint.lower) | (position > body.joint.upper)
        return found


def lane_of(path: str, built: Built) -> Lane | None:
    """The argument of a rollout that a field is, if it is one."""
    table, *keys = path.split(".")
    if table == "robot" and len(keys) > 1:
        return _robot_lane(keys, built)
    if table == "law" and built.law is not None:
        return _part(keys[0], keys[1:], len(built.law._values.get(keys[0], ())), 0.0, built)
    if table == "start" and len(keys) == 2:
        return _start_lane(keys[0], keys[1], built)
    if (table, keys[:1]) == ("actuators", ["torque_limit"]):
        return _part(keys[0], keys[1:], built.robot.system.size("d"), 0.0, built)
    if (table, keys[:1]) == ("sensors", ["encoder"]):
        return _part(keys[0], keys[1:], built.robot.nv, 0.0, built)
    return Lane("delay", None, 1.0, -1.0) if path == "sampling.delay" else None


_NEGATIVE = -5e-324  # a least value that allows zero


def _part(name: str, rest: list[str], size: int, least: float, built: Built) -> Lane | None:
    """One number for all of so many columns, or one of them; a gain that is a matrix is none."""
    law = built.law
    if not size or (law is not None and name in law._values and law._values[name].ndim > 1):
        return None
    if not rest:
        return Lane(name, None, 1.0, least)
    known = len(rest) == 1 and rest[0].isdigit() and int(rest[0]) < size
    return Lane(name, int(rest[0]), 1.0, least) if known else None


def _robot_lane(keys: list[str], built: Built) -> Lane | None:
    """A load, gravity or friction, of which the law does not know."""
    scenario, robot, what = built.scenario, built.robot, keys[0]
    believes = scenario.law.believes if scenario.law is not None else None
    apart = built.law is None or getattr(believes, what, None) is not None
    if getattr(scenario.task, "timing", None) == "time_optimal" and what != "friction":
        return None  # how fast the motors can go depends on the load and gravity
    if what == "payload" and apart and is_tree(robot):
        if keys[1:] == ["mass"]:
            return Lane("payload", 0, 1.0, _NEGATIVE)
        place = _part("com", keys[2:], 3, -np.inf, built) if keys[1] == "com" else None
        column = None if place is None else place.column
        return None if column is None else Lane("payload", 1 + column)
    if what == "gravity" and apart and is_tree(robot):
        return _part("gravity", keys[1:], 3, -np.inf, built)
    if what == "friction" and isinstance(scenario.robot.friction, Rubbing):
        # A level that is given beside coulomb stays as it is, and then there are two of them.
        others = (scenario.robot.friction.stiction, scenario.robot.friction.coulomb_backwards)
        one_level = keys[1] == "coulomb" and others == (None, None)
        known = keys[1] == "viscous" or one_level
        return _part(keys[1], keys[2:], robot.nv, _NEGATIVE, built) if known else None
    return None


def _start_lane(what: str, joint: str, built: Built) -> Lane | None:
    """Where a run starts, if that changes nothing else of it."""
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
        return Lane("v0", place, unit)
    elsewhere = task.kind == "hold" and getattr(task, "at", None) is not None
    begins_anywhere = task.kind in ("fall", "torque") or elsewhere
    return Lane("q0", place, unit) if what == "q" and begins_anywhere else None


def bases(scenario: Scenario, built: Built, arguments: set[str]) -> dict[str, Array]:
    """The scenario's own numbers of arguments that differ from run to run; it may have been built
    without its load."""
    robot, law, options = built.robot, built.law, built.options
    base: dict[str, Any] = {}
    for name in arguments:
        if name == "payload":
            load = scenario.robot.payload or PayloadSection(mass=0.0)
            base[name] = [load.mass, *load.com]
        elif name == "gravity":
            base[name] = robot.system.values("gravity")
        elif name in ("viscous", "coulomb"):
            assert isinstance(scenario.robot.friction, Rubbing)
            base[name] = np.broadcast_to(getattr(scenario.robot.friction, name), robot.nv)
        elif law is not None and name in law._values:
            base[name] = law._values[name]
        elif name == "delay":
            base[name] = [options["delay"]]
        elif name in ("torque_limit", "encoder"):
            own = options[name]
            base[name] = np.full(robot.system.size("d") if name == "torque_limit" else robot.nv,
                                 np.nan if own is None or own is True else own)  # fmt: skip
        else:
            base[name] = _start(built, name)
    return {name: np.asarray(x, dtype=float).reshape(1, -1) for name, x in base.items()}


def _start(built: Built, name: str) -> Any:
    own = built.options[name]
    if own is not None:
        return own
    if built.law is None or not callable(built.trajectory):
        return np.zeros(built.robot.nv)
    return built.trajectory(np.zeros(1))[0 if name == "q0" else 1][0]


def _as_given(rows: dict[str, Array], built: Built) -> dict[str, Any]:
    """Rows by the arguments of `appell.rollout` that they are part of."""
    found: dict[str, Any] = {}
    gains: dict[str, Any] = {}
    for name, x in rows.items():
        if name == "payload":
            load = built.scenario.robot.payload
            link = load.link if load is not None else None
            inertia = load.inertia if load is not None else (0.0, 0.0, 0.0)
            found["payload"] = Payload(x[:, 0], x[:, 1:], link, inertia)
        elif name == "gravity":
            found["parameters"] = {"gravity": x}
        elif name == "delay":
            found["delay"] = np.rint(x[:, 0]).astype(int)
        elif built.law is not None and name in built.law._values:
            gains[name] = x
        else:
            found[name] = x
    return found | ({"gains": gains} if gains else {})


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
    found = {"dt": until / steps, "steps": steps, "tau": torque}
    return found | _rubbing(built, options["friction"])


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
