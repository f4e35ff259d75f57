"""The regressor: joint forces are linear in the inertial parameters, tau = Y p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.equations.gibbs_tensor import accelerations, angular_acceleration_tensor
from appell.equations.motion.kinematics import poses, then
from appell.maths.scalar import Scalar, sign
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.model import BASE, Frame, Model


def regressor(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    *,
    friction: bool = False,
    rotors: bool = False,
) -> list[list[Scalar]]:
    """Y, n x 10 links: per link m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.

    After them stand, one column per joint, the inertias of rotors felt there (of a robot without
    rotors, only if ``rotors``) and, with ``friction``, viscous and then Coulomb friction, of a
    robot where it is another backwards, forwards and then backwards.
    A column is the inverse dynamics of a robot of which only that parameter is one: the
    force and moment of equations 9 and 10 of Mata 2002, carried inwards from its body.
    """
    w, dw, dds, W = accelerations(model, q, v, a)
    Y: list[list[Scalar]] = [[0] * (10 * len(model.links)) for _ in model.bodies]
    for k, (i, body) in enumerate(model.links.items()):
        link = model.frame(body.name)
        origin = dds[i] + W[i] @ link.s
        for c, (f, m) in enumerate(_columns(link.R.T @ w[i], link.R.T @ dw[i], link.R.T @ origin)):
            force = link.R @ f
            moment = link.R @ m + cross(link.s, force)
            for j in reversed(model.ancestors[i]):
                on = model.bodies[j]
                Y[j][10 * k + c] = on.rho * moment.z + on.sigma * force.z
                if on.parent != BASE:
                    R = on.rotation(q[j])
                    force = R @ force
                    moment = R @ moment + cross(on.offset(q[j]), force)
    felt = [a] if model.rotors or rotors else []
    if friction:
        ways = [sign(x) for x in v]
        backwards = [0.5 * (x - x * x) for x in ways]
        felt += [v, [0.5 * (x + x * x) for x in ways], backwards] if model.lopsided else [v, ways]
    for x in felt:
        for i, row in enumerate(Y):
            row.extend(x[i] if j == i else 0 for j in model.driven)
    return Y


def momentum_regressor(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Y with M v = Y p: the forces that bring a robot at rest, without weight, to speeds v."""
    return regressor(replace(model, gravity=ZERO), q, [0] * len(v), v)


def kinetic_energy_regressor(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar]
) -> list[Scalar]:
    """Y with T = Y p, p as for the regressor."""
    w, ds = {BASE: ZERO}, {BASE: ZERO}
    found: list[Scalar] = []
    for i, body in model.outwards():
        on, Rt = body.parent, body.rotation(q[i]).T
        w[i] = Rt @ w[on] + Z * (body.rho * v[i])
        ds[i] = Rt @ (ds[on] + cross(w[on], body.offset(q[i]))) + Z * (body.sigma * v[i])
    for i, body in model.links.items():
        link = model.frame(body.name)
        o = link.R.T @ w[i]
        u = link.R.T @ (ds[i] + cross(w[i], link.s))
        found += [0.5 * (u @ u), *cross(u, o)]
        found += [0.5 * o.x * o.x, o.x * o.y, 0.5 * o.y * o.y, o.x * o.z, o.y * o.z]
        found.append(0.5 * o.z * o.z)
    return found + ([0.5 * v[i] * v[i] for i in model.driven] if model.rotors else [])


def potential_energy_regressor(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """Y with U = Y p, p as for the regressor."""
    places, found = poses(model, q), []
    for i, body in model.links.items():
        link = model.frame(body.name)
        R, s = then(places[i], link.R, link.s)
        found += [-(model.gravity @ s), *(-(R.T @ model.gravity)), 0, 0, 0, 0, 0, 0]
    return found + ([0] * len(model.driven) if model.rotors else [])


def body_regressor(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], frame: Frame
) -> list[list[Scalar]]:
    """Y, 6 x 10: force and moment that a body fixed to a frame needs, about the frame's origin in
    its axes, are Y times the body's ten parameters about that origin."""
    w, dw, dds, W = accelerations(model, q, v, a)
    i, R = frame.body, frame.R.T
    if i == BASE:
        columns = _columns(ZERO, ZERO, R @ -model.gravity)
    else:
        columns = _columns(R @ w[i], R @ dw[i], R @ (dds[i] + W[i] @ frame.s))
    return [[*row] for row in zip(*((*f, *n) for f, n in columns), strict=True)]


def _columns(w: Vector, dw: Vector, dds: Vector) -> list[tuple[Vector, Vector]]:
    """Force and moment of a body of which one parameter is one, in the frame of its link."""
    W = angular_acceleration_tensor(w, dw)
    xx, yy, zz = W.x.x, W.y.y, W.z.z
    yz, xz, xy = w.y * w.z, w.x * w.z, w.x * w.y
    axes = (Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1))
    return [
        (dds, ZERO),
        *((W @ axis, cross(axis, dds)) for axis in axes),
        (ZERO, Vector(dw.x, xz, -xy)),
        (ZERO, Vector(-W.z.x, W.z.y, xx - yy)),
        (ZERO, Vector(-yz, dw.y, xy)),
        (ZERO, Vector(W.y.x, zz - xx, -W.y.z)),
        (ZERO, Vector(yy - zz, -W.x.y, W.x.z)),
        (ZERO, Vector(yz, -xz, dw.z)),
    ]
