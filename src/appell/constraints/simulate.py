"""Motion of closed robots that never drifts apart.

The state is q and the independent speeds. Speeds satisfy the loops because v = Gamma(q) u
does; coordinates are put back on the loops after each step of the integrator, by what it
erred. Where the independent speeds degenerate others take their place; where no choice
helps, the loops themselves are singular, and the run stops with what it has. It also stops
where a joint reaches its limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.constraints.choose import freedom_at
from appell.constraints.closed import ClosedRobot
from appell.constraints.keep import picture, save_arrays, smooth
from appell.constraints.refusal import OPEN, SingularError, finite
from appell.constraints.regular import (
    POOR,
    Look,
    first_limit,
    first_singular,
    look,
)
from appell.equations.free import coordinate_rates
from appell.errors import InputError, interrupted
from appell.model.limits import Limit, limits
from appell.model.units import units_of
from appell.robot import Array, Numbers, Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Law = Callable[[float, Array, Array], npt.ArrayLike]

_FALLEN = (
    0.1  # the quality, by that of the speeds when they were chosen, at which others are sought
)


@dataclass(frozen=True, eq=False, repr=False)
class ClosedRun:
    """A simulated motion: N instants, at the integrator's steps."""

    robot: ClosedRobot = field(repr=False)
    t: Array  # (N,) s
    q: Array  # (N, nq)
    v: Array  # (N, nv), of the robot's independent joints
    speeds: Array  # (N, joints) of all joints of the tree
    tau: Array  # (N, actuators)
    kinetic: Array  # (N,) J
    potential: Array  # (N,) J
    opening: Array  # (N,) the largest that any loop is open, m or rad
    choices: list[tuple[float, tuple[str, ...]]]  # from when on which speeds were independent
    stopped: str | None = None  # why it ended before its time

    @property
    def energy(self) -> Array:
        """(N,) kinetic and potential, J."""
        return self.kinetic + self.potential

    def __repr__(self) -> str:
        end = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"<ClosedRun of {self.robot.name}: {self.t[0]:g} s to {self.t[-1]:g} s, "
            f"{len(self.t)} instants{end}>"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run's arrays to an .npz file, for ``numpy.load``."""
        arrays = {
            name: getattr(self, name)
            for name in ("t", "q", "v", "speeds", "tau", "kinetic", "potential", "opening")
        }
        return save_arrays(path, arrays)

    def plot(self) -> Figure:
        """A Matplotlib figure: coordinates, speeds and energies over time, smooth between the
        instants."""
        model = self.robot.model
        rates = np.column_stack(coordinate_rates(model, self.q.T, self.speeds.T))
        t, q, v, T, U = smooth(self.t, self.q, rates, self.v, self.kinetic, self.potential)
        energies = {"kinetic": T, "potential": U, "total": T + U}
        units = units_of([joint.kind for joint in model.joints], model.nv)
        driving = [units[k] for k in self.robot.mechanism.independent]
        return picture((t, q, v), (t, energies), (units, driving))


_LONGEST = 0.01  # s: every integrator looks at a torque law at least once in it


def longest_step(max_step: float | None, torque: Any) -> float:
    """The longest step: the one that is given, or one that does not step over a torque law."""
    return (_LONGEST if callable(torque) else np.inf) if max_step is None else max_step


