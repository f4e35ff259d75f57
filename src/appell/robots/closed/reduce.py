"""From the speeds v of a tree to independent ones: v = Gamma(q) u.

Constraints forbid rows of motion, J(q) v = 0. Where u are some of the speeds v and J is
split alike, J_i u + J_d v_d = 0 gives the others, so

    Gamma = [1; -J_d^-1 J_i],    a = Gamma du + dGamma u = [du; -J_d^-1 (J_i du + dJ v)].

The Gibbs-Appell equations hold in any quasi-speeds: what the tree's joints would need,
f = M a + C v + g, does the work u . Gamma^T f, and the loops' reactions do none. Hence

    M_u = Gamma^T M Gamma,   C_u = Gamma^T (C Gamma + M dGamma),   g_u = Gamma^T g,

with dM_u/dt - 2 C_u skew-symmetric as it is for the tree. Actuators, at some of the tree's
joints, give Q = Gamma_a^T tau. Rates are exact, by dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from appell.equations.instant import coordinate_rates
from appell.equations.linear import Columns, dot, invert, solve
from appell.equations.motion.operational import dense
from appell.maths.scalar import Scalar, sign, sqrt
from appell.model.model import Frame
from appell.robots.closed.elimination import Elimination
from appell.robots.closed.mechanism import (
    List,
    Mechanism,
    Rows,
    closure,
    constraint_jacobian,
    constraint_jacobian_rate,
    drift,
    transposed,
    unit,
)

# Independent speeds


class Reduction:
    """Gamma at q."""

    def __init__(self, m: Mechanism, q: List) -> None:
        self.m, self.q = m, q
        self.J = J = constraint_jacobian(m, q)
        self.by_dependent = Elimination([[row[d] for d in m.dependent] for row in J])
        self.Gamma: Rows = [[]] * m.model.nv
        found = [self.by_dependent.solve([-row[i] for row in J]) for i in m.independent]
        for k, d in enumerate(m.dependent):
            self.Gamma[d] = [column[k] for column in found]
        for k, i in enumerate(m.independent):
            self.Gamma[i] = unit(len(m.independent), k)

    def speeds(self, u: List) -> list[Scalar]:
        """v = Gamma u."""
        return [dot(row, u) for row in self.Gamma]

    def accelerations(self, v: List, du: List | None = None) -> list[Scalar]:
        """a = Gamma du + dGamma u."""
        a: list[Scalar] = [0] * self.m.model.nv if du is None else self.speeds(du)
        missing = self.by_dependent.solve([-x for x in drift(self.m, self.q, v)])
        for d, x in zip(self.m.dependent, missing, strict=True):
            a[d] = a[d] + x
        return a

    def rate(self, v: List) -> Rows:
        """dGamma/dt = [0; -J_d^-1 dJ Gamma]."""
        n = len(self.m.independent)
        dJ = constraint_jacobian_rate(self.m, self.q, v)
        columns = transposed(self.Gamma)
        found = [self.by_dependent.solve([-dot(row, x) for row in dJ]) for x in columns]
        dGamma: Rows = [[0] * n for _ in self.Gamma]
        for k, d in enumerate(self.m.dependent):
            dGamma[d] = [column[k] for column in found]
        return dGamma

    def work(self, f: List) -> list[Scalar]:
        """Gamma^T f: forces at the tree's joints as forces on the independent speeds."""
        return [dot(column, f) for column in transposed(self.Gamma)]

    def from_actuators(self, tau: List) -> list[Scalar]:
        """Q = Gamma_a^T tau."""
        forces: list[Scalar] = [0] * self.m.model.nv
        for k, t in zip(self.m.actuated, tau, strict=True):
            forces[k] = t
        return self.work(forces)

    def to_actuators(self, many: Sequence[List]) -> Rows:
        """For each Q the tau of least norm."""
        if self.m.actuated == self.m.independent:
            return [list(Q) for Q in many]
        acting = Columns([self.Gamma[k] for k in self.m.actuated])
        return [acting.least_norm(Q) for Q in many]


# The equations in independent speeds


def generalised_forces(m: Mechanism, q: List, u: List, du: List, friction: bool = False) -> Any:
    """Q = M du + C u + g."""
    return _inverse(m, q, u, du, friction)[1]


def inverse_dynamics(m: Mechanism, q: List, u: List, du: List, friction: bool = False) -> Any:
    """What the actuators give: Gamma_a^T tau = Q."""
    reduction, Q = _inverse(m, q, u, du, friction)
    return reduction.to_actuators([Q])[0]


def _inverse(
    m: Mechanism, q: List, u: List, du: List | None, friction: bool = False
) -> tuple[Reduction, list[Scalar]]:
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    f = m.tree("inverse_dynamics")(q, v, reduction.accelerations(v, du))
    if friction:
        f = [x + y for x, y in zip(f, m.tree("friction")(v), strict=True)]
    return reduction, reduction.work(f)


