"""Forward dynamics in O(n) by articulated-body inertias: Featherstone 1983.

Velocities and gravity are dealt with first: the forces that the bodies ask for
while no joint accelerates (Mata et al. 2002, section 4.1, with a = 0). What
remains is linear: a body whose origin accelerates by e and which turns by d
beyond that, and all that hangs on it with its joints free, answers with the
force A e + B^T d + f and the moment B e + C d + n.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.gibbs_lean import inertial_forces
from appell.maths.rotation import Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Symmetric, Tensor, Vector, Z, cross, outer
from appell.model.model import BASE, Model


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations of the joints."""
    n_bodies = len(model.bodies)
    f, n = inertial_forces(model, q, v, [0] * n_bodies)
    A = [Symmetric(b.mass, 0, b.mass, 0, 0, b.mass) for b in model.bodies]
    B = [skew(b.moment) for b in model.bodies]
    C = [b.tensor for b in model.bodies]
    force: list[Vector] = [ZERO] * n_bodies  # what a unit acceleration of the joint asks for
    moment: list[Vector] = [ZERO] * n_bodies
    D: list[Scalar] = [0] * n_bodies
    u: list[Scalar] = [0] * n_bodies
    for i, body in model.inwards():
        turning, sliding = Z * body.rho, Z * body.sigma
        force[i] = A[i] @ sliding + B[i].T @ turning
        moment[i] = B[i] @ sliding + C[i] @ turning
        felt = body.rho * moment[i].z + body.sigma * force[i].z
        D[i] = 1 / (felt + body.joint.reflected)
        u[i] = tau[i] - (body.rho * n[i].z + body.sigma * f[i].z)
        p = body.parent
        if p == BASE:
            continue
        # The joint gives way: what it does not resist is taken off.
        F, N = force[i] * D[i], moment[i] * D[i]
        Ai, Bi, Ci = (
            A[i] - square(force[i], F),
            B[i] - outer(moment[i], F),
            C[i] - square(moment[i], N),
        )
        fi, ni = f[i] + F * u[i], n[i] + N * u[i]
        # And is felt at the parent's origin, in its axes.
        R, s = body.rotation(q[i]), body.offset(q[i])
        Ai, Bi, Ci, fi = R.congruence(Ai), turned(R, Bi), R.congruence(Ci), R @ fi
        Bs = Bi + across(s, Ai)
        A[p], B[p], C[p] = A[p] + Ai, B[p] + Bs, C[p] + Ci + lever(Bi, Bs, s)
        f[p], n[p] = f[p] + fi, n[p] + R @ ni + cross(s, fi)
    a: list[Scalar] = [0] * n_bodies
    d, e = {BASE: ZERO}, {BASE: ZERO}
    for i, body in model.outwards():
        p, Rt = body.parent, body.rotation(q[i]).T
        d[i], e[i] = Rt @ d[p], Rt @ (e[p] + cross(d[p], body.offset(q[i])))
        a[i] = (u[i] - force[i] @ e[i] - moment[i] @ d[i]) * D[i]
        d[i], e[i] = d[i] + Z * (body.rho * a[i]), e[i] + Z * (body.sigma * a[i])
    return a


def skew(v: Vector) -> Tensor:
    """The tensor v~, with v~ r = v x r."""
    return Tensor(Vector(0, -v.z, v.y), Vector(v.z, 0, -v.x), Vector(-v.y, v.x, 0))


def square(a: Vector, b: Vector) -> Symmetric:
    """a b^T of two parallel vectors."""
    return Symmetric(a.x * b.x, a.x * b.y, a.y * b.y, a.x * b.z, a.y * b.z, a.z * b.z)


def turned(R: Rotation, B: Tensor) -> Tensor:
    """R B R^T."""
    right = Tensor(R @ B.x, R @ B.y, R @ B.z).T
    return Tensor(R @ right.x, R @ right.y, R @ right.z).T


def across(s: Vector, A: Symmetric) -> Tensor:
    """s~ A."""
    A_x, A_y, A_z = A.tensor
    return Tensor(A_z * s.y - A_y * s.z, A_x * s.z - A_z * s.x, A_y * s.x - A_x * s.y)


def lever(B: Tensor, Bs: Tensor, s: Vector) -> Symmetric:
    """-Bs s~ - (B s~)^T: what moving the origin by s adds to C, where Bs = B + s~ A."""
    X = Tensor(cross(s, Bs.x), cross(s, Bs.y), cross(s, Bs.z))  # -Bs s~, row by row
    Y = Tensor(cross(s, B.x), cross(s, B.y), cross(s, B.z))
    return Symmetric(
        X.x.x + Y.x.x,
        X.y.x + Y.x.y,
        X.y.y + Y.y.y,
        X.z.x + Y.x.z,
        X.z.y + Y.y.z,
        X.z.z + Y.z.z,
    )
