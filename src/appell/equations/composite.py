"""What a body carries, seen from the base: Coriolis matrix and derivatives in O(n^2).

All vectors are in the base's axes and all moments about its origin. Joint k is
the field of velocities it gives what it carries: a point r moves by u_k x r + m_k.
With the integrals over all that a joint carries,

    M = sum m,   phi = sum m r,      psi = sum -m r~ r~,
    pi = sum m r',   K = sum m ((r . r') 1 - r' r^T),

a field (u, m) imposed as an acceleration asks for the force M m + u x phi and
the moment psi u + phi x m, and a field (u, m) of velocities, turned by the
motion there already is, for u x pi and K u. Every entry of a matrix is then one
scalar product of a joint's field with such a force.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from appell.equations.motion.kinematics import Pose, poses
from appell.maths.scalar import Scalar
from appell.maths.vector import (
    ZERO,
    Symmetric,
    Tensor,
    Vector,
    cross,
    inertia_product,
    outer,
    point_inertia,
)
from appell.model.model import BASE, Model

Matrix = list[list[Scalar]]
Sum = TypeVar("Sum", bound=Any)  # what can be added


class Field(NamedTuple):
    """Velocities (or accelerations) u x r + m of all points r of a body."""

    u: Vector
    m: Vector

    def __add__(self, other: Field) -> Field:
        return Field(self.u + other.u, self.m + other.m)

    def __mul__(self, k: Scalar) -> Field:
        return Field(self.u * k, self.m * k)

    def moving(self, other: Field) -> Field:
        """How the other field changes when its joint is carried along by this one."""
        return Field(cross(self.u, other.u), cross(self.u, other.m) + cross(self.m, other.u))


class Wrench(NamedTuple):
    """A force, and its moment about the base's origin."""

    f: Vector
    n: Vector

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.f + other.f, self.n + other.n)

    def __matmul__(self, field: Field) -> Scalar:
        """The power of the wrench on the field."""
        return self.f @ field.m + self.n @ field.u

    def moved(self, by: Field) -> Wrench:
        """How the wrench changes when its body is carried along by the field."""
        return Wrench(cross(by.u, self.f), cross(by.u, self.n) + cross(by.m, self.f))


class Load(NamedTuple):
    """The integrals over a body, or over all that a joint carries."""

    M: Scalar
    phi: Vector
    psi: Symmetric
    pi: Vector
    K: Tensor

    def __add__(self, other: Load) -> Load:
        return Load(*(a + b for a, b in zip(self, other, strict=True)))

    def inertia(self, x: Field) -> Wrench:
        """What the field of accelerations x asks for."""
        return Wrench(x.m * self.M + cross(x.u, self.phi), self.psi @ x.u + cross(self.phi, x.m))

    def turning(self, u: Vector) -> Wrench:
        """What turning all velocities by u asks for."""
        return Wrench(cross(u, self.pi), self.K @ u)

    def turned(self, x: Field) -> Vector:
        """``turning``, transposed: turning(u) @ x = u . turned(x)."""
        return cross(self.pi, x.m) + self.K.T @ x.u


