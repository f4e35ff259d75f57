"""A tree, what closes it, and what that forbids: J(q) v = 0 of the tree's speeds v."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

from appell.equations.instant import coordinate_rates
from appell.equations.quantities import QUANTITIES
from appell.maths.scalar import Scalar
from appell.model.model import Frame, Model
from appell.model.regroup import regrouped
from appell.robots.closed.dual import Dual, duals, rate

Rows = list[list[Scalar]]
List = Sequence[Scalar]


class Constraint(Protocol):
    """What forbids motion: a loop, a rolling wheel, or rows of your own."""

    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> tuple[str, ...]:
        """What acts along each row of the velocity."""

    @property
    def closures(self) -> int:
        """How many rows the position has."""

    def check(self, model: Model) -> None:
        """Refuse what does not fit the model."""

    def position(self, model: Model, q: List) -> list[Scalar]:
        """How far from closed; empty where only velocities are forbidden."""

    def velocity(self, model: Model, q: List) -> Callable[[List], list[Scalar]]:
        """What must be zero, linear in the tree's speeds."""


@dataclass(frozen=True)
class Mechanism:
    """A tree, what closes it, and the speeds and actuators chosen to describe it."""

    model: Model
    constraints: tuple[Constraint, ...]
    independent: tuple[int, ...] = ()
    actuated: tuple[int, ...] = ()
    formulation: str | None = None  # of the tree's equations; the fastest without a name
    regroup: bool = True  # whether the tree's parameters may be regrouped

    @property
    def frame(self) -> Callable[[str | None], Frame]:
        return self.model.frame

    @cached_property
    def dependent(self) -> tuple[int, ...]:
        return tuple(k for k in range(self.model.nv) if k not in self.independent)

    @cached_property
    def length(self) -> float:
        """A typical length, in m, to compare turns with slides."""
        spans = [float(s @ s) ** 0.5 for s in (*(b.s0 for b in self.model.bodies), *_arms(self))]
        there = [x for x in spans if x > 0]
        return sum(there) / len(there) if there else 1.0

    def tree(self, quantity: str) -> Callable[..., Any]:
        """An equation of the tree, in the chosen formulation where the quantity has it."""
        asked = QUANTITIES[quantity]
        fastest = next(iter(asked.formulations))
        chosen = self.formulation or fastest
        which = chosen if chosen in asked.formulations else fastest
        regroup = self.regroup and which in asked.regroup
        return partial(asked.formulations[which], regrouped(self.model) if regroup else self.model)


def _arms(m: Mechanism) -> list[Any]:
    return [frame.s for frame in m.model.frames]


# What is forbidden


def closure(m: Mechanism, q: List) -> list[Scalar]:
    """How far each loop is from closed."""
    return [x for c in m.constraints for x in c.position(m.model, q)]


def closure_jacobian(m: Mechanism, q: List) -> tuple[list[Scalar], Rows]:
    """The closure, and how it changes with each of the tree's speeds, closed or not."""
    columns = []
    for k in range(m.model.nv):
        moving = duals(q, coordinate_rates(m.model, q, unit(m.model.nv, k)))
        columns.append([rate(x) for x in closure(m, moving)])
    return closure(m, q), transposed(columns)


def constraint_jacobian(m: Mechanism, q: List) -> Rows:
    """J."""
    forbidden = [c.velocity(m.model, q) for c in m.constraints]
    units = [unit(m.model.nv, k) for k in range(m.model.nv)]
    return transposed([[x for rows in forbidden for x in rows(e)] for e in units])


def drift(m: Mechanism, q: List, v: List) -> list[Scalar]:
    """dJ v: the forbidden acceleration there is while no speed changes."""
    moving = duals(q, coordinate_rates(m.model, q, v))
    steady = [Dual(x) for x in v]
    return [rate(x) for c in m.constraints for x in c.velocity(m.model, moving)(steady)]


def constraint_jacobian_rate(m: Mechanism, q: List, v: List) -> Rows:
    """dJ/dt."""
    J = constraint_jacobian(m, duals(q, coordinate_rates(m.model, q, v)))
    return [[rate(x) for x in row] for row in J]


def unit(n: int, k: int) -> list[Scalar]:
    """The k-th of n unit vectors."""
    return [int(i == k) for i in range(n)]


def transposed(rows: Sequence[List]) -> Rows:
    """Rows as columns."""
    return [list(column) for column in zip(*rows, strict=True)]