def actuator_torques(m: Mechanism, q: List, Q: List) -> list[Scalar]:
    """What the actuators give for forces Q on the independent speeds: Gamma_a^T tau = Q."""
    return Reduction(m, q).to_actuators([Q])[0]


def bias(m: Mechanism, q: List, u: List) -> list[Scalar]:
    """C u + g = Gamma^T (bias + M dGamma u)."""
    return _inverse(m, q, u, None)[1]


def gravity(m: Mechanism, q: List) -> list[Scalar]:
    """g of the independent speeds."""
    return Reduction(m, q).work(m.tree("gravity")(q))


def mass_matrix(m: Mechanism, q: List) -> Rows:
    """M of the independent speeds."""
    return _mass_matrix(m, q, Reduction(m, q))


def _mass_matrix(m: Mechanism, q: List, reduction: Reduction) -> Rows:
    """Gamma^T M Gamma, its upper triangle a copy of the lower."""
    columns = transposed(reduction.Gamma)
    M = m.tree("mass_matrix")(q)
    moved = [[dot(row, column) for row in M] for column in columns]
    lower = [[dot(columns[i], moved[j]) for j in range(i + 1)] for i in range(len(columns))]
    n = range(len(columns))
    return [[lower[max(i, j)][min(i, j)] for j in n] for i in n]


def coriolis_matrix(m: Mechanism, q: List, u: List) -> Rows:
    """Gamma^T (C Gamma + M dGamma)."""
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    C, M = m.tree("coriolis_matrix")(q, v), m.tree("mass_matrix")(q)
    pairs = zip(transposed(reduction.Gamma), transposed(reduction.rate(v)), strict=True)
    columns = [
        reduction.work([dot(c, x) + dot(r, dx) for c, r in zip(C, M, strict=True)])
        for x, dx in pairs
    ]
    return transposed(columns)


def forward_dynamics(
    m: Mechanism, q: List, u: List, tau: List = (), friction: bool = False
) -> list[Scalar]:
    """M du = Gamma_a^T tau - bias."""
    return _forward(m, q, u, tau, friction)[1]


def _forward(
    m: Mechanism, q: List, u: List, tau: List, friction: bool
) -> tuple[Reduction, list[Scalar]]:
    reduction, taken = _inverse(m, q, u, None, friction)
    rest = [x - y for x, y in zip(reduction.from_actuators(tau), taken, strict=True)]
    n = len(m.independent)
    return reduction, solve(_mass_matrix(m, q, reduction), rest, [range(i + 1) for i in range(n)])


def motion(m: Mechanism, q: List, u: List, tau: List = (), friction: bool = False) -> Any:
    """dq/dt and du/dt: the state's rate."""
    reduction, du = _forward(m, q, u, tau, friction)
    return coordinate_rates(m.model, q, reduction.speeds(u)), du


def tangent(m: Mechanism, q: List) -> Rows:
    """dq/du, (nq, n): how the coordinates change with the independent speeds."""
    columns = transposed(Reduction(m, q).Gamma)
    return transposed([coordinate_rates(m.model, q, column) for column in columns])


def flow(m: Mechanism, q: List, u: List, f: List) -> list[Scalar]:
    """dq/dt and du/dt, one after the other, under forces f on all joints of the tree."""
    dq, du = motion(replace(m, actuated=tuple(range(m.model.nv))), q, u, f)
    return [*dq, *du]


def friction(m: Mechanism, q: List, u: List) -> list[Scalar]:
    """What friction in the tree's joints takes from the independent speeds."""
    reduction = Reduction(m, q)
    return reduction.work(m.tree("friction")(reduction.speeds(u)))


def springs(m: Mechanism, q: List) -> list[Scalar]:
    """What springs in the tree's joints take from the independent speeds."""
    return Reduction(m, q).work(m.tree("springs")(q))


def speeds(m: Mechanism, q: List, u: List) -> list[Scalar]:
    """Of all the tree's joints."""
    return Reduction(m, q).speeds(u)


def accelerations(m: Mechanism, q: List, u: List, du: List) -> list[Scalar]:
    """Of all the tree's joints."""
    reduction = Reduction(m, q)
    return reduction.accelerations(reduction.speeds(u), du)


def gamma(m: Mechanism, q: List) -> Rows:
    """Gamma, with all speeds Gamma u."""
    return Reduction(m, q).Gamma


def kinetic_energy(m: Mechanism, q: List, u: List) -> Scalar:
    """T of the tree at its speeds."""
    return m.tree("kinetic_energy")(q, speeds(m, q, u))


def potential_energy(m: Mechanism, q: List) -> Scalar:
    """U of the tree."""
    return m.tree("potential_energy")(q)


def gibbs_function(m: Mechanism, q: List, u: List, du: List) -> Scalar:
    """Its derivative by du is Q."""
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    return m.tree("gibbs_function")(q, v, reduction.accelerations(v, du))


def regressor(m: Mechanism, q: List, u: List, du: List, *, of_tree: str = "regressor") -> Rows:
    """Y with tau = Y p, column by column as forces are."""
    reduction, columns = _regressor(m, q, u, du, of_tree)
    return transposed(reduction.to_actuators(columns))


