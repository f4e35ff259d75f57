"""The Gibbs-Appell equations by Jacobians: Abedloo, Molaei, Taghirad 2014, equations 2 to 24.

M, C and G of one body, and of many as their sums, in closed form. A body is known by its
inertia about a point A of it and by two Jacobians, V_A = J_D q' and w = J_R q'; everything
is in the body's own axes, and dJ are the rates of the components there. Where all bodies turn
about one point, as in the paper, J_D is zero. The letters: h = m rho is the first moment,
sigma the field of gravity in the body's axes; the velocity (V_A, w) has the momentum
p = m V_A + w x h and L = I w + h x V_A.

C is the matrix for which dM/dt - 2C is skew-symmetric. The paper's own (17, 21) gives the same
C q', but has not this property; it is here by the name ``printed_coriolis_matrix``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross
from appell.model.inertia import Inertia

Jacobian = Sequence[Vector]  # by its columns, one per coordinate
Rows = list[list[Scalar]]


class BodyMotion(NamedTuple):
    """A body's inertia about A, gravity in its axes, and its Jacobians with their rates."""

    inertia: Inertia
    sigma: Vector
    J_R: Jacobian
    dJ_R: Jacobian
    J_D: Jacobian
    dJ_D: Jacobian


class Pair(NamedTuple):
    """A velocity of A and an angular velocity; or a force and a moment about A."""

    linear: Vector
    angular: Vector

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.linear - other.linear, self.angular - other.angular)

    def __matmul__(self, other: Pair) -> Scalar:
        return self.linear @ other.linear + self.angular @ other.angular


def turning(inertia: Inertia, sigma: Vector, J_R: Jacobian, dJ_R: Jacobian) -> BodyMotion:
    """A body that turns about A only (12)."""
    still = [ZERO] * len(J_R)
    return BodyMotion(inertia, sigma, J_R, dJ_R, still, still)


# Section II A: one body


def velocities(body: BodyMotion) -> list[Pair]:
    """What a unit of each speed gives the body: the columns of J_D and J_R (10)."""
    return [Pair(d, r) for d, r in zip(body.J_D, body.J_R, strict=True)]


def rates(body: BodyMotion) -> list[Pair]:
    """The columns of dJ_D and dJ_R."""
    return [Pair(d, r) for d, r in zip(body.dJ_D, body.dJ_R, strict=True)]


def combined(columns: Sequence[Pair], v: Sequence[Scalar]) -> Pair:
    """J q' (10)."""
    parts = (Pair(x.linear * k, x.angular * k) for x, k in zip(columns, v, strict=True))
    return sum(parts, start=Pair(ZERO, ZERO))


def momentum(inertia: Inertia, velocity: Pair) -> Pair:
    """p and L, about A (4)."""
    V, w = velocity
    h = inertia.moment
    return Pair(V * inertia.mass + cross(w, h), inertia.tensor @ w + cross(h, V))


def acceleration(body: BodyMotion, v: Sequence[Scalar], a: Sequence[Scalar]) -> Pair:
    """a_A relative to free fall, and alpha (11). What the turning axes add is w x V_A."""
    V, w = combined(velocities(body), v)
    found = combined(velocities(body), a) + combined(rates(body), v)
    return Pair(found.linear + cross(w, V) - body.sigma, found.angular)


def body_gibbs_function(body: BodyMotion, v: Sequence[Scalar], a: Sequence[Scalar]) -> Scalar:
    """The energy of the accelerations (3), what does not depend on q'' included."""
    m, h, I = body.inertia
    w = combined(velocities(body), v).angular
    a_A, alpha = acceleration(body, v, a)
    H = I @ w
    centripetal = cross(w, cross(w, h))
    return (
        0.5 * m * (a_A @ a_A)
        + 0.5 * (alpha @ (I @ alpha))
        + alpha @ cross(w, H)
        + a_A @ cross(alpha, h)
        + a_A @ centripetal
        + 0.5 * (w @ w) * (w @ H)
    )