def simulate_closed(
    robot: ClosedRobot,
    q0: Numbers,
    v0: Numbers | None = None,
    *,
    until: float,
    torque: npt.ArrayLike | Law | None = None,
    stops: bool = True,
    friction: bool = False,
    rtol: float = 1e-12,
    atol: float = 1e-13,
    max_step: float | None = None,
    max_steps: int = 100_000,
    singular: float = 1e-4,
    show: Callable[[float], None] | None = None,
) -> ClosedRun:
    """Move a closed robot from q0, v0 at time 0 (at rest without v0) until a time, in s.

    ``torque`` is an array (actuators,) or a law (t, q, v) -> tau, none without it. No step is
    longer than ``max_step``, in s; with a law that is 0.01 s, so that whatever lasts 10 ms is seen.
    ``show`` is called with the time after each step. A run ends early, and says why in
    ``stopped``, when

    - a joint reaches its limit, unless ``stops`` is False (impacts at limits are not simulated);
    - the margin of the loops (``robot.margins``) falls to ``singular``: there errors of the
      integrator, 1e-12, grow to 1e-8 in the dependent speeds, and where the margin is zero motion
      may branch;
    - it takes more than ``max_steps`` steps, the law fails, or it is interrupted from the keyboard.
    """
    start = finite("simulate: q0", q0, robot.nq)
    v = np.zeros(robot.nv) if v0 is None else finite("simulate: v0", v0, robot.nv)
    if start.ndim > 1 or v.ndim > 1:
        raise InputError(
            f"simulate: q0 and v0 have shapes {start.shape} and {v.shape}; expected one state."
        )
    if not _real(until) or not 0 < until < np.inf:
        raise InputError(f"simulate: until = {until!r}; expected a time after 0 s.")
    longest = longest_step(max_step, torque)
    accuracy = {"rtol": rtol, "atol": atol, "max_step": longest, "singular": singular}
    for name, x in accuracy.items():
        if not _real(x) or not x > 0:
            raise InputError(f"simulate: {name} = {x!r}; expected a positive number.")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise InputError(f"simulate: max_steps = {max_steps!r}; expected a whole number above 0.")
    opening = np.abs(robot.closure(start)).max(initial=0.0)
    if not opening <= OPEN:
        raise InputError(
            f"simulate: at q0 a loop of '{robot.name}' is open by {opening:.3g} (m or rad); start "
            "from robot.assemble(q0)."
        )
    flight = _Flight(
        robot, _law(robot, torque), friction, (rtol, atol, longest), singular, max_steps, show
    )
    q = robot.assemble(start)
    flight.limits = _limits(robot, q) if stops else []
    return flight.run(q, v, float(until))


def _limits(robot: ClosedRobot, q: Array) -> list[tuple[Limit, float]]:
    """The limits of the joints, and how far beyond each of them q is."""
    beyond = [(limit, float(limit.beyond(q))) for limit in limits(robot.model)]
    for limit, by in beyond:
        if by > OPEN:
            raise InputError(
                f"simulate: q0 is {by:.3g} beyond {limit}; change q0, or pass stops=False."
            )
    return [(limit, max(by, 0.0)) for limit, by in beyond]


