"""Spherical parallel robots by Jacobians: Abedloo, Molaei, Taghirad 2014, equations 18 to 21.

M, C and G are the sums over all limbs and links (20) of what gibbs_jacobian has for one body. Each
body turns about the centre, with J (46) in its own axes; the rates of the Jacobians are the true
ones. The actuators' torques follow from the forces on the coordinates by J_act (50, 51), whose
rows are, with the errata, p_1i^T E / h_i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from appell.equations.gibbs_jacobian import BodyMotion, forces, mass_matrix, turning
from appell.equations.linear import Columns, determinant, dot, solve
from appell.equations.spherical.spherical_limbs import (
    Chain,
    JacobianRow,
    Posture,
    Rates,
    Scalars,
    Vectors,
    away,
    limb_rates,
    platform_rates,
    posture,
    product,
    rows,
    spread,
)
from appell.maths.scalar import Scalar, cos, sin, sqrt
from appell.maths.vector import ZERO, Vector, Z, cross
from appell.model.inertia import Inertia
from appell.model.spherical import SphericalModel

UNITS = (Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1))

# The bodies


def bodies(
    model: SphericalModel, q: Scalars, v: Scalars, *, printed: bool = False
) -> list[BodyMotion]:
    """The platform, and each limb's links, with their Jacobians (44 to 48).

    ``printed`` takes the rates of the Jacobians as (47) and (48) have them.
    """
    pose, n = posture(model, q), model.nv
    dE = platform_rates(model, pose, q, v)
    moving = [_platform(model, pose, dE, v, printed)]
    for places, chain in zip(model.places, pose.chains, strict=True):
        speeds = [v[k] for k in places]
        rates = limb_rates(chain, pose.E, dE, speeds, len(chain.limb.links))
        sigma = chain.limb.base.T @ model.gravity
        axes: list[Vector] = []
        for j, link in enumerate(chain.limb.links):
            into = chain.into(j).T
            sigma, axes = into @ sigma, [*(into @ axis for axis in axes), Z]
            J, dJ = (
                spread(x, places, n, ZERO) for x in link_jacobian(axes, rates, speeds, printed)
            )
            moving.append(turning(link.inertia, sigma, J, dJ))
    return moving


def _platform(
    model: SphericalModel, pose: Posture, dE: Vectors, v: Scalars, printed: bool
) -> BodyMotion:
    """J = R^T E, and dJ = R^T (dE - W x E); (48) omits the second term."""
    R = pose.R.T
    W = ZERO if printed else product(pose.E, v[: model.carried])
    J = [R @ x for x in pose.E]
    dJ = [R @ (dx - cross(W, x)) for x, dx in zip(pose.E, dE, strict=True)]
    rest = [ZERO] * (model.nv - model.carried)
    J, dJ = J + rest, dJ + rest
    return turning(model.platform, R @ model.gravity, J, dJ)


def link_jacobian(
    axes: Vectors, rates: Rates, v: Scalars, printed: bool
) -> tuple[list[Vector], list[Vector]]:
    """J and dJ (46) of a link, by the axes of the joints before it in the link's own: w is the sum
    of their turns, and an axis a moves in the link's axes by the turns b x' after it, as a x b x'.

    In (47) the velocities of a product of two turns share it by halves.
    """
    count, width = range(len(axes)), range(len(v))
    J = [product(axes, [rates.rows[j][c] for j in count]) for c in width]
    dJ = [product(axes, [rates.drows[j][c] for j in count]) for c in width]
    turns = [dot(rates.rows[j], v) for j in count]
    for later in count:
        for j in range(later):
            turned = cross(axes[j], axes[later])
            shares = (
                [
                    0.5 * (turns[later] * x + turns[j] * y)
                    for x, y in zip(rates.rows[j], rates.rows[later], strict=True)
                ]
                if printed
                else [turns[later] * x for x in rates.rows[j]]
            )
            dJ = [x + turned * k for x, k in zip(dJ, shares, strict=True)]
    return J, dJ


# The actuators


def joint_rows(
    model: SphericalModel, pose: Posture, joints: Sequence[tuple[int, int]], columns: Vectors
) -> list[JacobianRow]:
    """The rates of joints (limb, number) by all speeds, of which the first are those of the
    platform: W = columns . speeds."""
    of_limbs = [rows(chain, columns) for chain in pose.chains]
    return [
        JacobianRow(spread(of_limbs[i][j].parts, model.places[i], model.nv, 0), of_limbs[i][j].over)
        for i, j in joints
    ]


def quasi_columns(model: SphericalModel, pose: Posture) -> Vectors:
    """The columns of the speeds in which the actuators are solved for: the angular velocity's
    components instead of Euler angles' rates, the rates of a carrier's angles as they are."""
    return UNITS if model.carrier is None else pose.E


def driven_rows(model: SphericalModel, pose: Posture) -> list[JacobianRow]:
    """The rates of the actuated joints by these speeds."""
    return joint_rows(model, pose, model.actuated, quasi_columns(model, pose))


def actuator_jacobian(model: SphericalModel, q: Scalars) -> list[list[Scalar]]:
    """J_act (50), row by row: theta' = J_act q', and forces on q are J_act^T tau (51)."""
    pose = posture(model, q)
    return [row.values for row in joint_rows(model, pose, model.actuated, pose.E)]


def passive_jacobian(model: SphericalModel, q: Scalars) -> list[list[Scalar]]:
    """psi' = J_psi q' (40)."""
    pose = posture(model, q)
    return [row.values for row in joint_rows(model, pose, model.passive, pose.E)]


def actuator_torques(model: SphericalModel, q: Scalars, Q: Scalars) -> list[Scalar]:
    """tau with J_act^T tau = Q (51), of least norm where there are more actuators than speeds."""
    return torques(model, posture(model, q))(quasi_forces(model, q, Q))


def torques(model: SphericalModel, pose: Posture) -> Callable[[Scalars], list[Scalar]]:
    """What gives tau whose sum of row^T tau are forces on the speeds; no number where the
    actuators' rows are nearer to dependent than the margin."""
    driven = driven_rows(model, pose)
    volume, largest = _volume(model, pose, driven)
    if len(driven) > model.nv:
        regular = away(volume, model.margin, largest)
        columns, scales = Columns([row.values for row in driven]), [regular] * len(driven)
        return lambda f: [x * k for x, k in zip(columns.least_norm(f), scales, strict=True)]
    regular = away(volume * volume, model.margin, largest)
    if model.nv == 3:
        x, y, z = (Vector(*row.parts) for row in driven)
        k, others = regular / volume, (cross(y, z), cross(z, x), cross(x, y))
        pairs = [(other, row.over * k) for other, row in zip(others, driven, strict=True)]
        return lambda f: [other @ Vector(*f) * k for other, k in pairs]
    columns = Columns([row.parts for row in driven])
    scales = [row.over * regular for row in driven]
    return lambda f: [x * k for x, k in zip(columns.least_norm(f), scales, strict=True)]


