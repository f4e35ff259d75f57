"""Run: a motion of any robot, at any time, with what was found on the way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.model.configuration import with_unit_quaternions
from appell.model.place import Place
from appell.model.units import Units, units_of
from appell.robots.dynamics import Array, Dynamics
from appell.robots.robot import Robot
from appell.simulation.contacts.impact import Impact
from appell.simulation.exceeded import Exceeded, everywhere, exceeded
from appell.simulation.path import Piece, evaluate
from appell.simulation.run_chart import Signal, chart_of, coordinate_names, held
from appell.walls import Wall

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from appell.charts.chart import Chart


@dataclass(frozen=True, eq=False)
class Run:
    """A motion at N instants: the integrator's steps, or the samples of a control law. An impact
    has two, the one before it and the one after, at the same time. Parts that a run does not have
    are empty, or None."""

    t: Array  # (N,) s
    q: Array  # (N, nq); quaternions have length one
    v: Array  # (N, nv)
    tau: Array  # (N, actuators) what the torque law gave, or the motors
    kinetic: Array  # (N,) J
    potential: Array  # (N,) J
    impacts: list[Impact]
    contacts: tuple[tuple[str, str], ...]  # all that were watched: point and wall
    reactions: Array  # (N, contacts) normal forces of those that last, N
    residuals: Mapping[str, float]
    stopped: str | None = None  # why it ended before its time
    robot: Dynamics | None = field(default=None, repr=False)
    pieces: Sequence[Piece] = field(default=(), repr=False)
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    walls: tuple[Wall, ...] = field(default=(), repr=False)
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)  # of points, on links
    formulation: str | None = None  # of the equations that it ran by (at its end, if they changed)
    kinds: Any = field(default=(), repr=False)  # of the joints, where the run is from a file
    names: Any = field(default=(), repr=False)  # of the joints, likewise
    quaternions: tuple[int, ...] = ()  # where in q each of them begins
    robot_name: str = ""  # where the run is from a file

    # Of a closed robot
    speeds: Array | None = None  # (N, joints) of all joints of the tree
    independent: tuple[int, ...] | None = None  # those of the joints whose speeds are v
    opening: Array | None = None  # (N,) the largest that any loop is open, m or rad
    choices: Sequence[tuple[float, tuple[str, ...]]] = ()  # from when on which speeds integrated

    # Of a control law that follows a trajectory
    desired: Array | None = None  # (N, nq) where the joints were to be
    desired_v: Array | None = None  # (N, nv)
    desired_a: Array | None = None  # (N, nv)
    commanded: Array | None = None  # (N, actuators) what the law asked for, before any limit
    measured: Array | None = None  # (N, nq) the positions that the law saw
    state: Array | None = None  # (N, nstate) the law's own
    voltage: Array | None = None  # of the motors, where they have one

    kept: tuple[Exceeded, ...] = field(default=(), repr=False)  # ``exceeded``, of a run from a file

    @property
    def energy(self) -> Array:
        """(N,) kinetic and potential, J."""
        return self.kinetic + self.potential

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array]:
        """The motion at a time, or at many. At an impact, after it.

        Args:
            t: Times, (...), s.

        Returns:
            q, (..., nq), rad or m, and v, (..., nv), rad/s or m/s.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> q, v = run([0.05, 0.1])
            >>> q.shape
            (2, 3)
        """
        try:
            times = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"run({t!r}): expected a time in s, or an array of them.") from None
        first, last = self.t[0], self.t[-1]
        if not ((times >= first) & (times <= last)).all():
            raise InputError(f"run({t!r}): the run goes from {first:g} s to {last:g} s.")
        q, speeds = self._states(times.ravel())
        v = speeds if self.independent is None else speeds[:, self.independent]
        return q.reshape(times.shape + q.shape[1:]), v.reshape(times.shape + v.shape[1:])

    def _states(self, t: Array) -> tuple[Array, Array]:
        """Coordinates and the speeds of all joints at times (k,)."""
        nq, speeds = self.q.shape[1], self._speeds
        end = np.append(self.q[-1], speeds[-1])
        if not self.pieces:
            y = np.tile(end, (t.size, 1))
        else:
            y = evaluate(self.pieces, t).reshape(t.size, len(end))
            y[t == self.t[-1]] = end
        return with_unit_quaternions(y[:, :nq], self.quaternions), y[:, nq:]

    @property
    def _speeds(self) -> Array:
        return self.v if self.speeds is None else self.speeds

    # Limits of the joints

    @cached_property
    def exceeded(self) -> tuple[Exceeded, ...]:
        """The limits of the model that the motion exceeds: joint, quantity (position, speed, torque
        or force), the largest value, the limit, its unit, and when it is first exceeded."""
        if self.robot is None:
            return self.kept
        return exceeded(self.robot, self.t, self.q, self._speeds, self.tau, self.pieces)

    @cached_property
    def largest_speeds(self) -> Array:
        """(nv,) rad/s or m/s: the largest of each joint without sign, along the path between the
        instants too, as in `exceeded`."""
        _, _, speeds = everywhere(self.t, self.q, self._speeds, self.pieces)
        largest = np.asarray(np.abs(speeds).max(axis=0))
        return largest if self.independent is None else largest[list(self.independent)]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the result should know, one sentence each: limits that were exceeded,
        and stops and walls that a tracked robot struck."""
        struck: dict[tuple[str, str], list[float]] = {}
        for impact in self.impacts if self.desired is not None else ():
            for names in zip(impact.points, impact.walls, strict=True):
                struck.setdefault(names, []).append(impact.time)
        stops = (
            f"{joint} strikes {'' if joint in self.places else 'its '}{stop} at {times[0]:.4g} s"
            + (f", and {len(times) - 1} times after" if len(times) > 1 else "")
            for (joint, stop), times in struck.items()
        )
        return (*stops, *map(str, self.exceeded))

    # Following a trajectory

    @property
    def error(self) -> Array:
        """(N, nv), rad or m: desired minus actual positions; of a closed robot, its independent
        joints'."""
        if self.desired is None:
            raise InputError(
                "this run followed no trajectory, and has no error; those of control.track have."
            )
        error = self.desired - self.q
        return error if self.independent is None else error[:, self.independent]

    @property
    def max_error(self) -> float:
        """The largest error of all joints and samples, rad or m; of one joint: abs(run.error[:,
        j]).max()."""
        return float(np.abs(self.error).max())

    @property
    def rms_error(self) -> float:
        """The root of the mean square of the error over joints and samples, rad or m."""
        return float(np.sqrt(np.mean(self.error**2)))

    @property
    def final_error(self) -> float:
        """The largest error of all joints at the end, rad or m."""
        return float(np.abs(self.error[-1]).max())

    def __repr__(self) -> str:
        name = self.robot.name if self.robot else "a robot"
        end = f", stopped: {self.stopped}" if self.stopped else ""
        kind, count = "Run", f"instants, {len(self.impacts)} impacts"
        if self.desired is not None:
            kind, count = "Tracked run", f"samples, error at most {self.max_error:.3g}"
        span = f"{self.t[0]:g} s to {self.t[-1]:g} s, {len(self.t)}"
        return f"<{kind} of {name}: {span} {count}{end}>"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"warning: {text}" for text in self.warnings)])

    def resume(self, until: float, **changes: Any) -> Run:
        """The run carried on to a later time.

        Args:
            until: The new end, s.
            **changes: Options of `appell.simulate` that change; the others stay.

        Returns:
            A `Run` of the whole motion.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> run.resume(until=0.3).t[-1].item()
            0.3
        """
        from appell.simulation.simulate import simulate

        if self.desired is not None:
            raise InputError("a tracked run is not resumed; call track with a later until=.")
        if self.settings is None or self.robot is None:
            raise InputError(
                "this run was read from a file, which holds no torque law and no options; go on "
                "with appell.simulate(run.robot, resume=run, until=..., walls=run.walls, ...)."
            )
        return simulate(self.robot, resume=self, until=until, **{**self.settings, **changes})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run to an .npz file; `load_run` reads it. The file holds the robot and its
        walls, too: ``appell view run.npz`` shows them.

        Args:
            path: Of the file.

        Returns:
            The path.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> appell.simulation.load_run(run.save(tmp / "run.npz")).t[-1].item()
            0.2
        """
        from appell.simulation.saved_run import save_run

        return save_run(self, path)

    def view(self, **options: Any) -> Any:
        """Play the run in the browser.

        Args:
            **options: Those of `appell.view`.

        Returns:
            A viewer, or the path of the page that was written: see `appell.view`.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> run.view(html=tmp / "run.html").name
            'run.html'
        """
        from appell import view

        return view(self, **options)

    def plot(self) -> Figure:
        """A Matplotlib figure of `chart`: what every joint did, by name and in its unit.

        Returns:
            A Matplotlib figure.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> [axes.get_ylabel() for axes in run.plot().axes]
            ['position, rad', 'speed, rad/s', 'energy, J']
        """
        return self.chart().figure("run.plot")

    def chart(self) -> Chart:
        """The chart of the run, which reports draw: coordinates, speeds, forces and energies over
        time, along the path between the instants too, with jumps at impacts, which are marked; of a
        run that follows a trajectory also what was desired, the errors, and limits of forces. What
        is known at the instants only is drawn as points.

        Returns:
            A chart.

        Examples:
            >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
            >>> len(run.chart().panels)
            3
        """
        t, q, speeds = self._path()
        units, names = self._units, self._names(self._speeds.shape[1])
        shown = range(speeds.shape[1]) if self.independent is None else self.independent
        own = [names[k] for k in shown]
        positions, rates = [u.position for u in units], [units[k].speed for k in shown]
        coordinates = coordinate_names(names, positions, self.quaternions, self.q.shape[1])
        plan = [
            None if x is None else ("desired", self.t, x) for x in (self.desired, self.desired_v)
        ]
        signals = [
            Signal("position", t, q, *coordinates, reference=plan[0]),
            Signal("speed", t, speeds[:, shown], own, rates, reference=plan[1]),
        ]
        if self.desired is not None:
            apart = [positions[k] for k in shown]
            signals.append(Signal("error", self.t, self.error, own, apart))
        if self.tau.any():
            signals.append(self._forces(own))
        times, T, U = self.t, self.kinetic, self.potential
        if self.robot is not None:
            tree = self.robot if self.speeds is None else Robot(self.robot.model)
            times, T, U = t, tree.kinetic_energy(q, speeds), tree.potential_energy(q)
        energies = {"kinetic energy": T, "potential energy": U, "total energy": T + U}
        marks = np.array([impact.time for impact in self.impacts[:100]])
        return chart_of(signals, times, energies, self.robot is not None, marks)

    def _forces(self, own: Sequence[str]) -> Signal:
        """The actuators' forces: a sampled law's hold until its next sample."""
        n = self.tau.shape[1]
        names = list(self.robot.actuated if self.robot else own)
        if len(names) != n:
            names = [f"actuator {k + 1}" for k in range(n)]
        joints = {x.name: x for x in getattr(self.robot.model, "joints", ())} if self.robot else {}
        kinds = [joints[x].kind if x in joints else "revolute" for x in names]
        units = units_of(kinds, n) if joints else self._units[:n]
        limits = [joints[x].effort if x in joints else np.inf for x in names]
        if self.desired is None or self.commanded is None:
            shown = Signal("force", self.t, self.tau, names, [u.force for u in units], known=False)
        else:
            t, tau = held(self.t, self.tau)
            asked = None if np.array_equal(self.commanded, self.tau) else self.commanded
            before = None if asked is None else ("asked for", *held(self.t, asked))
            shown = Signal("force", t, tau, names, [u.force for u in units], reference=before)
        return shown._replace(limits=limits)

    def _names(self, n: int) -> list[str]:
        names = list(self.robot.joint_names if self.robot else self.names)
        return names if len(names) == n else [f"joint {k + 1}" for k in range(n)]

    def _path(self) -> tuple[Array, Array, Array]:
        """The instants, and enough times between them for a smooth line, with the speeds of all
        joints."""
        steps = np.diff(self.t)
        least = max(2, min(8, 40_000 // len(self.t)))
        span = self.t[-1] - self.t[0]
        parts = np.maximum(least, np.ceil(1000 * steps / span)) if span > 0 else steps
        between = [
            np.linspace(start, start + step, int(count) + 1)[1:-1]
            for start, step, count in zip(self.t, steps, parts, strict=False)
            if step > 0
        ]
        times = np.concatenate([self.t[:0], *between])
        t = np.concatenate([self.t, times])
        order = np.argsort(t, kind="stable")  # of an impact's two instants, before comes first
        rows = zip((self.q, self._speeds), self._states(times), strict=True)
        q, speeds = (np.concatenate(x)[order] for x in rows)
        return t[order], q, speeds

    @property
    def _units(self) -> tuple[Units, ...]:
        kinds = self.robot.joint_kinds if self.robot else self.kinds
        return units_of(kinds, self._speeds.shape[1])


def joined(before: Run, after: Run) -> Run:
    """Two runs, of which the second goes on where the first ended, as one."""
    if before.contacts != after.contacts:
        raise InputError(
            "resume: the run had other contacts; go on with the same walls, points and stops."
        )
    names = ("t", "q", "v", "tau", "kinetic", "potential", "reactions", "speeds", "opening")
    parts = [(k, getattr(before, k), getattr(after, k)) for k in names]
    arrays: dict[str, Any] = {k: np.concatenate([x, y[1:]]) for k, x, y in parts if y is not None}
    worst = {
        k: max(before.residuals.get(k, 0.0), after.residuals.get(k, 0.0)) for k in after.residuals
    }
    return replace(
        after,
        **arrays,
        impacts=[*before.impacts, *after.impacts],
        residuals=worst,
        pieces=[*before.pieces, *after.pieces],
        choices=[*before.choices, *after.choices[1:]],
    )
