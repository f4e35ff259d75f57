"""The Agile Wrist: Abedloo, Molaei, Taghirad 2014, section III, equations 25 to 51.

Coordinates are the platform's Euler angles, R = Rz(q1) Ry(q2) Rx(q3); from them follow the
actuators' angles theta and the passive ones psi in closed form, the Jacobians of all bodies and
their rates, and by gibbs_jacobian the dynamics. Of an angle only the cosine and the sine are
needed, so nothing but square roots and quotients is taken. With the errata: bodies i2 have the
axes R_i2 = R_i1 Rx(alpha1) Rz(psi), the rates of the Jacobians are the true ones, and the
rows of J_act are p_1i^T E / h_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos as cosine
from math import prod
from math import sin as sine
from typing import NamedTuple

from appell.equations.gibbs_jacobian import (
    Jacobian,
    Motion,
    forces,
    mass_matrix,
    turning,
)
from appell.equations.linear import solve
from appell.maths.rotation import AboutX, AboutZ, After, Matrix, Rotation
from appell.maths.scalar import Scalar, cos, sign, sin, snap, sqrt
from appell.maths.vector import ZERO, Tensor, Vector, Z, cross
from appell.model.wrist import Limb, Wrist

Row = list[Scalar]
FULL = [range(k + 1) for k in range(3)]  # every coordinate is coupled to every other
Coordinates = Sequence[Scalar]

# Section III A: the platform


def platform_rotation(q: Coordinates) -> Matrix:
    """R_ee (25)."""
    (c1, c2, c3), (s1, s2, s3) = ([f(x) for x in q] for f in (cos, sin))
    return Matrix(
        Tensor(
            Vector(c1 * c2, c1 * s2 * s3 - s1 * c3, c1 * s2 * c3 + s1 * s3),
            Vector(s1 * c2, s1 * s2 * s3 + c1 * c3, s1 * s2 * c3 - c1 * s3),
            Vector(-s2, c2 * s3, c2 * c3),
        )
    )


def euler_jacobian(q: Coordinates) -> list[Vector]:
    """The columns of E: the angular velocity is E q' (26)."""
    (c1, c2), (s1, s2) = ([f(x) for x in q[:2]] for f in (cos, sin))
    return [Z, Vector(-s1, c1, 0), Vector(c1 * c2, s1 * c2, -s2)]


def euler_jacobian_rate(q: Coordinates, v: Coordinates) -> list[Vector]:
    """The columns of dE/dt."""
    (c1, c2), (s1, s2) = ([f(x) for x in q[:2]] for f in (cos, sin))
    return [
        ZERO,
        Vector(-c1 * v[0], -s1 * v[0], 0),
        Vector(-s1 * c2 * v[0] - c1 * s2 * v[1], c1 * c2 * v[0] - s1 * s2 * v[1], -c2 * v[1]),
    ]


def product(J: Jacobian, v: Coordinates) -> Vector:
    """J q'."""
    return sum((column * x for column, x in zip(J, v, strict=True)), start=ZERO)


# Section III A: a limb


class Axes(NamedTuple):
    """A limb's axes in the base's frame, and how its links are turned."""

    u: Vector
    v: Vector
    w: Vector
    theta: AboutZ
    psi: AboutZ
    h: Scalar

    @property
    def p1(self) -> Vector:
        """v x w (39)."""
        return cross(self.v, self.w)

    @property
    def p2(self) -> Vector:
        """u x v (39)."""
        return cross(self.u, self.v)


class Arms(NamedTuple):
    """Cosine and sine of a link's angle, as exact as they can be."""

    c: Scalar
    s: Scalar


def arms(angle: float) -> Arms:
    return Arms(snap(cosine(angle)), snap(sine(angle)))


def closure(wrist: Wrist, limb: Limb, R: Matrix) -> tuple[Vector, Scalar, Scalar, Scalar]:
    """v in the axes of the limb's base, and a, b, c of a cos theta + b sin theta = c (32, 33)."""
    (c1, s1), (c2, _) = arms(limb.alpha1), arms(limb.alpha2)
    at = wrist.base_axes(limb).T @ (R @ wrist.platform_axis(limb))
    return at, -s1 * at.y, s1 * at.x, c2 - c1 * at.z


def reach(wrist: Wrist, limb: Limb, R: Matrix) -> Scalar:
    """a^2 + b^2 - c^2 of (34), which is h^2: negative where the limb does not reach."""
    _, a, b, c = closure(wrist, limb, R)
    return a * a + b * b - c * c


