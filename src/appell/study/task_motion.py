"""What a law is to follow: the trajectory of each kind of task."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell import Frame, control
from appell.control.trajectories.piecewise import Piecewise
from appell.control.trajectories.trajectory import Timed, Trajectory
from appell.errors import InputError
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Array
from appell.robots.robot import is_tree
from appell.study.positions import Positions
from appell.study.scenario_tasks import (
    CircleTask,
    FileTask,
    FramePath,
    HoldTask,
    JointMove,
    LineTask,
    MovesTask,
    ViaTask,
)

_NODES, _MOST_NODES = 32, 1024
_OFF = 1e-6  # m that the origin of a frame whose axes are free may leave its path


def motion_of(places: Positions, task: Any, q0: Array) -> tuple[Any, Array | None]:
    """The trajectory of a task, or a set point, and the coordinates that the robot begins with;
    None where it begins on the trajectory."""
    own = q0[list(places.robot.system.coordinates)]
    if isinstance(task, HoldTask):
        return (own if task.at is None else places.speeds(task.at, own)), q0
    if isinstance(task, MovesTask):
        return _moves(places, task, own), q0
    if isinstance(task, ViaTask):
        return _via(places, task, own), q0
    if isinstance(task, FileTask):
        trajectory, first = _file(places, task)
        return trajectory, q0 if places.scenario.start.said else first
    assert isinstance(task, LineTask | CircleTask)
    if task.orientation == "fixed":
        return _posed(places, task, q0), None
    path = _drawn(places, task, q0)
    return path, None if is_tree(places.robot) else q0


def _moves(places: Positions, task: MovesTask, q: Array) -> Trajectory:
    whole: Trajectory | None = None
    for k, move in enumerate(task.moves):
        with places.scenario.at("task", "moves", k):
            to = places.speeds(move.to, q)
            part = _move(places, move, q, to)
            whole, q = (part if whole is None else whole.then(part)), to
    assert whole is not None
    return whole


def _move(places: Positions, move: JointMove, q0: Array, q1: Array) -> Trajectory:
    limits = {
        name: places.limits(name, getattr(move, name)) for name in ("speed", "acceleration", "jerk")
    }
    given = {name: x for name, x in (limits | {"duration": move.duration}).items() if x is not None}
    make: Callable[..., Trajectory] = getattr(control, move.profile)
    try:
        signature(make).bind(q0, q1, **given)
    except TypeError as problem:
        raise InputError(f"profile {move.profile!r}: {problem}.") from None
    return make(q0, q1, **given)


def _via(places: Positions, task: ViaTask, q: Array) -> Trajectory:
    points = [q]
    for k, point in enumerate(task.points):
        with places.scenario.at("task", "points", k):
            points.append(places.speeds(point, points[-1]))
    if task.times is not None:
        return control.spline(points, [0.0, *task.times], ends=task.ends or "clamped")
    robot: Any = places.robot
    path = control.spline(points, np.arange(len(points)), ends=task.ends or "natural")
    rates = [places.limits(name, getattr(task, name)) for name in ("speed", "acceleration")]
    return control.time_optimal(robot, path, task.torque, *rates)


def _file(places: Positions, task: FileTask) -> tuple[Trajectory, Array | None]:
    """The motion of a file, and the first coordinates where it has those of all joints of a robot
    with loops, as the motion.csv of a run does."""
    from appell.rig.log.motion_files import read_motion

    robot = places.robot
    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    file = places.scenario.source.folder / FilePath(task.path).expanduser()

    def read(joints: tuple[str, ...]) -> Trajectory:
        own = [kinds[name] for name in joints]
        return read_motion(file, len(joints), task.speed, joints, (), kinds=own)[0]

    try:
        return read(robot.independent), None
    except InputError:
        if not isinstance(robot, ClosedRobot):
            raise
        whole: Trajectory | None
        try:
            whole = read(robot.joint_names)
        except InputError:
            whole = None
        if whole is None:
            raise
    t = np.array(whole.breakpoints)
    q = whole(t)[0]
    return control.spline(q[:, list(robot.system.coordinates)], t), robot.assemble(q[0])


# Paths of a frame


def _posed(places: Positions, task: LineTask | CircleTask, q0: Array) -> Trajectory:
    """A path on which the frame's axes stay, or turn with a circle."""
    robot: Any = places.robot
    if not is_tree(robot):
        raise InputError(
            f"'{robot.name}' is no tree of joints: paths with fixed axes are for trees; say "
            "orientation = 'free', by which only the frame's origin is on the path."
        )
    frame = _frame(places, task)
    pose = robot.forward_kinematics(q0, frame)
    if task.from_ is not None:
        pose[:3, 3] = task.from_
    options: dict[str, Any] = {"start": q0, "branch": task.branch, "frame": frame}
    if task.tolerance is not None:
        options["tolerance"] = task.tolerance
    if isinstance(task, LineTask):
        end = pose.copy()
        end[:3, 3] = _end(task, pose[:3, 3])
        return control.line(robot, pose, end, task.duration, **options)
    if task.angle is not None:
        options["angle"] = places.angle * task.angle
    return control.circle(
        robot, pose, task.centre, task.normal, task.duration, turning=task.turning, **options,
    )  # fmt: skip


