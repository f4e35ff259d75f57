"""What inverse kinematics is asked: tasks, and from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from appell.control.kinematics.task_equations import Part
from appell.control.kinematics.task_stack import TaskStack, task_stack
from appell.control.kinematics.tasks import FrameTask, Task
from appell.errors import InputError
from appell.model import configuration
from appell.model.model import FrameName
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Array, Numbers, is_tree

Tasks = Numbers | Mapping[Any, Numbers] | Task | Sequence[Task]


class Goal(NamedTuple):
    """Targets (N, numbers) of a stack of tasks, of which the first ``rows`` are to be zero, or to
    be ``offset`` (N, rows). Loops are to be closed besides."""

    stack: TaskStack
    target: Array
    rows: int
    offset: Array | None = None

    def of(self, chosen: npt.NDArray[np.intp]) -> Goal:
        offset = None if self.offset is None else self.offset[chosen]
        return self._replace(target=self.target[chosen], offset=offset)

    def both(self, q: Array) -> tuple[Array, Array]:
        """What is missing, (N, rows), in m and rad times weights, and how far the loops are open;
        and how much of it a step of the coordinates makes good, (N, rows, nv). NaN where the robot
        cannot be."""
        e, J = self.stack(q, self.target)
        e, J = e[:, : self.rows], J[:, : self.rows]
        if self.offset is not None:
            e = e - self.offset
        loops = self.stack.loops
        if loops is None:
            return e, J
        return (
            np.concatenate([e, -loops.opening(q)], axis=-1),
            np.concatenate([J, loops.slopes(q)], axis=-2),
        )

    def error(self, q: Array) -> Array:
        """The first of both."""
        return self.both(q)[0]

    def parts(self, e: Array) -> tuple[Array, Array]:
        """Errors (N, rows) as lengths in m, (N,), and all else, (N,), in rad."""
        stack, n = self.stack, self.rows
        plain = np.concatenate([e[:, :n] / stack.weight[:n], e[:, n:]], axis=-1)
        angular = np.append(stack.angular[:n], np.ones(e.shape[1] - n, dtype=bool))
        return norm(plain[:, ~angular]), norm(plain[:, angular])

    def missing(self, q: Array) -> tuple[float, float]:
        """Of one target, what is missing at q in m and in rad, whether loops are closed or not."""
        distance, angle = self.parts(self.error(q[None])[:, : self.rows])
        return float(distance[0]), float(angle[0])

    def moved(self, q: Array, step: Array) -> Array:
        """Coordinates (N, nq) after a step (N, nv)."""
        return configuration.integrate(self.stack.model, q, step)

    def normalised(self, q: Array) -> Array:
        return configuration.normalise(self.stack.model, q)

    def of_speeds(self, x: Any) -> Any:
        """What is known of each coordinate, (N, nq), for each speed, (N, nv)."""
        return x[:, list(self.stack.system.coordinates)]


class TaskRequest(NamedTuple):
    """What is wanted: tasks with targets of a batch of some shape, and from where, (N, nq)."""

    robot: Dynamics
    tasks: tuple[Task, ...]
    goal: Goal
    start: Array
    limits: tuple[Array, Array]
    shape: tuple[int, ...]

    @property
    def alone(self) -> FrameTask | None:
        """The task, if it is the only one: a whole pose, or a point, in the base."""
        task, *others = self.tasks
        plain = task.part in (Part("pose", task.part.frame), Part("position", task.part.frame))
        alone = plain and not others and task.key.chosen is None
        return task if alone and isinstance(task, FrameTask) else None

    @property
    def pose(self) -> Array:
        """The poses (N, 4, 4) of a task alone."""
        T = np.broadcast_to(np.eye(4), (len(self.goal.target), 4, 4)).copy()
        T[:, :3] = self.goal.target.reshape(-1, 3, 4)
        return T

    def name(self, k: int) -> str:
        where = tuple(int(i) for i in np.unravel_index(k, self.shape))
        what = "pose" if self.alone else "target"
        return f"{what} {list(where)}" if self.shape else f"the {what}"


def rotation_vector(R: Array) -> Array:
    """Axis times angle, (..., 3), of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_rotvec()


