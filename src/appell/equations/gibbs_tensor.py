"""The Gibbs-Appell equations in tensor notation: Mata et al. 2002, sections 2 to 4.

Inverse dynamics, O(n), section 4.1; the inertia matrix as the Hessian of the Gibbs
function, O(n^2), section 4.2; forward dynamics by both, section 3. As on the page, with
centres of mass r_ii, Euler's tensors J about them and constants made off-line; beside a
step stands what it costs, products M and sums A. On a tree, what a body takes from the
next one it takes from each of its children, and prismatic joints are let in; gibbs_lean
computes the same with fewer operations. Vectors of body i are in its own axes: w, dw are
its angular velocity and acceleration, dds the acceleration of its origin, W (the paper's
Omega) its angular acceleration tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from appell.equations.linear import Matrix, Paths, back_substitute
from appell.maths.rotation import AboutX, AboutZ, After, Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import NULL, ZERO, Symmetric, Tensor, Vector, Z, cross, point_inertia
from appell.model.inertia import Inertia
from appell.model.model import BASE, Body, Model

# Section 2: the Gibbs function, and what appears in its gradient


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


def euler_tensor(inertia: Inertia) -> Symmetric:
    """J = tr(I)/2 - I (11), about the centre of mass, off-line."""
    I = inertia.central
    half = 0.5 * (I.xx + I.yy + I.zz)
    return Symmetric(half - I.xx, -I.xy, half - I.yy, -I.xz, -I.yz, half - I.zz)


def angular_acceleration_tensor(w: Vector, dw: Vector) -> Tensor:
    """W = dw~ + w~ w~ (12): a point r of the body accelerates by W r relative to the origin."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Tensor(
        Vector(-(yy + zz), xy - dw.z, xz + dw.y),
        Vector(xy + dw.z, -(xx + zz), yz - dw.x),
        Vector(xz - dw.y, yz + dw.x, -(xx + yy)),
    )


def inertial_moment(W: Tensor, J: Symmetric) -> Vector:
    """t about the centre of mass, the axial vector of W J - (W J)^T (10)."""
    return Vector(
        W.z.y * J.yy - W.y.z * J.zz + W.z.x * J.xy - W.y.x * J.xz + (W.z.z - W.y.y) * J.yz,
        W.x.z * J.zz - W.z.x * J.xx + W.x.y * J.yz - W.z.y * J.xy + (W.x.x - W.z.z) * J.xz,
        W.y.x * J.xx - W.x.y * J.yy + W.y.z * J.xz - W.x.z * J.yz + (W.y.y - W.x.x) * J.xy,
    )


# Section 4.1: inverse dynamics


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, by equations 8 to 16. Gravity enters as the base's acceleration, -g."""
    _, _, dds, W = accelerations(model, q, v, a)  # step 1
    tau: list[Scalar] = [0] * len(model.bodies)
    children: list[list[Child]] = [[] for _ in model.bodies]
    for i, body in model.inwards():
        r, p = body.inertia.com, body.parent
        f = inertial_force(body.mass, centre_acceleration(dds[i], W[i], r))  # step 2: (9)
        t = inertial_moment(W[i], euler_tensor(body.inertia))  # 15M 15A
        phi = sum((child.phi for child in children[i]), start=ZERO)
        if p == BASE:  # step 3: here only the third component of chi is needed
            chi = Z * carried_moment_about_z(r, f, t, children[i])
        else:
            R, s = body.rotation(q[i]), body.offset(q[i])
            chi = carried_moment(r, f, t, children[i])
            children[p].append(Child(R, s, carried_force(R, f, phi), chi))
        tau[i] = body.rho * chi.z + body.sigma * f.z + body.sigma * phi.z  # (14)
        tau[i] = tau[i] + body.joint.reflected * a[i]
    return tau


