"""One simulation under way: flight, events, impacts, and what is kept of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.integrate

from appell.errors import InputError
from appell.robot import Robot
from appell.simulation.bounds import deepest
from appell.simulation.contact import Contacts, State
from appell.simulation.events import Degenerate, Gaps, flat, margin_lost
from appell.simulation.flow import flow
from appell.simulation.hold import STILL, Holder, Indices, LetGo, Modes
from appell.simulation.impact import Impact, audit, jump, recorded
from appell.simulation.least import Contradiction, Paradox
from appell.simulation.path import Piece, step_taken
from appell.simulation.run import Run, normalised
from appell.simulation.settle import TOUCH, least_change, settle
from appell.simulation.torques import BadTorque, Segmented, Torque

Array = npt.NDArray[np.floating[Any]]

_CHANGES, _MOMENT = 1000, 0.01  # so many events without an impact, within so many s, are endless
_AT_ONCE = 1000  # impacts and changes of mode without any time between them
_PATIENCE = 10  # after so many, a force or speed that rounding makes negative is let pass


class Stopped(Exception):
    """A run that cannot go on; its message says why."""


@dataclass(frozen=True)
class Options:
    restitution: Array  # of each contact
    mu: Array
    law: str
    gap: float
    friction: bool
    method: str
    rtol: float
    atol: float
    max_step: float
    max_impacts: int
    max_steps: int
    breakpoints: tuple[float, ...] = ()
    formulation: str | None = None  # of the equations of motion


class Flight:
    """The state, and the motion so far."""

    def __init__(
        self,
        robot: Robot,
        contacts: Contacts,
        torque: Torque,
        options: Options,
        before: Run | None,
    ) -> None:
        self.robot, self.contacts, self.law, self.options = robot, contacts, torque, options
        self.torque = Segmented(torque) if options.breakpoints else torque
        self.nq, self.nv = robot.nq, robot.nv
        self.angles = [i for i, joint in enumerate(robot.model.joints) if joint.kind == "revolute"]
        o = options
        self.holder = Holder(robot, contacts, self.torque, o.mu, o.friction, o.atol, o.formulation)
        self.before = before
        self.pieces: list[Piece] = []
        self.rows: list[tuple[float, Array, Array, Array]] = []  # t, q, v, reactions
        self.impacts: list[Impact] = []
        self.recent: deque[float] = deque(maxlen=o.max_impacts + 1)  # impacts
        self.changes: deque[float] = deque(maxlen=_CHANGES)  # events without an impact
        self.modes = Modes()
        self.residuals = {"penetration": 0.0, "quaternion": 0.0}
        self.at_once = self.steps = 0
        self.closed = False  # whether a gap has just closed

    def begin(self, t: float, q: Array, v: Array) -> None:
        """Take the start, if the robot can be there."""
        self.t, self.q, self.v = t, q, v
        try:
            self.torque(t, q, v)
        except BadTorque as problem:
            raise InputError(f"torque(t, q, v): {problem}") from problem
        m = len(self.contacts)
        if not m:
            return
        c = self.contacts.at(q, v)
        for k in range(m):
            point, wall = self.contacts.names[k]
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
                if self.at_once > _AT_ONCE:
                    raise Stopped(
                        f"contacts open and close endlessly at {self.t:.6g} s; the forces there "
                        "have no solution that lasts"
                    )
                if len(self.impacts) == struck and self.t < until:
                    self.changes.append(self.t)
                if self._crowded(self.changes, _MOMENT):
                    raise Stopped(
                        f"contacts changed between rest and motion {_CHANGES} times in "
                        f"{_MOMENT} s, at {self.t:.6g} s; looser rtol and atol may lead past it"
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

    def _segment(self, until: float) -> float:
        """The end, or the next breakpoint of the torque law if it comes first."""
        if not isinstance(self.torque, Segmented):
            return until
        times = self.options.breakpoints
        k = bisect_right(times, self.t)
        end = min(times[k], until) if k < len(times) else until
        self.torque.between(times[k - 1] if k else -np.inf, times[k] if k < len(times) else np.inf)
        return end

    def _longest(self, v: Array) -> float:
        """How long a step may be: no joint makes more than half a turn in it at its speed."""
        fastest = float(np.abs(v[self.angles]).max(initial=0.0))
        return min(self.options.max_step, pi / fastest if fastest else np.inf)

    def _until_event(self, until: float, show: Callable[[float, int], None]) -> LetGo:
        """Integrate to the next event or the end; returns what the event lets go."""
        o = self.options
        integrator = getattr(scipy.integrate, o.method)
        solver = integrator(
            self._rate(), self.t, np.concatenate([self.q, self.v]), until,
            rtol=o.rtol, atol=o.atol, max_step=self._longest(self.v),
        )  # fmt: skip
        first = True
        while solver.status == "running":
            solver.max_step = self._longest(solver.y[self.nq :])
            problem = solver.step()
            self.steps += 1
            if self.steps > o.max_steps:
                raise Stopped(
                    f"{o.max_steps} steps were taken by {solver.t:.6g} s, the last one "
                    f"{solver.t - solver.t_old:.2g} s long; smooth a torque law that jumps (dry "
                    "friction is friction=True), loosen rtol, or raise max_steps"
                )
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                why = problem or "the state is no longer finite"
                raise Stopped(f"the integrator cannot go on at {solver.t:.6g} s: {why}")
            piece = step_taken(solver)
            end, lost = self._event(piece, first)
            if end is not None:
                piece = piece._replace(end=end)
            if piece.end > piece.start:
                self._take(piece)
            self.closed = end is not None and lost is None
            if end is not None:
                return LetGo() if lost is None else self.holder.let_go(self.modes, lost)
            self.modes = self.holder.later(self.q, self.v, self.modes)
            show(self.t, len(self.impacts))
            first = False
        return LetGo()

    def _rate(self) -> Callable[[float, Array], Array]:
        """dy/dt of y = (q, v) while the modes last."""
        nq, torque = self.nq, self.torque
        if self.modes.simple and not self.holder.rubs:
            flows = flow(self.robot.model, self.options.formulation)
            return lambda t, y: flows(q := y[:nq], v := y[nq:], torque(t, q, v))

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
                lambda t, y: self.holder.margins(t, y[: self.nq], y[self.nq :], modes),
                piece.full if end is None else end,
                first and self.at_once > _PATIENCE,
            )
            if found is not None:
                end, lost = found
        return end, lost

    def _take(self, piece: Piece) -> None:
        """Move on to the end of a piece."""
        y = piece.y[-1] if piece.end == piece.full else piece(piece.end)
        self.t, self.q, self.v = piece.end, y[: self.nq], y[self.nq :]
        if self.robot.model.free:
            length = float(np.linalg.norm(self.q[3:7]))
            worst = max(self.residuals["quaternion"], abs(length - 1))
            self.residuals["quaternion"] = worst
            self.q = normalised(self.q, self.nv)
        self.pieces.append(piece)
        self._keep()

    # Impacts

    def _touch(self, let_go: LetGo) -> None:
        """Impacts, if there are any now, and what holds afterwards."""
        if len(self.contacts):
            for _ in range(_AT_ONCE):
                if not self._strike():
                    break
                let_go, self.closed = LetGo(), True
            else:
                raise Stopped(f"impacts at {self.t:.6g} s do not end: {self.impacts[-1]}")
        try:
            settled = settle(self.holder, self.t, self.q, self.v, let_go)
        except Paradox:
            self._jam()
            settled = settle(self.holder, self.t, self.q, self.v, LetGo())
        self.q, self.v, self.modes = settled
        self._keep(changed=True)

    def _strike(self) -> bool:
        """One impact of all contacts that touch and approach; False if none does. What is only
        near is struck with one that closes, and by itself when it gets there."""
        c = self.contacts.at(self.q, self.v)
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
        e = np.where(rebounds, self.options.restitution[taking], 0.0)
        self._change(c, taking, e, self.v)
        return True

    def _jam(self) -> None:
        """An impact of sliding contacts that do not approach: where no finite force holds them
        (Painleve's paradox), impulses stop the slide (Genot and Brogliato 1999)."""
        c = self.contacts.at(self.q, self.v)
        touching = np.flatnonzero(c.gap <= self.options.gap)
        slow = np.maximum(self.holder.slowest(c, touching, self.t, self.q, self.v), STILL)
        taking = touching[c.rate[touching] <= slow]
        # Impulses of zero would do, but for the least approach.
        M = self.holder.mass_matrix(self.q)
        approach = least_change(M, c.J[taking], -c.rate[taking] - STILL)
        self._change(c, taking, np.zeros(len(taking)), self.v + approach)

    def _change(self, c: State, taking: Indices, e: Array, v: Array) -> None:
        """Speeds v changed by an impact of some contacts, with its record."""
        M = self.holder.mass_matrix(self.q)
        done = jump(self.contacts, c, taking, M, v, e, self.options.mu[taking], self.options.law)
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
        if changed and self.rows:
            t, q, v, _ = self.rows[-1]
            same = t == self.t and np.array_equal(v, self.v) and np.array_equal(q, self.q)
            if same and self.modes.simple:
                return
            if same:
                self.rows.pop()
        reactions = np.zeros(len(self.contacts))
        if len(self.modes.closed):
            f = self.holder.forces(self.t, self.q, self.v, self.modes)
            reactions[self.modes.closed] = f.normal
        self.rows.append((self.t, self.q, self.v, reactions))

    def degenerate(self, problem: Degenerate) -> str:
        point, wall = self.contacts.names[problem.contact]
        return (
            f"at {problem.time:.6g} s {point} meets {wall} where its gradient vanishes; its "
            "function must cross zero with a slope"
        )

    def run(self, stopped: str | None, settings: Mapping[str, Any]) -> Run:
        """The whole motion."""
        t = np.array([row[0] for row in self.rows])
        q = np.array([row[1] for row in self.rows]).reshape(-1, self.nq)
        v = np.array([row[2] for row in self.rows]).reshape(-1, self.nv)
        if len(self.contacts):
            self.residuals["penetration"] = deepest(self.contacts, self.pieces, (q, v))
        new = Run(
            t=t,
            q=q,
            v=v,
            tau=self._torques(t, q, v),
            kinetic=self.robot.kinetic_energy(q, v),
            potential=self.robot.potential_energy(q),
            impacts=self.impacts,
            contacts=self.contacts.names,
            reactions=np.array([row[3] for row in self.rows]).reshape(len(t), -1),
            residuals=self.residuals,
            stopped=stopped,
            robot=self.robot,
            pieces=self.pieces,
            settings=settings,
            formulation=self.options.formulation,
        )
        return new if self.before is None else joined(self.before, new)

    def _torques(self, t: Array, q: Array, v: Array) -> Array:
        tau = np.full_like(v, np.nan)
        for k in range(len(t)):
            try:
                tau[k] = self.law(float(t[k]), q[k], v[k])
            except BadTorque:
                break
        return tau


def joined(before: Run, after: Run) -> Run:
    """Two runs, of which the second goes on where the first ended."""
    arrays = ("t", "q", "v", "tau", "kinetic", "potential", "reactions")
    if before.contacts != after.contacts:
        raise InputError(
            "resume: the run had other contacts; go on with the same walls, points and stops."
        )
    worst = {
        k: max(before.residuals.get(k, 0.0), after.residuals.get(k, 0.0)) for k in after.residuals
    }
    parts = {k: np.concatenate([getattr(before, k), getattr(after, k)[1:]]) for k in arrays}
    return Run(
        **parts,
        impacts=[*before.impacts, *after.impacts],
        contacts=after.contacts,
        residuals=worst,
        stopped=after.stopped,
        robot=after.robot,
        pieces=[*before.pieces, *after.pieces],
        settings=after.settings,
        formulation=after.formulation,
    )
