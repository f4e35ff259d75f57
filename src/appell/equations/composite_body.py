"""The inertia matrix by composite bodies: Walker and Orin 1982, their third method.

All that a joint carries is, at an instant, one rigid body: its mass M, its centre of
mass c and its inertia tensor E about c are composed from the tips inwards. Joint j
alone accelerating by one moves that body only; the forces which this asks of the
joints before j are a column of the inertia matrix. Forward dynamics solves with the
matrix, the bias by Newton and Euler's equations. Vectors of body i are in its own axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations import newton_euler
from appell.equations.linear import Matrix, solve
from appell.maths.rotation import Rotation
from appell.maths.scalar import Scalar, is_zero
from appell.maths.vector import NIL, ZERO, Symmetric, Vector, Z, cross, point_inertia
from appell.model.model import BASE, Body, Model


class Composite(NamedTuple):
    """A rigid body by its mass, its centre of mass and its inertia tensor about it."""

    M: Scalar
    c: Vector
    E: Symmetric

    def moved(self, R: Rotation, s: Vector) -> Composite:
        """The same body seen from a frame in which its own has axes R and origin s."""
        return Composite(self.M, s + R @ self.c, R.congruence(self.E))


def composed(parts: Sequence[Composite]) -> Composite:
    """Several bodies as one."""
    if len(parts) == 1:
        return parts[0]
    M: Scalar = sum((part.M for part in parts), start=0)
    if is_zero(M):
        return Composite(M, ZERO, NIL)
    c = sum((part.c * (part.M / M) for part in parts), start=ZERO)
    tensors = (part.E + point_inertia(part.c - c) * part.M for part in parts)
    return Composite(M, c, sum(tensors, start=NIL))


def composites(model: Model, R: Sequence[Rotation], s: Sequence[Vector]) -> list[Composite]:
    """For each body, itself with all it carries, in its axes."""
    parts = [[Composite(b.mass, b.inertia.com, b.inertia.central)] for b in model.bodies]
    whole: dict[int, Composite] = {}
    for i, body in model.inwards():
        whole[i] = composed(parts[i])
        if body.parent != BASE:
            parts[body.parent].append(whole[i].moved(R[i], s[i]))
    return [whole[i] for i, _ in model.outwards()]


def asked_for(body: Body, carried: Composite) -> tuple[Vector, Vector]:
    """Force, and moment about the origin, by which a unit acceleration of the joint is met."""
    M, c, E = carried
    turning, sliding = Z * body.rho, Z * body.sigma
    F = sliding * M + cross(turning, c * M)
    return F, E @ turning + cross(c, F)


def felt(body: Body, f: Vector, n: Vector) -> Scalar:
    """What the joint feels of a force and a moment about its origin."""
    return body.rho * n.z + body.sigma * f.z


def mass_matrix(model: Model, q: Sequence[Scalar]) -> Matrix:
    """Column by column from what each joint carries."""
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    D: Matrix = [[0] * len(model.bodies) for _ in model.bodies]
    carried = composites(model, R, s)
    for j, body in model.outwards():
        f, n = asked_for(body, carried[j])
        D[j][j] = felt(body, f, n) + body.joint.reflected
        inner = j
        for k in reversed(model.ancestors[j][:-1]):
            f = R[inner] @ f
            n = R[inner] @ n + cross(s[inner], f)
            D[j][k] = D[k][j] = felt(model.bodies[k], f, n)
            inner = k
    return D


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations from D a = tau - bias, which is tau while no joint accelerates."""
    bias = newton_euler.inverse_dynamics(model, q, v, [0] * len(model.bodies))
    rest = [t - b for t, b in zip(tau, bias, strict=True)]
    return solve(mass_matrix(model, q), rest, model.ancestors)