def _real(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and not isinstance(x, bool)


class _LawError(Exception):
    """A torque law that failed; its message says how."""


class _Flight:
    def __init__(
        self,
        robot: ClosedRobot,
        law: Law | None,
        friction: bool,
        accuracy: tuple[float, float, float],
        singular: float,
        max_steps: int,
        show: Callable[[float], None] | None,
    ) -> None:
        self.robot, self.law, self.friction = robot, law, friction
        self.accuracy, self.singular = accuracy, singular
        self.max_steps, self.show = max_steps, show or (lambda t: None)
        self.limits: list[tuple[Limit, float]] = []
        self.ways: dict[tuple[int, ...], ClosedRobot] = {}
        self.choices: list[tuple[float, tuple[str, ...]]] = []
        self.asked = list(robot.mechanism.independent)
        self.states: list[tuple[float, Array, Array]] = []

    def run(self, q: Array, v: Array, until: float) -> ClosedRun:
        self._choose(0.0, tuple(self.asked), q)
        if not self._looked(q).margin > self.singular or not self.first > POOR:
            raise SingularError(
                f"simulate: q0 is singular: the speeds of {', '.join(self.robot.independent)} do "
                f"not determine the others. Those of {', '.join(self.robot.best_independent(q))} "
                "do it best there: robot.described_by([...])."
            )
        self.states = [(0.0, q, self.now.speeds(q, v))]
        try:
            solver = self._solver(until)
        except _LawError as reason:
            raise InputError(str(reason)) from reason
        try:
            stopped = self._fly(solver, until)
        except _LawError as reason:
            stopped = str(reason)
        except KeyboardInterrupt:
            interrupted()
            stopped = f"interrupted at {self.states[-1][0]:.6g} s"
        return self._result(stopped)

    def _fly(self, solver: Any, until: float) -> str | None:
        """Step by step to the end; why it came early."""
        ending: str | None = None  # once it is known where the run ends, and why
        for _ in range(self.max_steps):
            t = self.states[-1][0]
            problem = solver.step()
            if solver.status == "failed":
                return f"the integrator stopped at {t:.6g} s: {problem}"
            event = None if ending else self._event(solver)
            if event is None:
                self._accept(solver)
                if solver.t == until or (ending and solver.status == "finished"):
                    return ending
                if (not ending and self._changed()) or solver.status == "finished":
                    solver = self._solver(until)
                continue
            # Again from before this step: to where the run ends, or with other speeds, or (if those
            # do not describe the motion here yet) to halfway there.
            when, ending, there = event
            at_once = when - t <= 1e-12 * max(1.0, t)
            if ending and at_once:
                return ending
            if ending:
                solver = self._solver(when)
            elif self._passing(there):
                solver = self._solver(until)
            elif at_once:
                return f"no choice of independent speeds describes the motion at {t:.6g} s"
            else:
                solver = self._solver(0.5 * (t + when))
        return f"more than {self.max_steps} steps (max_steps) until {self.states[-1][0]:.6g} s"

    def _event(self, solver: Any) -> tuple[float, str | None, Array] | None:
        """The first event of a step: when, why it ends the run (None if other speeds lead past
        it), and at which coordinates."""
        between, nq = solver.dense_output(), self.robot.nq

        def place(times: Array) -> Array:
            return np.ascontiguousarray(between(times).T[..., :nq])

        start, end = solver.t_old, solver.t
        reached = first_limit(self.limits, start, end, place)
        if reached is not None:
            end = max(start, reached[0])
        found = first_singular(self.robot.assembly, self.chosen, start, end, place, self.singular)
        if found is None and reached is None:
            return None
        if found is None:
            assert reached is not None
            return end, f"{reached[1]} was reached at {end:.6g} s", place(np.array([end]))[0]
        return found.t, self._singular(found.t) if found.of_loops else None, found.q

    def _singular(self, t: float) -> str:
        return (
            f"singular configuration of '{self.robot.name}': at {t:.6g} s the margin of its loops "
            f"falls to {self.singular:g}; no choice of independent speeds leads past it"
        )

    # The independent speeds

    def _choose(self, t: float, chosen: tuple[int, ...], q: Array) -> None:
        if chosen not in self.ways:
            names = [self.robot.joint_names[k] for k in chosen]
            same = chosen == self.robot.mechanism.independent
            way = self.robot if same else self.robot.described_by(names, at=q)
            self.ways[chosen] = way.unchecked()
        self.chosen, self.now = list(chosen), self.ways[chosen]
        self.choices.append((t, self.now.independent))
        self.first = float(self._looked(q).quality)

    def _looked(self, q: Array) -> Look:
        return look(self.robot.assembly, self.chosen, np.zeros(1), q[None]).at(0)

    def _changed(self) -> bool:
        """Whether other speeds are much better at the last state, and are now used."""
        t, q, _ = self.states[-1]
        quality = float(self._looked(q).quality)
        if quality > _FALLEN * self.first:
            return False
        self.first = quality  # asked again only when it has fallen further
        free = freedom_at(self.robot.assembly, q)
        best = tuple(free.best())
        if free.n != self.robot.nv or free.qualities(best)[0] < 3 * quality:
            return False
        self._choose(t, best, q)
        return True

    def _passing(self, there: Array) -> bool:
        """Whether other speeds, now used, describe both the last state and where these became
        poor."""
        t, q, _ = self.states[-1]
        free = freedom_at(self.robot.assembly, there)
        best = tuple(free.best())
        if free.n != self.robot.nv:
            return False
        here = look(self.robot.assembly, best, np.zeros(1), q[None]).quality[0]
        tried = sum(when == t for when, _ in self.choices)
        if list(best) == self.chosen or here < 10 * POOR or tried > 3:
            return False
        self._choose(t, best, q)
        return True

    # The integrator

    def _solver(self, until: float) -> Any:
        """The integrator from the last state on."""
        from scipy.integrate import DOP853

        t, q, v = self.states[-1]
        rtol, atol, longest = self.accuracy
        nq = self.robot.nq
        now, flow = self.now, "flow_with_friction" if self.friction else "flow"

        def rate(t: float, y: Array) -> Array:
            q, u = y[:nq].copy(), y[nq:].copy()
            state = (q, u) if self.law is None else (q, u, self._tau(t, q, u))
            return now._evaluate(flow, state, None)

        y = np.concatenate([q, v[self.chosen]])
        return DOP853(rate, t, y, until, rtol=rtol, atol=atol, max_step=longest)

    def _tau(self, t: float, q: Array, u: Array) -> Array:
        assert self.law is not None
        same = self.chosen == self.asked
        v = u if same else self.now.speeds(q, u)[self.asked]
        try:
            tau = np.asarray(self.law(t, q.copy(), v.copy()), dtype=float)
        except Exception as problem:  # the user's own code may raise anything
            raise _LawError(f"the torque law raised {problem!r} at {t:.6g} s") from problem
        if tau.shape != (len(self.robot.actuated),) or not np.isfinite(tau).all():
            raise _LawError(
                f"the torque law gave {tau!r} at {t:.6g} s; expected {len(self.robot.actuated)} "
                "finite numbers."
            )
        return tau

    def _accept(self, solver: Any) -> None:
        """Keep a step, its coordinates put back on the loops."""
        nq = self.robot.nq
        q, u = solver.y[:nq].copy(), solver.y[nq:].copy()
        if self.robot.model.free:
            q[3:7] /= np.linalg.norm(q[3:7])
        q = self.robot.assembly.nearest(q)
        solver.y = np.concatenate([q, u])
        solver.f = solver.fun(solver.t, solver.y)
        self.states.append((float(solver.t), q, self.now.speeds(q, u)))
        self.show(float(solver.t))

    def _result(self, stopped: str | None) -> ClosedRun:
        t, q, speeds = (np.array(x) for x in zip(*self.states, strict=True))
        tree, v = Robot(self.robot.model), speeds[:, self.asked]
        law = self.law or (lambda t, q, v: np.zeros(0))
        return ClosedRun(
            self.robot, t, q, v, speeds,
            tau=np.array(
                [law(x, y.copy(), z.copy()) for x, y, z in zip(t, q, v, strict=True)], dtype=float
            ),
            kinetic=tree.kinetic_energy(q, speeds),
            potential=tree.potential_energy(q),
            opening=np.abs(self.robot.closure(q)).max(axis=-1, initial=0.0),
            choices=self.choices,
            stopped=stopped,
        )  # fmt: skip


def _law(robot: ClosedRobot, torque: Any) -> Law | None:
    n = len(robot.actuated)
    if not n:
        if torque is not None:
            raise InputError(f"'{robot.name}' has no actuators; leave out torque.")
        return None
    if callable(torque):
        return torque
    tau = np.zeros(n) if torque is None else finite("simulate: torque", torque, n)
    if tau.ndim > 1:
        raise InputError(f"simulate: torque has shape {tau.shape}; expected ({n},), or a law.")
    return lambda t, q, v: tau
