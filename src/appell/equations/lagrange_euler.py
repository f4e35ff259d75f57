"""The Lagrange-Euler equations by homogeneous matrices: Lee 1982, section 3.1.

T[i, j] is Lee's T_i^j, from body j's frame to body i's; A_j = T[parent, j]. The model's
frames lie on the joints' axes (the modified Denavit-Hartenberg convention), so a joint moves
what is on its right: dA_j/dq_j = A_j Q_j. In Lee's standard convention it is Q_j A_j; his
equations 3.6 to 3.10 hold for both. Read with the errata: accelerations in the first term of
(3.6), a minus in (3.10).

O(n^4), as Lee computes it: each trace makes its derivatives anew, by (2.6) with T for A,

    dT_0^k/dq_j = (T_0^j Q_j) T_j^k,    d2T_0^m/dq_j dq_k = (dT_0^k/dq_j Q_k) T_k^m,

and the sum (3.9) runs over all bodies m, also where joint i does not carry m and T_i^m is null.
Of two equal terms, D_ij and D_ji or h_ijk and h_ikj, one is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.maths.homogeneous import IDENTITY, ZEROS, Matrix4, dot, transformation
from appell.maths.scalar import Scalar
from appell.model.model import BASE, Body, Model

Transforms = Mapping[tuple[int, int], Matrix4]
Derivatives = Mapping[tuple[int, int], Matrix4]  # dT_0^j/dq_i by i, j
Terms = Mapping[tuple[int, ...], Scalar]


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces: D a + H + G, equations 3.6 and 3.7."""
    A, J = links(model, q), pseudo_inertias(model)
    T = transforms(model, A)
    dT = derivatives(model, A, T)
    G = summed(gravity_terms(model, dT, J))
    D = summed(inertia_terms(model, T, J))
    h = summed(velocity_terms(model, T, dT, J))
    return joint_forces(model, D, h, G, v, a)