def coriolis_matrix(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
    """C of Christoffel's symbols, so that dM/dt - 2C is skew-symmetric.

    C_jk is the sum over all mass points of (dr/dq_j) . d/dt (dr/dq_k).
    """
    motion = motion_of(model, q, v)
    loads = carried(model, motion.loads)
    C = zeros(model)
    for i, path in enumerate(model.ancestors):
        S, dS, load = motion.S[i], motion.dS[i], loads[i]
        column = load.inertia(dS) + load.turning(S.u)
        row, turned = load.inertia(S), load.turned(S)
        for k in path[:-1]:
            C[k][i] = column @ motion.S[k]
            C[i][k] = row @ motion.dS[k] + turned @ motion.S[k].u
        C[i][i] = column @ S
    return C


def inverse_dynamics_derivatives(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[Matrix, Matrix, Matrix]:
    """d tau / dq, d tau / dv and d tau / da, the inertia matrix.

    Displacing joint k carries along all behind it; seen from there, the base moves
    the other way. So the velocities behind change by dS_k = V x S_k and the
    accelerations by ddS_k, and the force on the joints before k is turned besides.
    """
    motion = motion_of(model, q, v)
    loads = carried(model, motion.loads)
    A = {BASE: Field(ZERO, -model.gravity)}
    V = {BASE: Field(ZERO, ZERO)}
    forces: list[Wrench] = []
    for i, body in model.outwards():
        p = body.parent
        V[i] = motion.V[i]
        A[i] = A[p] + motion.S[i] * a[i] + motion.dS[i] * v[i]
        load = motion.loads[i]
        # r'' = A-field + w x r', summed over the body.
        forces.append(load.inertia(A[i]) + load.turning(V[i].u))
    for i, body in model.inwards():
        if body.parent != BASE:
            forces[body.parent] = forces[body.parent] + forces[i]
    dq, dv, da = zeros(model), zeros(model), zeros(model)
    ddS = [
        A[b.parent].moving(motion.S[i]) + V[b.parent].moving(motion.dS[i])
        for i, b in model.outwards()
    ]
    for i, path in enumerate(model.ancestors):
        S, dS, load = motion.S[i], motion.dS[i], loads[i]
        row, turned = load.inertia(S), load.turned(S) * 2
        by_q = load.inertia(ddS[i]) + load.turning(dS.u * 2)
        by_v = load.inertia(dS * 2) + load.turning(S.u * 2)
        moved = by_q + forces[i].moved(S)
        for k in path[:-1]:
            up = motion.S[k]
            dq[k][i] = moved @ up
            dv[k][i] = by_v @ up
            dq[i][k] = row @ ddS[k] + turned @ motion.dS[k].u
            dv[i][k] = row @ (motion.dS[k] * 2) + turned @ up.u
            da[i][k] = da[k][i] = row @ up
        joint = model.bodies[i].joint
        dq[i][i], dv[i][i] = by_q @ S + joint.stiffness, by_v @ S
        da[i][i] = row @ S + joint.reflected
    return dq, dv, da


class Motion(NamedTuple):
    """How the joints and the bodies move."""

    S: list[Field]  # each joint's field
    dS: list[Field]  # and its rate
    V: list[Field]  # each body's velocities
    loads: list[Load]


def motion_of(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
    """The joints' fields, their rates, and the bodies' velocities and loads."""
    places = poses(model, q)
    motion = Motion([], [], [], [])
    for i, body in model.outwards():
        before = motion.V[body.parent] if body.parent != BASE else Field(ZERO, ZERO)
        S = _field(model, i, places[i])
        motion.S.append(S)
        motion.dS.append(before.moving(S))
        motion.V.append(before + S * v[i])
        motion.loads.append(_load(model, i, places[i], motion.V[i]))
    return motion


def _field(model: Model, i: int, place: Pose) -> Field:
    body = model.bodies[i]
    turning, sliding = place.z * body.rho, place.z * body.sigma
    return Field(turning, cross(place.s, turning) + sliding)


def _load(model: Model, i: int, place: Pose, V: Field) -> Load:
    body = model.bodies[i]
    moment = place.R @ body.moment
    phi = moment + place.s * body.mass
    psi = place.R.congruence(body.tensor)
    psi = psi + inertia_product(place.s, moment) + point_inertia(place.s) * body.mass
    # Q = sum m r' r^T = w~ P + m phi^T, with P = sum m r r^T = tr(psi)/2 - psi.
    half = 0.5 * (psi.xx + psi.yy + psi.zz)
    P = Symmetric(half - psi.xx, -psi.xy, half - psi.yy, -psi.xz, -psi.yz, half - psi.zz).tensor
    Q = Tensor(cross(V.u, P.x), cross(V.u, P.y), cross(V.u, P.z)).T + outer(V.m, phi)
    trace = Q.x.x + Q.y.y + Q.z.z
    K = Tensor(
        Vector(trace - Q.x.x, -Q.x.y, -Q.x.z),
        Vector(-Q.y.x, trace - Q.y.y, -Q.y.z),
        Vector(-Q.z.x, -Q.z.y, trace - Q.z.z),
    )
    return Load(body.mass, phi, psi, cross(V.u, phi) + V.m * body.mass, K)


def carried(model: Model, loads: Sequence[Sum]) -> list[Sum]:
    """Of each joint, the sum over all that it carries."""
    total = list(loads)
    for i, body in model.inwards():
        if body.parent != BASE:
            total[body.parent] = total[body.parent] + total[i]
    return total


def zeros(model: Model) -> Matrix:
    """A matrix of the bodies' joints, to be filled."""
    return [[0] * len(model.bodies) for _ in model.bodies]