def body_forces(body: BodyMotion, v: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
    """dS/dq'' (9, 15): the body's part of the generalised forces."""
    m, h, I = body.inertia
    w = combined(velocities(body), v).angular
    a_A, alpha = acceleration(body, v, a)
    wrench = Pair(
        a_A * m + cross(alpha, h) + cross(w, cross(w, h)),
        I @ alpha + cross(w, I @ w) + cross(h, a_A),
    )
    return [column @ wrench for column in velocities(body)]


def body_mass_matrix(body: BodyMotion) -> Rows:
    """J_R^T I J_R (17), and what J_D adds."""
    columns = velocities(body)
    momenta = [momentum(body.inertia, x) for x in columns]
    n = range(len(columns))
    lower = [[columns[j] @ momenta[k] for k in range(j + 1)] for j in n]
    return [[lower[max(j, k)][min(j, k)] for k in n] for j in n]


def body_coriolis_matrix(body: BodyMotion, v: Sequence[Scalar]) -> Rows:
    """J_R^T I dJ_R - J_R^T [I w]~ J_R, and what J_D adds.

    The forces that turn the momentum, w x p and V x p + w x L, are written as a
    skew-symmetric matrix times (V, w): what is left of dM/dt - 2C is skew-symmetric too.
    """
    columns = velocities(body)
    p, L = momentum(body.inertia, combined(columns, v))
    forces = [
        momentum(body.inertia, dx)
        + Pair(-cross(p, x.angular), -(cross(p, x.linear) + cross(L, x.angular)))
        for x, dx in zip(columns, rates(body), strict=True)
    ]
    return [[x @ force for force in forces] for x in columns]


def printed_body_coriolis_matrix(body: BodyMotion, v: Sequence[Scalar]) -> Rows:
    """J_R^T I dJ_R + J_R^T w~ I J_R (17), and what J_D adds."""
    columns = velocities(body)
    V, w = combined(columns, v)
    forces = []
    for x, dx in zip(columns, rates(body), strict=True):
        p, L = momentum(body.inertia, x)
        turned = Pair(cross(w, p), cross(w, L) + cross(V, p))
        forces.append(momentum(body.inertia, dx) + turned)
    return [[x @ force for force in forces] for x in columns]


def body_gravity(body: BodyMotion) -> list[Scalar]:
    """m (rho x J_R)^T sigma (17), and what J_D adds."""
    return [-(momentum(body.inertia, x).linear @ body.sigma) for x in velocities(body)]


def body_kinetic_energy(body: BodyMotion, v: Sequence[Scalar]) -> Scalar:
    """The kinetic energy of one body."""
    velocity = combined(velocities(body), v)
    return 0.5 * (velocity @ momentum(body.inertia, velocity))


# Section II B: all bodies (18 to 21)


def gibbs_function(
    bodies: Sequence[BodyMotion], v: Sequence[Scalar], a: Sequence[Scalar]
) -> Scalar:
    """S (18): dS/dq'' are the generalised forces."""
    return sum((body_gibbs_function(body, v, a) for body in bodies), start=0)


def forces(bodies: Sequence[BodyMotion], v: Sequence[Scalar], a: Sequence[Scalar]) -> list[Scalar]:
    """M q'' + C q' + G (19)."""
    return _total([body_forces(body, v, a) for body in bodies])


def mass_matrix(bodies: Sequence[BodyMotion]) -> Rows:
    """M, the sum of the bodies' own."""
    return _summed(body_mass_matrix, bodies)


def coriolis_matrix(bodies: Sequence[BodyMotion], v: Sequence[Scalar]) -> Rows:
    """C, the sum of the bodies' own."""
    return _summed(lambda body: body_coriolis_matrix(body, v), bodies)


def printed_coriolis_matrix(bodies: Sequence[BodyMotion], v: Sequence[Scalar]) -> Rows:
    """C as the paper prints it, the sum of the bodies' own."""
    return _summed(lambda body: printed_body_coriolis_matrix(body, v), bodies)


def gravity(bodies: Sequence[BodyMotion]) -> list[Scalar]:
    """g, the sum of the bodies' own."""
    return _total([body_gravity(body) for body in bodies])


def kinetic_energy(bodies: Sequence[BodyMotion], v: Sequence[Scalar]) -> Scalar:
    """T, the sum of the bodies' own."""
    return sum((body_kinetic_energy(body, v) for body in bodies), start=0)


def _total(rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [sum(column, start=0) for column in zip(*rows, strict=True)]


def _summed(matrix: Callable[[BodyMotion], Rows], bodies: Sequence[BodyMotion]) -> Rows:
    """X_t = the sum of X_ij (20)."""
    found = [matrix(body) for body in bodies]
    return [_total(rows) for rows in zip(*found, strict=True)]
