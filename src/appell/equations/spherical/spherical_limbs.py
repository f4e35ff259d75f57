"""Limbs of spherical parallel robots: Abedloo, Molaei, Taghirad 2014, equations 25 to 41.

From the coordinates follows where the platform and every limb are, and how a limb's angles move
with it, in closed form. The paper's limb has three joints, with the axes u, w and v; its equations
hold for the last three joints of any limb, if u stands on the joints before, whose angles are
coordinates. Of an angle only the cosine and the sine are needed, so nothing but square roots and
quotients is taken. With the errata: R_i2 = R_i1 Rx(alpha1) Rz(psi), and the rates are true ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from appell.equations.linear import dot
from appell.maths.rotation import AboutZ, After, Matrix, Rotation, about_z, as_matrix
from appell.maths.scalar import Scalar, cos, sign, sin, sqrt
from appell.maths.vector import ZERO, Tensor, Vector, Z, cross
from appell.model.spherical import CLOSING, Arc, Limb, SphericalModel

Scalars = Sequence[Scalar]
Vectors = Sequence[Vector]


# The platform


def platform_rotation(q: Scalars) -> Matrix:
    """R_ee (25)."""
    (c1, c2, c3), (s1, s2, s3) = ([f(x) for x in q] for f in (cos, sin))
    return Matrix(
        Tensor(
            Vector(c1 * c2, c1 * s2 * s3 - s1 * c3, c1 * s2 * c3 + s1 * s3),
            Vector(s1 * c2, s1 * s2 * s3 + c1 * c3, s1 * s2 * c3 - c1 * s3),
            Vector(-s2, c2 * s3, c2 * c3),
        )
    )


def euler_jacobian(q: Scalars) -> list[Vector]:
    """The columns of E: the angular velocity is E q' (26)."""
    (c1, c2), (s1, s2) = ([f(x) for x in q[:2]] for f in (cos, sin))
    return [Z, Vector(-s1, c1, 0), Vector(c1 * c2, s1 * c2, -s2)]


def euler_jacobian_rate(q: Scalars, v: Scalars) -> list[Vector]:
    """The columns of dE/dt."""
    (c1, c2), (s1, s2) = ([f(x) for x in q[:2]] for f in (cos, sin))
    return [
        ZERO,
        Vector(-c1 * v[0], -s1 * v[0], 0),
        Vector(-s1 * c2 * v[0] - c1 * s2 * v[1], c1 * c2 * v[0] - s1 * s2 * v[1], -c2 * v[1]),
    ]


def chain_rate(axes: Vectors, v: Scalars) -> tuple[list[Vector], Vector]:
    """The rates of the axes of a chain's joints, each carried by those before it, and the angular
    velocity of its end."""
    rates, w = [], ZERO
    for axis, x in zip(axes, v, strict=True):
        rates.append(cross(w, axis))
        w = w + axis * x
    return rates, w


def product(J: Vectors, v: Scalars) -> Vector:
    """J q'."""
    return sum((column * x for column, x in zip(J, v, strict=True)), start=ZERO)


def spread(values: Sequence[Any], places: Sequence[int], n: int, nothing: Any) -> list[Any]:
    """Values at their places among n, and nothing at the others."""
    among = [nothing] * n
    for k, x in zip(places, values, strict=True):
        among[k] = x
    return among


# A limb


class JacobianRow(NamedTuple):
    """The rate of an angle, as a quotient: parts . speeds / over."""

    parts: list[Scalar]
    over: Scalar

    @property
    def values(self) -> list[Scalar]:
        """The quotients."""
        k = 1 / self.over
        return [x * k for x in self.parts]


class Chain(NamedTuple):
    """A limb as it stands: its joints' axes in the base's frame, of which the last is v, how its
    links are turned, and how many of its angles are coordinates of its own. ``h`` is that of (39);
    none of a limb that carries the platform."""

    limb: Limb
    axes: list[Vector]
    turns: list[AboutZ]
    own: int
    h: Scalar

    @property
    def normals(self) -> tuple[Vector, Vector, Vector]:
        """p1 = v x w and p2 = u x v (39), and for the last angle w x u."""
        u, w, v = self.axes[-CLOSING:]
        return cross(v, w), cross(u, v), cross(w, u)

    def into(self, j: int) -> Rotation:
        """The rotation of link j's axes in those of the link before it, or of the limb's base."""
        turn = self.turns[j]
        return After(self.limb.links[j - 1].bend, turn) if j else turn