def norm(e: Array) -> Any:
    """Lengths of rows."""
    return np.linalg.norm(e, axis=-1)


def tasks_of(pose: Tasks, frame: FrameName | None = None) -> tuple[Task, ...]:
    """Tasks in any of the ways to write them: a pose or a point of one frame, ``{frame: pose}``, a
    task, or several."""
    tasks: tuple[Any, ...]
    if isinstance(pose, Task):
        tasks = (pose,)
    elif isinstance(pose, Mapping):
        tasks = tuple(FrameTask(name, x) for name, x in pose.items())
    elif isinstance(pose, list | tuple) and any(isinstance(x, Task) for x in pose):
        tasks = tuple(pose)
    else:
        return (FrameTask(frame, cast("Numbers", pose)),)
    if frame is not None:
        raise InputError(f"frame = {frame!r}: tasks name their frames themselves; leave it out.")
    bad = [x for x in tasks if not isinstance(x, Task)]
    if bad or not tasks:
        raise InputError(
            f"tasks: got {bad[0]!r}; expected FrameTask, CentreOfMassTask, ... only."
            if bad
            else "tasks: there is none; expected one or more."
        )
    return tasks


def read(
    robot: Dynamics, pose: Tasks, start: Numbers | None, frame: FrameName | None, limited: bool
) -> TaskRequest:
    """What was given, checked."""
    for c in robot.constraints if isinstance(robot, ClosedRobot) else ():
        if c.closures < len(c.rows):
            raise InputError(
                f"'{robot.name}': '{c.name}' forbids velocities and not positions, so where it can "
                "be is no matter of inverse kinematics."
            )
    tasks = tasks_of(pose, frame)
    for task in tasks:
        if task.target is None or task.wanted is not None:
            raise InputError(
                f"{type(task).__name__} has a velocity: that is for servo; give a target alone."
            )
    if min(task.priority for task in tasks) > 0:
        raise InputError(
            "tasks: none has priority 0; those that are to be reached have, others come as near as "
            "they can."
        )
    stack = task_stack(robot, tasks)
    low, high = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    places = list(stack.system.coordinates)
    low[places], high[places] = stack.low, stack.high
    if start is None:
        start = robot.neutral()
        if is_tree(robot):
            middle = np.array([_middle(*x) for x in zip(low, high, strict=True)])
            start = np.where(np.isfinite(low) | np.isfinite(high), middle, start)
    if not limited:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    target = stack.target(tasks)
    shape = target.shape[:-1]
    begin = _start(start, robot.nq, shape).reshape(-1, robot.nq).copy()
    goal = Goal(stack, target.reshape(-1, target.shape[-1]), stack.ends[0])
    return TaskRequest(robot, tasks, goal, begin, (low, high), shape)


def unmoved(goal: Goal) -> list[int]:
    """The coordinates that move no task."""
    still, model = np.flatnonzero(~goal.stack.moving), goal.stack.model
    return [model.place(k) for k in still if model.is_coordinate[k]]


def _middle(low: float, high: float) -> float:
    """Of the limits, if there are two; else what is nearest to zero."""
    return (low + high) / 2 if np.isfinite(high - low) else min(max(0.0, low), high)


def _start(start: Any, n: int, shape: tuple[int, ...]) -> Array:
    try:
        x = np.array(start, dtype=float)
        if x.shape[-1:] == (n,) and np.isfinite(x).all():
            return np.broadcast_to(x, (*shape, n))
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"start: expected finite positions of {n} joints, one set or one per pose, "
        f"{(*shape, n)}; got {np.shape(start)}."
    )
