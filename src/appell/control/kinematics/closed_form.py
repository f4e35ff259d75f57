"""The closed form of an arm with a spherical wrist: whether a robot is one, its geometry if it is,
and its kernel."""

from __future__ import annotations

from functools import lru_cache, partial
from math import hypot
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from appell.compile.make import kernel_of
from appell.control.kinematics.spherical_wrist import BRANCHES, Arm, Planar, inverse_kinematics
from appell.equations.coordinates import in_joints
from appell.equations.motion.kinematics import poses, then
from appell.errors import InputError
from appell.maths.rotation import Matrix
from appell.maths.scalar import SNAP, snap
from appell.maths.vector import Tensor, Vector, cross
from appell.model.axes import as_vector
from appell.model.model import BASE, FrameName, Model
from appell.robots.robot import Robot

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel

_INPUTS = {"pose": (4, 4)}
_OUTPUTS = {"q": (len(BRANCHES), 6), "beyond": (len(BRANCHES) // 2,)}
_EXACT = 1e-12  # of a pose the closed form promises as much: sines, and lengths by the arm's own
_KNOWN: WeakKeyDictionary[Robot, dict[FrameName | None, Fitted | str]] = WeakKeyDictionary()


class Fitted(NamedTuple):
    """An arm, and which of the robot's coordinates are its six."""

    arm: Arm
    coordinates: tuple[int, ...]


class Line(NamedTuple):
    """A joint's axis: a point and a direction."""

    point: Vector
    z: Vector


def spherical_arm(robot: Robot, frame: FrameName | None = None) -> Fitted:
    """The arm that carries a frame; an InputError says why there is no closed form."""
    known = _KNOWN.setdefault(robot, {})
    if frame not in known:
        known[frame] = _examined(robot.model, frame)
    found = known[frame]
    if isinstance(found, Fitted):
        return found
    raise InputError(
        f"'{robot.name}' has no closed form of its inverse kinematics: {found}. Use "
        "method='numeric'."
    )


def has_closed_form(robot: Robot, frame: FrameName | None = None) -> bool:
    """Whether a robot is such an arm."""
    try:
        spherical_arm(robot, frame)
    except InputError:
        return False
    return True


def closed_form(robot: Robot, frame: FrameName | None = None) -> Kernel:
    """A kernel that gives all branches of many poses at once: ``q, beyond =
    closed_form(robot)(pose)``.

    Args:
        robot: An arm with a spherical wrist.
        frame: A link's name or an `appell.Frame`; the tip without it.

    Returns:
        A kernel. Of poses (..., 4, 4), in the base's axes, q has the shape (..., 8, 6): joint
        positions of the branches in the order of `BRANCHES`, angles from -pi to pi. ``beyond``,
        (..., 4), is zero where the wrist is within reach of the branches 2 k and 2 k + 1; else it
        is the excess of the square of a length, m^2, and q means nothing.

    Examples:
        >>> puma = appell.load("puma560")
        >>> pose = puma.forward_kinematics([0.1, -0.8, 0.3, 0.2, 0.7, 0.1])
        >>> q, beyond = appell.control.closed_form(puma)(pose)
        >>> q.shape, beyond.shape
        ((8, 6), (4,))
    """
    return _compiled(spherical_arm(robot, frame).arm)


@lru_cache(maxsize=32)
def _compiled(arm: Arm) -> Kernel:
    return kernel_of(
        "inverse_kinematics",
        partial(inverse_kinematics, arm),
        _INPUTS,
        _OUTPUTS,
        origin=(_compiled, (arm,)),
        doc="inverse kinematics of an arm with a spherical wrist",
    )


def _examined(model: Model, frame: FrameName | None) -> Fitted | str:
    """The arm, or why there is none."""
    tip = model.frame(frame)
    path = model.ancestors[tip.body] if tip.body != BASE else ()
    bodies = [model.bodies[i] for i in path]
    screws = [body.joint.screw for body in bodies]
    kinds = "".join("R" if s.periodic else "H" if s.angle else "P" for s in screws)
    own = len({b.coordinate for b in bodies}) == 6 and all(b.ratio == 1 for b in bodies)
    if len(path) != 6 or not own or model.compounds:
        return "its frame is not carried by six joints of their own"
    if kinds not in ("RRRRRR", "RRPRRR"):
        return f"its joints are {kinds}, not RRRRRR or RRPRRR"
    places = in_joints(poses, model, {"q": [0.0] * model.nv})
    axes = [Line(places[i].s, places[i].z) for i in path]
    tool = then(places[tip.body], tip.R, tip.s)
    size = max(_length(line.point - axes[0].point) for line in axes) or 1.0
    arm = _fit(axes, kinds[2] == "P", tool.R.rows, tool.s, size)
    if isinstance(arm, str):
        return arm
    return Fitted(arm, tuple(body.coordinate for body in bodies))


def _fit(axes: list[Line], slides: bool, R: Tensor, p: Vector, size: float) -> Arm | str:
    """The geometry of six axes and a tool, or what does not fit."""
    (_, k), (_, u), (_, z3), (_, z4), (_, z5), (_, z6) = axes
    wrist = axes[3].point + z4 * ((axes[4].point - axes[3].point) @ z4)
    if abs(k @ u) > _EXACT:
        return "axis 2 is not square to axis 1"
    if slides and abs(u @ z3) > _EXACT:
        return "joint 3 does not slide in the plane square to axis 2"
    if not slides and _length(cross(u, z3)) > _EXACT:
        return "axis 3 is not parallel to axis 2"
    if abs(z4 @ z5) > _EXACT or abs(z5 @ z6) > _EXACT:
        return "the axes of its wrist are not square in turn"
    small = _EXACT * size
    if any(_length(cross(wrist - line.point, line.z)) > small for line in axes[4:]):
        return "the axes of its wrist do not meet in one point"
    e = cross(u, k)

    def planar(v: Vector, tolerance: float = SNAP * size) -> Planar:
        return Planar(snap(float(v @ k), tolerance), snap(float(v @ e), tolerance))

    inner = axes[1].point
    elbow = wrist if slides else axes[2].point
    upper, fore = planar(elbow - inner), planar(z3, SNAP) if slides else planar(wrist - elbow)
    if not slides and min(hypot(*upper), hypot(*fore)) <= small:
        return "its upper arm or its forearm has no length"
    into = Tensor(e, u, k)
    forearm = Tensor(into @ cross(z5, z4), into @ z5, into @ z4)
    hand = Tensor(cross(z5, z6), z5, z6)
    return Arm(
        axes=_matrix(into.T),
        origin=as_vector(axes[0].point, size),
        beside=snap(float((wrist - axes[0].point) @ u), SNAP * size),
        shoulder=planar(inner - axes[0].point),
        upper=upper,
        fore=fore,
        slides=slides,
        turn=1 if slides or u @ z3 > 0 else -1,
        forearm=_matrix(forearm.T),
        bend=Planar(snap(float(z6 @ z4)), snap(float(z6 @ cross(z5, z4)))),
        hand=_matrix(Tensor(*(hand @ column for column in R.T)).T),
        tool=as_vector(R.T @ (p - wrist), size),
        size=size,
    )


def _length(v: Vector) -> float:
    return float(hypot(*v))


def _matrix(rows: Tensor) -> Matrix:
    return Matrix(Tensor(*(Vector(*(snap(float(x)) for x in row)) for row in rows)))
