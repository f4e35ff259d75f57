"""The Newton-Euler equations of Luh, Walker and Paul: Lee 1982, section 3.2.

Inverse dynamics, O(n), a function for each row of Lee's Table 2. The convention is Paul's:
link i's frame sits at its far end, so joint i turns about z of the parent's frame. A_i
leads from the parent's axes to link i's, where all that has the index i is given; r_i goes
from joint i to the link's origin, rbar_i from there to the centre of mass. Moments n_i are
about joint i. On a tree a link bears all its children, whose joints are at s in its frame,
zero for the first of them. Lee treats revolute joints; prismatic ones are let in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.maths.rotation import Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross
from appell.model.links import Link, far_ends
from appell.model.model import BASE, Model

Links = Sequence[Link]
Motion = Mapping[int, Vector]  # of each link, and of the base


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, equations 3.21 to 3.27. Gravity enters as the base's acceleration, -g."""
    links = far_ends(model)
    A = [link.rotation(q[i]).T for i, link in enumerate(links)]
    s = [link.offset(q[i]) for i, link in enumerate(links)]
    w = angular_velocities(links, A, v)
    across = coriolis_accelerations(links, w, v)
    dw = angular_accelerations(links, A, across, a)
    squares = squared_speeds(links, w)
    acc = origin_accelerations(links, A, s, w, dw, squares, v, a, -model.gravity)
    F = inertial_forces(links, centre_accelerations(links, w, dw, squares, acc))
    f, phi = forces(links, A, F)
    n = moments(links, A, s, F, phi, inertial_moments(links, w, dw))
    tau = joint_forces(links, f, n)
    return [tau[i] + link.joint.reflected * a[i] for i, link in enumerate(links)]


def angular_velocities(
    links: Links, A: Sequence[Rotation], v: Sequence[Scalar], base: Vector = ZERO
) -> Motion:
    """w_i = A_i (w_{i-1} + q' z_{i-1}) (3.21). 9M 7A."""
    w = {BASE: base}
    for i, link in enumerate(links):
        w[i] = A[i] @ (w[link.parent] + link.z * (link.rho * v[i]))
    return w


def coriolis_accelerations(links: Links, w: Motion, v: Sequence[Scalar]) -> list[Vector]:
    """w_{i-1} x q' z_{i-1}, in (3.22). 2M 0A, which Lee's table leaves out."""
    return [cross(w[link.parent], link.z * (link.rho * v[i])) for i, link in enumerate(links)]


def angular_accelerations(
    links: Links,
    A: Sequence[Rotation],
    across: Sequence[Vector],
    a: Sequence[Scalar],
    base: Vector = ZERO,
) -> Motion:
    """alpha_i = A_i (alpha_{i-1} + w_{i-1} x q' z_{i-1} + q'' z_{i-1}) (3.22). 9M 9A."""
    dw = {BASE: base}
    for i, link in enumerate(links):
        dw[i] = A[i] @ (dw[link.parent] + across[i] + link.z * (link.rho * a[i]))
    return dw


def squared_speeds(links: Links, w: Motion) -> list[Scalar]:
    """w . w, for both (3.23) and (3.24). 3M 2A."""
    return [w[i] @ w[i] for i, _ in enumerate(links)]


def relative(w: Vector, dw: Vector, square: Scalar, r: Vector) -> Vector:
    """w x (w x r) + alpha x r, the first as w (w . r) - r (w . w). 15M 11A."""
    return w * (w @ r) - r * square + cross(dw, r)


def origin_accelerations(
    links: Links,
    A: Sequence[Rotation],
    s: Sequence[Vector],
    w: Motion,
    dw: Motion,
    squares: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    base: Vector,
) -> Motion:
    """a_i = w_i x (w_i x r_i) + alpha_i x r_i + A_i a_{i-1} (3.23). 24M 20A, 27M 22A with w . w."""
    acc = {BASE: base}
    for i, link in enumerate(links):
        p = link.parent
        sliding = link.z * (link.sigma * a[i]) + 2 * cross(w[p], link.z * (link.sigma * v[i]))
        joint = acc[p] if p == BASE else acc[p] + relative(w[p], dw[p], squares[p], s[i])
        acc[i] = relative(w[i], dw[i], squares[i], link.r) + A[i] @ (joint + sliding)
    return acc


def centre_accelerations(
    links: Links, w: Motion, dw: Motion, squares: Sequence[Scalar], acc: Motion
) -> list[Vector]:
    """abar_i = w_i x (w_i x rbar_i) + alpha_i x rbar_i + a_i (3.24). 15M 14A."""
    return [relative(w[i], dw[i], squares[i], link.com) + acc[i] for i, link in enumerate(links)]


def inertial_forces(links: Links, centres: Sequence[Vector]) -> list[Vector]:
    """F_i = m_i abar_i (3.15). 3M 0A."""
    return [centres[i] * link.mass for i, link in enumerate(links)]


def forces(
    links: Links, A: Sequence[Rotation], F: Sequence[Vector], hand: Vector = ZERO
) -> tuple[list[Vector], list[Vector]]:
    """f_i = F_i + A f_{i+1} (3.25), and each A f_{i+1}, in the parent's axes. 9M 9A.

    At a tip f_{i+1} is what the hand exerts. Lee ignores it in the moments (after 4.13), and
    so do we: it is there for his count.
    """
    f = list(F)
    phi = [ZERO for _ in links]
    parents = {link.parent for link in links}
    for i, link in reversed(list(enumerate(links))):
        if i not in parents:
            f[i] = f[i] + hand
        if link.parent != BASE:
            phi[i] = A[i].T @ f[i]
            f[link.parent] = f[link.parent] + phi[i]
    return f, phi


def inertial_moments(links: Links, w: Motion, dw: Motion) -> list[Vector]:
    """N_i = I_i alpha_i + w_i x I_i w_i (3.16). 24M 18A."""
    return [link.central @ dw[i] + cross(w[i], link.central @ w[i]) for i, link in enumerate(links)]


def moments(
    links: Links,
    A: Sequence[Rotation],
    s: Sequence[Vector],
    F: Sequence[Vector],
    phi: Sequence[Vector],
    N: Sequence[Vector],
) -> list[Vector]:
    """n_i = N_i + (rbar_i + r_i) x F_i + r_i x A f_{i+1} + A n_{i+1} (3.26). 21M 24A."""
    n = [N[i] + cross(link.com + link.r, F[i]) for i, link in enumerate(links)]
    for i, link in reversed(list(enumerate(links))):
        p = link.parent
        if p != BASE:
            n[p] = n[p] + cross(links[p].r + s[i], phi[i]) + A[i].T @ n[i]
    return n


def joint_forces(links: Links, f: Sequence[Vector], n: Sequence[Vector]) -> list[Scalar]:
    """tau_i = (A_i z_{i-1}) . n_i (3.27); of a prismatic joint, . f_i."""
    return [
        (link.axis * link.rho) @ n[i] + (link.axis * link.sigma) @ f[i]
        for i, link in enumerate(links)
    ]
