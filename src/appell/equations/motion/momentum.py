"""Centre of mass and momentum, and the forces that joints and base transmit.

All that a joint carries is, at an instant, one rigid body: mass m, first moment h and inertia I
about the origin of the joint's frame, all in the base's axes. Joint i alone, turning by a and
sliding by l, gives it the momentum p = m l + a x h and, about that origin, L = h x l + I a: a
column of the momentum matrix, once L is taken to the centre of mass (Orin, Goswami and Lee,
"Centroidal dynamics of a humanoid robot", 2013). Rotors behind gears have no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appell.equations.gibbs_jacobian import Pair
from appell.equations.gibbs_jacobian import momentum as body_momentum
from appell.equations.motion.frame_motion import Carried, carried, rows
from appell.equations.motion.kinematics import Pose, poses
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Symmetric, Tensor, Vector, cross, inertia_product
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import BASE, Frame, Model

Rows = list[list[Scalar]]
Scalars = Sequence[Scalar]

# Centre of mass


def subtree(model: Model, frame: Frame | None) -> list[int]:
    """The body that a frame is on and all that it carries; all bodies without a frame."""
    if frame is None or frame.body == BASE:
        return [*range(len(model.bodies))]
    return [i for i, path in enumerate(model.ancestors) if frame.body in path]


def mass(model: Model, frame: Frame | None = None) -> Scalar:
    """Mass of these bodies, in kg."""
    return sum((model.bodies[i].mass for i in subtree(model, frame)), start=0)


def centre_of_mass(model: Model, q: Scalars, frame: Frame | None = None) -> list[Scalar]:
    """Their centre of mass, in the base."""
    return [*_centre(model, poses(model, q), subtree(model, frame))]


def _centre(model: Model, places: dict[int, Pose], bodies: Sequence[int]) -> Vector:
    total = sum((model.bodies[i].mass for i in bodies), start=0)
    found = ZERO
    for i in bodies:
        R, s = places[i]
        found = found + s * model.bodies[i].mass + R @ model.bodies[i].moment
    return found * (1 / total)


def centre_of_mass_jacobian(model: Model, q: Scalars, frame: Frame | None = None) -> Rows:
    """3 x n: a joint moves what it carries of these bodies, by its share in their mass."""
    places, within = poses(model, q), subtree(model, frame)
    carrying = composites(model, places, within)
    share = 1 / mass(model, frame)
    columns = [_column(model, places[i], i, carrying[i]).linear * share for i in carrying]
    return [[*row] for row in zip(*columns, strict=True)]


def centre_of_mass_velocity(
    model: Model, q: Scalars, v: Scalars, frame: Frame | None = None
) -> list[Scalar]:
    """The momentum of these bodies by their mass."""
    moving = carried(model, q, v, [0] * len(v))
    p = sum((_momentum(model, moving, i).linear for i in subtree(model, frame)), start=ZERO)
    return [*(p * (1 / mass(model, frame)))]


# Momentum


def composites(
    model: Model, places: dict[int, Pose], bodies: Iterable[int] | None = None
) -> dict[int, Inertia]:
    """For each joint all that it carries (of some bodies), about its origin, in the base's axes."""
    within = set(range(len(model.bodies)) if bodies is None else bodies)
    found = {
        i: body.inertia.moved(places[i].R, ZERO) if i in within else NOTHING
        for i, body in model.outwards()
    }
    for i, body in model.inwards():
        if (p := body.parent) != BASE:
            found[p] = found[p] + shifted(found[i], places[i].s - places[p].s)
    return found


def shifted(body: Inertia, r: Vector) -> Inertia:
    """The same about a point from which its own is at r."""
    m, h, I = body
    more = inertia_product(r, h) + inertia_product(r, r) * (0.5 * m)
    return Inertia(m, h + r * m, I + more)


def _column(model: Model, place: Pose, i: int, whole: Inertia) -> Pair:
    """Momentum, about the joint's origin, that a unit speed gives what a joint carries."""
    joint = model.bodies[i]
    return body_momentum(whole, Pair(place.z * joint.sigma, place.z * joint.rho))


def momentum_matrix(model: Model, q: Scalars) -> Rows:
    """A, 6 x n: momentum, then angular momentum about the centre of mass, are A v."""
    places = poses(model, q)
    c = _centre(model, places, range(len(model.bodies)))
    columns = []
    for i, whole in composites(model, places).items():
        p, L = _column(model, places[i], i, whole)
        columns.append(Pair(p, L + cross(places[i].s - c, p)))
    return rows(columns)


def momentum_matrix_rate(model: Model, q: Scalars, v: Scalars) -> Rows:
    """dA/dt. A joint's axis turns with its body, da = w x a; what it carries changes by
    dh = p - m ds and dI."""
    moving = carried(model, q, v, [0] * len(v))
    places = {i: body.pose for i, body in moving.items()}
    whole, changing = composites(model, places), _composite_rates(model, moving)
    everything = range(len(model.bodies))
    c = _centre(model, places, everything)
    p = sum((_momentum(model, moving, i).linear for i in everything), start=ZERO)
    dc = p * (1 / mass(model))
    columns = []
    for i, joint in model.outwards():
        (_, s), (ds, w), (m, h, I) = moving[i].pose, moving[i].V, whole[i]
        z, (_, dh, dI) = places[i].z, changing[i]
        a, l = z * joint.rho, z * joint.sigma
        da, dl = cross(w, a), cross(w, l)
        P = l * m + cross(a, h)
        dP = dl * m + cross(da, h) + cross(a, dh)
        dL = cross(dh, l) + cross(h, dl) + dI @ a + I @ da
        columns.append(Pair(dP, dL + cross(ds - dc, P) + cross(s - c, dP)))
    return rows(columns)


