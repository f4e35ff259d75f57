"""Assembly: coordinates at which all loops close, near a guess.

Gauss and Newton's step on all rows, redundant ones too, is shortened until the loops come
closer. What is held fixed is left out of the step. None of this depends on which speeds or
actuators were chosen, so all choices share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ModelError
from appell.model.configuration import integrate
from appell.robots.closed.closed_system import Closed
from appell.robots.closed.mechanism import Constraint, Mechanism
from appell.robots.recipe import Recipe, compiled
from appell.robots.robot import Array

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel


CLOSED = 1e-10  # m or rad: what an assembled configuration may leave open, at most
_LARGEST_STEP = 0.7  # rad or m
_STEPS = 200
_AGAIN, _BESIDE = 3, 0.1  # how often, and from how far beside, an assembly is tried again
_TIE = 1e-6  # relative difference below which two squares count as equal


class Assembly:
    """The loops of a mechanism as numbers."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = replace(mechanism, independent=(), actuated=())
        self.model = mechanism.model
        self._kernels: dict[str, Kernel] = {}

    @cached_property
    def units(self) -> Array:
        """What each speed is worth in m/s, to compare turns with slides."""
        length = self.mechanism.length
        return np.array([length if j.screw.angle else 1.0 for j in self.model.joints])

    def opening(self, q: Any) -> Array:
        """How far each row is from closed, (..., rows)."""
        if not sum(c.closures for c in self.mechanism.constraints):
            return np.zeros((*self.rows(q).shape[:-2], 0))
        return self._kernel("closure")(q)

    def rows(self, q: Any) -> Array:
        """J, (..., rows, joints)."""
        if not self.mechanism.constraints:
            return np.zeros((*np.shape(q)[:-1], 0, self.model.nv))
        return self._kernel("constraint_jacobian")(q)

    def slopes(self, q: Any) -> Array:
        """How each row of the opening changes with the speeds, (rows of closure, joints)."""
        return self._kernel("closure_jacobian")(q)[1]

    def constraints(self) -> Iterator[tuple[Constraint, slice, slice]]:
        """Each constraint, and where its rows are in J and in the opening."""
        row = closure = 0
        for c in self.mechanism.constraints:
            yield c, slice(row, row + len(c.rows)), slice(closure, closure + c.closures)
            row, closure = row + len(c.rows), closure + c.closures

    def is_closed(self, q: Array) -> bool:
        return bool((np.abs(self.opening(q)) <= CLOSED * max(1.0, self.mechanism.length)).all())

    def nearest(self, q: Array, held: Sequence[int] = (), goal: float = 1e-13) -> Array:
        """Coordinates near q that close the loops as far as can be; speeds ``held`` stay."""
        if not sum(c.closures for c in self.mechanism.constraints):
            return q
        free = np.setdiff1d(np.arange(self.model.nv), held)
        phi, D = self._kernel("closure_jacobian")(q)
        for _ in range(_STEPS):
            size = _size(phi)
            if size <= goal:
                break
            step = np.zeros(self.model.nv)
            step[free] = -np.linalg.lstsq(D[:, free], phi, rcond=1e-11)[0]
            step *= min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
            there, phi, D = self._shortened(q, step, size)
            if there is q:
                break
            q = there
        return q

    def assembled(self, q: Array, held: Sequence[int] = ()) -> Array:
        """As ``nearest``. Half a turn from closed, the step vanishes; from a little beside it,
        where this then starts again, it does not."""
        draw, free = np.random.default_rng(0), np.setdiff1d(np.arange(self.model.nv), held)
        closest = self.nearest(q, held)
        for _ in range(_AGAIN):
            if self.is_closed(closest):
                break
            step = np.zeros(self.model.nv)
            step[free] = draw.uniform(-_BESIDE, _BESIDE, len(free))
            there = self.nearest(integrate(self.model, q, step), held)
            closest = there if self.is_closed(there) else closest
        return closest

    def _shortened(self, q: Array, step: Array, size: float) -> tuple[Array, Array, Array]:
        """The longest of the halved steps that closes the loops further; q itself if none does."""
        for _ in range(12):
            there = integrate(self.model, q, step)
            phi, D = self._kernel("closure_jacobian")(there)
            if _size(phi) < size:
                return there, phi, D
            step = step / 2
        return q, phi, D

    def allowed(self, q: Array, rank: int) -> Array:
        """An orthonormal basis of the allowed speeds in their units, (joints, freedoms)."""
        return null_space(self.rows(q) / self.units, rank)

    def moved(self, q: Array, way: Array, rank: int) -> Array:
        """Closed coordinates ``way`` lengths further along the allowed speeds; q if there are
        none."""
        step = self.allowed(q, rank) @ way * self.mechanism.length / self.units
        there = self.nearest(integrate(self.model, q, step))
        return there if self.is_closed(there) else q

    def refuse_open(self, q: Array, fixed: Sequence[str]) -> None:
        if self.is_closed(q):
            return
        phi = np.abs(self.opening(q))
        row, held = int(np.argmax(phi)), f" with {', '.join(fixed)} held" if fixed else ""
        raise ModelError(
            f"'{self.model.name}' cannot be closed near the guess{held}: loop "
            f"'{self.loop_of(row)}' stays open by {phi[row]:.3g} (m or rad). Give a guess nearer "
            "to a closed configuration, hold less, or check the lengths."
        )

    def loop_of(self, row: int) -> str:
        """Which loop a row of the opening belongs to."""
        names = [c.name for c in self.mechanism.constraints for _ in range(c.closures)]
        return names[row]

    def _kernel(self, quantity: str) -> Kernel:
        if quantity not in self._kernels:
            recipe = Recipe(quantity, "reduction")
            self._kernels[quantity] = compiled(Closed(self.mechanism), recipe, "float64")
        return self._kernels[quantity]


def null_space(J: Array, rank: int) -> Array:
    """An orthonormal basis of what J lets move, the same on every processor: its rows that are the
    pivots form a lower triangle with a positive diagonal."""
    if not len(J):
        return np.eye(J.shape[1])
    B = np.linalg.svd(J)[2][rank:].T  # turned as it happens
    Q, R = np.linalg.qr(B[pivots(B)].T)
    return B @ (Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))


def pivots(B: Array) -> list[int]:
    """The longest rows of a basis, one after another, each at right angles to those before it; of
    rows equally long the first, whichever rounding favours."""
    remainder, order = np.array(B), list[int]()
    for _ in range(B.shape[1]):
        squares = (remainder * remainder).sum(axis=1)
        k = int(np.argmax(squares >= (1 - _TIE) * squares.max()))
        order.append(k)
        remainder = remainder - np.outer(remainder @ remainder[k], remainder[k] / squares[k])
    return order


def _size(phi: Array) -> float:
    return float(np.sqrt((phi * phi).sum()))
