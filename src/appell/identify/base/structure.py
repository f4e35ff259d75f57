"""Which inertial parameters the joint forces can tell apart, from the robot's geometry alone.

A change of parameters is invisible if no joint feels it. Joint i feels the inertia of all that
it carries, the composite inertia I of its body with everything behind it held still, through

- S' I w, the momentum along its axis S that a velocity w of what comes before it gives,
- S' I S, what its own speed gives (with its rotor's inertia),
- the rate of w' I w as the joint turns or slides, and S' I g, the pull of gravity.

If all of them are zero for every w and g that the joints before it can bring about, the kinetic
and potential energy do not depend on the joint, and the inertia acts on the joints before it as
if it were fixed to the parent: so it is added there, and the next joint is asked. These are the
rules of Gautier and Khalil (1990) and of Mayeda, Yoshida and Osuka (1990) for revolute and
prismatic joints, for first joints that are parallel and for the direction of gravity, as
conditions that hold for any tree; the recursion is that of Wensing, Niemeyer and Slotine (2017).

Velocities are linear first, of the body's origin and in its axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.maths.rotation import Rotation, as_matrix
from appell.maths.vector import Vector
from appell.model.inertia import Inertia
from appell.model.model import BASE, Body, Model
from appell.robots.robot import Array

ROUNDING = 1e-9  # angles in robot files have ten digits: what is smaller is taken for zero
_UNIT = np.eye(10)


@dataclass(frozen=True)
class _Reach:
    """What the joints up to a body can bring about in its frame, as spans: velocities (6, k),
    their products v v' within one configuration (36, k), and gravity (6, k)."""

    velocities: Array
    products: Array
    gravity: Array


def conditions(model: Model, *, friction: bool = False, rotors: bool = False) -> Array | None:
    """A matrix whose null space holds the changes of parameters that no joint feels; its columns
    are those of the regressor. None where joints mimic others or are balls or free, but for the
    base: the rules do not cover them."""
    if model.mimics or len(model.compounds) > model.free:
        return None
    links, first = len(model.links), len(model.bodies) - len(model.links)
    behind = _composites(model, first)
    has_rotors = model.rotors or rotors
    reach: dict[int, _Reach] = {}
    felt: Array
    blocks = []
    for i, body in list(enumerate(model.bodies))[first:]:
        if model.free and i == first:
            felt, reach[i] = _UNIT, _everything()
        else:
            before = reach.get(body.parent, _at_rest(model))
            felt, reach[i] = _felt(body, before)
        block: Array = np.zeros((len(felt), 10 * links + has_rotors * len(model.driven)))
        block[:, : 10 * links] = felt @ behind[i]
        if has_rotors and not (model.free and i == first):
            block[-1, 10 * links + i - (len(model.bodies) - len(model.driven))] = 1
        blocks.append(block)
    whole = np.vstack(blocks)
    if not friction:
        return whole
    rubbing = np.eye((2 + model.lopsided) * len(model.driven))
    return np.block(
        [
            [whole, np.zeros((len(whole), len(rubbing)))],
            [np.zeros((len(rubbing), whole.shape[1])), rubbing],
        ]
    )


def _composites(model: Model, first: int) -> dict[int, Array]:
    """For each body, the ten numbers of its composite inertia, as a matrix of all parameters."""
    links = len(model.links)
    behind: dict[int, Array] = {}
    for i, body in list(enumerate(model.bodies))[first:]:
        frame = model.frame(body.name)
        behind[i] = np.zeros((10, 10 * links))
        k = 10 * (i - first)
        behind[i][:, k : k + 10] = _moving(frame.R, frame.s)
    for i, body in list(reversed(list(enumerate(model.bodies))))[:links]:
        if body.parent != BASE and i > first:
            behind[body.parent] = behind[body.parent] + _moving(body.R0, body.s0) @ behind[i]
    return behind


def _moving(R: Rotation, s: Vector) -> Array:
    """Ten parameters in one frame from those in another, as Inertia.moved does it."""
    unit = (Inertia.from_parameters(tuple(row)) for row in _UNIT.tolist())
    return np.array([x.moved(R, s).parameters for x in unit], dtype=np.float64).T


def _at_rest(model: Model) -> _Reach:
    gravity = np.array([*model.gravity, 0, 0, 0], dtype=float)[:, None]
    return _Reach(np.zeros((6, 0)), np.zeros((36, 0)), gravity)


def _everything() -> _Reach:
    """The reach of a free base."""
    pairs = [np.outer(x, y) + np.outer(y, x) for x in np.eye(6) for y in np.eye(6)]
    return _Reach(np.eye(6), _span(np.array(pairs).reshape(36, 36).T), np.eye(6)[:, :3])


def _felt(body: Body, before: _Reach) -> tuple[Array, _Reach]:
    """What the joint feels of ten parameters, the last row by its own speed; and the reach of
    its body."""
    X = _seen_from(body)
    S = np.array([0, 0, body.sigma, 0, 0, body.rho], dtype=float)
    turn = _bracket(S)
    turn_of_products = np.kron(turn, np.eye(6)) + np.kron(np.eye(6), turn)
    w = _closed(X @ before.velocities, turn)
    g = _closed(X @ before.gravity, turn)
    products = _closed(np.kron(X, X) @ before.products, turn_of_products)
    units = [_spatial(row) for row in _UNIT]
    rows = [
        *np.array([S @ unit @ w for unit in units]).T,
        *np.array([unit.ravel() @ turn_of_products @ products for unit in units]).T,
        *np.array([S @ unit @ g for unit in units]).T,
        np.array([S @ unit @ S for unit in units]),
    ]
    own = [np.outer(S, x) + np.outer(x, S) for x in (*w.T, S)]
    return np.array(rows), _Reach(
        _span(np.column_stack([w, S])),
        _span(np.column_stack([products, *(x.ravel() for x in own)])),
        g,
    )


def _seen_from(body: Body) -> Array:
    """Velocities of the parent's frame to those of the body's, while its joint is at zero."""
    R = np.array([[*row] for row in as_matrix(body.R0).rows], dtype=float)
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[:3, 3:] = -R.T @ _skew(np.array(body.s0, dtype=float))
    return X


def _bracket(S: Array) -> Array:
    """How velocities in a body's axes change as its joint moves: the Lie bracket with S."""
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = _skew(S[3:])
    ad[:3, 3:] = _skew(S[:3])
    return ad


def _spatial(ten: Array) -> Array:
    """The inertia matrix of velocities."""
    m, h = ten[0], _skew(ten[1:4])
    xx, xy, yy, xz, yz, zz = ten[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[m * np.eye(3), -h], [h, I]])


def _skew(x: Array) -> Array:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def _closed(span: Array, change: Array) -> Array:
    """The smallest span that holds this one and what a change makes of it, again and again."""
    found = _span(span)
    while True:
        wider = _span(np.column_stack([found, change @ found]))
        if wider.shape == found.shape:
            return found
        found = wider


def _span(columns: Array) -> Array:
    """An orthonormal basis."""
    if not columns.size:
        return columns
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, s > ROUNDING * max(s[0], 1e-300)]
