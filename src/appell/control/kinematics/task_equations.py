"""What tasks miss, and how the speeds make it good: errors and their Jacobians, over any scalar.

An error e leads from where a robot is to where it is wanted; J is the derivative of -e by a
displacement of the coordinates, exactly: along speeds v the error shrinks at the rate J v. Where
nothing but a velocity is wanted there is no error, and J v is that velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from appell.equations.gibbs_jacobian import Pair
from appell.equations.motion.frame_motion import (
    Ask,
    FrameView,
    Rows,
    Scalars,
    forward_kinematics_seen,
    jacobian_seen,
    pairs,
    rows,
)
from appell.maths.rotation import Matrix
from appell.maths.scalar import Scalar, atan2, sign, sqrt
from appell.maths.vector import Tensor, Vector, cross
from appell.robots.recipe import other_quantity
from appell.robots.system import System

_TINY = 1e-300  # decides ties, and keeps 0 / 0 away from no rotation


class Part(NamedTuple):
    """What a kernel has to know of a task: everything but its target, weight and mask."""

    kind: str  # a name in KINDS
    frame: Any = None  # a name, or a place on a link
    relative_to: Any = None
    axes: str = "base"
    across: tuple[tuple[float, ...], ...] = ()  # of a line of sight: two axes square to it, and it


class TaskContext(NamedTuple):
    """Whom a task's equation asks, how, and about which frame."""

    system: System
    ask: Ask
    view: FrameView
    across: tuple[tuple[float, ...], ...]


class Kind(NamedTuple):
    """An equation, and how many numbers it takes and gives: "q" counts coordinates, "n" speeds."""

    equation: Callable[[TaskContext, Scalars, Scalars], tuple[list[Scalar], Rows]]
    target: int | str
    rows: int | str
    of_frame: bool = True


def equation(system: System, part: Part, q: Scalars, target: Scalars = ()) -> Any:
    """The error (rows,) of a task, and its Jacobian (rows, nv)."""
    kind, subject = KINDS[part.kind], system.subject({}, False)
    other = None if part.relative_to is None else subject.frame(part.relative_to)
    view = FrameView(subject.frame(part.frame) if kind.of_frame else None, part.axes, other)
    ask = partial(other_quantity, system, subject)
    return kind.equation(TaskContext(system, ask, view, part.across), q, target)


def size(system: System, count: int | str) -> int:
    """A count as a number."""
    return system.size(count) if isinstance(count, str) else count


