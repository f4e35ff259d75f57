"""The Gibbs-Appell equations in tensor notation: Mata et al. 2002.

Inverse dynamics, O(n), section 4.1; the inertia matrix as the Hessian of the
Gibbs function, O(n^2), section 4.2; forward dynamics, section 3. All for trees,
revolute and prismatic joints. Vectors of body i are in its own axes; w, dw are
its angular velocity and acceleration, dds the acceleration of its origin, W its
angular acceleration tensor. Second moments are taken about the origins.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.linear import solve
from appell.maths.scalar import Scalar
from appell.maths.vector import (
    NULL,
    ZERO,
    Symmetric,
    Tensor,
    Vector,
    Z,
    cross,
    inertia_product,
    point_inertia,
)
from appell.model.model import BASE, Model


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, by equations 8 to 16. Gravity enters as the base's acceleration, -g."""
    f, n = inertial_forces(model, *accelerations(model, q, v, a))
    tau: list[Scalar] = [0] * len(model.bodies)
    for i, body in model.inwards():
        tau[i] = body.rho * n[i].z + body.sigma * f[i].z + body.joint.reflected * a[i]  # (14)
        if body.parent != BASE:
            R = body.rotation(q[i])
            phi = R @ f[i]  # (16)
            f[body.parent] = f[body.parent] + phi
            n[body.parent] = n[body.parent] + R @ n[i] + cross(body.offset(q[i]), phi)  # (15)
    return tau


