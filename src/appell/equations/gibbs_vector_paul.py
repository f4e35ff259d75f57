"""The Gibbs-Appell equations in vector notation, in Paul's convention: Valera et al. 2003.

The paper tells only what this costs, after Table 3. The frame of link i sits at its far
end, so joint i turns about z of the parent's frame, which is (0, sin alpha, cos alpha) in
the link's own: equations 9 to 12 add the joint's turn before the rotation, and equations
16 and 23 take two products each. The recursions 17 and 25 are run apart, as printed.
Moments are taken about the joints.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.gibbs_vector import Motion, joint_forces, relative
from appell.maths.prepared import Prepared, prepared
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, cross
from appell.model.links import Link, far_ends
from appell.model.model import BASE, Model


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, steps 1 to 6. Gravity enters as the base's acceleration, -g."""
    links = far_ends(model)
    R, s = transformations(links, q)
    w, dw, ddr = accelerations(links, R, s, v, a, -model.gravity)
    z, y = derivatives(links)
    alpha = inertial_moments(links, R, w, dw)
    F, phi, beta = moments_of_forces(links, R, s, ddr)
    tau = joint_forces(z, y, alpha, beta, F, phi)
    return [tau[i] + link.joint.reflected * a[i] for i, link in enumerate(links)]


def transformations(
    links: Sequence[Link], q: Sequence[Scalar]
) -> tuple[list[Prepared], list[Vector]]:
    """Step 1: rotation matrices, and the joints in the parents' axes."""
    R = [prepared(link.rotation(q[i])) for i, link in enumerate(links)]
    return R, [link.offset(q[i]) for i, link in enumerate(links)]


def accelerations(
    links: Sequence[Link],
    R: Sequence[Prepared],
    s: Sequence[Vector],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    base: Vector,
) -> tuple[Motion, Motion, list[Vector]]:
    """Step 2: w, dw and ddr_G, from the base outwards, which accelerates too."""
    w, dw, ddr_O = {BASE: ZERO}, {BASE: ZERO}, {BASE: base}
    ddr_G: list[Vector] = []
    for i, link in enumerate(links):
        p, Rt, z = link.parent, R[i].T, link.z
        turning, sliding = z * (link.rho * v[i]), z * (link.sigma * v[i])
        w[i] = Rt @ (w[p] + turning)
        dw[i] = Rt @ (dw[p] + z * (link.rho * a[i]) + cross(w[p], turning))
        joint = ddr_O[p] + relative(w[p], dw[p], s[i])
        joint = joint + z * (link.sigma * a[i]) + 2 * cross(w[p], sliding)
        ddr_O[i] = Rt @ joint + relative(w[i], dw[i], link.r)
        ddr_G.append(ddr_O[i] + relative(w[i], dw[i], link.com))
    return w, dw, ddr_G


def derivatives(links: Sequence[Link]) -> tuple[list[Vector], list[Vector]]:
    """Step 3: d dw_j / d a_j (14), and d ddr_O / d a_j of a prismatic joint (21)."""
    return [link.axis * link.rho for link in links], [link.axis * link.sigma for link in links]


def inertial_moments(
    links: Sequence[Link], R: Sequence[Prepared], w: Motion, dw: Motion
) -> list[Vector]:
    """Step 4: alpha (17), from the tips inwards."""
    alpha = [I @ dw[i] + cross(w[i], I @ w[i]) for i, I in enumerate(l.central for l in links)]
    for i, link in reversed(list(enumerate(links))):
        if link.parent != BASE:
            alpha[link.parent] = alpha[link.parent] + R[i] @ alpha[i]
    return alpha


def moments_of_forces(
    links: Sequence[Link], R: Sequence[Prepared], s: Sequence[Vector], ddr: Sequence[Vector]
) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """Step 5: F = m ddr_G, phi (26) and beta (25), from the tips inwards."""
    F = [ddr[i] * link.mass for i, link in enumerate(links)]
    phi = [ZERO for _ in links]
    beta = [cross(F[i], link.r + link.com) for i, link in enumerate(links)]
    for i, link in reversed(list(enumerate(links))):
        p = link.parent
        if p != BASE:
            f = R[i] @ (F[i] + phi[i])
            phi[p] = phi[p] + f
            beta[p] = beta[p] + cross(f, links[p].r + s[i]) + R[i] @ beta[i]
    return F, phi, beta