def _drawn(places: Positions, task: LineTask | CircleTask, q0: Array) -> Trajectory:
    """A path on which only the frame's origin counts: inverse kinematics from node to node, and a
    spline between them, on a grid that is made finer until the origin stays on the path."""
    robot = places.robot
    frame = _frame(places, task)
    first = np.array(task.from_ or robot.forward_kinematics(q0, frame)[:3, 3])
    place = _curve(task, first, places.angle)
    timing = control.quintic(0.0, 1.0, task.duration)
    assert isinstance(timing, Timed)
    nodes = _NODES
    while nodes <= _MOST_NODES:
        s = np.linspace(0, 1, nodes + 1)
        q = [control.inverse_kinematics(robot, place(0.0), q0, frame=frame)]
        with warnings.catch_warnings():  # of singularities, the first is enough
            warnings.simplefilter("ignore", control.SingularWarning)
            for x in s[1:]:
                near = q[-1]  # from nowhere else: joints do not jump
                q.append(control.inverse_kinematics(robot, place(x), near, frame=frame, restarts=0))
        path = _spline(s, np.array(q)[:, list(robot.system.coordinates)])
        if _leaves(places, task, place, path, np.array(q)) < (task.tolerance or _OFF):
            return Timed(task.kind, path, timing.law)
        nodes *= 2
    raise InputError(
        f"{task.kind}: {_MOST_NODES} nodes do not keep '{robot.name}' on it; use a larger "
        "tolerance, or another start."
    )


def _frame(places: Positions, task: FramePath) -> Any:
    """The frame that moves along the path."""
    if task.point is None:
        return task.frame
    link: Any = task.frame or places.robot.system.frame(None)
    return Frame(getattr(link, "name", link), task.point)


def _curve(task: LineTask | CircleTask, first: Array, angle: float) -> Callable[[float], Array]:
    """The origin's place by s, from 0 to 1."""
    if isinstance(task, LineTask):
        way = _end(task, first) - first
        if np.linalg.norm(way) < 1e-9:
            raise InputError("line: it has no length; expected another end.")
        return lambda s: first + s * way
    from scipy.spatial.transform import Rotation

    normal, centre = np.array(task.normal), np.array(task.centre)
    if not np.linalg.norm(normal) > 1e-9:
        raise InputError("circle: normal is zero; expected a direction.")
    whole = 2 * np.pi if task.angle is None else angle * task.angle
    axis = whole * normal / np.linalg.norm(normal)
    return lambda s: centre + Rotation.from_rotvec(s * axis).apply(first - centre)


def _end(task: LineTask, first: Array) -> Array:
    return np.array(task.to) if task.to is not None else first + np.array(task.by)


def _spline(s: Array, q: Array) -> Piecewise:
    from scipy.interpolate import CubicSpline

    c = CubicSpline(s, q, bc_type="not-a-knot").c
    return Piecewise(s, np.ascontiguousarray(np.moveaxis(c[::-1], 0, 1)))


def _leaves(
    places: Positions, task: FramePath, place: Callable[[float], Array], path: Piecewise, q: Array
) -> float:
    """How far, in m, the frame's origin is from the path between the nodes."""
    robot = places.robot
    s = (path.knots[1:] + path.knots[:-1]) / 2
    between = path(s)[0]
    if isinstance(robot, ClosedRobot):
        own, whole = list(robot.system.coordinates), q[:-1].copy()
        whole[:, own] = between
        between = robot.assemble(whole, list(robot.independent))
    there = robot.forward_kinematics(between, _frame(places, task))[:, :3, 3]
    return float(np.abs(there - np.array([place(x) for x in s])).max())
