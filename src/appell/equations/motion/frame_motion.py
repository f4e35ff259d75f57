"""How frames move: velocity, acceleration and the rate of the Jacobian, seen from any frame.

A motion is a pair, the velocity of the frame's origin and the angular velocity of its axes; its
rate is the pair of their time derivatives, so the linear part of an acceleration is the true
acceleration of the origin. The spatial acceleration has dv/dt - w x v in its place: the rate of
the components of the motion in the frame's own axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from appell.equations.gibbs_jacobian import Pair, combined
from appell.equations.motion.kinematics import ORIGIN, Pose, homogeneous, then
from appell.maths.rotation import Matrix, Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Tensor, Vector, cross
from appell.model.model import BASE, Frame, Model

Rows = list[list[Scalar]]
Scalars = Sequence[Scalar]
STILL = Pair(ZERO, ZERO)

# Of trees, in the base's axes


class Carried(NamedTuple):
    """Where a body is, how it moves, and how that changes."""

    pose: Pose
    V: Pair
    A: Pair


def carried(
    model: Model, q: Scalars, v: Scalars, a: Scalars, bodies: Iterable[int] | None = None
) -> dict[int, Carried]:
    """The base, and all bodies or some, whose parents must be among them."""
    found = {BASE: Carried(ORIGIN, STILL, STILL)}
    within = None if bodies is None else {*bodies}
    for i, body in model.outwards():
        if within is not None and i not in within:
            continue
        on = found[body.parent]
        pose = then(on.pose, body.rotation(q[i]), body.offset(q[i]))
        turn, slide = pose.z * (body.rho * v[i]), pose.z * (body.sigma * v[i])
        V, A = _at(on, pose.s - on.pose.s)
        w = on.V.angular
        dw = A.angular + pose.z * (body.rho * a[i]) + cross(w, turn)
        dds = A.linear + pose.z * (body.sigma * a[i]) + 2 * cross(w, slide)
        found[i] = Carried(pose, Pair(V.linear + slide, w + turn), Pair(dds, dw))
    return found


def _path(model: Model, q: Scalars, v: Scalars, a: Scalars, frame: Frame) -> dict[int, Carried]:
    """The bodies between the base and a frame, the base included."""
    return carried(model, q, v, a, model.ancestors[frame.body] if frame.body != BASE else ())


def _at(body: Carried, r: Vector) -> tuple[Pair, Pair]:
    """Motion of a point fixed to a body, r from its origin, and its rate."""
    (ds, w), (dds, dw) = body.V, body.A
    turning = cross(w, r)
    return Pair(ds + turning, w), Pair(dds + cross(dw, r) + cross(w, turning), dw)


def _frame(model: Model, q: Scalars, v: Scalars, a: Scalars, frame: Frame) -> tuple[Pair, Pair]:
    body = _path(model, q, v, a, frame)[frame.body]
    return _at(body, body.pose.R @ frame.s)


def velocity(model: Model, q: Scalars, v: Scalars, frame: Frame) -> list[Scalar]:
    """Velocity of the frame's origin, then its angular velocity."""
    V, _ = _frame(model, q, v, [0] * len(v), frame)
    return [*V.linear, *V.angular]


def acceleration(model: Model, q: Scalars, v: Scalars, a: Scalars, frame: Frame) -> list[Scalar]:
    """Acceleration of the frame's origin, then its angular acceleration."""
    _, A = _frame(model, q, v, a, frame)
    return [*A.linear, *A.angular]


def spatial_acceleration(
    model: Model, q: Scalars, v: Scalars, a: Scalars, frame: Frame
) -> list[Scalar]:
    """The same with w x v taken from the acceleration of the origin."""
    A = _spatial(*_frame(model, q, v, a, frame))
    return [*A.linear, *A.angular]


def jacobian_rate(model: Model, q: Scalars, v: Scalars, frame: Frame) -> Rows:
    """dJ/dt, 6 x n: an axis z on its body turns with it, dz = w x z."""
    path = _path(model, q, v, [0] * len(v), frame)
    body = path[frame.body]
    arm = body.pose.R @ frame.s
    tip, dtip = body.pose.s + arm, _at(body, arm)[0].linear
    columns = [STILL] * len(model.bodies)
    for i, on in path.items():
        if i == BASE:
            continue
        joint, z, (ds, w) = model.bodies[i], on.pose.z, on.V
        dz = cross(w, z)
        turning = cross(dz, tip - on.pose.s) + cross(z, dtip - ds)
        columns[i] = Pair(turning * joint.rho + dz * joint.sigma, dz * joint.rho)
    return rows(columns)


# Of any robot, seen from another frame or in its own axes


class FrameView(NamedTuple):
    """A frame, the axes in which its motion is wanted ("base" or "local"), and the frame that is
    taken for the base, if another is."""

    frame: Any
    axes: str = "base"
    relative_to: Any = None


class SeenMotion(NamedTuple):
    """A frame, and its motions by unit speeds (or its one motion) with their rates."""

    pose: Pose
    V: Pair
    motions: list[Pair]
    rates: list[Pair]


Ask = Callable[..., Any]  # an equation by its name, in the base's axes


def forward_kinematics_seen(ask: Ask, view: FrameView, q: Scalars) -> Rows:
    """The pose in the axes of another frame."""
    R, s = _seen(ask, view, q).pose
    return homogeneous(R, s)


