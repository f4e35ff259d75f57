"""Spherical parallel robots in quasi-speeds: the platform's angular velocity W.

The same Gibbs-Appell equations as in spherical_jacobian, written for W instead of the Euler
angles' rates: M_W W' + n = the moment that does the actuators' work. Each limb's links ask for
forces on its angles, which the rows p / h carry to the platform; an actuator holds its own joint's
force itself. No Jacobian is differentiated and no Euler angle inverted, so this takes the fewest
operations. (Where a limb carries the platform, its joints' rates are the speeds; all else is the
same.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.linear import Matrix, dot, solve
from appell.equations.spherical.spherical_jacobian import (
    driven_rows,
    euler_inverse,
    quasi_columns,
    torques,
)
from appell.equations.spherical.spherical_limbs import (
    Chain,
    Posture,
    Scalars,
    platform_rates,
    posture,
    product,
    rows,
)
from appell.maths.scalar import Scalar, cos, sin
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.inertia import Inertia
from appell.model.spherical import CLOSING, SphericalModel


class Turns(NamedTuple):
    """Rates and accelerations of the angles of a limb's joints."""

    rates: list[Scalar]
    accelerations: list[Scalar]


def turns(chain: Chain, W: Vector, dW: Vector, v: Scalars, a: Scalars) -> Turns:
    """The motion of all angles of a limb that closes a loop, from the platform's and from its own
    speeds v and accelerations a.

    Seen from the link that carries u, W = theta' u + psi' w + xi' v (37), and of its derivative
    the products with p1, p2 and p3 hold nothing but the angles between the axes (41).
    """
    w0 = dw0 = ZERO
    for axis, x, y in zip(chain.axes, v, a, strict=False):
        dw0 = dw0 + axis * y + cross(w0, axis) * x
        w0 = w0 + axis * x
    W, dW = W - w0, dW - dw0 - cross(w0, W - w0)
    (c1, s1), (c2, s2) = (link.bend for link in chain.limb.links[-2:])
    (u, _, last), (p1, p2, p3) = chain.axes[-CLOSING:], chain.normals
    k, uv = 1 / chain.h, u @ last
    dtheta, dpsi = (p1 @ W) * k, (p2 @ W) * k
    dxi = last @ W - dtheta * uv - dpsi * c2
    first, second, third = dtheta * dpsi, dtheta * dxi, dpsi * dxi
    toward1 = first * (uv - c1 * c2) + second * (uv * c2 - c1) - third * (s2 * s2)
    toward2 = first * (c2 - uv * c1) + second * (1 - uv * uv) + third * (c1 - uv * c2)
    toward3 = second * (c1 * uv - c2) + third * (uv - c1 * c2) - first * (s1 * s1)
    dd = [(p @ dW - x) * k for p, x in ((p1, toward1), (p2, toward2), (p3, toward3))]
    return Turns([*v, dtheta, dpsi, dxi], [*a, *dd])


def moment(inertia: Inertia, sigma: Vector, w: Vector, dw: Vector) -> Vector:
    """The moment about the centre, on a body that turns about it, gravity included (15)."""
    I = inertia.tensor
    return I @ dw + cross(w, I @ w) - cross(inertia.moment, sigma)


def joint_forces(model: SphericalModel, chain: Chain, moved: Turns) -> list[Scalar]:
    """The moments about the axes of a limb's joints, each of all links beyond it."""
    w, dw, sigma = ZERO, ZERO, chain.limb.base.T @ model.gravity
    needed = []
    for j, link in enumerate(chain.limb.links):
        into, spin = chain.into(j).T, Z * moved.rates[j]
        w, sigma = into @ w, into @ sigma
        dw = into @ dw + Z * moved.accelerations[j] + cross(w, spin)
        w = w + spin
        needed.append(moment(link.inertia, sigma, w, dw))
    for j in reversed(range(1, len(needed))):
        needed[j - 1] = needed[j - 1] + chain.into(j) @ needed[j]
    return [n.z for n in needed]


class Moving(NamedTuple):
    """What the platform and the limbs do."""

    pose: Posture
    W: Vector
    dW: Vector
    turns: list[Turns]


def moving(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars | None = None) -> Moving:
    """The platform's W and dW/dt (26), and the turns of all limbs; without a, those of the motion
    in which no quasi-speed changes."""
    pose, d = posture(model, q), model.carried
    W, dE = product(pose.E, v[:d]), platform_rates(model, pose, q, v)
    steady, a = a is None and model.carrier is None, [0] * model.nv if a is None else a
    dW = ZERO if steady else product(pose.E, a[:d]) + product(dE, v[:d])
    moved = []
    for places, chain in zip(model.places, pose.chains, strict=True):
        speeds, accelerations = ([x[k] for k in places] for x in (v, a))
        if chain.h is None:
            moved.append(Turns(speeds, accelerations))
        else:
            moved.append(turns(chain, W, dW, speeds[d:], accelerations[d:]))
    return Moving(pose, W, dW, moved)


