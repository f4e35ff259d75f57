"""Straight lines and circles of a frame, turned into motions of the joints.

A pose moves along s from 0 to 1, its axes turning about a fixed direction at a constant rate
(slerp). The joints follow dq/ds = J^+ twist; at the nodes of a grid they are brought to the pose
exactly, and between them they move by polynomials of fifth degree. The grid is made finer until
the frame leaves the line by less than a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from appell.control.kinematics.goal import rotation_vector
from appell.control.kinematics.inverse_kinematics import inverse_kinematics
from appell.control.kinematics.task_stack import TaskStack, task_stack
from appell.control.kinematics.tasks import FrameTask
from appell.control.kinematics.unreachable import NEAR_SINGULAR, warn_of_singularity
from appell.control.trajectories.joint_space import quintic
from appell.control.trajectories.piecewise import Piecewise, hermite
from appell.control.trajectories.trajectory import Timed, Trajectory
from appell.errors import InputError
from appell.given import number, positions, refuse_crooked
from appell.maths.tableau import RK4, fixed_step
from appell.model.model import FrameName
from appell.robots.robot import Array, Numbers, Robot

_SINGULAR = 1e-6
_MOST_NODES = 4096
_NEAR = 1e-4  # s, over which the joints' motion is differentiated


class TaskPath(NamedTuple):
    """Poses (N, 4, 4) and twists (N, 6), dx/ds, of a frame at s (N,) from 0 to 1."""

    name: str
    pose: Callable[[Array], Array]
    twist: Callable[[Array], Array]


class MovedFrame(NamedTuple):
    """A robot's frame that is to be in poses (N, 4, 4)."""

    robot: Robot
    frame: FrameName | None
    stack: TaskStack

    def error(self, q: Array, pose: Array) -> Array:
        """What is missing, (N, 6), in m and, as a rotation vector in the base's axes, in rad."""
        return self.stack(q, pose[:, :3].reshape(-1, 12))[0]

    def jacobian(self, q: Array) -> Array:
        return self.robot.jacobian(q, self.frame)


def line(
    robot: Robot,
    pose0: Numbers,
    pose1: Numbers,
    duration: float | None = None,
    *,
    timing: Trajectory | None = None,
    start: Numbers | None = None,
    branch: str = "nearest",
    frame: FrameName | None = None,
    tolerance: float = 1e-10,
) -> Trajectory:
    """The motion of joints that takes a frame along a straight line, its axes turning the shortest
    way.

    Args:
        robot: An arm.
        pose0: Where the frame begins, (4, 4), m, in the base's axes.
        pose1: Where it ends, (4, 4), m.
        duration: How long it takes, s, from rest to rest, by a quintic; or ``timing`` instead.
        timing: A trajectory of one number from 0 to 1, which the frame follows.
        start: Joint positions near which the arm begins, (nq,), rad or m.
        branch: In which way an arm with a spherical wrist begins: see `inverse_kinematics`.
        frame: A link's name or an `appell.Frame`; the tip without it.
        tolerance: By how much the frame leaves the line at most, m and rad.

    Returns:
        A `Trajectory` of the joints.

    Examples:
        >>> puma = appell.load("puma560")
        >>> here = puma.forward_kinematics([0.1, -0.8, 0.3, 0.2, 0.7, 0.1])
        >>> there = here.copy()
        >>> there[2, 3] -= 0.1
        >>> q0 = [0.1, -0.8, 0.3, 0.2, 0.7, 0.1]
        >>> down = appell.control.line(puma, here, there, duration=2.0, start=q0)
        >>> np.abs(puma.forward_kinematics(down(1.0)[0])[:3, 3] - here[:3, 3]).round(6)
        array([0.  , 0.  , 0.05])
    """
    first, last = _pose("line: pose0", pose0), _pose("line: pose1", pose1)
    way = last[:3, 3] - first[:3, 3]
    turn = rotation_vector(last[:3, :3] @ first[:3, :3].T)
    if np.linalg.norm(way) < 1e-9 and np.linalg.norm(turn) < 1e-9:
        raise InputError("line: pose0 and pose1 are the same; a line needs two.")

    def pose(s: Array) -> Array:
        return _moved(first, first[:3, 3] + s[:, None] * way, s[:, None] * turn)

    def twist(s: Array) -> Array:
        return np.broadcast_to(np.concatenate([way, turn]), (len(s), 6))

    path = TaskPath("line", pose, twist)
    return _followed(robot, path, _law(path, duration, timing), start, branch, frame, tolerance)