def jacobian_seen(ask: Ask, view: FrameView, q: Scalars) -> Rows:
    """Motions by unit speeds."""
    seen = _seen(ask, view, q, columns=True)
    return rows(_in_axes(view, seen, seen.motions))


def jacobian_rate_seen(ask: Ask, view: FrameView, q: Scalars, v: Scalars) -> Rows:
    """The rate of these components."""
    seen = _seen(ask, view, q, v, columns=True)
    if view.axes == "base":
        return rows(seen.rates)
    w, both = seen.V.angular, zip(seen.rates, seen.motions, strict=True)
    return rows(_in_axes(view, seen, [dx - _spun(w, x) for dx, x in both]))


def velocity_seen(ask: Ask, view: FrameView, q: Scalars, v: Scalars) -> list[Scalar]:
    """The motion."""
    seen = _seen(ask, view, q, v)
    (V,) = _in_axes(view, seen, [seen.V])
    return [*V.linear, *V.angular]


def acceleration_seen(
    ask: Ask, view: FrameView, q: Scalars, v: Scalars, a: Scalars, spatial: bool = False
) -> list[Scalar]:
    """Its rate, turned into the axes: components of the true acceleration."""
    seen = _seen(ask, view, q, v, a)
    (A,) = seen.rates
    (A,) = _in_axes(view, seen, [_spatial(seen.V, A) if spatial else A])
    return [*A.linear, *A.angular]


def spatial_acceleration_seen(
    ask: Ask, view: FrameView, q: Scalars, v: Scalars, a: Scalars
) -> list[Scalar]:
    """The same without w x v."""
    return acceleration_seen(ask, view, q, v, a, spatial=True)


SEEN: dict[str, Callable[..., Any]] = {
    "forward_kinematics": forward_kinematics_seen,
    "jacobian": jacobian_seen,
    "jacobian_rate": jacobian_rate_seen,
    "velocity": velocity_seen,
    "acceleration": acceleration_seen,
    "spatial_acceleration": spatial_acceleration_seen,
}


def _seen(
    ask: Ask,
    view: FrameView,
    q: Scalars,
    v: Scalars | None = None,
    a: Scalars | None = None,
    columns: bool = False,
) -> SeenMotion:
    of = _in_base(ask, view.frame, q, v, a, columns)
    if view.relative_to is None:
        return of
    return _relative(of, _in_base(ask, view.relative_to, q, v, a, columns))


def _in_axes(view: FrameView, seen: SeenMotion, x: list[Pair]) -> list[Pair]:
    return x if view.axes == "base" else [_in(seen.pose.R.T, y) for y in x]


def _in_base(ask: Ask, frame: Any, q: Scalars, v: Any, a: Any, columns: bool) -> SeenMotion:
    """What is needed: the Jacobian's columns, or one motion; rates where speeds are given."""
    pose = _pose(ask("forward_kinematics", q, frame))
    if columns:
        motions = pairs(ask("jacobian", q, frame))
        if v is None:
            return SeenMotion(pose, STILL, motions, [STILL] * len(motions))
        rates = pairs(ask("jacobian_rate", q, v, frame))
        return SeenMotion(pose, combined(motions, v), motions, rates)
    V = STILL if v is None else _pair(ask("velocity", q, v, frame))
    A = STILL if a is None else _pair(ask("acceleration", q, v, a, frame))
    return SeenMotion(pose, V, [V], [A])


def _relative(of: SeenMotion, to: SeenMotion) -> SeenMotion:
    """The same as if ``to`` were the base: without its motion, in its axes.

    What moves with it goes by at y.v + y.w x r; its axes turn by w."""
    r, dr = of.pose.s - to.pose.s, of.V.linear - to.V.linear
    R, w = to.pose.R.T, to.V.angular

    def motion(x: Pair, y: Pair) -> Pair:
        return x - Pair(y.linear + cross(y.angular, r), y.angular)

    motions = list(map(motion, of.motions, to.motions))
    rates = [
        motion(dx, dy) - Pair(cross(y.angular, dr), ZERO) - _spun(w, x)
        for dx, dy, x, y in zip(of.rates, to.rates, motions, to.motions, strict=True)
    ]
    turned = Matrix(Tensor(*(of.pose.R.T @ axis for axis in to.pose.R.T.rows)))
    return SeenMotion(
        Pose(turned, R @ r),
        _in(R, motion(of.V, to.V)),
        [_in(R, x) for x in motions],
        [_in(R, x) for x in rates],
    )


def _spatial(V: Pair, A: Pair) -> Pair:
    return A - Pair(cross(V.angular, V.linear), ZERO)


def _spun(w: Vector, x: Pair) -> Pair:
    """How a pair that is fixed in axes turning by w changes."""
    return Pair(cross(w, x.linear), cross(w, x.angular))


def _in(R: Rotation, x: Pair) -> Pair:
    return Pair(R @ x.linear, R @ x.angular)


def _pose(T: Rows) -> Pose:
    R = Matrix(Tensor(*(Vector(*row[:3]) for row in T[:3])))
    return Pose(R, Vector(*(row[3] for row in T[:3])))


def _pair(six: Scalars) -> Pair:
    return Pair(Vector(*six[:3]), Vector(*six[3:]))


def pairs(J: Rows) -> list[Pair]:
    """The columns of a matrix of six rows."""
    return [_pair(column) for column in zip(*J, strict=True)]


def rows(columns: Sequence[Pair]) -> Rows:
    """A matrix of six rows from its columns."""
    return [[*row] for row in zip(*((*x.linear, *x.angular) for x in columns), strict=True)]
