"""The Gibbs-Appell equations in vector notation: Valera et al. 2003, section 2.

Inverse dynamics, O(n), in the paper's six steps, with centres of mass and the inertia
tensors about them. As on the page, but for what its Table 2 saves: equation 17 leaves
R alpha_{j+1} to equation 25, so that one rotation carries both; and of a body on the
base, which turns about z only, only what the joint feels is made. On a tree, what a body
takes from the next one it takes from each of its children. Vectors of body i are in its
own axes: w, dw are its angular velocity and acceleration, ddr_O and ddr_G the
accelerations of its origin and of its centre of mass; R and s lead to its parent's frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.maths.prepared import Prepared, prepared
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.model import BASE, Body, Model

Motion = Mapping[int, Vector]  # of each body, and of the base


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, steps 1 to 6. Gravity enters as the base's acceleration, -g."""
    R, s = transformations(model, q)
    w, dw, ddr = accelerations(model, R, s, v, a)
    z, y = derivatives(model)
    alpha = inertial_moments(model, w, dw)
    F, phi, beta = moments_of_forces(model, R, s, ddr, alpha)
    tau = joint_forces(z, y, alpha, beta, F, phi)
    return [tau[i] + body.joint.reflected * a[i] for i, body in model.outwards()]


def transformations(model: Model, q: Sequence[Scalar]) -> tuple[list[Prepared], list[Vector]]:
    """Step 1: rotation matrices, 4M 0A a joint, and the origins in the parents' axes."""
    R = [prepared(body.rotation(q[i])) for i, body in model.outwards()]
    return R, [body.offset(q[i]) for i, body in model.outwards()]


def accelerations(
    model: Model,
    R: Sequence[Prepared],
    s: Sequence[Vector],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[Motion, Motion, list[Vector]]:
    """Step 2: w, dw and ddr_G, from the base outwards. 62M 46A a joint."""
    w, dw, ddr_O = {BASE: ZERO}, {BASE: ZERO}, {BASE: -model.gravity}
    ddr_G: list[Vector] = []
    for i, body in model.outwards():
        p, Rt, r = body.parent, R[i].T, body.inertia.com
        turning, sliding = Z * (body.rho * v[i]), Z * (body.sigma * v[i])
        carried = Rt @ w[p]
        w[i] = carried + turning  # (9)
        dw[i] = Rt @ dw[p] + Z * (body.rho * a[i]) + cross(carried, turning)  # (10)
        ddr_O[i] = Rt @ (ddr_O[p] + relative(w[p], dw[p], s[i]))  # (11)
        ddr_O[i] = ddr_O[i] + Z * (body.sigma * a[i]) + 2 * cross(w[i], sliding)
        ddr_G.append(ddr_O[i] + relative(w[i], dw[i], r))  # (12)
    return w, dw, ddr_G


def relative(w: Vector, dw: Vector, r: Vector) -> Vector:
    """w x (w x r) + dw x r: what a point r of a body accelerates more than its origin."""
    return cross(w, cross(w, r)) + cross(dw, r)


def derivatives(model: Model) -> tuple[list[Vector], list[Vector]]:
    """Step 3: d dw_j / d a_j (14), and d ddr_O / d a_j of a prismatic joint (21)."""
    return [Z * body.rho for body in model.bodies], [Z * body.sigma for body in model.bodies]


def inertial_moments(model: Model, w: Motion, dw: Motion) -> list[Vector]:
    """Step 4: the body's own part of alpha_j (17). 24M 18A a joint."""
    alpha = []
    for i, body in model.outwards():
        I = body.inertia.central
        if body.parent == BASE:
            alpha.append(Z * (I.zz * dw[i].z))
        else:
            alpha.append(I @ dw[i] + cross(w[i], I @ w[i]))
    return alpha


def moments_of_forces(
    model: Model,
    R: Sequence[Prepared],
    s: Sequence[Vector],
    ddr: Sequence[Vector],
    alpha: Sequence[Vector],
) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """Step 5: F = m ddr_G, phi (26) and beta (25), from the tips inwards. 31M 26A a joint."""
    F = [ddr[i] * body.mass for i, body in model.outwards()]
    phi, beta = [ZERO for _ in F], [ZERO for _ in F]
    for i, body in model.inwards():
        r, p = body.inertia.com, body.parent
        if p == BASE:
            beta[i] = beta[i] + Z * (cross(Z, F[i]) @ r)
        else:
            beta[i] = beta[i] + cross(F[i], r)
            f, b = on_parent(model.bodies[p], R[i], s[i], F[i] + phi[i], beta[i] - alpha[i])
            phi[p], beta[p] = phi[p] + f, beta[p] + b
    return F, phi, beta


def on_parent(onto: Body, R: Prepared, s: Vector, f: Vector, b: Vector) -> tuple[Vector, Vector]:
    """A child's part of phi (26) and of phi x s + R beta (25)."""
    if onto.parent != BASE or (onto.rho and onto.sigma):
        phi = R @ f
        return phi, cross(phi, s) + R @ b
    x, y, z = R.matrix.rows
    if onto.rho:  # feels the moment about z
        phi = Vector(x @ f, y @ f, 0)
        return phi, Z * (cross(Z, phi) @ s + z @ b)
    return Z * (z @ f), ZERO


def joint_forces(
    z: Sequence[Vector],
    y: Sequence[Vector],
    alpha: Sequence[Vector],
    beta: Sequence[Vector],
    F: Sequence[Vector],
    phi: Sequence[Vector],
) -> list[Scalar]:
    """Step 6: A_j (16) + B_j (23), and for a prismatic joint z . (F_j + phi_j). 0M 1A a joint."""
    bodies = range(len(F))
    A = [z[j] @ alpha[j] for j in bodies]
    B = [-(z[j] @ beta[j]) for j in bodies]
    return [A[j] + B[j] + y[j] @ F[j] + y[j] @ phi[j] for j in bodies]
