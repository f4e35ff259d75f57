"""Contacts that last, and dry friction, in contacts and joints.

While a set of contacts holds, its forces f follow from their gaps' accelerations being zero:

    M a = tau - b + J^T f,    J a + dJ/dt v = 0,    f >= 0

and the set is left when one of the forces would turn negative. What sticks holds in the same
way, as long as its force stays within Coulomb's bound; what slides has that bound as its
force. Which contacts hold is found by `appell.simulation.contacts.settle` when a set begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.robots.dynamics import Array
from appell.simulation.contacts.contact import Contacts, ContactState, no_contacts
from appell.simulation.contacts.impact import slides, tangents
from appell.simulation.mechanics import Mechanics
from appell.simulation.torques import Pushes, Torque

Indices = npt.NDArray[np.intp]

# Baumgarte's terms, 1/s: what integration adds to a gap that should stay decays at this rate.
_PULL = 5.0
_EDGE = 1e-4  # of a point's mobility: along the normal it has less at the edge of its reach
_SLACK = 1e-10  # a force is lost when it is below minus this part of the largest
_APART = 5e-9  # m: contacts that repeat each other hold together up to gaps of this size
STILL = 1e-9  # m/s: rounding of speeds that are zero, with room
# In space a slide hardly ever stops exactly: one slower than this, in m/s, is taken as rest.
CREEP = 1e-3
NONE: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Modes:
    """What holds, sticks and slides, from one event to the next. Contacts go by number."""

    closed: Indices = field(default_factory=lambda: NONE)  # hold
    carried: Indices = field(default_factory=lambda: NONE)  # held by the closed ones
    loose: Indices = field(default_factory=lambda: NONE)  # touch, without force
    leaving: Indices = field(default_factory=lambda: NONE)  # touch, and move away
    stuck: tuple[int, ...] = ()  # closed contacts that do not slide
    sliding: Mapping[int, Array] = field(default_factory=dict)  # and those that do: whither
    running: frozenset[int] = frozenset()  # of these, those in space that have gathered speed
    still: tuple[int, ...] = ()  # joints that dry friction holds
    turning: Array | None = None  # the signs of the joints' speeds where it does not
    guess: Array | None = None  # forces at the beginning, which others may share differently
    slack: float = STILL  # speeds above minus this are still those of a slide, m/s

    @cached_property
    def place(self) -> dict[int, int]:
        """Where a closed contact stands among the closed ones."""
        return {int(k): i for i, k in enumerate(self.closed)}

    @cached_property
    def simple(self) -> bool:
        """Whether no forces are to be found."""
        return not len(self.closed) and not self.still


class LetGo(NamedTuple):
    """What reached its bound in an event: a contact's force zero, or friction its largest."""

    released: frozenset[int] = frozenset()  # contacts
    slipping: frozenset[int] = frozenset()  # contacts
    moving: frozenset[int] = frozenset()  # joints


class ContactForces(NamedTuple):
    """The motion that a set of contacts allows, and its forces."""

    dq: Array
    a: Array
    normal: Array  # of the closed contacts
    friction: Array  # (stuck, 2), along ``tangents``
    joints: Array  # of the joints that stick