def generalised_regressor(m: Mechanism, q: List, u: List, du: List) -> Rows:
    """Y with Q = Y p, the forces on the independent speeds."""
    return transposed(_regressor(m, q, u, du, "regressor")[1])


def _regressor(m: Mechanism, q: List, u: List, du: List, of_tree: str) -> tuple[Reduction, Rows]:
    """The columns of forces on the independent speeds."""
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    Y = m.tree(of_tree)(q, v, reduction.accelerations(v, du))
    return reduction, [reduction.work(y) for y in transposed(Y)]


# Quantities of the tree, at the speeds and accelerations that the loops allow


def at_rest(quantity: str, m: Mechanism, q: List, *frame: Frame) -> Any:
    """What depends on coordinates only."""
    return m.tree(quantity)(q, *frame)


def moving(quantity: str, m: Mechanism, q: List, u: List, *frame: Frame) -> Any:
    """What depends on speeds."""
    return m.tree(quantity)(q, speeds(m, q, u), *frame)


def accelerating(quantity: str, m: Mechanism, q: List, u: List, du: List, *frame: Frame) -> Any:
    """What depends on accelerations."""
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    return m.tree(quantity)(q, v, reduction.accelerations(v, du), *frame)


def of_speeds(quantity: str, m: Mechanism, q: List, *frame: Frame) -> Rows:
    """X Gamma, of a matrix X of the tree that multiplies its speeds."""
    columns = transposed(Reduction(m, q).Gamma)
    return [[dot(row, x) for x in columns] for row in m.tree(quantity)(q, *frame)]


def of_speeds_rate(quantity: str, m: Mechanism, q: List, u: List, *frame: Frame) -> Rows:
    """Its rate dX Gamma + X dGamma."""
    reduction = Reduction(m, q)
    v = reduction.speeds(u)
    X, dX = m.tree(quantity)(q, *frame), m.tree(quantity + "_rate")(q, v, *frame)
    pairs = zip(transposed(reduction.Gamma), transposed(reduction.rate(v)), strict=True)
    return transposed(
        [[dot(d, x) + dot(j, dx) for j, d in zip(X, dX, strict=True)] for x, dx in pairs]
    )


def momentum_regressor(m: Mechanism, q: List, u: List) -> Rows:
    """Y with M u = Y p."""
    reduction = Reduction(m, q)
    Y = m.tree("momentum_regressor")(q, reduction.speeds(u))
    return transposed([reduction.work(y) for y in transposed(Y)])


def inverse_mass_matrix(m: Mechanism, q: List) -> Rows:
    """M^-1 of the independent speeds."""
    return invert(mass_matrix(m, q), dense(len(m.independent)))


def felt(inertia: Callable[..., Rows], m: Mechanism, q: List, frame: Frame) -> Rows:
    """The inertia, or its inverse, that a frame feels."""
    J = of_speeds("jacobian", m, q, frame)
    return inertia(J, mass_matrix(m, q), dense(len(m.independent)))


def checks(m: Mechanism, q: List) -> list[Scalar]:
    """How far from closed, and the margins."""
    return [*closure(m, q), *margins(m, q)]


def margins(m: Mechanism, q: List) -> list[Scalar]:
    """How far from singular, 1 to 0: the loops, the independent speeds, the actuators.

    The first is the shortest column of J_d at right angles to those before it in its block, by
    the typical length of a row of J; the second the share that the independent speeds have in
    Gamma; the third the shortest such column of Gamma_a, by the typical one of Gamma. Turns are
    compared with slides by a typical length of the robot.
    """
    reduction, n = Reduction(m, q), len(m.independent)
    scale = [m.length if joint.screw.angle else 1 for joint in m.model.joints]
    J = [x * (1 / k) for row in reduction.J for x, k in zip(row, scale, strict=True)]
    Gamma = [
        [x * (k / scale[i]) for x, i in zip(row, m.independent, strict=True)]
        for row, k in zip(reduction.Gamma, scale, strict=True)
    ]
    loops: list[Scalar] = []
    solved = reduction.by_dependent
    for block, part in zip(solved.blocks, solved.parts, strict=True):
        units = [scale[m.dependent[block.columns[k]]] for k in part.order]
        loops += [s * (1 / k**2) for s, k in zip(part.squares, units, strict=True)]
    moving = n / sum((dot(row, row) for row in Gamma), start=0)
    acting: list[Scalar] = [1.0]
    if len(m.actuated) >= n and m.actuated != m.independent:
        acting = [s * moving for s in Columns([Gamma[k] for k in m.actuated]).squares]
    typical = len(loops) / dot(J, J) if loops else 1.0
    loops = [s * typical for s in loops]
    return [sqrt(_least([1.0, *x])) for x in (loops, [moving], acting)]


def _least(values: Sequence[Scalar]) -> Scalar:
    least = values[0]
    for x in values[1:]:
        least = 0.5 * (least + x - (least - x) * sign(least - x))
    return least
