"""The regressor: joint forces are linear in the inertial parameters, tau = Y p."""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.gibbs_tensor import accelerations, angular_acceleration_tensor
from appell.maths.scalar import Scalar, sign
from appell.maths.vector import ZERO, Vector, cross
from appell.model.model import BASE, Model


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

    After them stand, a column a joint, the inertias of rotors felt there (of a robot without
    rotors, only if ``rotors``) and, with ``friction``, viscous and then Coulomb friction.
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
    felt += [v, [sign(x) for x in v]] if friction else []
    for x in felt:
        for i, row in enumerate(Y):
            row.extend(x[i] if j == i else 0 for j in model.driven)
    return Y


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