def away(square: Scalar, margin: float) -> Scalar:
    """One, or no number where a square is less than the margin's: a singularity is too near."""
    return sign(sqrt(square - margin * margin))


def axes(wrist: Wrist, limb: Limb, branch: int, R: Matrix, margin: float | None = None) -> Axes:
    """A limb's angles and axes (27 to 36); its branch is the sign in (34).

    The second link's angle psi turns v to its place about w: with (35) and (36), v in the axes
    of the first link's end is (s2 sin psi, -s2 cos psi, c2).
    """
    (c1, s1), (_, s2) = arms(limb.alpha1), arms(limb.alpha2)
    at, a, b, c = closure(wrist, limb, R)
    square, n = a * a + b * b - c * c, 1 / (a * a + b * b)
    root = branch * sqrt(square)
    theta = AboutZ((a * c - b * root) * n, (b * c + a * root) * n)
    B = wrist.base_axes(limb)
    end = AboutX(c1, s1).T @ (theta.T @ at)
    return Axes(
        u=B @ Z,
        v=R @ wrist.platform_axis(limb),
        w=B @ (theta @ Vector(0, -s1, c1)),
        theta=theta,
        psi=AboutZ(-end.y * (1 / s2), end.x * (1 / s2)),
        h=root * away(square, wrist.margin if margin is None else margin),
    )


class Rates(NamedTuple):
    """What a limb's angles do: theta' = J_theta q', and the rates of these rows (41)."""

    theta: Row
    psi: Row
    dtheta: Row
    dpsi: Row


def limb_rates(limb: Axes, q: Coordinates, v: Coordinates) -> Rates:
    """p1^T E / h and p2^T E / h (38 to 40), and their time derivatives (41)."""
    E, dE = euler_jacobian(q), euler_jacobian_rate(q, v)
    W, k = product(E, v), 1 / limb.h
    theta, psi = ([p @ column * k for column in E] for p in (limb.p1, limb.p2))
    dtheta = sum((x * y for x, y in zip(theta, v, strict=True)), start=0)
    dv, dw = cross(W, limb.v), cross(limb.u, limb.w) * dtheta
    dp1, dp2 = cross(dv, limb.w) + cross(limb.v, dw), cross(limb.u, dv)
    dh = dp1 @ limb.u

    def rate(p: Vector, dp: Vector) -> Row:
        turned = (dp - p * (dh * k)) * k
        return [p @ dx * k + turned @ x for x, dx in zip(E, dE, strict=True)]

    return Rates(theta, psi, rate(limb.p1, dp1), rate(limb.p2, dp2))


def limbs(wrist: Wrist, q: Coordinates, margin: float | None = None) -> list[Axes]:
    R = platform_rotation(q)
    return [
        axes(wrist, limb, branch, R, margin)
        for limb, branch in zip(wrist.limbs, wrist.signs, strict=True)
    ]


def link_rotations(wrist: Wrist, limb: Limb, at: Axes) -> tuple[Rotation, Rotation]:
    """R_i1 and R_i2 (27)."""
    first = After(wrist.base_axes(limb), at.theta)
    return first, After(first, After(AboutX(*arms(limb.alpha1)), at.psi))


# Section III B: the bodies


def bodies(wrist: Wrist, q: Coordinates, v: Coordinates, *, printed: bool = False) -> list[Motion]:
    """The platform, and each limb's first and second link, with their Jacobians (44 to 48).

    ``printed`` takes the rates of the Jacobians as (47) and (48) have them.
    """
    found = [_platform(wrist, q, v, printed)]
    for limb, at in zip(wrist.limbs, limbs(wrist, q), strict=True):
        rates = limb_rates(at, q, v)
        R1, R2 = link_rotations(wrist, limb, at)
        first = [Z * x for x in rates.theta], [Z * x for x in rates.dtheta]
        found.append(turning(limb.first, R1.T @ wrist.gravity, *first))
        second = _second_link(limb, at, rates, v, printed)
        found.append(turning(limb.second, R2.T @ wrist.gravity, *second))
    return found


def _platform(wrist: Wrist, q: Coordinates, v: Coordinates, printed: bool) -> Motion:
    """J = R^T E, and dJ = R^T (dE - W x E); (48) omits the second term."""
    R, E, dE = platform_rotation(q), euler_jacobian(q), euler_jacobian_rate(q, v)
    W = ZERO if printed else product(E, v)
    J = [R.T @ x for x in E]
    dJ = [R.T @ (dx - cross(W, x)) for x, dx in zip(E, dE, strict=True)]
    return turning(wrist.platform, R.T @ wrist.gravity, J, dJ)


