"""Motions to be played: of runs, of logs, and of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from appell.charts.chart import Chart, Panel, lines
from appell.errors import InputError, ModelError
from appell.model.model import Model
from appell.model.place import Place
from appell.model.shapes import Array
from appell.model.units import Units
from appell.robots.dynamics import Dynamics
from appell.robots.registry import load
from appell.robots.robot_data import model_hash
from appell.show.viewer.read_outs import units_of_actuators, units_of_speeds
from appell.simulation.contacts.sampled_wall import drawn_walls

_SAMPLES = 400  # of a plot


class Curves(NamedTuple):
    """Values (N, k) over the motion's times, with their names and unit."""

    title: str
    unit: str
    names: tuple[str, ...]
    values: Array


class Strike(NamedTuple):
    """An impact: when, where (points, 3), and in words."""

    time: float
    places: Array
    text: str


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """A robot's motion from a time to a time, with what is plotted beside it."""

    robot: Dynamics
    t: Array  # (N,) of the plots, s
    state: Callable[[float], tuple[Array, Array]]  # q and v at a time
    curves: tuple[Curves, ...]
    walls: tuple[Any, ...] = ()
    strikes: tuple[Strike, ...] = ()
    contacts: tuple[tuple[Place, Any], ...] = ()  # points, and the walls that they touch
    reactions: Callable[[float], Array] | None = None  # their normal forces at a time, N
    note: str = ""
    run: Any = None  # what it is of, where that has a chart of its own

    @property
    def chart(self) -> Chart:
        """The chart of the motion: its run's, or its curves."""
        if self.run is not None:
            chart: Chart = self.run.chart()
            return chart
        return Chart([
            Panel("", f"{c.title}, {c.unit}", lines(c.names, self.t, c.values)) for c in self.curves
        ])  # fmt: skip

    @property
    def views(self) -> list[Array]:
        """Some configurations, among which the motion stays."""
        return [self.state(t)[0] for t in np.linspace(self.t[0], self.t[-1], 25)]


def of_run(run: Any, robot: Dynamics | None = None) -> PlayedMotion:
    """The motion of a run; of one whose file holds no robot, with the robot that is given."""
    robot = robot or run.robot or known_robot(run.robot_name, "this run")
    if run.q.shape[1] != robot.nq or run.v.shape[1] != robot.nv:
        raise InputError(
            f"the run has {run.q.shape[1]} coordinates and {run.v.shape[1]} speeds, and "
            f"'{robot.name}' has {robot.nq} and {robot.nv}; give the robot that moved."
        )
    if run.robot is not None and model_hash(robot.model) != model_hash(run.robot.model):
        warn(
            f"the run is of '{run.robot.name}' with other numbers than the robot that was given; "
            "leave the robot out to see the one that moved.",
            stacklevel=2,
        )
    t = np.linspace(run.t[0], run.t[-1], _SAMPLES) if run.t[-1] > run.t[0] else run.t[:1]
    q, v = run(t)
    curves = [*_motion_curves(robot, q, v)]
    if run.desired is not None:
        error, units = _columns(t, run.t, run.error), units_of_speeds(robot)
        curves += _by_unit("error", robot.independent, error, units)
    if run.tau.size and np.any(run.tau):
        tau = _columns(t, run.t, run.tau)
        curves += _force_curves(robot, tau)
    energies = [robot.kinetic_energy(q, v), robot.potential_energy(q)]
    named = ("kinetic", "potential", "total")
    curves.append(Curves("energy", "J", named, np.stack([*energies, sum(energies)], axis=1)))
    walls = drawn_walls(run if run.robot else replace(run, robot=robot))
    by_label = {wall.label: wall for wall in walls}
    touching = [
        (k, (run.places[point], by_label[wall])) for k, (point, wall) in enumerate(run.contacts)
        if wall in by_label and point in run.places
    ]  # fmt: skip
    columns = [k for k, _ in touching]
    forces = None
    if touching and run.reactions.size:

        def forces(time: float) -> Array:
            k = int(np.searchsorted(run.t, time, side="right")) - 1
            return run.reactions[max(k, 0)][columns]

    return PlayedMotion(
        robot, t, lambda x: run(float(x)), tuple(curves), walls, _strikes(robot, run),
        tuple(pair for _, pair in touching), forces, run.stopped or "", run,
    )  # fmt: skip


