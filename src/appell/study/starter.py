"""A scenario for any robot, as a commented file that runs as it stands."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from appell.control import ComputedTorque, SingularWarning
from appell.errors import AppellError, InputError
from appell.given import one_of
from appell.model.limits import limits
from appell.model.model import Model
from appell.model.units import TURNING, units_of
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Array, Dynamics
from appell.robots.robot import is_tree
from appell.study.positions import middle
from appell.study.run_scenario import run
from appell.study.scenario import Scenario, Source, is_file
from appell.study.scenario_build import build, robot_of
from appell.study.scenario_file import checked

TASKS = ("line", "circle", "moves", "via", "hold", "torque", "fall")
PATHS = TASKS[:2]  # of a frame
Data = dict[str, Any]

SCHEMA = "scenario.schema.json"  # beside the file, for editors
_TRIES = 12  # of a kind of task
_DRAWS = 100  # of configurations, among which the best is chosen
_TURN, _SLIDE = 10.0, 0.02  # degrees and m that joints move
_TURN_ERROR, _SLIDE_ERROR = 1.0, 0.0002  # degrees and m that they may be off on the way


def new_scenario(
    model: str,
    task: str | None = None,
    *,
    frame: str | None = None,
    loops: str | None = None,
    file: Path | None = None,
) -> str:
    """The text of a commented TOML file with a scenario for a robot: the task of that kind, or the
    first of TASKS that the robot can do. ``frame`` is the link that moves along a line or a circle.
    Paths are written as seen from the ``file``."""
    if task is not None:
        one_of("task", task, TASKS)
        if frame is not None and task not in PATHS:
            raise InputError(f"a frame goes with the tasks {' and '.join(PATHS)}, not {task}.")
    folder = (file or Path("x")).parent
    robot: Data = {"model": _seen_from(folder, model) if is_file("robot.model", model) else model}
    if loops is not None:
        robot["loops"] = _seen_from(folder, loops)
    source = Source(folder / "new.toml")
    head: Data = {"angles": "degrees", "robot": robot}
    subject = robot_of(checked({**head, "task": {"kind": "fall", "until": 1}}, source))
    reasons = []
    suited = TASKS if frame is None else PATHS
    for kind in suited if task is None else (task,):
        try:
            for body in islice(_proposals(kind, subject, frame), _TRIES):
                try:
                    _try(checked({**head, **body}, source), subject)
                except AppellError as problem:
                    reasons.append(f"{kind}: {problem}")
                else:
                    return _written(head | body, subject)
        except AppellError as problem:
            reasons.append(f"{kind}: {problem}")
    raise InputError(
        f"'{subject.name}': no scenario was found"
        + (f" with the task {task!r}" if task else "")
        + f"; {reasons[-1] if reasons else 'try another task.'}"
    )


def _try(scenario: Scenario, robot: Dynamics) -> None:
    """Refuse what does not begin or is near a singularity, and torques that lead into one."""
    if scenario.task.kind != "torque":
        with warnings.catch_warnings():
            warnings.simplefilter("error", SingularWarning)
            try:
                build(scenario, robot)
            except SingularWarning as problem:
                raise InputError(str(problem)) from None
        return
    stopped = run(scenario).run.stopped
    if stopped is not None:
        raise InputError(stopped)


def _seen_from(folder: Path, path: str) -> str:
    return Path(os.path.relpath(str(Path(path).expanduser()), str(folder))).as_posix()


# What might be done


def _proposals(kind: str, robot: Dynamics, frame: str | None) -> Iterator[Data]:
    """Starts and tasks of a kind, the best first; what cannot be built is passed over."""
    if kind == "fall":
        yield _falling(robot)
        return
    if kind == "torque":
        yield from _driven(robot)
        return
    law = ComputedTorque(robot)
    gains = {f.name: float(np.asarray(f.default)) for f in fields(law) if f.name in law.gains}
    shared: Data = {
        "law": {"name": "computed-torque", **gains},
        "sampling": {"period": 0.002},
        "expect": {"max_error": _bound(robot)},
    }
    if kind in PATHS:
        for q, task in _paths(kind, robot, frame):
            yield {"start": {"q": _by_name(robot, q)}, "task": task, **shared}
        return
    q = _inside(robot)
    start: Data = {}
    if is_tree(robot):
        start["start"] = {"q": _by_name(robot, q)}
    if _tight(robot):
        start["contacts"] = {"stops": False}
    there, back = _moved(robot, q), _by_name(robot, q, independent=True)
    tasks: Data = {
        "hold": {"kind": "hold", "until": 1.0},
        "moves": {"kind": "moves", "moves": [{"to": there, "duration": 1.0}]},
        "via": {"kind": "via", "points": [there, back], "times": [1.0, 2.0]},
    }
    yield start | {"task": tasks[kind]} | shared


def _driven(robot: Any) -> Iterator[Data]:
    """Constant torques: first those that hold the robot up, if there are some."""
    tree = is_tree(robot)
    if not robot.actuated or (tree and robot.model.compounds):
        raise InputError("torques are for robots whose base is fixed, or with loops or wheels.")
    q = _inside(robot) if tree else robot.neutral()
    start: Data = {"start": {"q": _by_name(robot, q)}} if tree else {}
    sizes = [np.full(len(robot.actuated), size) for size in (1.0, 0.1, 0.01)]
    if len(robot.actuated) == robot.nv:
        held = robot.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))
        sizes[:0] = [held] if np.abs(held).max() > 1e-6 else []
    for size in sizes:
        torque = {n: float(f"{x:.6g}") for n, x in zip(robot.actuated, size, strict=True)}
        task = {"kind": "torque", "until": 1.0, "torque": torque}
        yield {**start, "task": task} | _inelastic()


def _falling(robot: Dynamics) -> Data:
    """The robot let go: above a floor, if its base is free."""
    q = robot.neutral() if not is_tree(robot) else _inside(robot)
    found: Data = {"task": {"kind": "fall", "until": 1.0}}
    if is_tree(robot):
        found["start"] = {"q": _by_name(robot, q)}
    if is_tree(robot) and robot.model.free:
        lowest = float(robot.poses(q)[:, 2, 3].min())
        place = [0.0, 0.0, round(0.1 - lowest, 3), 0.0, 0.0, 0.0, 1.0]
        q[:7] = place
        found["start"] = {"q": {"free": place} | _by_name(robot, q)}
        found["task"]["until"] = 0.5
        found["walls"] = [{"kind": "plane", "normal": [0.0, 0.0, 1.0], "name": "floor"}]
    return found | _inelastic()


def _inelastic() -> Data:
    """How walls are struck by machines, and an accuracy that suits impacts."""
    return {
        "contacts": {"restitution": 0.0},
        "integrator": {"rtol": 1e-8, "atol": 1e-9},
    }


def _paths(kind: str, robot: Dynamics, frame: str | None) -> Iterator[tuple[Array, Data]]:
    """Lines and circles of a frame, or of that farthest from the base, from configurations in which
    it moves well."""
    if not isinstance(robot.model, Model):
        raise InputError("a spherical robot's platform turns about a point; choose moves.")
    frame = frame or _farthest(robot)
    whole = is_tree(robot) and _turns(robot, frame)
    for q in _dexterous(robot, frame, whole):
        T = robot.forward_kinematics(q, frame)
        size = max(0.05 * float(np.linalg.norm(T[:3, 3])), 0.01)
        free = {} if whole else {"orientation": "free"}
        named = {"frame": frame} if frame else {}
        for axis in _directions(robot, q, frame):
            way = np.round(2 * size * axis, 3)
            if kind == "line":
                yield q, {"kind": kind, **named, "by": way.tolist(), "duration": 2.0, **free}
                continue
            normal = _normal(robot, q, frame, axis)
            centre = np.round(T[:3, 3] + size * axis, 4)
            shape = {"centre": centre.tolist(), "normal": np.round(normal, 6).tolist()}
            yield q, {"kind": kind, **named, **shape, "duration": 2.0, **free}


def _turns(robot: Any, frame: str | None) -> bool:
    """Whether the frame moves and turns in all directions, so that its axes can be kept."""
    J = robot.jacobian(robot.random(0, 10), frame)
    return int(np.linalg.matrix_rank(J, 1e-6).max()) == 6


def _farthest(robot: Any) -> str | None:
    """The last link with the most joints between it and the base; None where the tip is it."""
    if not is_tree(robot):
        return None
    joints = [len(robot.model.ancestors[robot.model.frame(x).body]) for x in robot.link_names]
    last = len(joints) - 1 - int(np.argmax(joints[::-1]))
    try:
        tip = robot.model.frame(None).name
    except AppellError:
        tip = None
    return None if tip == robot.link_names[last] else robot.link_names[last]


def _directions(robot: Any, q: Array, frame: str | None) -> Iterator[Array]:
    """Along which the frame can move best, first along the axes of the base."""
    J = robot.jacobian(q, frame)[:3]
    U, sizes, _ = np.linalg.svd(np.pad(J, ((0, 0), (0, 3))))
    if sizes[1] < 1e-6 * sizes[0]:
        raise InputError("the frame moves along a curve only; choose moves.")
    for axis in np.eye(3)[[2, 1, 0]]:
        if np.linalg.norm(U[:, sizes < 1e-6 * sizes[0]].T @ axis) < 1e-6:
            yield axis
            yield -axis
    yield from (U[:, 0], -U[:, 0])


def _normal(robot: Any, q: Array, frame: str | None, axis: Array) -> Array:
    """At right angles to the plane in which the frame moves best, that holds an axis."""
    U = np.linalg.svd(robot.jacobian(q, frame)[:3])[0]
    other = U[:, 0] - (U[:, 0] @ axis) * axis
    if np.linalg.norm(other) < 1e-3:
        other = U[:, 1] - (U[:, 1] @ axis) * axis
    normal = np.cross(axis, other)
    return normal / np.linalg.norm(normal)


def _dexterous(robot: Any, frame: str | None, whole: bool) -> Iterator[Array]:
    """Configurations, rounded, far from singular ones, the best first."""
    if not is_tree(robot):
        yield robot.neutral()
        return
    draw, q0 = np.random.default_rng(0), _inside(robot)
    q = q0 + 0.5 * (robot.random(draw, _DRAWS) - q0)
    q[0] = q0
    q = np.array([_rounded(robot, x) for x in q])
    J = robot.jacobian(q, frame)[:, : 6 if whole else 3]
    sizes = np.linalg.svd(J, compute_uv=False)
    last = int(np.linalg.matrix_rank(J, 1e-6).max()) - 1  # beyond it, it can never move
    margin = sizes[:, last] / sizes[:, 0] if whole else sizes[:, last]
    for k in np.argsort(-margin, kind="stable")[:5]:
        yield q[k]


# Configurations


def _inside(robot: Dynamics) -> Array:
    """The neutral configuration, or where that is beyond a limit, the middle of the limits."""
    q = robot.neutral()
    known = limits(robot.model) if isinstance(robot.model, Model) else ()
    if not is_tree(robot) or all(limit.beyond(q) < 0 for limit in known):
        return q
    return _rounded(robot, middle(robot))


def _moved(robot: Any, q: Array) -> Data:
    """Independent joints, each a little further within its limits."""
    own = list(robot.system.coordinates)
    further = {k: _step(u) for k, u in zip(own, _units(robot), strict=True)}
    for limit in limits(robot.model) if isinstance(robot.model, Model) else ():
        k = limit.coordinate
        if k in further and limit.beyond(q + further[k] * np.eye(len(q))[k]) > 0:
            further[k] = -further[k] / 2
    if _tight(robot):
        further = dict.fromkeys(further, 0.1 * _SLIDE)
    scale = 0.2 if isinstance(robot, ClosedRobot) else 1.0
    there = q.copy()
    there[own] += scale * np.array([further[k] for k in own])
    return _by_name(robot, there, independent=True)


def _tight(robot: Dynamics) -> bool:
    """Whether a joint has no room between its limits, as in files that do not know them."""
    known = limits(robot.model) if isinstance(robot.model, Model) else ()
    low = {x.coordinate: x.value for x in known if x.side > 0}
    return any(x.side < 0 and x.value - low.get(x.coordinate, -np.inf) < 1e-6 for x in known)


def _units(robot: Dynamics) -> list[Any]:
    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    return [units_of([kinds[name]], 1)[0] for name in robot.independent]


def _step(unit: Any) -> float:
    return float(np.radians(_TURN)) if unit is TURNING else _SLIDE


def _bound(robot: Dynamics) -> float | dict[str, float]:
    """What errors are held to, in degrees or m: one number, or by joint where some turn and some
    slide."""
    bounds = [_TURN_ERROR if u is TURNING else _SLIDE_ERROR for u in _units(robot)]
    one = len(set(bounds)) == 1
    return bounds[0] if one else dict(zip(robot.independent, bounds, strict=True))


def _rounded(robot: Any, q: Array) -> Array:
    """Whole degrees, and centimetres, where the joints' limits leave room."""
    rounded = q.copy()
    for k, unit in zip(robot.system.coordinates, _units(robot), strict=True):
        one = float(np.radians(1)) if unit is TURNING else 0.01
        rounded[k] = one * np.round(q[k] / one)
    beyond = {x.coordinate for x in limits(robot.model) if x.beyond(rounded) > 0}
    return np.where(np.isin(np.arange(len(q)), list(beyond)), q, rounded)