def bias(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C v + g: the joint forces while no joint accelerates."""
    return inverse_dynamics(model, q, v, [0] * len(model.bodies))


def gravity(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """The joint forces that hold the robot still."""
    return bias(model, q, [0] * len(model.bodies))


def gibbs_function(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> Scalar:
    """The energy of the accelerations, equations 3 and 4, with gravity: dG/da = tau.

    Each body's part is written about its frame's origin: the acceleration of a
    point r is dds + W r, and terms without accelerations of the joints remain in it.
    """
    w, dw, dds, W = accelerations(model, q, v, a)
    G: Scalar = 0
    for i, body in model.outwards():
        G = G + 0.5 * body.mass * (dds[i] @ dds[i]) + dds[i] @ (W[i] @ body.moment)
        G = G + 0.5 * (dw[i] @ (body.tensor @ dw[i])) + dw[i] @ cross(w[i], body.tensor @ w[i])
        G = G + 0.5 * (w[i] @ w[i]) * (w[i] @ (body.tensor @ w[i]))
        G = G + 0.5 * body.joint.reflected * a[i] * a[i]
    return G


def mass_matrix(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The Hessian of the Gibbs function by the accelerations: section 4.2, steps 1 to 7.

    phi and psi are the first and second moments of a body with all it carries.
    """
    n = len(model.bodies)
    M: list[Scalar] = [body.mass for body in model.bodies]
    phi: list[Vector] = [body.moment for body in model.bodies]
    psi: list[Symmetric] = [body.tensor for body in model.bodies]
    for i, body in model.inwards():
        p = body.parent
        if p != BASE:
            R, s = body.rotation(q[i]), body.offset(q[i])
            carried = R @ phi[i]  # step 4
            M[p] = M[p] + M[i]
            phi[p] = phi[p] + s * M[i] + carried
            psi[p] = psi[p] + point_inertia(s) * M[i] + inertia_product(s, carried)  # step 5
            psi[p] = psi[p] + R.congruence(psi[i])
    D: list[list[Scalar]] = [[0] * n for _ in range(n)]
    axes: list[dict[int, Vector]] = []  # d dw_j / d a_k or, of a prismatic joint k, its direction
    arms: list[dict[int, Vector]] = []  # from the origin of k to that of j
    for j, body in model.outwards():
        Rt, s = body.rotation(q[j]).T, body.offset(q[j])
        above = axes[body.parent] if body.parent != BASE else {}
        reach = arms[body.parent] if body.parent != BASE else {}
        axes.append({k: Rt @ u for k, u in above.items()} | {j: Z})  # step 3
        arms.append({k: Rt @ (r + s) for k, r in reach.items()} | {j: ZERO})  # step 2
        # What a unit acceleration of joint j asks of all it carries: force and moment.
        force = Z * M[j] if body.sigma else cross(Z, phi[j])
        moment = cross(phi[j], Z) if body.sigma else Vector(psi[j].xz, psi[j].yz, psi[j].zz)
        D[j][j] = (force.z if body.sigma else moment.z) + body.joint.reflected  # step 6
        for k in model.ancestors[j][:-1]:  # step 7
            u, r = axes[j][k], arms[j][k]
            D[j][k] = u @ force if model.bodies[k].sigma else u @ (moment + cross(r, force))
            D[k][j] = D[j][k]
    return D


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations from D a = tau - bias, equation 17, by Cholesky's decomposition."""
    rest = [t - b for t, b in zip(tau, bias(model, q, v), strict=True)]
    return solve(mass_matrix(model, q), rest, model.ancestors)


def angular_acceleration_tensor(w: Vector, dw: Vector) -> Tensor:
    """W = dw~ + w~ w~ (12): a point r of the body accelerates by W r relative to the origin."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Tensor(
        Vector(-(yy + zz), xy - dw.z, xz + dw.y),
        Vector(xy + dw.z, -(xx + zz), yz - dw.x),
        Vector(xz - dw.y, yz + dw.x, -(xx + yy)),
    )


def inertial_moment(I: Symmetric, w: Vector, dw: Vector, W: Tensor) -> Vector:
    """The axial vector of W J - (W J)^T (10), J = tr(I)/2 - I: I dw + w x I w.

    Grouped by products of speeds, so that equal moments of inertia cancel.
    """
    x, y, z = (W.y.z + dw.x, W.x.z - dw.y, W.x.y + dw.z)  # w_y w_z, w_x w_z, w_x w_y
    return Vector(
        I.xx * dw.x + (I.zz - I.yy) * x - I.xy * W.z.x + I.xz * W.y.x + I.yz * (W.y.y - W.z.z),
        I.yy * dw.y + (I.xx - I.zz) * y - I.yz * W.x.y + I.xy * W.z.y + I.xz * (W.z.z - W.x.x),
        I.zz * dw.z + (I.yy - I.xx) * z - I.xz * W.y.z + I.yz * W.x.z + I.xy * (W.x.x - W.y.y),
    )


def inertial_forces(
    model: Model,
    w: dict[int, Vector],
    dw: dict[int, Vector],
    dds: dict[int, Vector],
    W: dict[int, Tensor],
) -> tuple[list[Vector], list[Vector]]:
    """Section 4.1, step 2: what each body's motion asks for, the moment about its origin."""
    f, n = [], []
    for i, body in model.outwards():
        f.append(dds[i] * body.mass + W[i] @ body.moment)  # (9)
        n.append(
            inertial_moment(body.tensor, w[i], dw[i], W[i]) + cross(body.moment, dds[i])
        )  # (10)
    return f, n


def accelerations(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[dict[int, Vector], dict[int, Vector], dict[int, Vector], dict[int, Tensor]]:
    """Section 4.1, step 1: angular velocities and the accelerations, from the base outwards."""
    w, dw, dds, W = {BASE: ZERO}, {BASE: ZERO}, {BASE: -model.gravity}, {BASE: NULL}
    for i, body in model.outwards():
        p, Rt, s = body.parent, body.rotation(q[i]).T, body.offset(q[i])
        turning, sliding = Z * (body.rho * v[i]), Z * (body.sigma * v[i])
        carried = Rt @ w[p]
        w[i] = carried + turning
        dw[i] = Rt @ dw[p] + Z * (body.rho * a[i]) + cross(carried, turning)
        dds[i] = Rt @ (dds[p] + W[p] @ s) + Z * (body.sigma * a[i]) + 2 * cross(w[i], sliding)
        W[i] = angular_acceleration_tensor(w[i], dw[i])
    return w, dw, dds, W
