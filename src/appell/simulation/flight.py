"""One simulation under way: flight, events, impacts, and what is kept of them."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.maths.tableau import Tableau
from appell.model.configuration import with_unit_quaternions
from appell.robots.dynamics import Array
from appell.simulation.contacts.bounds import deepest
from appell.simulation.contacts.contact import Contacts, ContactState
from appell.simulation.contacts.hold import STILL, Holder, Indices, LetGo, Modes
from appell.simulation.contacts.impact import Impact, audit, jump, recorded
from appell.simulation.contacts.least import Contradiction, Paradox
from appell.simulation.contacts.settle import TOUCH, least_change, settle
from appell.simulation.events import Degenerate, Gaps, flat, margin_lost
from appell.simulation.mechanics import Mechanics, Turn
from appell.simulation.path import Piece
from appell.simulation.run import Run, joined
from appell.simulation.stepper import IMPLICIT, Failed, ImplicitStepper, Rate, Stepper, steps
from appell.simulation.torques import BadTorque, Segmented, Torque, force_law

_CHANGES, _MOMENT = 1000, 0.01  # so many events without an impact, within so many s, are endless
_AT_ONCE = 1000  # impacts without any time between them
_ENDLESS = 100  # changes of mode without any time between them
_SHORTEST = 1e-9  # s: in a step of this length no wall bends, unless it has an edge
_PATIENCE = 10  # after so many, a force or speed that rounding makes negative is let pass


class Stopped(Exception):
    """A run that cannot go on; its message says why."""


@dataclass(frozen=True)
class Options:
    """What a simulation was asked for: see `appell.simulate`."""

    restitution: float  # of walls that have none of their own
    stop_restitution: float  # of the joints' limits
    mu: float
    law: str
    gap: float
    friction: bool
    method: str | Tableau
    rtol: float
    atol: float
    max_step: float
    max_impacts: int
    max_steps: int
    breakpoints: tuple[float, ...] = ()
    forces: Any = None  # external ones, as they were given
    axes: str = "base"  # theirs
    driven: bool = False  # whether torques or forces are functions


class Flight:
    """The state, and the motion so far."""

    def __init__(
        self,
        mechanics: Mechanics,
        contacts: Contacts,
        torque: Torque,
        options: Options,
        before: Run | None,
    ) -> None:
        self.mechanics, self.contacts, self.law, self.options = mechanics, contacts, torque, options
        self.restitution = contacts.per_contact(
            lambda wall: wall.restitution, options.restitution, options.stop_restitution
        )
        self.mu = contacts.per_contact(lambda wall: wall.mu, options.mu)
        self.torque = Segmented(torque) if options.breakpoints else torque
        self.nq, self.angles = mechanics.nq, mechanics.angles
        o = options
        pushes = force_law(o.forces, mechanics.robot)
        self.holder = Holder(
            mechanics, contacts, self.torque, self.mu, o.friction, o.atol, pushes, o.axes
        )
        self.before = before
        self.pieces: list[Piece] = []
        self.rows: list[tuple[float, Array, Array, Array]] = []  # t, q, all speeds, reactions
        self.impacts: list[Impact] = []
        self.recent: deque[float] = deque(maxlen=min(o.max_impacts + 1, sys.maxsize))  # impacts
        self.changes: deque[float] = deque(maxlen=_CHANGES)  # events without an impact
        self.modes = Modes()
        self.residuals = {"penetration": 0.0, "quaternion": 0.0}
        self.at_once = self.steps = 0
        self.closed = False  # whether a gap has just closed

    def begin(self, t: float, q: Array, v: Array, choices: tuple[str, ...] = ()) -> None:
        """Take the start, if the robot can be there: its speeds, or those of all its joints with
        the names of those to integrate."""
        self.t, (self.q, self.v) = t, self.mechanics.begin(t, q, v, choices)
        try:
            self.holder.torque(t, self.q, self.v)
        except BadTorque as problem:
            raise InputError(f"torque(t, q, v): {problem}") from problem
        c = self.holder.at(self.q, self.v)
        for k, (point, wall) in enumerate(self.contacts.names):
            if not np.isfinite([c.gap[k], c.rate[k]]).all():
                raise InputError(
                    f"{point} starts where the gradient of {wall} vanishes; its function must "
                    "cross zero with a slope."
                )
            if c.gap[k] < -self.options.gap:
                depth, cure = f"{-c.gap[k]:.3g} m", "leave the point out with points="
                if self.contacts.of_point[k] < 0:
                    depth, cure = f"{-c.gap[k]:.3g}", "pass stops=False"
                raise InputError(f"{point} starts {depth} behind {wall}; change q0, or {cure}.")

    # The motion

    def fly(self, until: float, show: Callable[[float, int], None]) -> None:
        """Move until a time, or raise Stopped."""
        self._keep()
        let_go = LetGo()
        try:
            while self.t < until:
                before, struck = self.t, len(self.impacts)
                segment = self._segment(until)
                self._touch(let_go)
                let_go = self._until_event(segment, show)
                self.at_once = 0 if self.t > before else self.at_once + 1
                if self.at_once > _ENDLESS:
                    raise Stopped(
                        f"{self._touching} open and close, or stick and slip, endlessly at "
                        f"{self.t:.6g} s; the forces there have no solution that lasts: lower mu, "
                        "or watch fewer points with points="
                    )
                if len(self.impacts) == struck and self.t < until:
                    self.changes.append(self.t)
                if self._crowded(self.changes, _MOMENT):
                    raise Stopped(
                        f"{self._touching} changed between rest and motion {_CHANGES} times in "
                        f"{_MOMENT} s, at {self.t:.6g} s; looser rtol and atol, or less friction, "
                        "may lead past it"
                    )
        except BadTorque as problem:
            raise Stopped(str(problem)) from problem
        except Contradiction:
            raise Stopped(
                f"no velocity satisfies all contacts at {self.t:.6g} s: walls leave the robot no "
                "room"
            ) from None
        except Paradox:
            raise Stopped(
                f"a sliding contact jams at {self.t:.6g} s (Painleve's paradox): no finite force "
                "holds it; a lower mu avoids it"
            ) from None

    @property
    def _touching(self) -> str:
        """The contacts that last now, the first three by name."""
        held = [" on ".join(self.contacts.names[k]) for k in self.modes.closed]
        more = f" and {len(held) - 3} more" if len(held) > 3 else ""
        return f"contacts ({', '.join(held[:3])}{more})" if held else "contacts"

    def _segment(self, until: float) -> float:
        """The end, or the next breakpoint of the torque law if it comes first."""
        if not isinstance(self.torque, Segmented):
            return until
        times = self.options.breakpoints
        k = bisect_right(times, self.t)
        end = min(times[k], until) if k < len(times) else until
        self.torque.between(times[k - 1] if k else -np.inf, times[k] if k < len(times) else np.inf)
        return end

    def _longest(self) -> float:
        """How long a step may be: no joint makes more than half a turn in it at its speed."""
        fastest = float(np.abs(self.speeds[self.angles]).max(initial=0.0))
        return min(self.options.max_step, pi / fastest if fastest else np.inf)

    def _until_event(self, until: float, show: Callable[[float, int], None]) -> LetGo:
        """Integrate to the next event or the end; returns what the event lets go."""
        first, longest = True, self._longest()
        stepper = self._steps(until, longest)
        while self.t < until:
            piece = self._step(stepper, longest)
            if len(self.modes.closed) and Gaps(self.contacts, piece).astray(self.modes.closed):
                longest = (piece.end - piece.start) / 4
                if longest < _SHORTEST:  # at an edge of its wall the contact strikes it
                    self._take(piece)
                    self.closed = True
                    return LetGo()
                stepper = self._steps(until, longest)
                continue
            longest *= 2
            end, lost = self._event(piece, first)
            if end is not None:
                piece = piece._replace(end=end)
            turn = self.mechanics.turn(piece)
            if turn is not None:
                end, lost, piece = turn.time, None, piece._replace(end=turn.time)
            if piece.end > piece.start:
                self._take(piece)
            self.closed = end is not None and lost is None and turn is None
            if turn is not None:
                self._describe(turn)
            if end is not None:
                return LetGo() if lost is None else self.holder.let_go(self.modes, lost)
            self.modes = self.holder.later(self.q, self.v, self.modes)
            show(self.t, len(self.impacts))
            first = False
            better = self.mechanics.better(self.q)
            if better is not None:
                self._describe(Turn(self.t, speeds=better))
                break
            if self.mechanics.restores:
                stepper.put(np.concatenate([self.q, self.v]))
        return LetGo()

    def _cure(self) -> str:
        """What may help where too many steps are taken."""
        o = self.options
        cures = ["smooth a law that jumps (dry friction is friction=True)"] if o.driven else []
        if o.method not in IMPLICIT:
            cures.append('method="Radau" for stiff robots, as those with strong springs or dampers')
        return ", ".join([*cures, "loosen rtol", "or raise max_steps"])

    def _steps(self, until: float, longest: float) -> Stepper | ImplicitStepper:
        """The integrator, from the present state."""
        o, y = self.options, np.concatenate([self.q, self.v])
        return steps(
            o.method, self._rate(), self.t, y, until, rtol=o.rtol, atol=o.atol, max_step=longest
        )

    def _step(self, stepper: Stepper | ImplicitStepper, longest: float) -> Piece:
        """One step of the integrator."""
        stepper.max_step = min(longest, self._longest())
        self.steps += 1
        if self.steps > self.options.max_steps:
            last = self.t - self.pieces[-1].start if self.pieces else 0.0
            raise Stopped(
                f"{self.options.max_steps} steps were taken by {self.t:.6g} s, the last one "
                f"{last:.2g} s long; {self._cure()}"
            )
        try:
            stepper.step()
        except Failed as problem:
            raise Stopped(f"the integrator cannot go on at {self.t:.6g} s: {problem}") from None
        if not np.isfinite(stepper.y).all():
            raise Stopped(
                f"the integrator cannot go on at {self.t:.6g} s: the state is no longer finite"
            )
        return self.mechanics.path(stepper.piece())

    def _describe(self, turn: Turn) -> None:
        """Go on with other speeds, or stop, where the motion cannot be described as it was."""
        if turn.reason is not None:
            raise Stopped(turn.reason)
        if turn.speeds is not None:
            *_, speeds, reactions = self.rows.pop()
            self.mechanics.choose(self.t, turn.speeds, self.q)
            self.v = speeds[list(turn.speeds)]
            self.rows.append((self.t, self.q, self.speeds, reactions))

    @property
    def speeds(self) -> Array:
        """Of all joints."""
        return self.mechanics.speeds(self.q, self.v)

    def _rate(self) -> Rate:
        """dy/dt of y = (q, v) while the modes last."""
        nq, torque, flow = self.nq, self.holder.torque, self.mechanics.flow
        if self.modes.simple and not self.holder.rubs:
            return lambda t, y: flow(q := y[:nq], v := y[nq:], torque(t, q, v))

        def rate(t: float, y: Array) -> Array:
            f = self.holder.forces(t, y[:nq], y[nq:], self.modes)
            return np.concatenate([f.dq, f.a])

        return rate

    def _event(self, piece: Piece, first: bool) -> tuple[float | None, int | None]:
        """The time of the first event in a step; and which margin it is, unless a gap closes."""
        modes, m = self.modes, len(self.contacts)
        end, lost = None, None
        if m:
            held, leaving, loose = (np.zeros(m, dtype=bool) for _ in range(3))
            held[modes.closed] = held[modes.carried] = True
            if first:
                leaving[modes.leaving] = loose[modes.loose] = True
            end = Gaps(self.contacts, piece).closing(held, leaving, loose)
        if not modes.simple or modes.turning is not None:
            found = margin_lost(
                piece,
                lambda t, y: self.holder.margins(t, *self._state(y), modes),
                piece.full if end is None else end,
                first and self.at_once > _PATIENCE,
            )
            if found is not None:
                end, lost = found
        return end, lost

    def _take(self, piece: Piece) -> None:
        """Move on to the end of a piece."""
        y = piece.y[-1] if piece.end == piece.full else piece(piece.end)
        self.t, (self.q, self.v) = piece.end, self._state(y)
        if self.mechanics.quaternions:
            q = with_unit_quaternions(self.q, self.mechanics.quaternions)
            away = float(np.linalg.norm(self.q - q))  # how far its length is from one
            self.q, self.residuals["quaternion"] = q, max(self.residuals["quaternion"], away)
        self.q = self.mechanics.restored(self.q)
        self.pieces.append(piece)
        self._keep()

    def _state(self, y: Array) -> tuple[Array, Array]:
        """The coordinates of a place of a piece, and the speeds that are integrated."""
        return y[: self.nq], self.mechanics.integrated(y[self.nq :])

    # Impacts

    def _touch(self, let_go: LetGo) -> None:
        """Impacts, if there are any now, and what holds afterwards."""
        for _ in range(_AT_ONCE):
            if not self._strike():
                break
            let_go, self.closed = LetGo(), True
        else:
            raise Stopped(f"impacts at {self.t:.6g} s do not end: {self.impacts[-1]}")
        try:
            settled = settle(self.holder, self.t, self.q, self.v, let_go)
        except Paradox:
            if not len(self.contacts):
                raise
            self._jam()
            settled = settle(self.holder, self.t, self.q, self.v, LetGo())
        self.q, self.v, self.modes = settled
        self._keep(changed=True)

    def _strike(self) -> bool:
        """One impact of all contacts that touch and approach; False if none does. What is only
        near is struck with one that closes, and by itself when it gets there."""
        c = self.holder.at(self.q, self.v)
        touching = np.flatnonzero(c.gap <= self.options.gap)
        leads = np.full(len(touching), True) if self.closed else c.gap[touching] <= TOUCH
        rate = c.rate[touching]
        if not (rate[leads] < 0).any():
            return False
        slow = self.holder.slowest(c, touching, self.t, self.q, self.v)
        if not (rate < -slow)[leads].any():
            return False
        struck = rate <= slow
        taking, rebounds = touching[struck], (rate < -slow)[struck]
        for k in taking:
            if self.contacts.implicit[k] and flat(c.normal[k]):
                raise Degenerate(int(k), self.t)
        e = np.where(rebounds, self.restitution[taking], 0.0)
        self._change(c, taking, e, self.v)
        return True

    def _jam(self) -> None:
        """An impact of sliding contacts that do not approach: where no finite force holds them
        (Painleve's paradox), impulses stop the slide (Genot and Brogliato 1999)."""
        c = self.holder.at(self.q, self.v)
        touching = np.flatnonzero(c.gap <= self.options.gap)
        slow = np.maximum(self.holder.slowest(c, touching, self.t, self.q, self.v), STILL)
        taking = touching[c.rate[touching] <= slow]
        # Impulses of zero would do, but for the least approach.
        M = self.mechanics.mass_matrix(self.q)
        approach = least_change(M, c.J[taking], -c.rate[taking] - STILL)
        self._change(c, taking, np.zeros(len(taking)), self.v + approach)

    def _change(self, c: ContactState, taking: Indices, e: Array, v: Array) -> None:
        """Speeds v changed by an impact of some contacts, with its record."""
        M = self.mechanics.mass_matrix(self.q)
        done = jump(self.contacts, c, taking, M, v, e, self.mu[taking], self.options.law)
        impact = recorded(self.contacts, c, taking, self.t, self.v, done)
        audit(impact, float(0.5 * self.v @ M @ self.v), self.options.law)
        self.impacts.append(impact)
        self.v = done.v
        self.recent.append(self.t)
        if self._crowded(self.recent, 1.0):
            raise Stopped(
                f"more than max_impacts = {self.options.max_impacts} within a second, at "
                f"{self.t:.6g} s"
            )

    def _crowded(self, times: deque[float], within: float) -> bool:
        """Whether a full list of events spans less than a time."""
        return len(times) == times.maxlen and self.t - times[0] < within

    # What is kept

    def _keep(self, changed: bool = False) -> None:
        """A row of the run; one that changed at once only if it differs from the last."""
        speeds = self.speeds
        if changed and self.rows:
            t, q, v, _ = self.rows[-1]
            same = t == self.t and np.array_equal(v, speeds) and np.array_equal(q, self.q)
            if same and self.modes.simple:
                return
            if same:
                self.rows.pop()
        reactions = np.zeros(len(self.contacts))
        if len(self.modes.closed):
            f = self.holder.forces(self.t, self.q, self.v, self.modes)
            reactions[self.modes.closed] = f.normal
        self.rows.append((self.t, self.q, speeds, reactions))

    def degenerate(self, problem: Degenerate) -> str:
        """Why a run stops where a wall has no slope."""
        point, wall = self.contacts.names[problem.contact]
        return (
            f"at {problem.time:.6g} s {point} meets {wall} where its gradient vanishes; its "
            "function must cross zero with a slope"
        )

    def run(self, stopped: str | None, settings: Mapping[str, Any]) -> Run:
        """The whole motion."""
        mechanics = self.mechanics
        t, q, speeds, reactions = (np.array(x) for x in zip(*self.rows, strict=True))
        if len(self.contacts):
            self.residuals["penetration"] = deepest(self.contacts, self.pieces, (q, speeds))
        v, closed = speeds[:, mechanics.shown], mechanics.restores
        new = Run(
            t=t,
            q=q,
            v=v,
            tau=self._torques(t, q, v),
            kinetic=mechanics.tree.kernel("kinetic_energy")(q, speeds),
            potential=mechanics.tree.kernel("potential_energy")(q),
            impacts=self.impacts,
            contacts=self.contacts.names,
            reactions=reactions,
            residuals=self.residuals,
            stopped=stopped,
            robot=mechanics.robot,
            pieces=self.pieces,
            settings=settings,
            walls=self.contacts.walls,
            places=self.contacts.places,
            formulation=mechanics.formulation,
            quaternions=mechanics.quaternions,
            speeds=speeds if closed else None,
            independent=tuple(mechanics.shown.tolist()) if closed else None,
            opening=mechanics.opening(q),
            choices=mechanics.choices,
        )
        return new if self.before is None else joined(self.before, new)

    def _torques(self, t: Array, q: Array, v: Array) -> Array:
        tau = np.full((len(t), self.mechanics.actuators), np.nan)
        for k in range(len(t)):
            try:
                tau[k] = self.law(float(t[k]), q[k], v[k])
            except BadTorque:
                break
        return tau