def _by_name(robot: Any, q: Array, independent: bool = False) -> Data:
    """Positions by joint, in degrees and m."""
    single = getattr(robot.model, "is_coordinate", None)
    places = (
        zip(robot.independent, robot.system.coordinates, strict=True)
        if independent or not is_tree(robot) or single is None
        else ((n, robot.model.place(k)) for k, n in enumerate(robot.joint_names) if single[k])
    )
    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    turns = {name: units_of([kinds[name]], 1)[0] is TURNING for name in kinds}
    return {n: float(f"{np.degrees(q[k]) if turns[n] else q[k]:.6g}") for n, k in places}


# The file


_COMMENTS = {
    "angles": "of every position and speed of joints that turn; sliding ones are in m",
    "robot.model": "a name that appell list shows, or the path of a .urdf file from here",
    "task.duration": "s, from rest to rest",
    "task.until": "s",
    "task.torque": "N m, or N of joints that slide",
    "task.by": "m from where the frame is, in the base's axes",
    "task.centre": "m, in the base's axes",
    "start.q": "where it begins, at rest: degrees and m",
    "law.name": "the controller: appell control laws lists them; module:name is one of your own",
    "sampling.period": "s between samples of the law",
    "expect.max_error": "of any joint, in degrees or m: status 1 if it is exceeded",
    "contacts.restitution": "of walls; stop_restitution is that of the joints' limits, 0",
}
_MORE = {
    "robot": (
        "# locked = {}                # joints that are held, with their positions",
        "# friction = true            # that of the robot's own joints",
    ),
    "law": ("# believes = {payload = {mass = 0.0}}   # what its model has other than the robot",),
    "sampling": ("# delay = 1                 # samples",),
}
_OTHERS = ("sensors", "actuators", "disturbances", "walls", "contacts", "integrator", "outputs",
           "expect")  # fmt: skip


