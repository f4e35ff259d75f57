"""Coriolis matrices other than Christoffel's: the same C v, by what a body's force is made of.

Seen from the base, a body of inertia I with velocities V needs the force I A + V x* I V, where its
accelerations are A = J a + dJ v. So its share of C is J^T (I dJ + B J) with any B for which
B V = V x* I V, and different B give different matrices (Echeandia and Wensing 2021, section III):

    "composite":  B = (V x* I + (I V) x'* - I Vx) / 2: Christoffel's symbols
    "body":       B = V x* I, from the force as it stands
    "momentum":   B = V x* I - I Vx = dI/dt, as the rate of the momentum, C = J^T d(I J)/dt

The first two have dM/dt - 2C skew-symmetric, "momentum" has not. As x* is minus x transposed,
- I Vx is (V x* I)^T: all bodies that a joint carries add to one B, in O(n^2). These B speak of
single bodies, so a robot's parameters must not be regrouped for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.composite import Field, Load, Matrix, Wrench, carried, motion_of, zeros
from appell.maths.scalar import Scalar
from appell.maths.vector import Tensor, Vector, cross, outer
from appell.model.model import Model


class Turning(NamedTuple):
    """B = V x* I of a body, or of all that a joint carries: sums of M u, M m, u~ phi~ and
    u~ psi - m~ phi~ with the velocities V = (u, m)."""

    Mu: Vector
    Mm: Vector
    P: Tensor
    K: Tensor

    def __add__(self, other: Turning) -> Turning:  # type: ignore[override]  # not a tuple's
        return Turning(self.Mu + other.Mu, self.Mm + other.Mm, self.P + other.P, self.K + other.K)

    def __matmul__(self, x: Field) -> Wrench:
        """B x."""
        force = cross(self.Mu, x.m) - self.P @ x.u
        return Wrench(force, self.P @ x.m + cross(self.Mm, x.m) + self.K @ x.u)

    def transposed(self, x: Field) -> Wrench:
        """B^T x."""
        force = self.P.T @ x.u - cross(self.Mu, x.m) - cross(self.Mm, x.u)
        return Wrench(force, self.K.T @ x.u - self.P.T @ x.m)


def body(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
    """C with J^T (I dJ + V x* I J) of each body; dM/dt - 2C is skew-symmetric."""
    return _coriolis(model, q, v, symmetric=False)


def momentum(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> Matrix:
    """C with J^T d(I J)/dt of each body; dM/dt - 2C is not skew-symmetric."""
    return _coriolis(model, q, v, symmetric=True)


def _coriolis(model: Model, q: Sequence[Scalar], v: Sequence[Scalar], *, symmetric: bool) -> Matrix:
    motion = motion_of(model, q, v)
    loads = carried(model, motion.loads)
    turning = carried(model, [_turning(*x) for x in zip(motion.loads, motion.V, strict=True)])
    C = zeros(model)
    for i, path in enumerate(model.ancestors):
        S, load, B = motion.S[i], loads[i], turning[i]
        ahead, back = B @ S, B.transposed(S)
        if symmetric:  # B + B^T in the place of B
            ahead = back = ahead + back
        column, row = load.inertia(motion.dS[i]) + ahead, load.inertia(S)
        for k in path[:-1]:
            C[k][i] = column @ motion.S[k]
            C[i][k] = row @ motion.dS[k] + back @ motion.S[k]
        C[i][i] = column @ S
    return C


def _turning(load: Load, V: Field) -> Turning:
    rows = load.psi.tensor
    turned = Tensor(cross(V.u, rows.x), cross(V.u, rows.y), cross(V.u, rows.z)).T
    return Turning(
        V.u * load.M, V.m * load.M, _twice(V.u, load.phi), turned - _twice(V.m, load.phi)
    )


def _twice(a: Vector, b: Vector) -> Tensor:
    """a~ b~ = b a^T - (a . b) 1."""
    T, d = outer(b, a), a @ b
    return Tensor(T.x._replace(x=T.x.x - d), T.y._replace(y=T.y.y - d), T.z._replace(z=T.z.z - d))