def _composite_rates(model: Model, moving: dict[int, Carried]) -> dict[int, Inertia]:
    """The rates of composites: of their first and second moments."""
    found: dict[int, Inertia] = {}
    whole: dict[int, Inertia] = {}
    for i, body in model.outwards():
        whole[i] = body.inertia.moved(moving[i].pose.R, ZERO)
        w = moving[i].V.angular
        found[i] = Inertia(0, cross(w, whole[i].moment), _turning(w, whole[i].tensor))
    for i, body in model.inwards():
        if (p := body.parent) == BASE:
            continue
        r = moving[i].pose.s - moving[p].pose.s
        dr = moving[i].V.linear - moving[p].V.linear
        (m, h, _), (_, dh, dI) = whole[i], found[i]
        more = inertia_product(dr, h) + inertia_product(r, dh) + inertia_product(r, dr) * m
        found[p] = found[p] + Inertia(0, dh + dr * m, dI + more)
        whole[p] = whole[p] + shifted(whole[i], r)
    return found


def _turning(w: Vector, I: Symmetric) -> Symmetric:
    """The rate w~ I - I w~ of a tensor that turns by w."""
    X = Tensor(*(cross(w, row) for row in I.tensor))  # its rows are the columns of w~ I
    return Symmetric(2 * X.x.x, X.x.y + X.y.x, 2 * X.y.y, X.x.z + X.z.x, X.y.z + X.z.y, 2 * X.z.z)


def momentum(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Momentum, and angular momentum about the centre of mass, in the base's axes."""
    moving = carried(model, q, v, [0] * len(v))
    return _about_centre(
        model, moving, {i: _momentum(model, moving, i) for i, _ in model.outwards()}
    )


def momentum_rate(model: Model, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """Its rate: what external forces, gravity among them, add up to."""
    moving = carried(model, q, v, a)
    forces = {i: _force(model, moving, i) for i, _ in model.outwards()}
    return _about_centre(model, moving, forces)


def _about_centre(model: Model, moving: dict[int, Carried], of: dict[int, Pair]) -> list[Scalar]:
    """The sum of the bodies' pairs, each about its own origin."""
    c = _centre(model, {i: body.pose for i, body in moving.items()}, range(len(model.bodies)))
    linear = angular = ZERO
    for i, (p, L) in of.items():
        linear, angular = linear + p, angular + L + cross(moving[i].pose.s - c, p)
    return [*linear, *angular]


def _momentum(model: Model, moving: dict[int, Carried], i: int) -> Pair:
    inertia = model.bodies[i].inertia.moved(moving[i].pose.R, ZERO)
    return body_momentum(inertia, moving[i].V)


def _force(model: Model, moving: dict[int, Carried], i: int) -> Pair:
    """Newton's and Euler's equations of a body, about its origin."""
    m, h, I = model.bodies[i].inertia.moved(moving[i].pose.R, ZERO)
    w, (dds, dw) = moving[i].V.angular, moving[i].A
    force = dds * m + cross(dw, h) + cross(w, cross(w, h))
    return Pair(force, I @ dw + cross(w, I @ w) + cross(h, dds))


# What joints and base transmit


def joint_wrenches(model: Model, q: Scalars, v: Scalars, a: Scalars) -> Rows:
    """Force and moment on each link through its joint, about its frame's origin in its axes."""
    moving, passed = _transmitted(model, q, v, a)
    found = []
    for i, body in model.links.items():
        link, R, (f, n) = model.frame(body.name), moving[i].pose.R, passed[i]
        n = n - cross(R @ link.s, f)
        found.append([*(link.R.T @ (R.T @ f)), *(link.R.T @ (R.T @ n))])
    return found


def base_wrench(model: Model, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """Force and moment on the robot from its base, about the base's origin in its axes."""
    _, passed = _transmitted(model, q, v, a)
    f, n = passed[BASE]
    return [*f, *n]


def _transmitted(
    model: Model, q: Scalars, v: Scalars, a: Scalars
) -> tuple[dict[int, Carried], dict[int, Pair]]:
    """What each body gets from its parent, about its origin, in the base's axes."""
    moving = carried(model, q, v, a)
    passed = {BASE: Pair(ZERO, ZERO)}
    for i, body in model.outwards():
        weight = model.gravity * body.mass
        arm = moving[i].pose.R @ body.moment
        passed[i] = _force(model, moving, i) - Pair(weight, cross(arm, model.gravity))
    for i, body in model.inwards():
        f, n = passed[i]
        r = moving[i].pose.s - moving[body.parent].pose.s
        passed[body.parent] = passed[body.parent] + Pair(f, n + cross(r, f))
    return moving, passed
