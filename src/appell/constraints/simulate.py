"""Motion of closed robots that never drifts apart.

The state is q and the independent speeds. Speeds satisfy the loops because v = Gamma(q) u
does; coordinates are put back on the loops after each step of the integrator, by what it
erred. Where the independent speeds degenerate others take their place; where no choice
helps, the loops themselves are singular, and the run stops with what it has.
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
from appell.constraints.refusal import SingularError, finite
from appell.equations.free import coordinate_rates
from appell.errors import InputError, interrupted
from appell.model.units import units_of
from appell.robot import Array, Numbers, Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Law = Callable[[float, Array, Array], npt.ArrayLike]

_LOOKS = np.arange(1, 10) / 9  # where each step is searched for a singular configuration
_FALLEN = 0.1  # the margin, by that of the speeds when they were chosen, at which others are sought


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


def simulate_closed(
    robot: ClosedRobot,
    q0: Numbers,
    v0: Numbers | None = None,
    *,
    until: float,
    torque: npt.ArrayLike | Law | None = None,
    friction: bool = False,
    rtol: float = 1e-12,
    atol: float = 1e-13,
    max_step: float = np.inf,
    singular: float = 1e-4,
) -> ClosedRun:
    """Move a closed robot from q0, v0 at time 0 (at rest without v0) until a time, in s.

    ``torque`` is an array (actuators,) or a law (t, q, v) -> tau, none without it. The run stops
    before a configuration whose loops have a margin below ``singular``, and says so in ``stopped``.
    """
    start = finite("simulate: q0", q0, robot.nq)
    v = np.zeros(robot.nv) if v0 is None else finite("simulate: v0", v0, robot.nv)
    if start.ndim > 1 or v.ndim > 1:
        raise InputError(
            f"simulate: q0 and v0 have shapes {start.shape} and {v.shape}; expected one state."
        )
    if not _real(until) or not 0 < until < np.inf:
        raise InputError(f"simulate: until = {until!r}; expected a time after 0 s.")
    accuracy = {"rtol": rtol, "atol": atol, "max_step": max_step, "singular": singular}
    for name, x in accuracy.items():
        if not _real(x) or not x > 0:
            raise InputError(f"simulate: {name} = {x!r}; expected a positive number.")
    flight = _Flight(robot, _law(robot, torque), friction, (rtol, atol, max_step), singular)
    q = robot.assemble(start)
    given = np.abs(robot.closure(start)).max(initial=0.0)
    if given > 1e-6:
        raise InputError(
            f"simulate: at q0 a loop of '{robot.name}' is open by {given:.3g} (m or rad); start "
            "from robot.assemble(q0)."
        )
    return flight.run(q, v, float(until))


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
    ) -> None:
        self.robot, self.law, self.friction = robot, law, friction
        self.accuracy, self.singular = accuracy, singular
        self.ways: dict[tuple[int, ...], ClosedRobot] = {}
        self.choices: list[tuple[float, tuple[str, ...]]] = []
        self.asked = list(robot.mechanism.independent)

    def run(self, q: Array, v: Array, until: float) -> ClosedRun:
        self._choose(0.0, tuple(self.asked), q)
        if not self.first > self.singular:
            raise SingularError(
                f"simulate: q0 is singular: the speeds of {', '.join(self.robot.independent)} do "
                f"not determine the others. Those of {', '.join(self.robot.best_independent(q))} "
                "do it best there: robot.described_by([...])."
            )
        t, u, stopped = 0.0, v, None
        states = [(t, q, self.now.speeds(q, u))]
        try:
            solver = self._solver(t, q, u, until)
        except _LawError as reason:
            raise InputError(str(reason)) from reason
        while solver.status == "running" and stopped is None:
            try:
                problem = solver.step()
            except KeyboardInterrupt:
                interrupted()
                stopped = f"interrupted at {t:.6g} s"
                break
            except _LawError as reason:
                stopped = str(reason)
                break
            if solver.status == "failed":
                stopped = f"the integrator stopped at {t:.6g} s: {problem}"
                break
            margin, there = self._worst(solver)
            if margin < self.singular:
                # Again from before this step, with other speeds if those see nothing singular.
                if self._passing(t, q, there):
                    solver = self._solver(t, q, states[-1][2][self.chosen], until)
                    continue
                stopped = self._singular(t, q)
                break
            t, q, u = self._projected(solver)
            states.append((t, q, self.now.speeds(q, u)))
            if self._margin(q) < _FALLEN * self.first and self._changed(t, q):
                solver = self._solver(t, q, states[-1][2][self.chosen], until)
        return self._result(states, stopped)

    # The independent speeds

    def _choose(self, t: float, chosen: tuple[int, ...], q: Array) -> None:
        if chosen not in self.ways:
            names = [self.robot.joint_names[k] for k in chosen]
            same = chosen == self.robot.mechanism.independent
            way = self.robot if same else self.robot.described_by(names, at=q)
            self.ways[chosen] = way.unchecked()
        self.chosen, self.now = list(chosen), self.ways[chosen]
        self.choices.append((t, self.now.independent))
        self.first = float(self._margin(q))

    def _changed(self, t: float, q: Array) -> bool:
        """Whether other speeds are much better here, and are now used."""
        free = freedom_at(self.robot.assembly, q)
        best = tuple(free.best())
        self.first = float(self._margin(q))  # asked again only when it has fallen further
        if free.n != self.robot.nv:
            return False
        if free.qualities(best)[0] < 3 * free.qualities(self.chosen)[0]:
            return False
        self._choose(t, best, q)
        return True

    def _passing(self, t: float, q: Array, there: Array) -> bool:
        """Whether other speeds, now used, describe both q and where these degenerated."""
        free = freedom_at(self.robot.assembly, there)
        best = tuple(free.best())
        tried = sum(when == t for when, _ in self.choices)
        if free.n != self.robot.nv or list(best) == self.chosen or tried > 3:
            return False
        self._choose(t, best, q)
        return min(self.first, float(self._margin(there))) > self.singular

    def _margin(self, q: Array) -> Any:
        return self.now._checks(q)[..., -3:-1].min(axis=-1)

    def _worst(self, solver: Any) -> tuple[float, Array]:
        """The smallest margin during the step that was taken, and where it was."""
        between, nq = solver.dense_output(), self.robot.nq
        times = solver.t_old + (solver.t - solver.t_old) * _LOOKS

        def place(t: Any) -> Array:
            return np.ascontiguousarray(between(t).T[..., :nq])

        values = np.nan_to_num(self._margin(place(times)))
        k = int(np.argmin(values))
        if k == len(values) - 1 or values[k] > 0.5 * self.first:
            return float(values[k]), place(times[k])
        from scipy.optimize import minimize_scalar

        found = minimize_scalar(
            lambda t: float(np.nan_to_num(self._margin(place(t)))),
            bounds=(times[k - 1] if k else solver.t_old, times[k + 1]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return float(found.fun), place(found.x)

    def _singular(self, t: float, q: Array) -> str:
        return (
            f"singular configuration of '{self.robot.name}' just after {t:.6g} s: its loops have "
            f"a margin of {float(self.robot.margins(q).loops):.2g} there, and no choice of "
            "independent speeds leads past it"
        )

    # The integrator

    def _solver(self, t: float, q: Array, u: Array, until: float) -> Any:
        from scipy.integrate import DOP853

        rtol, atol, longest = self.accuracy
        nq = self.robot.nq
        now, flow = self.now, "flow_with_friction" if self.friction else "flow"

        def rate(t: float, y: Array) -> Array:
            q, u = y[:nq].copy(), y[nq:].copy()
            state = (q, u) if self.law is None else (q, u, self._tau(t, q, u))
            return now._evaluate(flow, state, None)

        y = np.concatenate([q, u])
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

    def _projected(self, solver: Any) -> tuple[float, Array, Array]:
        nq = self.robot.nq
        q, u = solver.y[:nq].copy(), solver.y[nq:].copy()
        if self.robot.model.free:
            q[3:7] /= np.linalg.norm(q[3:7])
        q = self.robot.assembly.nearest(q)
        solver.y = np.concatenate([q, u])
        solver.f = solver.fun(solver.t, solver.y)
        return float(solver.t), q, u

    def _result(self, states: list[tuple[float, Array, Array]], stopped: str | None) -> ClosedRun:
        t, q, speeds = (np.array(x) for x in zip(*states, strict=True))
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