def bias(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C v + g: the joint forces while no joint accelerates."""
    return inverse_dynamics(model, q, v, [0] * len(model.bodies))


def gravity(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """The joint forces that hold the robot still."""
    return bias(model, q, [0] * len(model.bodies))


def accelerations(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[dict[int, Vector], dict[int, Vector], dict[int, Vector], dict[int, Tensor]]:
    """Section 4.1, step 1: angular velocities and the accelerations, from the base outwards."""
    w, dw, dds, W = {BASE: ZERO}, {BASE: ZERO}, {BASE: -model.gravity}, {BASE: NULL}
    for i, body in model.outwards():
        p, R, s = body.parent, body.rotation(q[i]), body.offset(q[i])
        carried = R.T @ w[p]  # 8M 4A
        w[i] = angular_velocity(body, carried, v[i])
        dw[i] = angular_acceleration(body, R, dw[p], carried, v[i], a[i])
        W[i] = angular_acceleration_tensor(w[i], dw[i])  # 6M 9A
        dds[i] = origin_acceleration(body, R, dds[p], W[p], s, w[i], v[i], a[i])
    return w, dw, dds, W


def angular_velocity(body: Body, carried: Vector, v: Scalar) -> Vector:
    """w_i = w_{i-1} + z q'. 0M 1A."""
    return carried + Z * (body.rho * v)


def angular_acceleration(
    body: Body, R: Rotation, dw: Vector, carried: Vector, v: Scalar, a: Scalar
) -> Vector:
    """dw_i = R^T dw_{i-1} + z q'' + w~_{i-1} z q'. 10M 7A."""
    return R.T @ dw + Z * (body.rho * a) + cross(carried, Z * (body.rho * v))


def origin_acceleration(
    body: Body, R: Rotation, dds: Vector, W: Tensor, s: Vector, w: Vector, v: Scalar, a: Scalar
) -> Vector:
    """dds_i = R^T (dds_{i-1} + W_{i-1} s_{i-1,i}), and what a joint slides. 17M 13A."""
    sliding = Z * (body.sigma * a) + 2 * cross(w, Z * (body.sigma * v))
    return R.T @ (dds + W @ s) + sliding


def centre_acceleration(dds: Vector, W: Tensor, r: Vector) -> Vector:
    """ddr = dds + W r_ii. 9M 9A."""
    return dds + W @ r


def inertial_force(m: Scalar, ddr: Vector) -> Vector:
    """f = m ddr (9). 3M 0A."""
    return ddr * m


class Child(NamedTuple):
    """What a body takes from a child: its axes R, its origin s, its part of phi, its chi."""

    R: Rotation
    s: Vector
    phi: Vector
    chi: Vector


def carried_force(R: Rotation, f: Vector, phi: Vector) -> Vector:
    """phi_j = R (f_{j+1} + phi_{j+1}) (16). 8M 7A."""
    return R @ (f + phi)


def carried_moment(r: Vector, f: Vector, t: Vector, children: Iterable[Child]) -> Vector:
    """chi_j = r~_jj f_j + s~_{j,j+1} phi_j + t_j + R chi_{j+1} (15). 20M 19A."""
    own = cross(r, f) + t
    return sum((cross(c.s, c.phi) + c.R @ c.chi for c in children), start=own)


def carried_moment_about_z(r: Vector, f: Vector, t: Vector, children: Iterable[Child]) -> Scalar:
    """The third component of chi_j: z^T a~ b = (z x a)^T b."""
    own = cross(Z, r) @ f + t.z
    return sum((cross(Z, c.s) @ c.phi + (c.R.T @ Z) @ c.chi for c in children), start=own)


# Section 3: forward dynamics


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations from D a = tau - bias (17), by Cholesky's decomposition."""
    rest = [t - b for t, b in zip(tau, bias(model, q, v), strict=True)]
    return back_substitute(*cholesky(mass_matrix(model, q), model.ancestors), rest, model.ancestors)


def cholesky(D: Matrix, paths: Paths, *, zero: Scalar = 0) -> tuple[Matrix, list[Scalar]]:
    """L (unit lower triangle) and 1/d of D = L^T d L, row by row from the tips, without roots.

    n(n+1)(n+2)/6 products, divisions among them, and as many sums where each begins at zero:
    ``zero`` is what they begin with. paths[i] are i and its ancestors.
    """
    n = len(D)
    L: Matrix = [[0] * n for _ in range(n)]
    scaled: Matrix = [[0] * n for _ in range(n)]  # d L
    inverse: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        carried = [m for m in range(k + 1, n) if k in paths[m]]
        for j in reversed(paths[k]):
            scaled[k][j] = D[k][j] - sum((L[m][k] * scaled[m][j] for m in carried), start=zero)
            if j == k:
                inverse[k] = 1 / scaled[k][k]
            else:
                L[k][j] = scaled[k][j] * inverse[k]
    return L, inverse


# Section 4.2: the inertia matrix

Vectors = list[dict[int, Vector]]  # of a body j and a joint k before it: [j][k]


def mass_matrix(model: Model, q: Sequence[Scalar]) -> Matrix:
    """The Hessian of the Gibbs function by the accelerations, equations 19 to 22."""
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    M, gamma, E = composed(model, s)
    arms = arms_of_joints(model, R, s)
    axes = axes_of_joints(model, R, third_rows(R))
    phi, carried = first_moments(model, R, gamma)
    psi = second_moments(model, R, s, E, carried)
    D = main_diagonal(model, M, psi)
    couple(model, D, axes, arms, M, phi, psi)
    return D


def third_rows(R: Sequence[Rotation]) -> list[Vector]:
    """Elements of the rotation matrices: the parent's z in the body's axes."""
    return [rotation.T @ Z for rotation in R]


def composed(
    model: Model, s: Sequence[Vector]
) -> tuple[list[Scalar], list[Vector], list[Symmetric]]:
    """Step 1, off-line while no joint slides: composed masses M, gamma and E.

    H, the second moments about the frames' origins, is what E is without children.
    """
    M: list[Scalar] = [body.mass for body in model.bodies]
    gamma: list[Vector] = [body.moment for body in model.bodies]
    E: list[Symmetric] = [body.tensor for body in model.bodies]
    for i, body in model.inwards():
        p = body.parent
        if p != BASE:
            M[p] = M[p] + M[i]
            gamma[p] = gamma[p] + s[i] * M[i]
            E[p] = E[p] + point_inertia(s[i]) * M[i]
    return M, gamma, E


def arms_of_joints(model: Model, R: Sequence[Rotation], s: Sequence[Vector]) -> Vectors:
    """Step 2: s_{k,j} from the origin of k to that of j, in the axes of j.

    The parts s_{k,k+1} of all arms are carried outwards, 8M 4A each, and added up, 0M 3A.
    """
    parts: Vectors = []
    arms: Vectors = []
    for j, body in model.outwards():
        p = body.parent
        inner = parts[p] | {p: s[j]} if p != BASE else {}
        parts.append({k: R[j].T @ part for k, part in inner.items()})
        arm: Vector | None = None
        arms.append({})
        for k in reversed(model.ancestors[j][:-1]):
            arm = parts[j][k] if arm is None else parts[j][k] + arm
            arms[j][k] = arm
    return arms


def axes_of_joints(model: Model, R: Sequence[Rotation], rows: Sequence[Vector]) -> Vectors:
    """Step 3: the direction of joint k, which is d dw_j / d q''_k if it turns. 8M 4A from k + 2."""
    axes: Vectors = []
    for j, body in model.outwards():
        p = body.parent
        inner = {k: R[j].T @ u for k, u in axes[p].items() if k != p} if p != BASE else {}
        axes.append(inner | ({p: rows[j]} if p != BASE else {}) | {j: Z})
    return axes


def first_moments(
    model: Model, R: Sequence[Rotation], gamma: Sequence[Vector]
) -> tuple[list[Vector], list[Vector]]:
    """Step 4: phi of each body with all it carries, and the same in the parent's axes. 8M 7A."""
    phi = list(gamma)
    carried = [ZERO] * len(phi)
    for i, body in model.inwards():
        if body.parent != BASE:
            carried[i] = R[i] @ phi[i]
            phi[body.parent] = phi[body.parent] + carried[i]
    return phi, carried


def second_moments(
    model: Model,
    R: Sequence[Rotation],
    s: Sequence[Vector],
    E: Sequence[Symmetric],
    carried: Sequence[Vector],
) -> list[Symmetric]:
    """Step 5: psi = E - s~ phi~ - (s~ phi~)^T + R psi_{i+1} R^T of each body with all it carries.

    31M 40A. On the base's children only psi_zz is needed and made: 13M 11A.
    """
    psi = list(E)
    for i, body in model.inwards():
        p = body.parent
        if p == BASE:
            continue
        if model.bodies[p].parent == BASE:
            x = -(s[i].x * carried[i].x + s[i].y * carried[i].y)
            zz = psi[p].zz - x - x + quadratic(R[i].T @ Z, psi[i])
            psi[p] = psi[p]._replace(zz=zz)
        else:
            X = skew_product(s[i], carried[i])
            psi[p] = without_twice(psi[p], X) + similarity(R[i], psi[i])
    return psi


def main_diagonal(model: Model, M: Sequence[Scalar], psi: Sequence[Symmetric]) -> Matrix:
    """Step 6: D_ii = z^T psi_i z, or the mass that a joint slides, with its rotor. 0M 0A."""
    D: Matrix = [[0] * len(model.bodies) for _ in model.bodies]
    for i, body in model.outwards():
        D[i][i] = body.rho * psi[i].zz + body.sigma * body.sigma * M[i] + body.joint.reflected
    return D


def couple(
    model: Model,
    D: Matrix,
    axes: Vectors,
    arms: Vectors,
    M: Sequence[Scalar],
    phi: Sequence[Vector],
    psi: Sequence[Symmetric],
) -> None:
    """Step 7: D_jk = (d dw_j / d q''_k)^T (psi_j - s~_{k,j} phi~_j) z. 7M 6A.

    A joint j that slides asks for the force z M_j and the moment phi_j x z besides, and of
    a joint k that slides the force counts.
    """
    for j, body in model.outwards():
        turning, sliding = Z * body.rho, Z * body.sigma
        force = sliding * M[j] + cross(turning, phi[j])
        for k in model.ancestors[j][:-1]:
            u, s, on = axes[j][k], arms[j][k], model.bodies[k]
            if on.rho:
                moment = psi[j] @ turning - cross(s, cross(phi[j], turning))
                D[j][k] = u @ (moment + cross(phi[j], sliding) + cross(s, sliding * M[j]))
            D[j][k] = D[j][k] + (u * on.sigma) @ force
            D[k][j] = D[j][k]


def skew_product(a: Vector, b: Vector) -> Tensor:
    """a~ b~ = b a^T - (a . b) 1. 12M 3A."""
    return Tensor(
        Vector(-(a.y * b.y + a.z * b.z), a.y * b.x, a.z * b.x),
        Vector(a.x * b.y, -(a.x * b.x + a.z * b.z), a.z * b.y),
        Vector(a.x * b.z, a.y * b.z, -(a.x * b.x + a.y * b.y)),
    )


def without_twice(E: Symmetric, X: Tensor) -> Symmetric:
    """E - X - X^T. 0M 12A."""
    return Symmetric(
        E.xx - X.x.x - X.x.x,
        E.xy - X.x.y - X.y.x,
        E.yy - X.y.y - X.y.y,
        E.xz - X.x.z - X.z.x,
        E.yz - X.y.z - X.z.y,
        E.zz - X.z.z - X.z.z,
    )


def similarity(R: Rotation, S: Symmetric) -> Symmetric:
    """R S R^T by turns about one axis after another: 19M 19A about z and x."""
    match R:
        case After(first, second):
            return similarity(first, similarity(second, S))
        case AboutZ(c, s):
            # By the double angle, whose sine and cosine are 2 cs and cc - ss. 11M 11A.
            cc, cs = c * c, c * s
            ss = 1 - cc
            xx = cc * S.xx - (cs + cs) * S.xy + ss * S.yy
            xy = cs * (S.xx - S.yy) + (cc - ss) * S.xy
            xz, yz = c * S.xz - s * S.yz, s * S.xz + c * S.yz
            return Symmetric(xx, xy, S.xx + S.yy - xx, xz, yz, S.zz)
        case AboutX(c, s):
            e = s * (S.yy - S.zz) + c * (S.yz + S.yz)  # as in AboutX.congruence. 8M 8A.
            xy, xz, se = c * S.xy - s * S.xz, s * S.xy + c * S.xz, s * e
            return Symmetric(S.xx, xy, S.yy - se, xz, c * e - S.yz, S.zz + se)
        case _:
            return R.congruence(S)


def quadratic(r: Vector, S: Symmetric) -> Scalar:
    """r^T S r. 9M 7A."""
    x, y = S.xy * r.y + S.xz * r.z, S.yz * r.z
    return r.x * (S.xx * r.x + (x + x)) + r.y * (S.yy * r.y + (y + y)) + S.zz * r.z * r.z
