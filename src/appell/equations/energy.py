"""Kinetic and potential energy, and the torque that friction takes."""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.motion.kinematics import poses
from appell.maths.scalar import Scalar, sign
from appell.maths.vector import ZERO, Z, cross
from appell.model.model import BASE, Model


def kinetic_energy(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """Of the bodies and of the rotors behind their gears, in J."""
    w, ds = {BASE: ZERO}, {BASE: ZERO}
    T: Scalar = 0
    for i, body in model.outwards():
        p, Rt = body.parent, body.rotation(q[i]).T
        w[i] = Rt @ w[p] + Z * (body.rho * v[i])
        ds[i] = Rt @ (ds[p] + cross(w[p], body.offset(q[i]))) + Z * (body.sigma * v[i])
        T = T + 0.5 * body.mass * (ds[i] @ ds[i]) + ds[i] @ cross(w[i], body.moment)
        T = T + 0.5 * (w[i] @ (body.tensor @ w[i])) + 0.5 * body.joint.reflected * v[i] * v[i]
    return T


def potential_energy(model: Model, q: Sequence[Scalar]) -> Scalar:
    """Of the masses in the field of gravity, in J, zero at the base's origin."""
    places = poses(model, q)
    U: Scalar = 0
    for i, body in model.outwards():
        R, s = places[i]
        U = U - model.gravity @ (s * body.mass + R @ body.moment)
    return U


def friction(model: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """What the joints' friction takes: viscous * v + coulomb * sign(v)."""
    return [
        body.joint.viscous * v[i] + (body.joint.coulomb * sign(v[i]) if body.joint.coulomb else 0)
        for i, body in model.outwards()
    ]