def known_robot(name: str, what: str) -> Dynamics:
    """The library's robot of the name that a file tells; refused where there is none."""
    try:
        if name:
            return load(name)
    except ModelError:
        pass
    robot = f"'{name}', which is no robot of the library" if name else "unknown"
    raise InputError(
        f"{what} was read from a file, and its robot is {robot}: give it, view(..., robot=...), or "
        "on the command line, --robot ROBOT."
    )


def of_samples(robot: Dynamics, t: Any, q: Any, v: Any, tau: Any = None) -> PlayedMotion:
    """A motion that is known at times (N,): it goes from each to the next in a straight line."""
    t, q, v = (np.asarray(x, dtype=float) for x in (t, q, v))
    if t.ndim != 1 or not t.size or q.shape != (t.size, robot.nq) or v.shape != (t.size, robot.nv):
        raise InputError(
            f"the motion has times {t.shape}, positions {q.shape} and velocities {v.shape}; "
            f"expected (N,), (N, {robot.nq}) and (N, {robot.nv}) of '{robot.name}'."
        )
    times = np.linspace(t[0], t[-1], _SAMPLES) if t[-1] > t[0] else t[:1]
    curves = [*_motion_curves(robot, _columns(times, t, q), _columns(times, t, v))]
    if tau is not None:
        curves += _force_curves(robot, _columns(times, t, np.asarray(tau, dtype=float)))

    def state(time: float) -> tuple[Array, Array]:
        k = int(np.clip(np.searchsorted(t, time) - 1, 0, max(t.size - 2, 0)))
        if t.size == 1:
            return q[0], v[0]
        s = float(np.clip((time - t[k]) / max(t[k + 1] - t[k], 1e-300), 0, 1))
        return q[k] + s * (q[k + 1] - q[k]), v[k] + s * (v[k + 1] - v[k])

    return PlayedMotion(robot, times, state, tuple(curves))


def _motion_curves(robot: Dynamics, q: Array, v: Array) -> list[Curves]:
    """Positions of the joints that have them, and speeds."""
    model, units = robot.model, units_of_speeds(robot)
    kept = [
        (name, k, u) for k, (name, u) in enumerate(zip(robot.independent, units, strict=True))
    ]  # fmt: skip
    names, columns, own = [], [], []
    for name, k, u in kept:
        joint = robot.joint_names.index(name)
        if not isinstance(model, Model) or model.is_coordinate[joint]:
            names.append(name)
            columns.append(q[:, model.place(joint) if isinstance(model, Model) else k])
            own.append(u)
    curves = []
    if names:
        curves += _by_unit("position", names, np.stack(columns, axis=1), own)
    return curves + _by_unit("velocity", robot.independent, v, units, "/s")


def _force_curves(robot: Dynamics, tau: Array) -> list[Curves]:
    units = units_of_actuators(robot)
    curves = []
    for force in dict.fromkeys(u.force for u in units):
        k = [j for j, u in enumerate(units) if u.force == force]
        names = tuple(robot.actuated[j] for j in k)
        curves.append(Curves("force" if force == "N" else "torque", force, names, tau[:, k]))
    return curves


def _by_unit(
    title: str, names: Sequence[str], values: Array, units: Sequence[Units], rate: str = ""
) -> list[Curves]:
    """Curves of a quantity of joints, those that turn and those that slide apart."""
    found = []
    for unit in dict.fromkeys(units):
        k = [j for j, u in enumerate(units) if u == unit]
        of = tuple(names[j] for j in k)
        found.append(Curves(title, unit.shown + rate, of, unit.scale * values[:, k]))
    return found


def _columns(at: Array, t: Array, values: Array) -> Array:
    return np.stack([np.interp(at, t, x) for x in values.T], axis=1)


def _strikes(robot: Dynamics, run: Any) -> tuple[Strike, ...]:
    """All impacts of a run, in order of time."""
    if not run.impacts:
        return ()
    poses = np.asarray(robot.poses(run([impact.time for impact in run.impacts])[0]))
    links = {name: k for k, name in enumerate(robot.link_names)}
    strikes = []
    for impact, pose in zip(run.impacts, poses, strict=True):
        points = [run.places[x] for x in impact.points if x in run.places]
        places = [pose[links[x.link], :3] @ [*x.position, 1.0] for x in points]
        where = np.array(places, dtype=float).reshape(-1, 3)
        strikes.append(Strike(impact.time, where, str(impact)))
    return tuple(strikes)
