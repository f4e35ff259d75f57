"""What contacts need to know of a robot: how it yields to forces, and how points of links move.

A contact holds a point of a link, or a frame on it. Its force f acts on the speeds as J^T f:

    M a + C v + g = tau + J^T f,        J a + (dJ/dt) v = 0.

Let K K^T = M^-1: the columns of K are motions of unit inertia that do not feel each other. With
a = K x the inertia is measured by the plain length of x, and of all accelerations that the contacts
allow the robot takes the one nearest to the free x = K^T (tau - C v - g): Gauss's principle, which
the Gibbs-Appell equations state. A quantity of a point takes it in the axes of its link, as an
input, so that one kernel serves all points of a link. Results are one matrix each, which is what
the fastest call of a kernel gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from appell.equations.linear import (
    back_substitute,
    coupled,
    dot,
    factorise,
    inverse_factor,
    reached,
)
from appell.equations.motion.operational import dense
from appell.equations.quantities import QUANTITIES
from appell.equations.quantity import Quantity, state
from appell.maths.scalar import Scalar
from appell.maths.vector import Vector
from appell.model.model import Frame, Model

Scalars = Sequence[Scalar]


def free_motion(model: Model, q: Scalars, v: Scalars, tau: Scalars) -> Any:
    """K and, as its last column, the free motion x = K^T (tau - C v - g), with which a = K x."""
    K = inverse_factor(_of("mass_matrix", model, q))
    remainder = [t - b for t, b in zip(tau, _of("bias", model, q, v), strict=True)]
    x = [dot(column, remainder) for column in zip(*K, strict=True)]
    return [[*row, end] for row, end in zip(K, x, strict=True)]


def contact_motion(model: Model, q: Scalars, v: Scalars, point: Scalars, link: Frame) -> Any:
    """Of a frame with the link's axes at a point, one beside the other: J, the acceleration
    (dJ/dt) v, and above zeros the axes and the point in the base."""
    frame = at_point(link, point)
    drift = _of("acceleration", model, q, v, [0] * model.nv, frame)
    pose = [*_of("forward_kinematics", model, q, frame)[:3], *([0] * 4 for _ in range(3))]
    J = _of("jacobian", model, q, frame)
    return [[*row, x, *place] for row, x, place in zip(J, drift, pose, strict=True)]


def contact_acceleration(
    model: Model, q: Scalars, v: Scalars, a: Scalars, point: Scalars, link: Frame
) -> Any:
    """J a + (dJ/dt) v, whose derivatives tell how the contact's condition changes."""
    return _of("acceleration", model, q, v, a, at_point(link, point))


def contact_load(model: Model, q: Scalars, wrench: Scalars, point: Scalars, link: Frame) -> Any:
    """J^T w, the force on the speeds of a wrench at the point, in the base's axes."""
    J = _of("jacobian", model, q, at_point(link, point))
    return [dot(column, wrench) for column in zip(*J, strict=True)]


def held_motion(
    model: Model,
    contacts: Sequence[tuple[str, int]],
    q: Scalars,
    v: Scalars,
    Kx: Sequence[Scalars],
    points: Scalars,
    damping: Scalars,
) -> list[Scalar]:
    """Accelerations, forces, and of each row of forces the part of G = J M^-1 J^T that those after
    it leave to it, while contacts hold: links by name, each with 3 rows of forces or 6. ``Kx`` are
    what `free_motion` gives, and ``points`` where on the links contacts are."""
    n, within = model.nv, reached(coupled(_of("mass_matrix", model, q)))
    K = [[Kx[i][j] if j in within[i] else 0 for j in range(n)] for i in range(n)]
    x = [row[n] for row in Kx]
    U, drift = [], []
    for k, (name, rows) in enumerate(contacts):
        frame = at_point(model.frame(name), points[3 * k : 3 * k + 3])
        drift += _of("acceleration", model, q, v, [0] * n, frame)[:rows]
        for row in _of("jacobian", model, q, frame)[:rows]:
            U.append([dot(column, row) for column in zip(*K, strict=True)])
    m = range(len(U))
    G = [[dot(U[i], U[j]) if j <= i else 0 for j in m] for i in m]
    for i in m:
        G[i][i] = G[i][i] + damping[0]
    factors, every = factorise(G, dense(len(U))), dense(len(U))
    lacking = [-(dot(u, x) + d) for u, d in zip(U, drift, strict=True)]
    f = back_substitute(*factors, lacking, every)
    x = [y + dot(column, f) for y, column in zip(x, zip(*U, strict=True), strict=True)]
    left = [1 / (factors[1][i] * G[i][i]) for i in m]
    return [*(dot(row, x) for row in K), *f, *left]


def at_point(link: Frame, point: Scalars) -> Frame:
    """The link's frame, moved to a point given in its axes."""
    return replace(link, s=link.s + link.R @ Vector(*point))


def _of(quantity: str, model: Model, *arguments: Any) -> Any:
    asked = QUANTITIES[quantity]
    return asked.formulations[asked.default(model)](model, *arguments)


_lean = frozenset(("gibbs_lean",))
_point, _wrench = (3,), (6,)

OF_CONTACTS: dict[str, Quantity] = {
    "free_motion": Quantity(
        state("q", "v", "tau"),
        {"Kx": ("n", "n+1")},
        {"gibbs_lean": free_motion},
        regroup=_lean,
    ),
    "contact_motion": Quantity(
        state("q", "v", "point", point=_point),
        {"JAT": (6, "n+5")},
        {"bodies": contact_motion},
        frame=True,
    ),
    "contact_acceleration": Quantity(
        state("q", "v", "a", "point", point=_point),
        {"A": (6,)},
        {"bodies": contact_acceleration},
        frame=True,
    ),
    "contact_load": Quantity(
        state("q", "wrench", "point", wrench=_wrench, point=_point),
        {"Q": ("n",)},
        {"bodies": contact_load},
        frame=True,
    ),
}
