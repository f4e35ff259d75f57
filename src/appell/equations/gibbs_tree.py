"""The Gibbs-Appell equations branch by branch, by 3 x 3 and 4 x 4 matrices: Shafei 2018.

A branch is the open chain from the base to a tip. A link that several branches share has its
mass in the first of them; in the others it is virtual, without mass. Each branch gets an inertia
matrix and a right-hand side by the seven steps of the paper's appendix; added up, they are the
tree's (section 3.1.3). The 4 x 4 matrices move the links' elements, the 3 x 3 ones turn them.

The paper's bar is a row of slices; a body here is a single one, at its centre of mass. Its Gibbs
function (13) lacks the gyroscopic term dw . (w x B2 w), which vanishes in the plane only; here it
is in step 4. Joints may slide: the paper's X1 and X2 are two sliding joints whose links have no
mass, their U_1 is its U_3, and (II), (39), (40) and (42) are (I), (36) and (41) for them.

Lists have one entry a link of the branch, from the base outwards. E_{j-1} A_j, which the paper
has as two matrices, is one, EA[j]; T^_{j-1} U_1j is then T_{j-1} U1[j].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.lagrange_euler import by_operator, links
from appell.equations.linear import Matrix, solve
from appell.maths.homogeneous import IDENTITY, ZEROS, Matrix4, dot
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Symmetric, Tensor, Vector, Z, cross
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Body, Model

# Section 3.1.3: from the branches to the tree


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, equations 23 and 24, summed over the branches."""
    tau: list[Scalar] = [body.joint.reflected * a[i] for i, body in model.outwards()]
    for branch in branches(model, q):
        add_vector(tau, branch, forces(model, branch, placed(branch), v, a))
    return tau


def mass_matrix(model: Model, q: Sequence[Scalar]) -> Matrix:
    """The inertia matrix I_f of (25), summed over the branches."""
    I = rotors(model)
    for branch in branches(model, q):
        add_matrix(I, branch, inertia_matrix(branch, placed(branch)))
    return I


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations from I_f a = R (25); the joint forces are in R once, whatever shares them."""
    I, bias = rotors(model), [0] * len(model.bodies)
    for branch in branches(model, q):
        place = placed(branch)
        add_matrix(I, branch, inertia_matrix(branch, place))
        add_vector(bias, branch, forces(model, branch, place, v, [0] * len(model.bodies)))
    return solve(I, [t - b for t, b in zip(tau, bias, strict=True)], model.ancestors)


def rotors(model: Model) -> Matrix:
    """A null matrix, but for what the rotors add to its diagonal."""
    I: Matrix = [[0] * len(model.bodies) for _ in model.bodies]
    for i, body in model.outwards():
        I[i][i] = body.joint.reflected
    return I


def add_matrix(I: Matrix, branch: OpenChain, part: Matrix) -> None:
    """A branch's inertia matrix, added to the tree's."""
    for j, row in zip(branch.links, part, strict=True):
        for k, x in zip(branch.links, row, strict=True):
            I[j][k] = I[j][k] + x


def add_vector(total: list[Scalar], branch: OpenChain, part: Sequence[Scalar]) -> None:
    """A branch's right-hand side, added to the tree's."""
    for j, x in zip(branch.links, part, strict=True):
        total[j] = total[j] + x


# Section 2: a branch


class OpenChain(NamedTuple):
    """An open chain: its links' numbers in the tree, their joints and inertias."""

    links: Sequence[int]
    bodies: Sequence[Body]
    EA: Sequence[Matrix4]
    B1: Sequence[Matrix4]
    B2: Sequence[Symmetric]
    c: Sequence[Sequence[Scalar]]


def branches(model: Model, q: Sequence[Scalar]) -> list[OpenChain]:
    """A chain from the base to each tip; links of earlier branches are virtual."""
    EA = links(model, q)
    carriers = {body.parent for body in model.bodies}
    found: list[OpenChain] = []
    real = [body.inertia for body in model.bodies]
    for tip, path in enumerate(model.ancestors):
        if tip not in carriers:
            inertias = [real[i] for i in path]
            found.append(
                OpenChain(
                    path,
                    bodies=[model.bodies[i] for i in path],
                    EA=[EA[i] for i in path],
                    B1=[second_moments(inertia) for inertia in inertias],
                    B2=[inertia.central for inertia in inertias],
                    c=[first_moments(inertia) for inertia in inertias],
                )
            )
            for i in path:
                real[i] = NOTHING
    return found