class Holder:
    """Finds the forces of lasting contacts of one robot among its walls."""

    def __init__(
        self,
        mechanics: Mechanics,
        contacts: Contacts,
        torque: Torque,
        mu: Array,
        friction: bool,
        atol: float,
        forces: Pushes | None = None,
        axes: str = "base",
    ) -> None:
        self.mechanics, self.contacts, self.mu = mechanics, contacts, mu
        self.torque = mechanics.loaded(mechanics.driven(torque), forces, axes)
        self.smallest = max(atol, 1e-12)
        self.viscous, self.dry, self.constant = (friction * x for x in mechanics.friction)
        self.stiction = self.dry  # the most that holds a joint at rest
        self.rubs = bool(self.viscous.any() or self.dry.any())

    def at(self, q: Array, v: Array) -> ContactState:
        """The contacts at one instant."""
        if not len(self.contacts):
            return no_contacts(len(v))
        return self.mechanics.contacts(self.contacts, q, v)

    def point(self, c: ContactState, contact: int) -> Array:
        """The Jacobian of a contact's point, (3, nv)."""
        return c.P[self.contacts.of_point[contact]]

    # Motion

    def free(self, t: float, q: Array, v: Array, turning: Array | None) -> tuple[Array, Array]:
        """dq/dt and accelerations without the forces of contacts and of what sticks."""
        forces = self.torque(t, q, v)
        if self.rubs:
            forces = forces - self.viscous * self.mechanics.speeds(q, v) - self.constant
            if turning is not None:
                forces = forces - self.dry * turning
        rate = self.mechanics.flow(q, v, forces)
        return rate[: len(q)], rate[len(q) :]

    def forces(self, t: float, q: Array, v: Array, modes: Modes) -> ContactForces:
        """The motion while the modes last, and the forces of what holds."""
        dq, a = self.free(t, q, v, modes.turning)
        if modes.simple:
            return ContactForces(dq, a, np.empty(0), np.empty((0, 2)), np.empty(0))
        rows, columns, bias = self._rows(q, v, modes)
        X = np.linalg.solve(self.mechanics.mass_matrix(q), columns)
        A, b = rows @ X, -(rows @ a + bias)
        if modes.guess is None:
            f = _solved(A, b)
        else:
            f = modes.guess + np.linalg.lstsq(A, b - A @ modes.guess, rcond=1e-7)[0]
        n, s = len(modes.closed), len(modes.stuck)
        return ContactForces(dq, a + X @ f, f[:n], f[n : n + 2 * s].reshape(s, 2), f[n + 2 * s :])

    def _rows(self, q: Array, v: Array, modes: Modes) -> tuple[Array, Array, Array]:
        """What stays zero, rows @ a + bias, and along which columns its forces act."""
        rows, columns, bias = [], [], []
        if len(modes.closed):
            c = self.at(q, v)
            k = modes.closed
            J = c.J[k]
            along = J
            if modes.sliding:
                along = J.copy()
                for contact, d in modes.sliding.items():
                    P = self.point(c, contact)
                    whither = _direction(c.normal[contact], P @ v, d)
                    along[modes.place[contact]] -= self.mu[contact] * (whither @ P)
            rows.append(J)
            columns.append(along)
            bias.append(c.drift[k] + (2 * _PULL) * c.rate[k] + _PULL**2 * c.gap[k])
            for contact in modes.stuck:
                T, P = tangents(c.normal[contact]), self.point(c, contact)
                rows.append(T @ P)
                columns.append(rows[-1])
                bias.append(T @ (c.turning[self.contacts.of_point[contact]] + _PULL * (P @ v)))
        if modes.still:
            still = list(modes.still)
            rows.append(self.mechanics.rows(q)[still])
            columns.append(rows[-1])
            bias.append((self.mechanics.drift(q, v) + _PULL * self.mechanics.speeds(q, v))[still])
        if len(rows) == 1:
            return rows[0], columns[0].T, bias[0]
        return np.vstack(rows), np.vstack(columns).T, np.concatenate(bias)

    # Events

    def margins(self, t: float, q: Array, v: Array, modes: Modes) -> Array:
        """What must not turn negative while the modes last, each with its rounding added:
        forces of closed contacts, friction's reserves, then speeds of what slides, and gaps of
        contacts that repeat each other, which a bend of the wall may take apart."""
        f = self.forces(t, q, v, modes)
        largest = max(np.abs(f.normal).max(initial=0.0), np.abs(f.joints).max(initial=0.0))
        reserve = [
            self.mu[k] * f.normal[modes.place[k]] - np.linalg.norm(force)
            for k, force in zip(modes.stuck, f.friction, strict=True)
        ]
        held = self.stiction[list(modes.still)] - np.abs(f.joints)
        forces = np.concatenate([f.normal, np.array(reserve), held])
        margins = [forces + _SLACK * (largest + 1e-3), self._speeds(q, v, modes)]
        if modes.guess is not None and len(modes.closed):
            apart, speeds = max(_APART, 10 * self.smallest), self.mechanics.speeds(q, v)
            margins.append(apart - np.abs(self.contacts.gaps(q, speeds)[0][modes.closed]))
        return np.concatenate(margins)

    def _speeds(self, q: Array, v: Array, modes: Modes) -> Array:
        speeds: list[Any] = []
        if modes.sliding:
            c = self.at(q, v)
            for k, d in modes.sliding.items():
                least = -CREEP if k in modes.running else modes.slack
                speeds.append(d @ self.point(c, k) @ v + least)
        if modes.turning is not None:
            turning = modes.turning * self.mechanics.speeds(q, v) + modes.slack
            speeds.extend(turning[modes.turning != 0])
        return np.array(speeds)

    def later(self, q: Array, v: Array, modes: Modes) -> Modes:
        """The same modes after a step: where slides in space lead now."""
        if not modes.sliding:
            return modes
        c = self.at(q, v)
        running, sliding = set(modes.running), dict(modes.sliding)
        for k in modes.sliding:
            T, R = slides(c.normal[k], self.point(c, k))
            along = (R @ v) @ T
            if len(T) == 2 and (k in running or along @ along > (2 * CREEP) ** 2):
                running.add(k)
                sliding[k] = unit(along)
        return replace(modes, running=frozenset(running), sliding=sliding)

    def let_go(self, modes: Modes, which: int) -> LetGo:
        """What a margin that turned negative lets go."""
        n, s, j = len(modes.closed), len(modes.stuck), len(modes.still)
        if which < n:
            return LetGo(released=frozenset([int(modes.closed[which])]))
        if which < n + s:
            return LetGo(slipping=frozenset([modes.stuck[which - n]]))
        if which < n + s + j:
            return LetGo(moving=frozenset([modes.still[which - n - s]]))
        return LetGo()

    def slowest(self, c: ContactState, touching: Indices, t: float, q: Array, v: Array) -> Array:
        """The rates below which touching contacts do not rebound: the bounce would be lower than
        the integrator's absolute tolerance, sqrt(2 a atol) with the largest acceleration a there.
        Where a point hardly moves along its normal, at the edge of its reach, the smallest bounce
        may turn the whole motion round: only rounding does not rebound there."""
        a = self.free(t, q, v, None)[1]
        largest = float(np.abs(c.J[touching] @ a + c.drift[touching]).max(initial=0.0))
        moved = float(np.abs(c.J[touching]).sum(axis=1).max(initial=0.0))
        rounding = 1e-13 * moved * (1 + float(np.abs(v).max(initial=0.0)))
        slow = np.full(len(touching), sqrt(2 * self.smallest * largest) + rounding)
        if len(touching):
            slow[self._at_edge(c, touching, q)] = rounding
        return slow

    def _at_edge(self, c: ContactState, touching: Indices, q: Array) -> Array:
        """Which touching points are ten thousand times harder to move along the normal than in
        their easiest direction."""
        M, points = self.mechanics.mass_matrix(q), self.contacts.of_point[touching]
        L = np.linalg.cholesky(M)
        along = (np.linalg.solve(L, c.J[touching].T) ** 2).sum(axis=0)
        P = c.P[points].reshape(-1, len(M))
        ways = (np.linalg.solve(L, P.T) ** 2).sum(axis=0).reshape(-1, 3).sum(axis=1)
        return (points >= 0) & (along < _EDGE**2 * ways)


def _solved(A: Array, b: Array) -> Array:
    """The forces of contacts, the smallest ones where some contact can be moved by no force, as a
    point on the axis about which its body turns."""
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(A, b, rcond=1e-11)[0]


def _direction(normal: Array, velocity: Array, d: Array) -> Array:
    """Where a contact slides: along its velocity, but while it is slow along the direction d in
    which it set out, so that it passes through rest smoothly; the event there decides what
    follows."""
    along = velocity - normal * (normal @ velocity)
    d = unit(d - normal * (normal @ d))
    forward = along @ d
    return d if forward < 0 else unit(along + d * max(CREEP - float(forward), 0.0))


def unit(x: Array) -> Array:
    """A vector of length one along x; zero stays zero."""
    size = sqrt(x @ x)
    return x / size if size > 0 else x
