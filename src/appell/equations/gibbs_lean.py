"""The Gibbs-Appell equations with the fewest operations: Mata et al. 2002, shortened.

The same dynamics as gibbs_tensor, for trees, in the same notation. Moments are taken about
the frames' origins instead of the centres of mass, so that regrouped bodies may have none.
Three identities save what a careful person would save by hand:

- Points of a joint's axis belong to both of its bodies, so the angular acceleration
  tensor keeps its column along the axis: W_i z = R^T (W_p R z). Where W_p is at hand,
  the angular acceleration follows from it without a cross product.
- Turns about parallel axes add up. Where the first of such joints sits on a body that
  turns about one fixed axis only, angular motion is carried over all of them at once,
  and moments are carried back at once.
- A body with I_zz = I_xx + I_yy, as regrouping makes them, is a lamina across its axis:
  its moment needs a row of W where other bodies need dw and products of speeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.equations.linear import solve
from appell.maths.rotation import AboutZ, After, Rotation, about_z, added
from appell.maths.scalar import Scalar, is_zero
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
    """Joint forces. Gravity enters as the base's acceleration, -g."""
    runs = parallel_joints(model)
    turns = [_turn(model, run, q) for run in runs]
    f, n = _inertial_forces(model, runs, turns, q, v, a)
    n.append(ZERO)  # the base's, at n[BASE]
    tau: list[Scalar] = [0] * len(model.bodies)
    for i, body in model.inwards():
        tau[i] = body.rho * n[i].z + body.sigma * f[i].z + body.joint.reflected * a[i]
        p, head = body.parent, model.bodies[runs[i][0]].parent
        if p != BASE:
            phi = body.rotation(q[i]) @ f[i]
            f[p] = f[p] + phi
            if head == p:
                n[p] = n[p] + turns[i] @ n[i] + cross(body.offset(q[i]), phi)
            else:
                n[p] = n[p] + Z * n[i].z + cross(body.offset(q[i]), phi)
                n[head] = n[head] + turns[i] @ Vector(n[i].x, n[i].y, 0)
    return tau