def first_moments(inertia: Inertia) -> list[Scalar]:
    """c = m r (20), with r = (x, y, z, 1)."""
    return [*inertia.moment, inertia.mass]


def second_moments(inertia: Inertia) -> Matrix4:
    """B1 = m r r^T / 2 (15), with r = (x, y, z, 1)."""
    r = (*inertia.com, 1)
    return Matrix4([[0.5 * c * x for x in r] for c in first_moments(inertia)])


# Appendix, steps 1 and 2: where a branch is


class LinkTransforms(NamedTuple):
    """T_{j-1}, U1 = d(EA)/dq (7), dT/dq (33), and R from link j's axes to those before."""

    T: Sequence[Matrix4]
    U1: Sequence[Matrix4]
    dT: Sequence[Matrix4]
    R: Sequence[Tensor]


def placed(branch: OpenChain) -> LinkTransforms:
    """The transformations of a branch's links, and their derivatives."""
    T = transformations(branch)
    U1 = [by_operator(EA, body) for EA, body in zip(branch.EA, branch.bodies, strict=True)]
    dT = [Tj @ U for Tj, U in zip(T, U1, strict=True)]
    return LinkTransforms(T, U1, dT, rotations(branch))


def transformations(branch: OpenChain) -> list[Matrix4]:
    """Step 1: of the links before, T_j = T_{j-1} E_{j-1} A_j from T_0 = 1 on.

    The appendix also makes those between any two links, but no later step asks for them.
    """
    T = [IDENTITY]
    for EA in branch.EA[:-1]:
        T.append(T[-1] @ EA)
    return T


def rotations(branch: OpenChain) -> list[Tensor]:
    """Step 2: between neighbours; the others that the appendix makes are not asked for either."""
    return [Tensor(*(Vector(*row[:3]) for row in EA.rows[:3])) for EA in branch.EA]


# Appendix, steps 3 to 5: the right-hand side


