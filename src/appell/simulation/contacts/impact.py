"""Impacts: velocities jump while the configuration stays (Shafei 2018, section 4).

    M (v+ - v-) = J^T p          (45)   impulses p along the normals of the walls
    J v+ = -e J v-               (46)   Newton's law, with restitution e

Together they are (47). Where some impulses of (47) would be negative, or contacts repeat each
other, the law holds as inequalities: p >= 0, J v+ >= -e J v-, and equal where p > 0.
Poisson's law divides each impulse instead: one that stops the approach, then e times it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.robots.dynamics import Array
from appell.simulation.contacts.contact import Contacts, ContactState
from appell.simulation.contacts.least import CoulombFriction, Paradox, least, with_friction

Indices = npt.NDArray[np.intp]

LAWS = ("newton", "poisson")


class EnergyWarning(UserWarning):
    """An impact gave energy to the robot."""


STOPS = ("lower limit", "upper limit")  # of joints, where impacts name walls


@dataclass(frozen=True)
class Impact:
    """One impact; arrays have an entry for each contact that took part."""

    time: float  # s
    points: tuple[str, ...]  # points, or joints at their stops
    walls: tuple[str, ...]  # the walls they struck, or one of STOPS
    impulses: Array  # along the normals, N s (N m s at the stop of a joint that turns)
    velocity_jumps: Array  # of the normal components, m/s (rad/s), after minus before
    angles: Array  # of attack, rad: between velocity and normal; 0 is head-on
    friction: Array  # (n, 3) impulses along the walls, N s
    energy_change: float  # J, of the whole robot

    def __str__(self) -> str:
        names, numbers = (self.points, self.walls), (self.impulses, self.velocity_jumps)
        contacts = zip(*names, *numbers, self.angles, strict=True)
        struck = ", ".join(_struck(*contact) for contact in contacts)
        return f"{self.time:.6f} s: {struck}; energy {self.energy_change:+.3g} J"


def _struck(point: str, wall: str, impulse: float, jump: float, angle: float) -> str:
    if wall in STOPS:  # whose joint turns, or slides
        return f"{point} on {wall}: {impulse:.4g} N m s or N s, jump {jump:.4g} rad/s or m/s"
    return f"{point} on {wall}: {impulse:.4g} N s, jump {jump:.4g} m/s, {np.degrees(angle):.4g} deg"


class Jump(NamedTuple):
    """What an impact does to the speeds, and by which impulses."""

    v: Array  # after
    normal: Array  # (n,)
    tangential: Array  # (n, 3), in the world
    energy: float  # change


def jump(
    contacts: Contacts,
    c: ContactState,
    taking: Indices,
    M: Array,
    v: Array,
    e: Array,
    mu: Array,
    law: str,
) -> Jump:
    """The speeds after an impact of some contacts, whose restitution and friction are given."""
    L = np.linalg.cholesky(M)
    before = c.rate[taking]
    rubbing = [i for i, k in enumerate(taking) if mu[i] > 0 and contacts.of_point[k] >= 0]
    rows, units, bases = friction_rows(contacts, c, taking, mu, rubbing)
    J = np.vstack([c.J[taking], *rows])
    U = np.linalg.solve(L, J.T)
    p = _rubbed(U, J @ v, units, e, law) if rubbing else _smooth(U, before, e, law)
    tangential = np.zeros((len(taking), 3))
    for unit, i, T in zip(units, rubbing, bases, strict=True):
        tangential[i] = p[list(unit.rows)] @ T
    x = U @ p
    after = v + np.linalg.solve(L.T, x)
    energy = float(0.5 * x @ (L.T @ (v + after)))
    return Jump(after, p[: len(taking)], tangential, energy)


def _smooth(U: Array, before: Array, e: Array, law: str) -> Array:
    """Impulses without friction."""
    if law == "newton":
        return least(U, -(1 + e) * before)[1]
    compression = least(U, -before)[1]
    returned = e * compression
    after = before + U.T @ (U @ (compression + returned))
    return compression + returned + least(U, -after)[1]


def _rubbed(U: Array, before: Array, units: Sequence[CoulombFriction], e: Array, law: str) -> Array:
    """Impulses with Coulomb friction against the speeds after the impact."""
    W, n = U.T @ U, len(e)
    normals, low = range(n), np.zeros(len(before))
    if law == "newton":
        target = before.copy()
        target[:n] *= 1 + e
        try:
            return with_friction(W, target, normals, units, low)[0]
        except Paradox:  # friction wedges a contact, and no impulse makes it rebound
            return with_friction(W, before, normals, units, low)[0]
    compression = with_friction(W, before, normals, units, low)[0]
    low[:n] = e * compression[:n]
    after = before + W @ compression
    after[np.abs(after) <= 1e-9 * np.abs(before).max()] = 0.0  # stopped, but for rounding
    return compression + with_friction(W, after, normals, units, low)[0]


def friction_rows(
    contacts: Contacts, c: ContactState, taking: Indices, mu: Array, rubbing: Sequence[int]
) -> tuple[list[Array], list[CoulombFriction], list[Array]]:
    """Tangential rows of the contacts that rub, to stand below the normal ones; and the
    tangents themselves, (r, 3) for each."""
    units, rows, bases = [], [], []
    at = len(taking)
    for i in rubbing:
        T, R = slides(c.normal[taking[i]], c.P[contacts.of_point[taking[i]]])
        units.append(CoulombFriction(tuple(range(at, at + len(R))), i, float(mu[i])))
        rows.append(R)
        bases.append(T)
        at += len(R)
    return rows, units, bases


def slides(normal: Array, P: Array) -> tuple[Array, Array]:
    """The directions across a normal in which a point can move, (r, 3), and its rows (r, nv)
    along them: r is 2 in space, 1 for a robot that moves in a plane."""
    T = tangents(normal)
    u, s, _ = np.linalg.svd(T @ P, full_matrices=False)
    turned = u.T[s > 1e-9 * np.linalg.norm(P)] @ T
    return turned, turned @ P


def tangents(normal: Array) -> Array:
    """Two unit vectors across a normal, (2, 3); the first has no z where that can be."""
    x, y, z = normal.tolist()
    level = hypot(x, y)
    if level < 1e-3 * abs(z):  # a level wall: x is across enough
        return tangents(normal[[1, 2, 0]])[:, [2, 0, 1]]
    a, b, size = -y / level, x / level, hypot(x, y, z)
    return np.array([[a, b, 0.0], [-z * b / size, z * a / size, (x * b - y * a) / size]])


def recorded(
    contacts: Contacts, c: ContactState, taking: Indices, time: float, v: Array, done: Jump
) -> Impact:
    """The record of an impact, of the contacts that approached or took an impulse."""
    heavy = done.normal > 1e-12 * done.normal.max(initial=0.0)
    part = [i for i, k in enumerate(taking) if heavy[i] or c.rate[k] < 0]
    which = taking[part]
    rate = c.rate[which]
    return Impact(
        time=time,
        points=tuple(contacts.names[k][0] for k in which),
        walls=tuple(contacts.names[k][1] for k in which),
        impulses=done.normal[part],
        velocity_jumps=c.J[which] @ done.v - rate,
        angles=np.array([_angle(contacts, c, k, v) for k in which]),
        friction=done.tangential[part],
        energy_change=done.energy,
    )


def _angle(contacts: Contacts, c: ContactState, k: int, v: Array) -> float:
    """Between the velocity of a point and the normal into the wall."""
    if contacts.of_point[k] < 0:
        return 0.0
    velocity = c.P[contacts.of_point[k]] @ v
    along = velocity - c.normal[k] * (c.normal[k] @ velocity)
    return float(np.arctan2(np.linalg.norm(along), -c.rate[k]))


def audit(impact: Impact, kinetic: float, law: str) -> None:
    """Warn of an impact that gave energy: more than rounding of the kinetic energy."""
    if impact.energy_change > 1e-9 * max(kinetic, 1e-9):
        cure = "law='poisson' is milder" if law == "newton" else "lower the restitution"
        where = ", ".join(impact.points)
        warnings.warn(
            f"the impact of {where} at {impact.time:.6g} s adds {impact.energy_change:.3g} J: with "
            f"friction or several coefficients of restitution, {law.capitalize()}'s law can; "
            f"{cure}.",
            EnergyWarning,
            stacklevel=2,
        )


def impact_to_json(impact: Impact) -> dict[str, Any]:
    """An impact as what JSON can hold."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(impact).items()
    }


def impact_from_json(data: dict[str, Any]) -> Impact:
    """The impact that impact_to_json wrote."""
    arrays = ("impulses", "velocity_jumps", "angles", "friction")
    kinds: dict[str, Any] = dict.fromkeys(arrays, np.array) | {"points": tuple, "walls": tuple}
    return Impact(**{name: kinds.get(name, float)(value) for name, value in data.items()})