def bias(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C v + g: the joint forces while no joint accelerates."""
    return inverse_dynamics(model, q, v, [0] * len(model.bodies))


def gravity(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """The joint forces that hold the robot still."""
    return bias(model, q, [0] * len(model.bodies))


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
    axes: list[dict[int, Vector]] = []  # of joint k, in the axes of j
    arms: list[dict[int, Vector]] = []  # from the origin of k to that of j
    for j, body in model.outwards():
        Rt, s = body.rotation(q[j]).T, body.offset(q[j])
        above = axes[body.parent] if body.parent != BASE else {}
        reach = arms[body.parent] if body.parent != BASE else {}
        axes.append({k: Rt @ u for k, u in above.items()} | {j: Z})  # step 3
        arms.append({k: Rt @ (r + s) for k, r in reach.items()} | {j: ZERO})  # step 2
        # What a unit acceleration of joint j asks of all it carries: force and moment.
        turning, sliding = Z * body.rho, Z * body.sigma
        force = sliding * M[j] + cross(turning, phi[j])
        moment = psi[j] @ turning + cross(phi[j], sliding)
        D[j][j] = body.rho * moment.z + body.sigma * force.z + body.joint.reflected  # step 6
        for k in model.ancestors[j][:-1]:  # step 7
            u, r, on = axes[j][k], arms[j][k], model.bodies[k]
            D[j][k] = (u * on.rho) @ (moment + cross(r, force)) + (u * on.sigma) @ force
            D[k][j] = D[j][k]
    return D


def forward_dynamics(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> list[Scalar]:
    """Accelerations from D a = tau - bias."""
    rest = [t - b for t, b in zip(tau, bias(model, q, v), strict=True)]
    return solve(mass_matrix(model, q), rest, model.ancestors)


def inertial_forces(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[list[Vector], list[Vector]]:
    """What each body's motion asks for: the force, and the moment about its origin."""
    runs = parallel_joints(model)
    return _inertial_forces(model, runs, [_turn(model, run, q) for run in runs], q, v, a)


def parallel_joints(model: Model) -> list[tuple[int, ...]]:
    """For each body, the joints whose turns about parallel axes add up to its own: itself, and
    those before it as far as merging them saves anything."""
    runs: list[tuple[int, ...]] = []
    for i, body in model.outwards():
        p = body.parent
        runs.append((i,))
        if p != BASE and body.rho and _parallel(body.R0) and model.bodies[p].rho:
            head = model.bodies[runs[p][0]].parent
            if head == BASE or model.bodies[runs[head][0]].parent == BASE:
                runs[i] = (*runs[p], i)
    return runs


def _parallel(R: Rotation) -> bool:
    """Whether it leaves the z axis where it is and turns nothing about it."""
    z, x = R @ Z, R @ Vector(1, 0, 0)
    return all(is_zero(k) for k in (z.x, z.y, x.y)) and not is_zero(1 + z.z)


def _turn(model: Model, run: tuple[int, ...], q: Sequence[Scalar]) -> Rotation:
    """From the axes of a run's last body to those of its first one's parent."""
    first = model.bodies[run[0]]
    if not first.rho:
        return first.R0
    about = AboutZ(1, 0)
    for i in run:
        about = added(about, about_z(q[i]))
    return After(first.R0, about)


def _inertial_forces(
    model: Model,
    runs: list[tuple[int, ...]],
    turns: list[Rotation],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[list[Vector], list[Vector]]:
    """The same, with the runs of parallel joints and their turns at hand."""
    w, dw, dds, W = {BASE: ZERO}, {BASE: ZERO}, {BASE: -model.gravity}, {BASE: NULL}
    f, n = [], []
    for i, body in model.outwards():
        first = model.bodies[runs[i][0]]
        p, Rt = first.parent, turns[i].T
        axis = first.R0 @ Z
        turning = Z * (body.rho * sum((v[k] for k in runs[i][1:]), start=v[runs[i][0]]))
        speeding = Z * (body.rho * sum((a[k] for k in runs[i][1:]), start=a[runs[i][0]]))
        carried = Rt @ w[p]
        w[i] = carried + turning
        x, y, z = w[i]
        if len(runs[i]) == 1 and sum(map(is_zero, axis)) == 2:
            k = Rt @ (W[p] @ axis)
            dw[i] = Vector(y * z - k.y, k.x - x * z, (Rt @ dw[p]).z + speeding.z)
        else:
            dw[i] = Rt @ dw[p] + speeding + cross(carried, turning)
            k = Vector(x * z + dw[i].y, y * z - dw[i].x, 0)
        W[i] = Tensor(
            Vector(-(y * y + z * z), x * y - dw[i].z, k.x),
            Vector(x * y + dw[i].z, -(x * x + z * z), k.y),
            Vector(x * z - dw[i].y, y * z + dw[i].x, -(x * x + y * y)),
        )
        p, Rt, s = body.parent, body.rotation(q[i]).T, body.offset(q[i])
        sliding = Z * (body.sigma * v[i])
        dds[i] = Rt @ (dds[p] + W[p] @ s) + Z * (body.sigma * a[i]) + 2 * cross(w[i], sliding)
        f.append(dds[i] * body.mass + W[i] @ body.moment)
        n.append(_moment(body.tensor, w[i], dw[i], W[i]) + cross(body.moment, dds[i]))
    return f, n


def _moment(I: Symmetric, w: Vector, dw: Vector, W: Tensor) -> Vector:
    """I dw + w x I w, grouped by products of speeds."""
    x, y, z = w.y * w.z, w.x * w.z, w.x * w.y
    if is_zero(I.xx + I.yy - I.zz):
        across = Vector(I.xx * W.z.y, -(I.yy * W.z.x), 0)
    else:
        across = Vector(I.xx * dw.x + (I.zz - I.yy) * x, I.yy * dw.y + (I.xx - I.zz) * y, 0)
    return across + Vector(
        -I.xy * W.z.x + I.xz * W.y.x + I.yz * (W.y.y - W.z.z),
        -I.yz * W.x.y + I.xy * W.z.y + I.xz * (W.z.z - W.x.x),
        I.zz * dw.z + (I.yy - I.xx) * z - I.xz * W.y.z + I.yz * W.x.z + I.xy * (W.x.x - W.y.y),
    )
