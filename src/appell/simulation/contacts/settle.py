"""Which contacts last from now on, and what sticks and slides.

Asked at every event. Contacts that touch and hardly move are brought to rest; then Gauss's
principle (:func:`appell.simulation.contacts.least.least`), or Coulomb's law where there is
friction, tells which of them their forces hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.simulation.contacts.contact import ContactState
from appell.simulation.contacts.hold import CREEP, NONE, STILL, Holder, Indices, LetGo, Modes, unit
from appell.simulation.contacts.impact import slides, tangents
from appell.simulation.contacts.least import CoulombFriction, least, with_friction

Array = npt.NDArray[np.floating[Any]]

TOUCH = 1e-9  # m: contacts closer than this touch
_TURNS, _STRAIGHT = 20, 1e-5  # so often directions are found anew, or until they stay
_NOTHING = 1e-12  # m/s^2 or rad/s^2, that rounding makes of zero
_TIGHT = 1e-9  # of the largest acceleration: gaps that open more slowly do not open


@dataclass
class _Beginning:
    """What touches, rubs and rests at one instant."""

    near: Indices  # contacts that touch and do not leave
    rubbing: list[int]  # of them, those with friction
    whither: dict[int, Array]  # of these, those that slide
    at_rest: list[int]  # joints that dry friction may hold
    signs: Array  # of the speeds of the others that have some
    across: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # tangents and rows


def settle(
    holder: Holder, t: float, q: Array, v: Array, let_go: LetGo
) -> tuple[Array, Array, Modes]:
    """The modes that begin, and the state with what rests at rest and out of the walls."""
    c = holder.at(q, v) if len(holder.contacts) else None
    touching = np.flatnonzero(c.gap <= TOUCH) if c is not None else NONE
    if c is None or not len(touching):
        if not holder.dry.any():
            return q, v, Modes()
        near, leaving, slow = NONE, NONE, STILL
    else:
        slowest = np.maximum(holder.slowest(c, touching, t, q, v), STILL)
        rests, slow = c.rate[touching] <= slowest, float(slowest.max())
        near, leaving = touching[rests], touching[~rests]
    begin = _beginning(holder, c, q, v, near, slow)
    M = holder.mechanics.mass_matrix(q)
    q, v, left = _brought_to_rest(holder, c, M, q, v, begin)
    if len(near):
        c = holder.at(q, v)
    modes = _held(holder, c, M, t, q, v, begin, let_go, leaving)
    if c is not None:
        modes = _shared(holder, c, t, q, v, begin, modes) or modes
    spatial = any(len(begin.across[k][0]) == 2 for k in modes.sliding)
    return q, v, replace(modes, slack=max(1e-3 * CREEP if spatial else STILL, 4 * left))


def _shared(
    holder: Holder, c: ContactState, t: float, q: Array, v: Array, begin: _Beginning, modes: Modes
) -> Modes | None:
    """The modes of several contacts at rest in space of which one is at its bound: either all of
    them slide, along their accelerations, or they share the load so that none does; None where it
    is neither. (Such contacts may press against each other in many ways, and the forces that are
    found first can leave one at its bound while others are far from it.)"""
    closed = [int(k) for k in modes.closed]
    if not modes.sliding or begin.whither or modes.still or len(closed) < 2:
        return None
    if modes.guess is None or any(
        k not in begin.across or len(begin.across[k][0]) != 2 for k in closed
    ):
        return None
    mean = unit(np.sum(list(modes.sliding.values()), axis=0))
    normal = modes.guess[: len(closed)]
    slides = replace(modes, stuck=(), sliding=dict.fromkeys(closed, mean), guess=normal)
    for _ in range(_TURNS):
        f = holder.forces(t, q, v, slides)
        turned, forward = {}, 0.0
        for k, d in slides.sliding.items():
            T, R = begin.across[k]
            along = (R @ f.a + T @ c.turning[holder.contacts.of_point[k]]) @ T
            forward = max(forward, float(along @ d))
            turned[k] = unit(along) if np.linalg.norm(along) > _TIGHT and along @ d > 0 else d
        apart = max(float(np.abs(turned[k] - d).max()) for k, d in slides.sliding.items())
        if apart < _STRAIGHT:
            break
        slides = replace(slides, sliding=turned)
    if apart < _STRAIGHT and forward > _TIGHT:
        return slides
    rubbing = [
        tangents(c.normal[k]) @ (-holder.mu[k] * n * slides.sliding[k])
        for k, n in zip(closed, f.normal, strict=True)
    ]
    guess = np.concatenate([f.normal, *rubbing])
    sticks = replace(modes, sliding={}, stuck=tuple(closed), guess=guess)
    return sticks if (holder.margins(t, q, v, sticks) >= 0).all() else None


def _beginning(
    holder: Holder, c: ContactState | None, q: Array, v: Array, near: Indices, slow: float
) -> _Beginning:
    speeds = holder.mechanics.speeds(q, v)
    dry = [int(j) for j in np.flatnonzero(holder.dry)]
    # The speeds of joints that follow others are rounded where these are put right after a step, so
    # that one whose speed has just turned round may be a little faster than the bound.
    bound = 2 * slow if holder.mechanics.restores else slow
    at_rest = [j for j in dry if abs(speeds[j]) <= bound]
    if holder.mechanics.restores:  # loops stop those that the ones at rest determine
        rows = holder.mechanics.rows(q).T
        some = _independent(rows, at_rest)
        at_rest = [j for j in dry if j in at_rest or _independent(rows, [*some, j]) == some]
    signs = np.zeros(len(speeds))
    moving = [j for j in dry if j not in at_rest]
    signs[moving] = np.sign(speeds[moving])
    begin = _Beginning(near, [], {}, at_rest, signs)
    for k in map(int, near):
        if c is None or not holder.mu[k] > 0 or holder.contacts.of_point[k] < 0:
            continue
        T, R = begin.across[k] = slides(c.normal[k], holder.point(c, k))
        begin.rubbing.append(k)
        along = (R @ v) @ T
        if np.linalg.norm(along) > (CREEP if len(T) == 2 else slow):
            begin.whither[k] = unit(along)
    return begin


def _brought_to_rest(
    holder: Holder, c: ContactState | None, M: Array, q: Array, v: Array, begin: _Beginning
) -> tuple[Array, Array, float]:
    """The state with the rates of near contacts, slow slides and slow joints zero, and gaps not
    negative; and the largest speed that is left, where contacts almost repeat each other."""
    rows: list[Array] = [holder.mechanics.rows(q)[begin.at_rest]]
    if c is not None and len(begin.near):
        J, inside = c.J[begin.near], np.minimum(c.gap[begin.near], 0.0)
        if inside.any():
            small = least_change(M, J, -inside)
            q = q + holder.mechanics.displacement(q, small)
        rows.append(J)
        rows += [begin.across[k][1] for k in begin.rubbing if k not in begin.whither]
    R = np.vstack(rows)
    if not len(R):
        return q, v, 0.0
    v = v + least_change(M, R, -(R @ v))
    return q, v, float(np.abs(R @ v).max())


def least_change(M: Array, R: Array, wanted: Array) -> Array:
    """The x of least x M x with R x = wanted, as nearly as rows that repeat others allow."""
    X = np.linalg.solve(M, R.T)
    return X @ np.linalg.lstsq(R @ X, wanted, rcond=1e-11)[0]


def _held(
    holder: Holder,
    c: ContactState | None,
    M: Array,
    t: float,
    q: Array,
    v: Array,
    begin: _Beginning,
    let_go: LetGo,
    leaving: Indices,
) -> Modes:
    near = begin.near
    a = holder.free(t, q, v, begin.signs)[1]
    L = np.linalg.cholesky(M)
    J = c.J[near] if c is not None else np.empty((0, len(v)))
    wanted = -(J @ a + c.drift[near]) if c is not None else np.empty(0)
    U = np.linalg.solve(L, J.T)
    rubs: _Rubbing | None = None
    if begin.rubbing or begin.at_rest:
        rubs = _Rubbing(holder, c, (q, v), L, J, a, wanted, begin, let_go)
        p, spare = rubs.normal, rubs.spare
    else:
        x, p = least(U, wanted)
        spare = U.T @ x - wanted
    # What does not open holds: what is pressed, and of the others what those do not carry.
    tight = _TIGHT * np.abs(wanted).max(initial=0.0) + 1e-12
    pressed = p > 1e-6 * p.max(initial=0.0)
    held = [i for i in range(len(near)) if pressed[i] or spare[i] <= tight]
    held.sort(key=lambda i: p[i] <= 0)
    able = [i for i in held if near[i] not in let_go.released]
    alone = _independent(U, able)
    chosen = [i for i in able if i in alone or pressed[i]]
    carried = [
        i for i in held if i not in chosen and len(_independent(U, [*alone, i])) == len(alone)
    ]
    free = [i for i in range(len(near)) if i not in chosen and i not in carried]
    modes = Modes(
        closed=near[chosen],
        carried=near[carried],
        loose=near[free],
        leaving=leaving,
        turning=begin.signs if begin.signs.any() else None,
        guess=p[chosen] if len(chosen) > len(alone) else None,
    )
    return rubs.completed(modes, p[chosen]) if rubs else modes


class _Rubbing:
    """The forces with Coulomb friction at one instant, and what they mean."""

    def __init__(
        self,
        holder: Holder,
        c: ContactState | None,
        state: tuple[Array, Array],
        L: Array,
        J: Array,
        a: Array,
        wanted: Array,
        begin: _Beginning,
        let_go: LetGo,
    ) -> None:
        self.holder, self.c, self.begin, self.let_go = holder, c, begin, let_go
        rows, free, self.units = [J], [-wanted], []
        at = len(J)
        for k in begin.rubbing:
            assert c is not None
            T, R = begin.across[k]
            rows.append(R)
            free.append(R @ a + T @ c.turning[holder.contacts.of_point[k]])
            sliding = unit(T @ begin.whither[k]) if k in begin.whither else None
            normal = int(np.flatnonzero(begin.near == k)[0])
            which = tuple(range(at, at + len(R)))
            self.units.append(CoulombFriction(which, normal, float(holder.mu[k]), sliding=sliding))
            at += len(R)
        joints = holder.mechanics.rows(state[0])
        accelerations = joints @ a + holder.mechanics.drift(*state)
        for j in begin.at_rest:
            rows.append(joints[[j]])
            free.append(accelerations[[j]])
            self.units.append(CoulombFriction((at,), None, bound=float(holder.dry[j])))
            at += 1
        U = np.linalg.solve(L, np.vstack(rows).T)
        W, w = U.T @ U, np.concatenate(free)
        w[np.abs(w) < _NOTHING] = 0.0  # where rows repeat others, rounding could contradict itself
        self.small = _TIGHT * np.abs(w).max(initial=0.0) + 1e-12
        self.p, self.y = with_friction(W, w, range(len(J)), self.units, np.zeros(at))
        self.normal, self.spare = self.p[: len(J)], self.y[: len(J)]

    def completed(self, modes: Modes, pressing: Array) -> Modes:
        """The modes with what sticks and slides."""
        begin, n = self.begin, len(self.begin.rubbing)
        sliding, stuck, still, guess = {}, [], [], [pressing]
        signs = begin.signs.copy()
        for k, unit_ in zip(begin.rubbing, self.units[:n], strict=True):
            if k not in modes.place:
                continue
            whither = begin.whither.get(k, self._sets_out(unit_, k in self.let_go.slipping))
            if whither is None:
                assert self.c is not None
                stuck.append(k)
                T = begin.across[k][0]
                guess.append(tangents(self.c.normal[k]) @ (self.p[list(unit_.rows)] @ T))
            else:
                sliding[k] = whither if k in begin.whither else whither @ begin.across[k][0]
        for j, unit_ in zip(begin.at_rest, self.units[n:], strict=True):
            whither = self._sets_out(unit_, j in self.let_go.moving)
            if whither is None:
                still.append(j)
                guess.append(self.p[list(unit_.rows)])
            else:
                signs[j] = np.sign(whither[0])
        return replace(
            modes,
            stuck=tuple(stuck),
            sliding=sliding,
            still=tuple(still),
            turning=signs if signs.any() else None,
            guess=np.concatenate(guess),
        )

    def _sets_out(self, friction: CoulombFriction, slipping: bool) -> Array | None:
        """Where something at rest begins to move, in its rows; None where it sticks. One that
        is at its bound moves, unless others can take over a part of its load."""
        rows = list(friction.rows)
        force, a = self.p[rows], self.y[rows]
        size = float(np.linalg.norm(force))
        of = friction.normal
        bound = friction.bound if of is None else friction.mu * float(self.p[of])
        if size >= bound * (1 - (1e-6 if slipping else 1e-9)) and size > 0:
            return -force / size
        return unit(a) if np.linalg.norm(a) > self.small else None


def _independent(U: Array, wanted: list[int]) -> list[int]:
    """Those whose columns no others before them repeat."""
    chosen: list[int] = []
    basis = np.empty((len(U), 0))
    for i in wanted:
        rest = U[:, i] - basis @ (basis.T @ U[:, i])
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(U[:, i]) > 0:
            chosen.append(i)
            basis = np.column_stack([basis, unit(rest)])
    return chosen