def circle(
    robot: Robot,
    pose0: Numbers,
    centre: Numbers,
    normal: Numbers,
    duration: float | None = None,
    *,
    angle: float = 2 * np.pi,
    pose1: Numbers | None = None,
    turning: bool = False,
    timing: Trajectory | None = None,
    start: Numbers | None = None,
    branch: str = "nearest",
    frame: FrameName | None = None,
    tolerance: float = 1e-10,
) -> Trajectory:
    """The motion of joints that takes a frame by an angle about an axis.

    Args:
        robot: An arm.
        pose0: Where the frame begins, (4, 4), m, in the base's axes.
        centre: A point of the axis, (3,), m.
        normal: The axis's direction, (3,), no unit.
        duration: How long it takes, s, from rest to rest; or ``timing`` instead.
        angle: By how much it goes round, rad; a whole turn without it.
        pose1: A pose, (4, 4), m, to whose axes the frame turns (of which only they count); without
            it they stay as they are.
        turning: Whether its axes turn with the circle.
        timing: A trajectory of one number from 0 to 1, which the frame follows.
        start: Joint positions near which the arm begins, (nq,), rad or m.
        branch: As for `line`.
        frame: A link's name or an `appell.Frame`; the tip without it.
        tolerance: By how much the frame leaves the circle at most, m and rad.

    Returns:
        A `Trajectory` of the joints.

    Examples:
        >>> puma = appell.load("puma560")
        >>> q0 = [0.1, 0.2, 0.4, 0.2, 0.7, 0.1]
        >>> here = puma.forward_kinematics(q0)
        >>> centre = here[:3, 3] + [-0.05, 0, 0]
        >>> ring = appell.control.circle(puma, here, centre, (0, 0, 1), duration=3.0, start=q0)
        >>> np.allclose(ring.start, ring.end, atol=1e-8)
        True
    """
    first = _pose("circle: pose0", pose0)
    middle, axis = (
        positions(f"circle: {w}", x) for w, x in (("centre", centre), ("normal", normal))
    )
    if middle.shape != (3,) or axis.shape != (3,) or not np.linalg.norm(axis) > 1e-9:
        raise InputError("circle: expected a centre (3,) and a normal (3,) that is not zero.")
    if not np.isfinite(angle) or angle == 0:
        raise InputError(f"circle: angle={angle!r}; expected a number other than zero, in rad.")
    if turning and pose1 is not None:
        raise InputError("circle: either turning, or pose1 to turn to.")
    axis = axis / np.linalg.norm(axis)
    arm = first[:3, 3] - middle
    middle = middle + (arm @ axis) * axis
    arm = first[:3, 3] - middle
    if np.linalg.norm(arm) < 1e-9:
        raise InputError("circle: pose0 is on the axis; a circle needs a radius.")
    turn: Array = np.zeros(3)
    if turning:
        turn = angle * axis
    elif pose1 is not None:
        turn = rotation_vector(_pose("circle: pose1", pose1)[:3, :3] @ first[:3, :3].T)

    def arms(s: Array) -> Array:
        return _rotated(s[:, None] * (angle * axis)) @ arm

    def pose(s: Array) -> Array:
        return _moved(first, middle + arms(s), s[:, None] * turn)

    def twist(s: Array) -> Array:
        linear = np.cross(angle * axis, arms(s))
        return np.concatenate([linear, np.broadcast_to(turn, linear.shape)], axis=-1)

    path = TaskPath("circle", pose, twist)
    return _followed(robot, path, _law(path, duration, timing), start, branch, frame, tolerance)


def _followed(
    robot: Robot,
    task: TaskPath,
    law: Piecewise,
    start: Numbers | None,
    branch: str,
    frame: FrameName | None,
    tolerance: float,
) -> Trajectory:
    number(f"{task.name}: tolerance", tolerance)
    if branch == "all":
        raise InputError(f"{task.name}: branch='all'; expected one branch, or 'nearest'.")
    if robot.nq != robot.nv:
        raise InputError(
            f"{task.name}: '{robot.name}' has loops, or joints with quaternions (balls, a free "
            "base); expected an arm whose coordinates' rates are its speeds. servo moves others."
        )
    (first,) = task.pose(np.zeros(1))
    q0 = inverse_kinematics(robot, first, start, branch=branch, frame=frame)
    goal = MovedFrame(robot, frame, task_stack(robot, [FrameTask(frame, first)]))
    intervals = 16
    while intervals <= _MOST_NODES:
        path = _through_nodes(task, goal, q0, np.linspace(0, 1, intervals + 1))
        s = (np.arange(2 * intervals) + 0.5) / (2 * intervals)
        if _off(task, goal, path, s) < tolerance:
            return Timed(task.name, path, law)
        intervals *= 2
    raise InputError(
        f"{task.name}: {_MOST_NODES} nodes do not keep '{robot.name}' within {tolerance:g} of it; "
        "use a larger tolerance."
    )