def _pose(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    """The way to the target's origin, then the rotation vector to its axes.

    The turn that is missing is exp(phi) = R_d R^T. While the frame turns by w, phi shrinks by
    w + phi x w / 2 + g n x (n x w), n = phi / |phi|, g = 1 - (|phi| / 2) cot(|phi| / 2), the
    inverse of the right Jacobian of SO(3) (Sola et al. 2018, appendix B); in the frame's own axes
    by that of the left one, with - phi x w / 2.
    """
    T = forward_kinematics_seen(robot.ask, robot.view, q)
    R, s = _axes(T), _origin(T)
    wanted = Tensor(*(Vector(*target[k : k + 3]) for k in (0, 4, 8)))
    r = Vector(target[3], target[7], target[11]) - s
    missing = Tensor(*(Vector(*(row @ axis for axis in R.rows)) for row in wanted))
    turn = rotation_vector(missing)
    phi, n, half = turn.vector, turn.axis, 0.5
    columns = pairs(_in_base(robot, q))
    if robot.view.axes == "local":  # where r turns, too, by r x w
        columns = [Pair(x.linear - cross(r, x.angular), x.angular) for x in columns]
        columns = [Pair(R.T @ x.linear, R.T @ x.angular) for x in columns]
        r, phi, n, half = R.T @ r, R.T @ phi, R.T @ n, -0.5

    def shrinking(w: Vector) -> Vector:
        return w + cross(phi, w) * half + cross(n, cross(n, w)) * turn.bend

    return [*r, *phi], rows([Pair(x.linear, shrinking(x.angular)) for x in columns])


def _position(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    """The way to a point, in the axes of the base (or of what it is relative to), or the frame's:
    there it also turns, by r x w."""
    T = forward_kinematics_seen(robot.ask, robot.view, q)
    r = Vector(*target) - _origin(T)
    J = _in_base(robot, q)
    if robot.view.axes == "base":
        return [*r], J[:3]
    R = _axes(T).T
    columns = [R @ (x.linear - cross(r, x.angular)) for x in pairs(J)]
    return [*(R @ r)], [[*row] for row in zip(*columns, strict=True)]


def _twist(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    """No error: the velocity of a frame."""
    return [0] * 6, jacobian_seen(robot.ask, robot.view, q)


def _centre_of_mass(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    c = robot.ask("centre_of_mass", q)
    e = [x - y for x, y in zip(target, c, strict=True)]
    return e, robot.ask("centre_of_mass_jacobian", q)


def _gaze(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    """2 sin(angle / 2) between the line of sight and the direction n to a point, along two axes
    square to the first: Lambert's projection of n, (n1, n2) sqrt(2 / (1 + n3)).

    Its two numbers vanish at that point only, and have no value at the opposite one. In the
    frame's axes dn/dt = n x w - (V - n (n . V)) / r."""
    T = forward_kinematics_seen(robot.ask, robot.view, q)
    R = _axes(T).T
    way = Vector(*target) - _origin(T)
    r = sqrt(way @ way)
    into = Tensor(*(Vector(*axis) for axis in robot.across))
    n = into @ (R @ (way * (1 / r)))
    k = sqrt(2 / (1 + n.z))

    def shrinking(x: Pair) -> tuple[Scalar, Scalar]:
        V, w = into @ (R @ x.linear), into @ (R @ x.angular)
        dn = cross(n, w) - (V - n * (n @ V)) * (1 / r)
        dk = -0.5 * k / (1 + n.z) * dn.z
        return k * dn.x + n.x * dk, k * dn.y + n.y * dk

    columns = [shrinking(x) for x in pairs(_in_base(robot, q))]
    # The projection is to go to zero: what is missing is its opposite.
    return [-n.x * k, -n.y * k], [[*row] for row in zip(*columns, strict=True)]


def _posture(robot: TaskContext, q: Scalars, target: Scalars) -> tuple[list[Scalar], Rows]:
    """Coordinates that are numbers on a line; those of quaternions have no error."""
    places = robot.system.coordinates
    own = [int(x) for x in on_a_line(robot.system)]
    e = [x and target[k] - q[k] for x, k in zip(own, places, strict=True)]
    return e, [[x * (i == k) for k in range(len(own))] for i, x in enumerate(own)]


def on_a_line(system: System) -> Sequence[bool]:
    """Of each speed, whether it is the rate of a coordinate."""
    known: Sequence[bool] = getattr(system.model, "is_coordinate", [True] * system.size("n"))
    return known


def _in_base(robot: TaskContext, q: Scalars) -> Rows:
    return jacobian_seen(robot.ask, robot.view._replace(axes="base"), q)


KINDS = {
    "pose": Kind(_pose, 12, 6),
    "position": Kind(_position, 3, 3),
    "twist": Kind(_twist, 0, 6),
    "gaze": Kind(_gaze, 3, 2),
    "centre_of_mass": Kind(_centre_of_mass, 3, 3, of_frame=False),
    "posture": Kind(_posture, "q", "n", of_frame=False),
}


class Turn(NamedTuple):
    """A rotation vector, its axis (zero without a turn), and 1 - (angle / 2) cot(angle / 2)."""

    vector: Vector
    axis: Vector
    bend: Scalar


def rotation_vector(R: Tensor) -> Turn:
    """Axis times angle of a rotation, up to half a turn.

    Each row of 4 p p^T, p being the quaternion, is a multiple of it; of the four that a rotation
    matrix gives (Shepperd 1978) the one with the largest number on the diagonal is taken."""
    x, y, z = R
    a, b, c = z.y - y.z, x.z - z.x, y.x - x.y
    d, e, f = y.x + x.y, x.z + z.x, z.y + y.z
    candidates = [
        ([1 + x.x - y.y - z.z, d, e, a], 0),
        ([d, 1 - x.x + y.y - z.z, f, b], 1),
        ([e, f, 1 - x.x - y.y + z.z, c], 2),
        ([a, b, c, 1 + x.x + y.y + z.z], 3),
    ]
    (p, _) = _larger(_larger(*_diagonal(candidates[:2])), _larger(*_diagonal(candidates[2:])))
    length = sqrt(sum((u * u for u in p[1:]), start=p[0] * p[0]))
    positive = sign(p[3] + _TINY) / length
    v, w = Vector(*p[:3]) * positive, p[3] * positive
    sine = sqrt(v @ v + _TINY)
    half = atan2(sine, w)
    n = v * (1 / sine)
    return Turn(n * (2 * half), n, 1 - half * w / sine)


Candidate = tuple[list[Scalar], Scalar]  # and how large it is


def _diagonal(candidates: list[tuple[list[Scalar], int]]) -> list[Candidate]:
    return [(p, p[k]) for p, k in candidates]


def _larger(one: Candidate, other: Candidate) -> Candidate:
    """The larger of the two, without a branch."""
    (p, d), (q, e) = one, other
    first = 0.5 + 0.5 * sign(d - e + _TINY)
    return [y + first * (x - y) for x, y in zip(p, q, strict=True)], e + first * (d - e)


def _axes(T: Rows) -> Matrix:
    return Matrix(Tensor(*(Vector(*row[:3]) for row in T[:3])))


def _origin(T: Rows) -> Vector:
    return Vector(*(row[3] for row in T[:3]))