def forces(
    model: Model, branch: OpenChain, place: LinkTransforms, v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """The joint forces that a branch asks for; without accelerations, -R of (41) and (42)."""
    v, a = ([x[i] for i in branch.links] for x in (v, a))
    w, dw = angular_motion(branch, place, v, a)
    p, Q, chi = carried(branch, place, accelerations(branch, place, v, a), w, dw)
    return projected(model, branch, place, p, Q, chi)


def angular_motion(
    branch: OpenChain, place: LinkTransforms, v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[list[Vector], list[Vector]]:
    """Step 3: angular velocities and accelerations, equations 28, 31 and 32."""
    w, dw = [], []
    inner, dinner = ZERO, ZERO
    for body, R, vj, aj in zip(branch.bodies, place.R, v, a, strict=True):
        spin = Z * (body.rho * vj)
        dinner = R.T @ (dinner + cross(inner, R @ spin)) + Z * (body.rho * aj)
        inner = R.T @ inner + spin
        w.append(inner)
        dw.append(dinner)
    return w, dw


def accelerations(
    branch: OpenChain, place: LinkTransforms, v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Matrix4]:
    """T'' (27), its sums (29) and (30) link by link:

    T_j'' = T_{j-1}'' EA + (2 T_{j-1}' U1 + T_{j-1} U2 v) v + dT a, T_j' = T_{j-1}' EA + dT v.
    """
    found: list[Matrix4] = []
    d, dd = ZEROS, ZEROS  # T_{j-1}' and T_{j-1}''
    for j, (body, EA) in enumerate(zip(branch.bodies, branch.EA, strict=True)):
        T, U1, dT = place.T[j], place.U1[j], place.dT[j]
        U2 = by_operator(U1, body)  # (8)
        turned = added(scaled(d @ U1, 2), scaled(T @ U2, v[j]))
        dd = added(dd @ EA, scaled(turned, v[j]), scaled(dT, a[j]))
        d = added(d @ EA, scaled(dT, v[j]))
        found.append(dd)
    return found


def carried(
    branch: OpenChain,
    place: LinkTransforms,
    ddT: Sequence[Matrix4],
    w: Sequence[Vector],
    dw: Sequence[Vector],
) -> tuple[list[list[Scalar]], list[Matrix4], list[Vector]]:
    """Step 4: p, Q and chi of each link with all it carries, from the tip inwards."""
    n = len(branch.links)
    p: list[list[Scalar]] = [[]] * n
    Q: list[Matrix4] = [ZEROS] * n
    chi: list[Vector] = [ZERO] * n
    for j in reversed(range(n)):
        p[j] = list(branch.c[j])
        Q[j] = branch.B1[j] @ ddT[j].T
        chi[j] = branch.B2[j] @ dw[j] + cross(w[j], branch.B2[j] @ w[j])  # t, gyroscopic term last
        if j + 1 < n:
            EA, R = branch.EA[j + 1], place.R[j + 1]
            p[j] = [c + dot(row, p[j + 1]) for c, row in zip(p[j], EA.rows, strict=True)]
            Q[j] = added(Q[j], EA @ Q[j + 1])
            chi[j] = chi[j] + R @ chi[j + 1]
    return p, Q, chi


def projected(
    model: Model,
    branch: OpenChain,
    place: LinkTransforms,
    p: Sequence[Sequence[Scalar]],
    Q: Sequence[Matrix4],
    chi: Sequence[Vector],
) -> list[Scalar]:
    """Step 5: 2 Tr{dT/dq Q} + z . chi - g . dT/dq p, which is tau."""
    g = (*model.gravity, 0)
    return [
        2 * trace(dT, Q[j].T) + body.rho * chi[j].z - dot(g @ dT, p[j])
        for j, (body, dT) in enumerate(zip(branch.bodies, place.dT, strict=True))
    ]


# Appendix, steps 6 and 7: the inertia matrix


def inertia_matrix(branch: OpenChain, place: LinkTransforms) -> Matrix:
    """A branch's inertia matrix, figure 2."""
    return coupled(branch, place, moved_moments(branch), turned_moments(branch, place))


def moved_moments(branch: OpenChain) -> list[list[Matrix4]]:
    """Step 6: F (36) of joints j and k >= j, as ``F[k][j]``."""
    n = len(branch.links)
    F: list[list[Matrix4]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        column = [branch.B1[k]]
        if k + 1 < n:
            column = [added(branch.B1[k], F[k + 1][k] @ branch.EA[k + 1].T)]
        for j in reversed(range(k)):
            column.append(branch.EA[j + 1] @ column[-1])
        F[k] = column[::-1]
    return F


def turned_moments(branch: OpenChain, place: LinkTransforms) -> list[list[Tensor]]:
    """Step 6: P (38) of joints j and k >= j, as ``P[k][j]``."""
    n = len(branch.links)
    P: list[list[Tensor]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        column = [branch.B2[k].tensor]
        if k + 1 < n:
            column = [branch.B2[k].tensor + product(P[k + 1][k], place.R[k + 1].T)]
        for j in reversed(range(k)):
            column.append(product(place.R[j + 1], column[-1]))
        P[k] = column[::-1]
    return P


def coupled(
    branch: OpenChain,
    place: LinkTransforms,
    F: Sequence[Sequence[Matrix4]],
    P: Sequence[Sequence[Tensor]],
) -> Matrix:
    """Step 7: I_jk = 2 Tr{dT_j/dq_j F dT_k/dq_k^T} + z . P z (I), of turning joints the last."""
    n = range(len(branch.links))
    rho, dT = [body.rho for body in branch.bodies], place.dT
    I: Matrix = [[0] * len(n) for _ in n]
    for k in n:
        for j in n[: k + 1]:
            I[j][k] = 2 * trace(dT[j] @ F[k][j], dT[k]) + rho[j] * rho[k] * P[k][j].z.z
            I[k][j] = I[j][k]
    return I


# Matrices


def added(first: Matrix4, *others: Matrix4) -> Matrix4:
    """The sum of 4 x 4 matrices."""
    rows = zip(first.rows, *(X.rows for X in others), strict=True)
    return type(first)([[sum(x) for x in zip(*row, strict=True)] for row in rows])


def scaled(X: Matrix4, k: Scalar) -> Matrix4:
    """A 4 x 4 matrix times a number."""
    return type(X)([[x * k for x in row] for row in X.rows])


def trace(X: Matrix4, Y: Matrix4) -> Scalar:
    """Tr{X Y^T}. 16M 15A."""
    return sum(dot(x, y) for x, y in zip(X.rows, Y.rows, strict=True))


def product(X: Tensor, Y: Tensor) -> Tensor:
    """27M 18A."""
    return Tensor(*(Y.T @ row for row in X))
