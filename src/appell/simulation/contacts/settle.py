"""Which contacts last from now on, and what sticks and slides.

Asked at every event. Contacts that touch and hardly move are brought to rest; then Gauss's
principle (`appell.simulation.contacts.least.least`), or Coulomb's law where there is
friction, tells which of them their forces hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from appell.robots.dynamics import Array
from appell.simulation.contacts.contact import ContactState
from appell.simulation.contacts.hold import CREEP, NONE, STILL, Holder, Indices, LetGo, Modes, unit
from appell.simulation.contacts.impact import slides, tangents
from appell.simulation.contacts.least import CoulombFriction, least, with_friction

TOUCH = 1e-9  # m: contacts closer than this touch
_TURNS, _STRAIGHT = 20, 1e-5  # so often directions are found anew, or until they stay
_NOTHING = 1e-12  # m/s^2 or rad/s^2, that rounding makes of zero
_TIGHT = 1e-9  # of the largest acceleration: gaps that open more slowly do not open


@dataclass
class _Instant:
    """A state at which modes begin: what touches, rubs and rests."""

    holder: Holder
    t: float
    q: Array
    v: Array
    M: Array
    c: ContactState
    near: Indices  # contacts that touch and do not leave
    at_rest: list[int]  # joints that dry friction may hold
    signs: Array  # of the speeds of the others that have some
    rubbing: list[int] = field(default_factory=list)  # of the near contacts, those with friction
    whither: dict[int, Array] = field(default_factory=dict)  # of these, those that slide
    across: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # tangents and rows


def settle(
    holder: Holder, t: float, q: Array, v: Array, let_go: LetGo
) -> tuple[Array, Array, Modes]:
    """The modes that begin, and the state with what rests at rest and out of the walls."""
    c = holder.at(q, v)
    touching = np.flatnonzero(c.gap <= TOUCH)
    if len(touching):
        slowest = np.maximum(holder.slowest(c, touching, t, q, v), STILL)
        rests, slow = c.rate[touching] <= slowest, float(slowest.max())
        near, leaving = touching[rests], touching[~rests]
    elif holder.stiction.any():
        near, leaving, slow = NONE, NONE, STILL
    else:
        return q, v, Modes()
    now = _instant(holder, t, q, v, c, near, slow)
    left = _bring_to_rest(now)
    modes = _held(now, let_go, leaving)
    modes = _shared(now, modes) or modes
    spatial = any(len(now.across[k][0]) == 2 for k in modes.sliding)
    slack = max(1e-3 * CREEP if spatial else STILL, 4 * left)
    return now.q, now.v, replace(modes, slack=slack)


def _shared(now: _Instant, modes: Modes) -> Modes | None:
    """The modes of several contacts at rest in space of which one is at its bound: either all of
    them slide, along their accelerations, or they share the load so that none does; None where it
    is neither. (Such contacts may press against each other in many ways, and the forces that are
    found first can leave one at its bound while others are far from it.)"""
    holder, closed = now.holder, [int(k) for k in modes.closed]
    if not modes.sliding or now.whither or modes.still or len(closed) < 2:
        return None
    spatial = all(k in now.across and len(now.across[k][0]) == 2 for k in closed)
    if modes.guess is None or not spatial:
        return None
    mean = unit(np.sum(list(modes.sliding.values()), axis=0))
    normal = modes.guess[: len(closed)]
    slides = replace(modes, stuck=(), sliding=dict.fromkeys(closed, mean), guess=normal)
    for _ in range(_TURNS):
        f = holder.forces(now.t, now.q, now.v, slides)
        turned, forward = {}, 0.0
        for k, d in slides.sliding.items():
            T, R = now.across[k]
            along = (R @ f.a + T @ now.c.turning[holder.contacts.of_point[k]]) @ T
            forward = max(forward, float(along @ d))
            turned[k] = unit(along) if np.linalg.norm(along) > _TIGHT and along @ d > 0 else d
        apart = max(float(np.abs(turned[k] - d).max()) for k, d in slides.sliding.items())
        if apart < _STRAIGHT:
            break
        slides = replace(slides, sliding=turned)
    if apart < _STRAIGHT and forward > _TIGHT:
        return slides
    rubbing = [
        tangents(now.c.normal[k]) @ (-holder.mu[k] * n * slides.sliding[k])
        for k, n in zip(closed, f.normal, strict=True)
    ]
    guess = np.concatenate([f.normal, *rubbing])
    sticks = replace(modes, sliding={}, stuck=tuple(closed), guess=guess)
    return sticks if (holder.margins(now.t, now.q, now.v, sticks) >= 0).all() else None


def _instant(
    holder: Holder, t: float, q: Array, v: Array, c: ContactState, near: Indices, slow: float
) -> _Instant:
    mechanics = holder.mechanics
    speeds = mechanics.speeds(q, v)
    dry = [int(j) for j in np.flatnonzero(holder.stiction)]
    # A joint whose speed has just turned round is as fast as the slack of its margin, and a little
    # faster by how exactly that was located, and where joints follow others by rounding.
    at_rest = [j for j in dry if abs(speeds[j]) <= 2 * slow]
    if mechanics.restores:  # loops stop those that the ones at rest determine
        rows = mechanics.rows(q).T
        some = _independent(rows, at_rest)
        at_rest = [j for j in dry if j in at_rest or _independent(rows, [*some, j]) == some]
    signs = np.zeros(len(speeds))
    moving = [j for j in dry if j not in at_rest]
    signs[moving] = np.sign(speeds[moving])
    now = _Instant(holder, t, q, v, mechanics.mass_matrix(q), c, near, at_rest, signs)
    for k in map(int, near):
        if not holder.mu[k] > 0 or holder.contacts.of_point[k] < 0:
            continue
        T, R = now.across[k] = slides(c.normal[k], holder.point(c, k))
        now.rubbing.append(k)
        along = (R @ v) @ T
        if np.linalg.norm(along) > (CREEP if len(T) == 2 else slow):
            now.whither[k] = unit(along)
    return now


def _bring_to_rest(now: _Instant) -> float:
    """Make the rates of near contacts, slow slides and slow joints zero, and gaps not negative. The
    largest speed that is left, where contacts almost repeat each other."""
    mechanics, c, near = now.holder.mechanics, now.c, now.near
    rows: list[Array] = [mechanics.rows(now.q)[now.at_rest]]
    if len(near):
        J, inside = c.J[near], np.minimum(c.gap[near], 0.0)
        if inside.any():
            small = least_change(now.M, J, -inside)
            now.q = now.q + mechanics.displacement(now.q, small)
        rows.append(J)
        rows += [now.across[k][1] for k in now.rubbing if k not in now.whither]
    R, left = np.vstack(rows), 0.0
    if len(R):
        now.v = now.v + least_change(now.M, R, -(R @ now.v))
        left = float(np.abs(R @ now.v).max())
    if len(near):
        now.c = now.holder.at(now.q, now.v)
    return left


def least_change(M: Array, R: Array, wanted: Array) -> Array:
    """The x of least x M x with R x = wanted, as nearly as rows that repeat others allow."""
    X = np.linalg.solve(M, R.T)
    return X @ np.linalg.lstsq(R @ X, wanted, rcond=1e-11)[0]


def _held(now: _Instant, let_go: LetGo, leaving: Indices) -> Modes:
    near, c = now.near, now.c
    a = now.holder.free(now.t, now.q, now.v, now.signs)[1]
    L = np.linalg.cholesky(now.M)
    J = c.J[near]
    wanted = -(J @ a + c.drift[near])
    U = np.linalg.solve(L, J.T)
    rubs: _Rubbing | None = None
    if now.rubbing or now.at_rest:
        rubs = _Rubbing(now, L, a, wanted, let_go)
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
        turning=now.signs if now.signs.any() else None,
        guess=p[chosen] if len(chosen) > len(alone) else None,
    )
    return rubs.completed(modes, p[chosen]) if rubs else modes


class _Rubbing:
    """The forces with Coulomb friction at one instant, and what they mean."""

    def __init__(self, now: _Instant, L: Array, a: Array, wanted: Array, let_go: LetGo) -> None:
        self.now, self.let_go = now, let_go
        holder, c = now.holder, now.c
        rows, free, self.units = [c.J[now.near]], [-wanted], []
        at = count = len(now.near)
        for k in now.rubbing:
            T, R = now.across[k]
            rows.append(R)
            free.append(R @ a + T @ c.turning[holder.contacts.of_point[k]])
            sliding = unit(T @ now.whither[k]) if k in now.whither else None
            normal = int(np.flatnonzero(now.near == k)[0])
            which = tuple(range(at, at + len(R)))
            self.units.append(CoulombFriction(which, normal, float(holder.mu[k]), sliding=sliding))
            at += len(R)
        joints = holder.mechanics.rows(now.q)
        accelerations = joints @ a + holder.mechanics.drift(now.q, now.v)
        for j in now.at_rest:
            rows.append(joints[[j]])
            free.append(accelerations[[j]])
            self.units.append(CoulombFriction((at,), None, bound=float(holder.stiction[j])))
            at += 1
        U = np.linalg.solve(L, np.vstack(rows).T)
        W, w = U.T @ U, np.concatenate(free)
        w[np.abs(w) < _NOTHING] = 0.0  # where rows repeat others, rounding could contradict itself
        self.small = _TIGHT * np.abs(w).max(initial=0.0) + 1e-12
        self.p, self.y = with_friction(W, w, range(count), self.units, np.zeros(at))
        self.normal, self.spare = self.p[:count], self.y[:count]

    def completed(self, modes: Modes, pressing: Array) -> Modes:
        """The modes with what sticks and slides."""
        now, n = self.now, len(self.now.rubbing)
        sliding, stuck, still, guess = {}, [], [], [pressing]
        signs = now.signs.copy()
        for k, unit_ in zip(now.rubbing, self.units[:n], strict=True):
            if k not in modes.place:
                continue
            whither = now.whither.get(k, self._sets_out(unit_, k in self.let_go.slipping))
            if whither is None:
                stuck.append(k)
                T = now.across[k][0]
                guess.append(tangents(now.c.normal[k]) @ (self.p[list(unit_.rows)] @ T))
            else:
                sliding[k] = whither if k in now.whither else whither @ now.across[k][0]
        for j, unit_ in zip(now.at_rest, self.units[n:], strict=True):
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