def share(model: SphericalModel, q: Scalars) -> Scalar:
    """The share of the largest volume that the actuators' rows span, -1 to 1; 1 where there are
    too few of them to hold the robot anywhere."""
    if len(model.actuated) < model.nv:
        return 1
    pose = posture(model, q, margin=0.0)
    volume, largest = _volume(model, pose, driven_rows(model, pose))
    if len(model.actuated) > model.nv:
        return sqrt(abs(volume) / largest)
    return volume / sqrt(largest)


def _volume(
    model: SphericalModel, pose: Posture, driven: Sequence[JacobianRow]
) -> tuple[Scalar, Scalar]:
    """The volume that the actuators' rows span, and the square of the largest that it can be, the
    product of the largest lengths. Of more rows than speeds, m for n of them, the determinant of
    their Gram matrix, which by these lengths is at most (m / n)^n."""
    m, n = len(driven), model.nv
    largest = [_largest(model, pose.chains[i], j) for i, j in model.actuated]
    if m == n:
        return determinant([row.parts for row in driven]), prod(largest)
    units = [[x / sqrt(k) for x in row.parts] for row, k in zip(driven, largest, strict=True)]
    columns = [*zip(*units, strict=True)]
    return determinant([[dot(x, y) for y in columns] for x in columns]), (m / n) ** n


