"""The Agile Wrist's dynamics in quasi-speeds: the platform's angular velocity W.

The same Gibbs-Appell equations as in agile_wrist, written for W instead of the Euler angles'
rates: M_W W' + n = the moment that does the actuators' work. Each link's part is a force on
its limb's angles, Q_theta and Q_psi, which the rows p1 / h and p2 / h carry to the platform; an
actuator holds its own Q_theta itself. No Jacobian is differentiated and no Euler angle inverted,
so this takes the fewest operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.agile_wrist import (
    FULL,
    Axes,
    Coordinates,
    arms,
    euler_inverse,
    euler_jacobian,
    euler_jacobian_rate,
    limbs,
    platform_rotation,
    product,
    torques_for_moment,
)
from appell.equations.linear import Matrix, solve
from appell.maths.rotation import AboutX
from appell.maths.scalar import Scalar, cos, sin
from appell.maths.vector import Vector, Z, cross, outer
from appell.model.inertia import Inertia
from appell.model.wrist import Limb, Wrist


class Turns(NamedTuple):
    """Rates and accelerations of a limb's two angles."""

    dtheta: Scalar
    dpsi: Scalar
    ddtheta: Scalar
    ddpsi: Scalar


class Forces(NamedTuple):
    """What a limb's angles ask for: the moments about u and w of its links."""

    theta: Scalar
    psi: Scalar


def turns(limb: Limb, at: Axes, W: Vector, dW: Vector) -> Turns:
    """From W = theta' u + psi' w + xi' v (37) and its derivative, whose products with p1 and p2
    hold nothing but the angles between the axes (41)."""
    (c1, _), (c2, s2) = arms(limb.alpha1), arms(limb.alpha2)
    p1, p2, k, uv = at.p1, at.p2, 1 / at.h, at.u @ at.v
    dtheta, dpsi = (p1 @ W) * k, (p2 @ W) * k
    dxi = at.v @ W - dtheta * uv - dpsi * c2
    first, second, third = dtheta * dpsi, dtheta * dxi, dpsi * dxi
    toward1 = first * (uv - c1 * c2) + second * (uv * c2 - c1) - third * (s2 * s2)
    toward2 = first * (c2 - uv * c1) + second * (1 - uv * uv) + third * (c1 - uv * c2)
    return Turns(dtheta, dpsi, (p1 @ dW - toward1) * k, (p2 @ dW - toward2) * k)


def moment(inertia: Inertia, sigma: Vector, w: Vector, dw: Vector) -> Vector:
    """About the centre, on a body that turns about it, gravity included (15)."""
    I = inertia.tensor
    return I @ dw + cross(w, I @ w) - cross(inertia.moment, sigma)


def limb_forces(wrist: Wrist, limb: Limb, at: Axes, x: Turns) -> Forces:
    c1, s1 = arms(limb.alpha1)
    sigma1 = at.theta.T @ (wrist.base_axes(limb).T @ wrist.gravity)
    sigma2 = at.psi.T @ (AboutX(c1, s1).T @ sigma1)
    u = at.psi.T @ Vector(0, s1, c1)
    w = u * x.dtheta + Z * x.dpsi
    dw = u * x.ddtheta + Z * x.ddpsi + cross(u, Z) * (x.dtheta * x.dpsi)
    n = moment(limb.second, sigma2, w, dw)
    # The first link turns about its own z, so only that component of its moment works.
    own = limb.first.tensor.zz * x.ddtheta - cross(limb.first.moment, sigma1).z
    return Forces(own + u @ n, n.z)


def needed(
    wrist: Wrist, q: Coordinates, at: Sequence[Axes], W: Vector, dW: Vector
) -> tuple[Vector, list[Forces]]:
    """The moment on the platform that moves it and the passive angles, and each limb's forces."""
    R = platform_rotation(q)
    n = R @ moment(wrist.platform, R.T @ wrist.gravity, R.T @ W, R.T @ dW)
    asked = []
    for limb, x in zip(wrist.limbs, at, strict=True):
        force = limb_forces(wrist, limb, x, turns(limb, x, W, dW))
        n = n + x.p2 * (force.psi / x.h)
        asked.append(force)
    return n, asked


def angular_motion(q: Coordinates, v: Coordinates, a: Coordinates) -> tuple[Vector, Vector]:
    """W and dW/dt (26)."""
    E, dE = euler_jacobian(q), euler_jacobian_rate(q, v)
    return product(E, v), product(E, a) + product(dE, v)


def inverse_dynamics(wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates) -> list[Scalar]:
    """Actuator torques."""
    at = limbs(wrist, q)
    n, asked = needed(wrist, q, at, *angular_motion(q, v, a))
    carried = torques_for_moment(wrist, at, n)
    return [force.theta + x for force, x in zip(asked, carried, strict=True)]


def generalised_forces(
    wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates
) -> list[Scalar]:
    """M q'' + C q' + G = E^T (the whole moment)."""
    whole = _whole_moment(wrist, q, limbs(wrist, q), *angular_motion(q, v, a))
    return [column @ whole for column in euler_jacobian(q)]


def forward_dynamics(
    wrist: Wrist, q: Coordinates, v: Coordinates, tau: Sequence[Scalar]
) -> list[Scalar]:
    """The Euler angles' accelerations, from M_W W' = sum of p1 tau / h - n."""
    at = limbs(wrist, q)
    W = product(euler_jacobian(q), v)
    rest = -_whole_moment(wrist, q, at, W, Vector(0, 0, 0))
    for x, torque in zip(at, tau, strict=True):
        rest = rest + x.p1 * (torque / x.h)
    dW = Vector(*solve(_inertia(wrist, q, at), [*rest], FULL))
    return _euler_accelerations(wrist, q, dW - product(euler_jacobian_rate(q, v), v))


def _whole_moment(
    wrist: Wrist, q: Coordinates, at: Sequence[Axes], W: Vector, dW: Vector
) -> Vector:
    n, asked = needed(wrist, q, at, W, dW)
    for x, force in zip(at, asked, strict=True):
        n = n + x.p1 * (force.theta / x.h)
    return n


def _inertia(wrist: Wrist, q: Coordinates, at: Sequence[Axes]) -> Matrix:
    """M_W: the platform's inertia, and the limbs' as p1 / h and p2 / h carry it."""
    M = platform_rotation(q).congruence(wrist.platform.tensor).tensor
    for limb, x in zip(wrist.limbs, at, strict=True):
        c1, s1 = arms(limb.alpha1)
        u, I, k = x.psi.T @ Vector(0, s1, c1), limb.second.tensor, 1 / x.h
        first, second = x.p1 * k, x.p2 * k
        H = I @ u
        theta = first * (limb.first.tensor.zz + u @ H) + second * H.z
        psi = first * H.z + second * I.zz
        M = M + outer(first, theta) + outer(second, psi)
    return [[*row] for row in M]


def _euler_accelerations(wrist: Wrist, q: Coordinates, x: Vector) -> list[Scalar]:
    """E^-1 x."""
    c1, s1, s2 = cos(q[0]), sin(q[0]), sin(q[1])
    third = (c1 * x.x + s1 * x.y) * euler_inverse(wrist, q)
    return [x.z + s2 * third, c1 * x.y - s1 * x.x, third]