def _written(data: Data, robot: Dynamics) -> str:
    """The file: tables with comments."""
    kind = data["task"]["kind"]
    title = f"{robot.name}: {kind}"
    lines = [
        f"#:schema ./{SCHEMA}", f"title = {_toml(title)}",
        _entry("angles", data["angles"], "angles"),
        "# outputs = {animation = true} # show the moving robot in the report",
    ]  # fmt: skip
    for table in ("robot", "start", "task", "walls", "contacts", "law", "sampling", "integrator",
                  "expect"):  # fmt: skip
        for section in _sections(data.get(table)):
            head = f"[[{table}]]" if isinstance(data[table], list) else f"[{table}]"
            lines += ["", head]
            lines += [_entry(k, x, f"{table}.{k}") for k, x in section.items()]
        lines += [_gravity(robot), *_payload(robot)] if table == "robot" else ()
        lines += _MORE.get(table, ()) if table in data else ()
    others = ", ".join(name for name in _OTHERS if name not in data)
    lines += [
        "", f"# Other sections: {others}.",
        "# docs/scenarios.md describes them; editors complete them by the schema beside this file.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _gravity(robot: Dynamics) -> str:
    """The robot's own gravity, to be changed."""
    field = [float(f"{x:.6g}") + 0.0 for x in robot.model.gravity]
    return f"# gravity = {_toml(field):<16} # m/s^2, in the base's axes"


def _payload(robot: Any) -> list[str]:
    """A load at the tip or, where there are several, on a link that takes one."""
    for link in (None, _farthest(robot), *reversed(robot.link_names)):
        named = {} if link is None else {"link": link}
        try:
            robot.with_payload(1.0, (0.0, 0.0, 0.05), **named)
        except AppellError:
            continue
        return [f"# payload = {_toml({**named, 'mass': 1.0, 'com': [0.0, 0.0, 0.05]})}"]
    return []


def _sections(found: Any) -> list[Data]:
    return [] if found is None else found if isinstance(found, list) else [found]


def _entry(key: str, value: Any, path: str) -> str:
    line = f"{_key(key)} = {_toml(value)}"
    comment = _COMMENTS.get(path)
    return f"{line:<27} # {comment}" if comment else line


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_toml(x)}" for k, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # TOML has no surrogate pairs, and wants DEL escaped, which JSON does not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