def _largest(model: SphericalModel, chain: Chain, j: int) -> Scalar:
    """The square of the largest length of a joint's row: of p . columns, the columns being of
    length one, and the first of them at right angles where they are the components of W."""
    k = j - chain.own
    if chain.h is None or k < 0:
        return 1
    first, second = (link.bend for link in chain.limb.links[-2:])
    p2 = chain.normals[1]
    square = (second.s * second.s, p2 @ p2, first.s * first.s)[k]
    return square * (chain.own + (1 if model.carrier is None else model.carried))


def quasi_forces(model: SphericalModel, q: Scalars, Q: Scalars) -> list[Scalar]:
    """The forces on the speeds of `quasi_columns` that do the work of forces Q on the
    coordinates: of Euler angles E^-T Q, the moment on the platform."""
    if model.carrier is not None:
        return list(Q)
    c1, s1, s2 = cos(q[0]), sin(q[0]), sin(q[1])
    across = (Q[2] + s2 * Q[0]) * euler_inverse(model, q)
    return [c1 * across - s1 * Q[1], s1 * across + c1 * Q[1], *Q[:1], *Q[3:]]


def euler_inverse(model: SphericalModel, q: Scalars) -> Scalar:
    """1 / cos q2; at zero the first and the third Euler angle turn about the same axis."""
    c2 = cos(q[1])
    return away(c2 * c2, model.margin) / c2


# Dynamics


def inverse_dynamics(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
    """Actuator torques: J_act^T tau = M q'' + C q' + G (19, 51)."""
    return actuator_torques(model, q, forces(bodies(model, q, v), v, a))


def forward_dynamics(model: SphericalModel, q: Scalars, v: Scalars, tau: Scalars) -> list[Scalar]:
    """The coordinates' accelerations: M q'' = J_act^T tau - C q' - G."""
    moving = bodies(model, q, v)
    J, bias = actuator_jacobian(model, q), forces(moving, v, [0] * model.nv)
    Q = [dot([row[k] for row in J], tau) - bias[k] for k in range(model.nv)]
    if model.carrier is None:
        c2 = cos(q[1])
        regular = away(c2 * c2, model.margin)
        Q = [x * regular for x in Q]
    return solve(mass_matrix(moving), Q, model.paths)


def regressor(model: SphericalModel, q: Scalars, v: Scalars, a: Scalars) -> list[list[Scalar]]:
    """Y, ten columns per body about the centre: those of each limb's links, then the platform's.

    A column is the inverse dynamics (19, 51) of a robot of which only that parameter is one.
    """
    solve_for = torques(model, posture(model, q))
    columns = [solve_for(quasi_forces(model, q, Q)) for Q in _by_parameter(model, q, v, a)]
    return [list(row) for row in zip(*columns, strict=True)]


def generalised_regressor(
    model: SphericalModel, q: Scalars, v: Scalars, a: Scalars
) -> list[list[Scalar]]:
    """Y with Q = Y p, the forces on the coordinates, in the same columns."""
    return [list(row) for row in zip(*_by_parameter(model, q, v, a), strict=True)]


def _by_parameter(
    model: SphericalModel, q: Scalars, v: Scalars, a: Scalars
) -> Iterator[list[Scalar]]:
    """The forces on the coordinates (19) of a robot of which only one parameter is one."""
    platform, *links = bodies(model, q, v)
    for body in (*links, platform):
        for k in range(10):
            unit = Inertia.from_parameters(tuple(int(i == k) for i in range(10)))
            yield forces([body._replace(inertia=unit)], v, a)