def closure(first: Arc, second: Arc, v: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """a, b, c of a cos theta + b sin theta = c (32, 33), for v in the axes that u is z of."""
    (c1, s1), (c2, _) = first.bend, second.bend
    return -s1 * v.y, s1 * v.x, c2 - c1 * v.z


def away(square: Scalar, margin: float, size: Scalar = 1) -> Scalar:
    """One, or no number where a square is less than the margin's of ``size``: a singularity is
    too near."""
    return sign(sqrt(square - margin * margin * size))


def closing(limb: Limb, q: Scalars, branch: int, R: Rotation, margin: float) -> Chain:
    """A limb's angles and axes (27 to 36); its branch is the sign in (34).

    The last link's angle psi turns v to its place about w: with (35) and (36), v in the axes
    of the link's before is (s2 sin psi, -s2 cos psi, c2).
    """
    frame, axes, turns = _before(limb, q)
    first, second = limb.links[-2:]
    v = R @ limb.platform_axis
    seen = frame.T @ v
    a, b, c = closure(first, second, seen)
    square, n = a * a + b * b - c * c, 1 / (a * a + b * b)
    root = branch * sqrt(square)
    theta = AboutZ((a * c - b * root) * n, (b * c + a * root) * n)
    end, k = first.bend.T @ (theta.T @ seen), 1 / second.bend.s
    axes += [frame @ Z, frame @ (theta @ first.end), v]
    turns += [theta, AboutZ(-end.y * k, end.x * k)]
    return Chain(limb, axes, turns, len(q), root * away(square, margin))


def carrying(limb: Limb, q: Scalars) -> tuple[Chain, Matrix]:
    """The limb whose angles are coordinates, and the platform's rotation at its end."""
    frame, axes, turns = _before(limb, q[:-1])
    last = about_z(q[-1])
    R = After(frame, After(last, limb.mount.T))
    return Chain(limb, [*axes, frame @ Z], turns, 0, None), as_matrix(R)


def _before(limb: Limb, q: Scalars) -> tuple[Rotation, list[Vector], list[AboutZ]]:
    """The frame on which the next joint stands, and axes and turns of the joints so far."""
    frame, axes, turns = limb.base, [], []
    for link, x in zip(limb.links, q, strict=False):
        axes.append(frame @ Z)
        turns.append(about_z(x))
        frame = After(frame, After(turns[-1], link.bend))
    return frame, axes, turns


class Posture(NamedTuple):
    """Where the platform and the limbs are: R, and E of the angular velocity W = E q'."""

    R: Matrix
    E: list[Vector]
    chains: list[Chain]


def platform(model: SphericalModel, q: Scalars) -> tuple[Matrix, list[Vector], list[Chain]]:
    """R and E, and the limb that carries the platform, if one does."""
    lead = q[: model.carried]
    if model.carrier is None:
        return platform_rotation(lead), euler_jacobian(lead), []
    chain, R = carrying(model.limbs[model.carrier], lead)
    return R, chain.axes, [chain]


def own(model: SphericalModel, i: int, q: Scalars) -> list[Scalar]:
    """The coordinates of a closing limb's own."""
    return [q[k] for k in model.places[i][model.carried :]]


def posture(model: SphericalModel, q: Scalars, margin: float | None = None) -> Posture:
    """The platform and all limbs at coordinates q."""
    R, E, chains = platform(model, q)
    near = model.margin if margin is None else margin
    for i, branch in zip(model.closing, model.signs, strict=True):
        chains.insert(i, closing(model.limbs[i], own(model, i, q), branch, R, near))
    return Posture(R, E, chains)


def platform_rates(model: SphericalModel, pose: Posture, q: Scalars, v: Scalars) -> list[Vector]:
    """dE/dt, of the speeds that the platform has."""
    if model.carrier is None:
        return euler_jacobian_rate(q[:3], v[:3])
    return chain_rate(pose.E, v[: model.carried])[0]


def reaches(model: SphericalModel, q: Scalars) -> list[tuple[Scalar, Scalar]]:
    """Of each closing limb a^2 + b^2 - c^2 of (34), which is h^2 and negative where the limb does
    not reach; and u . v."""
    R, *_ = platform(model, q)
    squares = []
    for i in model.closing:
        limb = model.limbs[i]
        frame, *_ = _before(limb, own(model, i, q))
        v = frame.T @ (R @ limb.platform_axis)
        first, second = limb.links[-2:]
        a, b, c = closure(first, second, v)
        squares.append((a * a + b * b - c * c, v.z))
    return squares


# How its angles move


def rows(chain: Chain, columns: Vectors) -> list[JacobianRow]:
    """The rates of all angles of a limb by the speeds of the platform, W = columns . speeds, and
    by the limb's own (38 to 40)."""
    d, width = len(columns), len(columns) + chain.own
    free = range(d) if chain.h is None else range(d, width)
    units = [JacobianRow([int(c == k) for c in range(width)], 1) for k in free]
    if chain.h is None:
        return units
    known = [*columns, *(-axis for axis in chain.axes[: chain.own])]
    return units + [JacobianRow([p @ x for x in known], chain.h) for p in chain.normals]


class Rates(NamedTuple):
    """What a limb's angles do: theta' = J_theta q', and the rates of these rows (41)."""

    rows: list[list[Scalar]]
    drows: list[list[Scalar]]


def limb_rates(chain: Chain, E: Vectors, dE: Vectors, v: Scalars, joints: int) -> Rates:
    """p1^T E / h and p2^T E / h (38 to 40), and their time derivatives (41), for so many joints
    of a limb; v are the speeds that move it."""
    values = [row.values for row in rows(chain, E)[:joints]]
    still: list[list[Scalar]] = [[0] * len(v) for _ in values]
    if chain.h is None:
        return Rates(values, still)
    d, before = len(E), chain.axes[: chain.own]
    k, known = 1 / chain.h, [*E, *(-axis for axis in before)]
    dz, base = chain_rate(before, v[d:])
    dknown = [*dE, *(-dx for dx in dz)]
    (u, w, last), (p1, _, _) = chain.axes[-CLOSING:], chain.normals
    du, dlast = cross(base, u), cross(product(E, v[:d]), last)
    dw = cross(base + u * dot(values[chain.own], v), w)
    dnormals = (
        cross(dlast, w) + cross(last, dw),
        cross(du, last) + cross(u, dlast),
        cross(dw, u) + cross(w, du),
    )
    dh = dnormals[0] @ u + p1 @ du

    def rate(p: Vector, dp: Vector) -> list[Scalar]:
        turned = (dp - p * (dh * k)) * k
        return [p @ dx * k + turned @ x for x, dx in zip(known, dknown, strict=True)]

    last_three = [rate(p, dp) for p, dp in zip(chain.normals, dnormals, strict=True)]
    return Rates(values, [*still[: chain.own], *last_three][:joints])