def _through_nodes(task: TaskPath, goal: MovedFrame, q0: Array, nodes: Array) -> Piecewise:
    """From node to node by the classical Runge-Kutta method, put right at each."""
    q = np.empty((len(nodes), len(q0)))
    q[0] = q0
    h = nodes[1] - nodes[0]
    for k, s in enumerate(nodes[:-1]):

        def rate(further: float, at: list[Array], s: float = s) -> list[Array]:
            return [_rate(task, goal, at[0], s + further)]

        (there,) = fixed_step(RK4, rate, [q[k : k + 1]], h)
        q[k + 1] = _corrected(task, goal, there, s + h)
    _refuse_limits(task, goal, q, nodes)
    _check_singular(task, goal, q, nodes)
    first = _rate(task, goal, q, nodes)
    near, far = (_rate(task, goal, q + d * first, nodes + d) for d in (-_NEAR, _NEAR))
    return hermite(nodes, [q, first, (far - near) / (2 * _NEAR)])


def _rate(task: TaskPath, goal: MovedFrame, q: Array, s: Array | float) -> Array:
    """dq/ds = J^+ dx/ds, (N, n)."""
    J = goal.jacobian(q)
    return (_inverse(J) @ task.twist(np.atleast_1d(s))[..., None])[..., 0]


def _corrected(task: TaskPath, goal: MovedFrame, q: Array, s: float) -> Array:
    """Newton's steps to the pose at s, by the shortest ways."""
    there = task.pose(np.array([s]))
    for _ in range(20):
        error = goal.error(q, there)
        q = q + (_inverse(goal.jacobian(q)) @ error[..., None])[..., 0]
        if np.abs(error).max() < 1e-13:
            break
    left = np.abs(goal.error(q, there)).max()
    if left > 1e-9:
        raise InputError(
            f"{task.name}: '{goal.robot.name}' does not follow beyond s = {s:.4g} of 1, where it "
            f"is {left:.3g} m or rad off; the {task.name} leaves its reach, or passes a "
            "singularity. Choose another branch, start or pose."
        )
    return q[0]


def _inverse(J: Array) -> Array:
    return np.linalg.pinv(J, rcond=1e-9)


def _off(task: TaskPath, goal: MovedFrame, path: Piecewise, s: Array) -> float:
    return float(np.abs(goal.error(path(s)[0], task.pose(s))).max())


def _refuse_limits(task: TaskPath, goal: MovedFrame, q: Array, nodes: Array) -> None:
    joints = goal.robot.model.joints
    low, high = np.array([j.lower for j in joints]), np.array([j.upper for j in joints])
    excess = np.maximum(low - q, q - high)
    k, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
    if excess[k, j] > 1e-9:
        raise InputError(
            f"{task.name}: at s = {nodes[k]:.4g} of 1 joint '{joints[j].name}' is "
            f"{excess[k, j]:.4g} beyond its limits [{joints[j].lower:.4g}, {joints[j].upper:.4g}]; "
            "choose another branch, start or pose."
        )


def _check_singular(task: TaskPath, goal: MovedFrame, q: Array, nodes: Array) -> None:
    J = goal.jacobian(q)[..., goal.stack.moving]
    smallest = np.linalg.svd(J, compute_uv=False)[:, -1]
    k = int(np.argmin(smallest))
    if smallest[k] < _SINGULAR:
        raise InputError(
            f"{task.name}: '{goal.robot.name}' is singular at s = {nodes[k]:.4g} of 1, where no "
            "joint speeds follow it; choose another branch, start or pose."
        )
    if smallest[k] < NEAR_SINGULAR:
        warn_of_singularity(
            f"at s = {nodes[k]:.4g} of the {task.name}", goal.robot.name, float(smallest[k])
        )


def _law(task: TaskPath, duration: float | None, timing: Trajectory | None) -> Piecewise:
    if (duration is None) == (timing is None):
        raise InputError(f"{task.name}: expected either duration or timing.")
    if timing is None:
        timing = quintic(0.0, 1.0, number(f"{task.name}: duration", duration))
    if (
        not isinstance(timing, Timed)
        or timing.n != 1
        or abs(timing.start[0]) > 1e-9
        or abs(timing.end[0] - 1) > 1e-9
    ):
        raise InputError(
            f"{task.name}: timing={timing!r}; expected a trajectory of one number from 0 to 1, "
            "such as trapezoidal(0, 1, speed, acceleration)."
        )
    # Of the two that make it up, one is s itself.
    straight = timing.path.length == 1 and timing.path.c.shape[:2] == (1, 2)
    return timing.law if straight else timing.path


def _pose(what: str, x: Numbers) -> Array:
    T = positions(what, x, 2)
    if T.shape != (4, 4):
        raise InputError(f"{what} has shape {T.shape}; expected a homogeneous matrix (4, 4).")
    refuse_crooked(what, T)
    return T


def _moved(first: Array, places: Array, turns: Array) -> Array:
    T = np.broadcast_to(np.eye(4), (len(places), 4, 4)).copy()
    T[:, :3, :3] = _rotated(turns) @ first[:3, :3]
    T[:, :3, 3] = places
    return T


def _rotated(turns: Array) -> Array:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(turns).as_matrix()