def _second_link(
    limb: Limb, at: Axes, rates: Rates, v: Coordinates, printed: bool
) -> tuple[list[Vector], list[Vector]]:
    """J and dJ (46): w = theta' u + psi' z, where u moves in the link's axes by psi' u x z.

    In (47) the velocities of the product theta' psi' share it by halves.
    """
    c1, s1 = arms(limb.alpha1)
    u = at.psi.T @ Vector(0, s1, c1)
    dtheta, dpsi = (
        sum((x * y for x, y in zip(row, v, strict=True)), start=0)
        for row in (rates.theta, rates.psi)
    )
    J = [u * x + Z * y for x, y in zip(rates.theta, rates.psi, strict=True)]
    dJ = [u * x + Z * y for x, y in zip(rates.dtheta, rates.dpsi, strict=True)]
    turned = cross(u, Z)
    shares = (
        [0.5 * (dpsi * x + dtheta * y) for x, y in zip(rates.theta, rates.psi, strict=True)]
        if printed
        else [dpsi * x for x in rates.theta]
    )
    return J, [x + turned * k for x, k in zip(dJ, shares, strict=True)]


# Section III B: actuators


def actuator_jacobian(wrist: Wrist, q: Coordinates) -> list[Row]:
    """J_act (50), row by row: theta' = J_act q', and forces on q are J_act^T tau (51)."""
    E = euler_jacobian(q)
    return [[at.p1 @ column * (1 / at.h) for column in E] for at in limbs(wrist, q)]


def passive_jacobian(wrist: Wrist, q: Coordinates) -> list[Row]:
    """psi' = J_psi q' (40)."""
    E = euler_jacobian(q)
    return [[at.p2 @ column * (1 / at.h) for column in E] for at in limbs(wrist, q)]


def actuator_torques(wrist: Wrist, q: Coordinates, Q: Sequence[Scalar]) -> list[Scalar]:
    """tau with J_act^T tau = Q (51), by cofactors: E and the limbs' part of J_act in turn."""
    moment = platform_moment(wrist, q, Q)
    return torques_for_moment(wrist, limbs(wrist, q), moment)


def torques_for_moment(wrist: Wrist, at: Sequence[Axes], moment: Vector) -> list[Scalar]:
    """tau whose sum of p_1i tau_i / h_i is a moment on the platform."""
    x, y, z = (limb.p1 for limb in at)
    others = (cross(y, z), cross(z, x), cross(x, y))
    det = others[0] @ x
    k = away(det * det, wrist.margin * volume(wrist)) / det
    return [(other @ moment) * (limb.h * k) for other, limb in zip(others, at, strict=True)]


def volume(wrist: Wrist) -> float:
    """The largest that p_11, p_12, p_13 can span: their lengths are sin alpha2."""
    return prod(sine(limb.alpha2) for limb in wrist.limbs)


def platform_moment(wrist: Wrist, q: Coordinates, Q: Sequence[Scalar]) -> Vector:
    """E^-T Q: the moment on the platform that does the work of the forces Q."""
    c1, s1, s2 = cos(q[0]), sin(q[0]), sin(q[1])
    along = (Q[2] + s2 * Q[0]) * euler_inverse(wrist, q)
    return Vector(c1 * along - s1 * Q[1], s1 * along + c1 * Q[1], Q[0])


def euler_inverse(wrist: Wrist, q: Coordinates) -> Scalar:
    """1 / cos q2; at zero the first and the third Euler angle turn about the same axis."""
    c2 = cos(q[1])
    return away(c2 * c2, wrist.margin) / c2


def inverse_dynamics(wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates) -> list[Scalar]:
    """Actuator torques: J_act^T tau = M q'' + C q' + G (19, 51)."""
    return actuator_torques(wrist, q, forces(bodies(wrist, q, v), v, a))


def forward_dynamics(
    wrist: Wrist, q: Coordinates, v: Coordinates, tau: Sequence[Scalar]
) -> list[Scalar]:
    """The Euler angles' accelerations: M q'' = J_act^T tau - C q' - G."""
    moving = bodies(wrist, q, v)
    J, bias = actuator_jacobian(wrist, q), forces(moving, v, [0] * len(v))
    Q = [sum((J[i][k] * tau[i] for i in range(3)), start=0) - bias[k] for k in range(3)]
    c2 = cos(q[1])
    regular = away(c2 * c2, wrist.margin)
    return solve(mass_matrix(moving), [x * regular for x in Q], FULL)