def quasi_forces(
    model: SphericalModel, moved: Moving, held: Sequence[tuple[int, int]] = ()
) -> tuple[list[Scalar], dict[tuple[int, int], Scalar]]:
    """The forces on the quasi-speeds that the motion takes, without those of the joints ``held``;
    and the latter."""
    R, columns = moved.pose.R, quasi_columns(model, moved.pose)
    n = R @ moment(model.platform, R.T @ model.gravity, R.T @ moved.W, R.T @ moved.dW)
    f = [column @ n for column in columns] + [0] * (model.nv - len(columns))
    own = dict.fromkeys(held, 0)
    for i, chain in enumerate(moved.pose.chains):
        needed = joint_forces(model, chain, moved.turns[i])
        for j, (force, row) in enumerate(zip(needed, rows(chain, columns), strict=False)):
            if (i, j) in own:
                own[i, j] = force
                continue
            share = force / row.over
            for k, x in zip(model.places[i], row.parts, strict=True):
                f[k] = f[k] + x * share
    return f, own


def inverse_dynamics(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """Actuator torques. Where there are more actuators than speeds none holds its own joint, so
    that the sum of their squares is least."""
    moved = moving(model, q, v, a)
    f, own = quasi_forces(model, moved, model.actuated if len(model.actuated) == model.nv else ())
    carried = torques(model, moved.pose)(f)
    return [x + force for x, force in zip(carried, own.values(), strict=True)] if own else carried


def generalised_forces(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """M q'' + C q' + G: of Euler angles E^T (the whole moment)."""
    moved = moving(model, q, v, a)
    f, _ = quasi_forces(model, moved)
    if model.carrier is not None:
        return f
    return [*(column @ Vector(*f[:3]) for column in moved.pose.E), *f[3:]]


def forward_dynamics(model: SphericalModel, q: Scalars, v: Scalars, tau: Scalars) -> list[Scalar]:
    """The coordinates' accelerations, from M_W W' = sum of row tau / h - n."""
    moved = moving(model, q, v)
    bias, _ = quasi_forces(model, moved)
    rest = [-x for x in bias]
    for row, torque in zip(driven_rows(model, moved.pose), tau, strict=True):
        share = torque / row.over
        rest = [x + y * share for x, y in zip(rest, row.parts, strict=True)]
    changes = solve(_inertia(model, moved.pose), rest, model.paths)
    if model.carrier is not None:
        return changes
    dE = platform_rates(model, moved.pose, q, v)
    dW = Vector(*changes[:3]) - product(dE, v[:3])
    return [*_euler_accelerations(model, q, dW), *changes[3:]]


def _inertia(model: SphericalModel, pose: Posture) -> Matrix:
    """M_W: the platform's inertia, and the limbs' as their rows carry it."""
    columns, I = quasi_columns(model, pose), pose.R.congruence(model.platform.tensor)
    M: Matrix = [[0] * model.nv for _ in range(model.nv)]
    for k, column in enumerate(columns):
        turned = I @ column
        for c, other in enumerate(columns):
            M[c][k] = other @ turned
    for places, chain in zip(model.places, pose.chains, strict=True):
        H, links = _limb_inertia(chain), range(len(chain.limb.links))
        carried = [row.values for row in rows(chain, columns)[: len(links)]]
        for x, k in enumerate(places):
            unit = [row[x] for row in carried]
            felt = [dot(H[j], unit) for j in links]
            for y, c in enumerate(places):
                M[c][k] = M[c][k] + dot([row[y] for row in carried], felt)
    return M


def _limb_inertia(chain: Chain) -> Matrix:
    """The inertia matrix of a limb's joints, of its own links alone."""
    links = chain.limb.links
    H: Matrix = [[0] * len(links) for _ in links]
    axes: list[Vector] = []
    for j, link in enumerate(links):
        into = chain.into(j).T
        axes = [*(into @ axis for axis in axes), Z]
        for k, axis in enumerate(axes):
            felt = link.inertia.tensor @ axis
            for l in range(k + 1):
                H[k][l] = H[l][k] = H[k][l] + axes[l] @ felt
    return H


def _euler_accelerations(model: SphericalModel, q: Scalars, x: Vector) -> list[Scalar]:
    """E^-1 x."""
    c1, s1, s2 = cos(q[0]), sin(q[0]), sin(q[1])
    third = (c1 * x.x + s1 * x.y) * euler_inverse(model, q)
    return [x.z + s2 * third, c1 * x.y - s1 * x.x, third]