def mass_matrix(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """D, equation 3.8, and the rotors."""
    D = summed(inertia_terms(model, transforms(model, links(model, q)), pseudo_inertias(model)))
    rows = inertia_matrix(model, D)
    for i, body in model.outwards():
        rows[i][i] = rows[i][i] + body.joint.reflected
    return rows


def coriolis_matrix(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[list[Scalar]]:
    """C_ij = sum over k of h_ijk v_k. The h of (3.9) are Christoffel's symbols: dD/dt - 2C is
    skew-symmetric."""
    A, J = links(model, q), pseudo_inertias(model)
    T = transforms(model, A)
    h = summed(velocity_terms(model, T, derivatives(model, A, T), J))
    bodies = range(len(model.bodies))
    return [[product(row, v) for row in velocity_matrix(model, h, i)] for i in bodies]


def gravity(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """G, equation 3.10."""
    A, J = links(model, q), pseudo_inertias(model)
    G = summed(gravity_terms(model, derivatives(model, A, transforms(model, A)), J))
    return [G[i,] for i, _ in model.outwards()]


def links(model: Model, q: Sequence[Scalar]) -> list[Matrix4]:
    """A_j, from each body's frame to its parent's."""
    return [transformation(b.rotation(q[j]), b.offset(q[j])) for j, b in model.outwards()]


def pseudo_inertias(model: Model) -> list[Matrix4]:
    """J_j: the second moments tr(I)/2 - I, the first moments m r and the mass, equation 2.22."""
    return [_pseudo_inertia(body) for body in model.bodies]


def _pseudo_inertia(body: Body) -> Matrix4:
    I, (x, y, z), m = body.tensor, body.moment, body.mass
    half = 0.5 * (I.xx + I.yy + I.zz)
    return Matrix4(
        [
            [half - I.xx, -I.xy, -I.xz, x],
            [-I.xy, half - I.yy, -I.yz, y],
            [-I.xz, -I.yz, half - I.zz, z],
            [x, y, z, m],
        ]
    )


def by_operator(P: Matrix4, body: Body) -> Matrix4:
    """P Q, with Q of (2.7) for a turn about z, or its like for a slide along z.

    Q only moves columns and changes a sign, so no product is made but by the pitch of a screw.
    """
    rho, sigma = body.rho, body.sigma
    return type(P)([[y * rho, -x * rho, 0, z * sigma] for x, y, z, _ in P.rows])


def transforms(model: Model, A: Sequence[Matrix4]) -> Transforms:
    """T_i^j of every body j and all that carry it, the base and the body itself included."""
    T: dict[tuple[int, int], Matrix4] = {}
    for j, body in model.outwards():
        p = body.parent
        T[p, j], T[j, j] = A[j], IDENTITY
        for i in (BASE, *model.ancestors[j][:-1]):
            if i != p:
                T[i, j] = T[i, p] @ A[j]
    return T


def derivatives(model: Model, A: Sequence[Matrix4], T: Transforms) -> Derivatives:
    """dT_0^j/dq_i from the base outwards: a body moves with its parent, and by its own joint."""
    dT: dict[tuple[int, int], Matrix4] = {}
    for j, body in model.outwards():
        for i in model.ancestors[j][:-1]:
            dT[i, j] = dT[i, body.parent] @ A[j]
        dT[j, j] = by_operator(T[BASE, j], body)
    return dT


def gravity_terms(model: Model, dT: Derivatives, J: Sequence[Matrix4]) -> Terms:
    """-g (dT_0^j/dq_i) m_j r_j by i, j, the terms of (3.10). m_j r_j is a column of J_j."""
    g = (*model.gravity, 0)
    return {(i, j): -dot(g @ dT[i, j], J[j].rows[3]) for i, j in dT}


def inertia_terms(model: Model, T: Transforms, J: Sequence[Matrix4]) -> Terms:
    """Tr{dT_0^k/dq_j J_k (dT_0^k/dq_i)^T} by i, j, k, the terms of (3.8), i not behind j."""
    P = [by_operator(T[BASE, i], body) for i, body in model.outwards()]
    return {
        (i, j, k): _trace(P[j], T[j, k], J[k], P[i], T[i, k])
        for k, path in enumerate(model.ancestors)
        for place, j in enumerate(path)
        for i in path[: place + 1]
    }


def velocity_terms(model: Model, T: Transforms, dT: Derivatives, J: Sequence[Matrix4]) -> Terms:
    """Tr{d2T_0^m/dq_j dq_k J_m (dT_0^m/dq_i)^T} by i, j, k, m, the terms of (3.9), for all i and
    j not behind k."""
    P = [by_operator(T[BASE, i], body) for i, body in model.outwards()]
    PP = {(j, k): by_operator(dT[j, k], model.bodies[k]) for j, k in dT}
    return {
        (i, j, k, m): _trace(PP[j, k], T[k, m], J[m], P[i], T.get((i, m), ZEROS))
        for i in range(len(model.bodies))
        for m, path in enumerate(model.ancestors)
        for place, k in enumerate(path)
        for j in path[: place + 1]
    }


def _trace(P: Matrix4, S: Matrix4, J: Matrix4, Pi: Matrix4, Si: Matrix4) -> Scalar:
    """Tr{(P S) J (Pi Si)^T}, four products of matrices."""
    return ((P @ S) @ J @ (Pi @ Si).T).trace


def summed(terms: Terms) -> Terms:
    """The sums over the last index."""
    total: dict[tuple[int, ...], Scalar] = {}
    for (*indices, _), term in terms.items():
        key = tuple(indices)
        total[key] = total[key] + term if key in total else term
    return total


def joint_forces(
    model: Model, D: Terms, h: Terms, G: Terms, v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """tau = D a + H + G (3.7) with H_i = v^T h_i v, and the rotors."""
    tau = []
    for (i, body), row in zip(model.outwards(), inertia_matrix(model, D), strict=True):
        H = product([product(line, v) for line in velocity_matrix(model, h, i)], v)
        tau.append(product(row, a) + H + G[i,] + body.joint.reflected * a[i])
    return tau


def inertia_matrix(model: Model, D: Terms) -> list[list[Scalar]]:
    """All of D; joints that do not carry each other have no inertia in common."""
    bodies = range(len(model.bodies))
    return [[D.get((min(i, j), max(i, j)), 0) for j in bodies] for i in bodies]


def velocity_matrix(model: Model, h: Terms, i: int) -> list[list[Scalar]]:
    """h_ijk of all j and k."""
    bodies = range(len(model.bodies))
    return [[h.get((i, min(j, k), max(j, k)), 0) for k in bodies] for j in bodies]


def product(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The scalar product of two rows."""
    return sum((x * y for x, y in zip(a, b, strict=True)), start=0)
