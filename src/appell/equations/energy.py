"""Kinetic and potential energy, and what springs and friction in the joints take."""

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
    """Of the masses in the field of gravity, in J, zero at the base's origin, and of the joints'
    springs, zero at rest."""
    places = poses(model, q)
    U: Scalar = 0
    for i, body in model.outwards():
        R, s = places[i]
        U = U - model.gravity @ (s * body.mass + R @ body.moment)
        if body.joint.stiffness != 0:
            x = body.stretch(q[i])
            U = U + 0.5 * body.joint.stiffness * x * x
    return U


def springs(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """What the joints' springs take: stiffness * (position - rest), the slope of their energy."""
    return [
        body.joint.stiffness * body.stretch(q[i]) if body.joint.stiffness != 0 else 0
        for i, body in model.outwards()
    ]


def friction(model: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """What the joints' friction takes: viscous * v + coulomb * sign(v), with another level where v
    is negative if the joint has one."""
    taken: list[Scalar] = []
    for i, body in model.outwards():
        level, constant = body.joint.dry
        force = body.joint.viscous * v[i]
        if level != 0:
            force = force + level * sign(v[i])
        if constant != 0:
            force = force + constant * (sign(v[i]) * sign(v[i]))
        taken.append(force)
    return taken
