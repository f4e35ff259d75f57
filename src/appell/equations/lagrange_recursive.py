"""The Lagrangian equations by recursion with 4 x 4 matrices: Hollerbach 1980, for trees.

W_i is the transformation from body i's frame to the base's, J_i the pseudo-inertia:

    W_i'' = W_p'' A_i + (2 W_p' dA_i/dq + W_p d2A_i/dq2 v) v + W_p dA_i/dq a,    p before i,
    D_i = J_i W_i''^T + sum A_c D_c,   c_i = m_i r_i + sum A_c c_c,              c behind i,
    tau_i = Tr{dW_i/dq_i D_i} - g . dW_i/dq_i c_i.

O(n). Hollerbach gives no inertia matrix; here its columns are the joint forces by which one
joint alone accelerates from rest without gravity, O(n^2).
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.gibbs_tree import added, scaled, trace
from appell.equations.lagrange_euler import by_operator, links, pseudo_inertias
from appell.equations.linear import Matrix
from appell.maths.homogeneous import ZEROS, Matrix4, dot
from appell.maths.scalar import Scalar
from appell.model.model import BASE, Model

Matrices = Sequence[Matrix4]


def inverse_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Joint forces, and the rotors'."""
    A, J = links(model, q), pseudo_inertias(model)
    W = transformations(model, A)
    dA = derivatives(model, A)
    dW = own_derivatives(model, W, dA)
    tau = forces(model, A, J, dW, accelerations(model, A, W, dA, dW, v, a))
    rotors = [body.joint.reflected * a[i] for i, body in model.outwards()]
    return [t + r for t, r in zip(tau, rotors, strict=True)]


def mass_matrix(model: Model, q: Sequence[Scalar]) -> Matrix:
    """Column by column, and the rotors."""
    A, J = links(model, q), pseudo_inertias(model)
    dW = own_derivatives(model, transformations(model, A), derivatives(model, A))
    M: Matrix = [[0] * len(model.bodies) for _ in model.bodies]
    for k, body in model.outwards():
        add_column(model, M, A, J, dW, k)
        M[k][k] = M[k][k] + body.joint.reflected
    return M


def transformations(model: Model, A: Matrices) -> list[Matrix4]:
    """W_i = W_p A_i."""
    W: list[Matrix4] = []
    for i, body in model.outwards():
        W.append(W[body.parent] @ A[i] if body.parent != BASE else A[i])
    return W


def derivatives(model: Model, A: Matrices) -> list[Matrix4]:
    """dA_i/dq_i."""
    return [by_operator(A[i], body) for i, body in model.outwards()]


def own_derivatives(model: Model, W: Matrices, dA: Matrices) -> list[Matrix4]:
    """dW_i/dq_i = W_p dA_i/dq_i."""
    parents = (body.parent for body in model.bodies)
    return [W[p] @ dAi if p != BASE else dAi for p, dAi in zip(parents, dA, strict=True)]


def accelerations(
    model: Model,
    A: Matrices,
    W: Matrices,
    dA: Matrices,
    dW: Matrices,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> list[Matrix4]:
    """W'', with W' beside it, from the base outwards."""
    rate: list[Matrix4] = []
    found: list[Matrix4] = []
    for i, body in model.outwards():
        p = body.parent
        ddA = by_operator(dA[i], body)
        if p == BASE:
            d, dd, turned = ZEROS, ZEROS, scaled(ddA, v[i])
        else:
            d, dd = rate[p] @ A[i], found[p] @ A[i]
            turned = added(scaled(W[p] @ ddA, v[i]), scaled(rate[p] @ dA[i], 2))
        rate.append(added(scaled(dW[i], v[i]), d))
        found.append(added(scaled(turned, v[i]), scaled(dW[i], a[i]), dd))
    return found


def forces(model: Model, A: Matrices, J: Matrices, dW: Matrices, ddW: Matrices) -> list[Scalar]:
    """D, c and tau from the tips inwards."""
    g = (*model.gravity, 0)
    D = [Ji @ x.T for Ji, x in zip(J, ddW, strict=True)]
    c = [list(Ji.rows[3]) for Ji in J]
    tau: list[Scalar] = [0] * len(model.bodies)
    for i, body in model.inwards():
        tau[i] = trace(dW[i], D[i].T) - dot(g @ dW[i], c[i])
        p = body.parent
        if p != BASE:
            D[p] = added(A[i] @ D[i], D[p])
            c[p] = [x + dot(row, c[i]) for x, row in zip(c[p], A[i].rows, strict=True)]
    return tau


def add_column(model: Model, M: Matrix, A: Matrices, J: Matrices, dW: Matrices, k: int) -> None:
    """The forces at joint k and those that carry it, while only joint k accelerates."""
    ddW: dict[int, Matrix4] = {k: dW[k]}
    for i, body in model.outwards():
        if body.parent in ddW:
            ddW[i] = ddW[body.parent] @ A[i]
    D: dict[int, Matrix4] = {i: J[i] @ x.T for i, x in ddW.items()}
    for i, body in model.inwards():
        p = body.parent
        if i in D and p != BASE:
            D[p] = added(A[i] @ D[i], D[p]) if p in D else A[i] @ D[i]
    for j in model.ancestors[k]:
        M[j][k] = M[k][j] = trace(dW[j], D[j].T)
