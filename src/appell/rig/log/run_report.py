"""Report: what came of a run, cycle by cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.charts.chart import Chart
from appell.errors import InputError, quoted
from appell.model.units import Units, units_of
from appell.rig.controller.controller import Phase
from appell.rig.controller.safety import State
from appell.rig.log.log_file import Event, Log
from appell.rig.machine.outputs import Switch, levels_of, names_in, switches_of
from appell.rig.signals import STATUS
from appell.robots.robot import Array, Robot
from appell.robots.robot_data import robot_from_data
from appell.simulation.exceeded import exceeded
from appell.simulation.run_chart import Signal, held

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)  # us


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A run over a rig: its log, its end, and what the simulated machine says of itself.

    Examples:
        >>> law = appell.control.ComputedTorque(appell.load("puma560"), kp=400, kd=40)
        >>> start, end = np.radians([[0, -45, 60, 0, 30, 0], [1, -44, 61, 1, 31, 1]])
        >>> move = appell.control.quintic(start, end, 0.2)
        >>> report = appell.rig.run(law, move, channel="lockstep")
        >>> report.ok, report.state.name
        (True, 'STOP')
        >>> sum(count for _, count in report.histogram()) == report.cycles
        True
        >>> len(report.last(0.1)) < report.cycles
        True
        >>> len(report.chart().panels), len(report.plot().axes)
        (4, 4)
    """

    log: Log
    state: State
    reason: str
    period: float
    plant: dict[str, Any] | None = None  # cycles, safe, watchdog, ...; None of another's machine
    allowed: dict[str, str] = field(default_factory=dict)  # towards real time
    stands: bool = True  # whether the machine said at the end that it does, brakes on

    @property
    def ok(self) -> bool:
        """Whether it ended as it was meant to."""
        return self.state is State.STOP and not self.interrupted

    @property
    def interrupted(self) -> bool:
        """Whether it was broken off, by Ctrl-C or SIGTERM."""
        return self.reason in STATUS

    @property
    def verdict(self) -> str:
        """What came of the run, in one sentence: whether it arrived, and how far off."""
        if not self.ok:
            return f"{self.state.name}: {self.reason}" if self.reason else self.state.name
        if not self.following.any():
            return "stopped, as it was to"
        end = self._worst(np.abs(self.error[self.following][-1]))
        return f"arrived, {end} off; on the way at most {self._worst(self.largest_errors)} off"

    @property
    def states(self) -> list[Event]:
        """Passed, with the cycle and the reason of each."""
        return self.log.events

    @property
    def t(self) -> Array:
        """s since the first cycle, (cycles,)."""
        return self.log.t

    @property
    def q(self) -> Array:
        """Estimated positions, rad, or m of a joint that slides, (cycles, n)."""
        return self.log["q"]

    @property
    def v(self) -> Array:
        """Estimated speeds, rad/s or m/s, (cycles, n)."""
        return self.log["v"]

    @property
    def qd(self) -> Array:
        """Desired positions, rad or m, (cycles, n)."""
        return self.log["qd"]

    @property
    def tau(self) -> Array:
        """Torques that the law asked for, N m or N, (cycles, n)."""
        return self.log["tau"]

    @property
    def volts(self) -> Array:
        """The commands, (cycles, n), V."""
        return self.log["volts"]

    @property
    def error(self) -> Array:
        """Desired minus estimated positions, rad, or m of a joint that slides."""
        return self.qd - self.q

    @property
    def outputs(self) -> dict[str, Array]:
        """Which digital outputs were told to be on, by name, (cycles,) each, no unit."""
        return levels_of(self.log["order"], names_in(self.log.metadata))

    @property
    def switches(self) -> list[Switch]:
        """When outputs were switched on the mission, s after its start."""
        on = self.following
        if not on.any():
            return []
        cycle = self.log["cycle"][on].astype(np.int64)
        levels = {name: x[on] for name, x in self.outputs.items()}
        return switches_of((cycle - cycle[0]) * self.period, levels)

    @property
    def following(self) -> Array:
        """Which cycles, (cycles,), are the mission itself, after homing and the way to its start;
        no unit."""
        return self.log["phase"] == Phase.FOLLOW

    @property
    def max_error(self) -> float:
        """The largest of any joint on the mission, rad, or m of a joint that slides."""
        return float(self.largest_errors.max())

    @property
    def largest_errors(self) -> Array:
        """The largest error of each joint on the mission, rad, or m of a joint that slides."""
        return np.abs(self.error[self.following]).max(axis=0, initial=0.0)

    @cached_property
    def robot(self) -> Robot | None:
        """The robot that the log holds; older logs have its name only."""
        data = self.log.metadata.get("robot_data")
        try:
            return None if data is None else robot_from_data(data)
        except Exception as problem:  # there is no end of what may be wrong with a file
            raise InputError(f"the log's robot cannot be read: {quoted(str(problem))}") from None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The limits of the model that the arm exceeded, or the torques that the law asked for."""
        if self.robot is None or not self.cycles or self.robot.nq != self.log.n:
            return ()
        return tuple(map(str, exceeded(self.robot, self.t, self.q, self.v, self.tau, ())))

    @property
    def units(self) -> tuple[Units, ...]:
        """Of each joint; unknown where the log does not say which joints slide."""
        return units_of(self.log.metadata.get("kinds"), self.log.n)

    # Time

    @property
    def cycles(self) -> int:
        """How many cycles the log holds."""
        return len(self.log)

    @property
    def overruns(self) -> int:
        """How often a cycle was not over before the next deadline."""
        return int(self.log["overruns"][-1]) if self.cycles else 0

    @property
    def skipped(self) -> int:
        """Cycles that there was no time for."""
        ticks = self.log["cycle"]
        return int(ticks[-1]) - self.cycles if self.cycles else 0

    @property
    def late(self) -> Array:
        """s after its deadline that each cycle began."""
        return self.log["late"] / 1e9

    @property
    def busy(self) -> Array:
        """s that each cycle took but the last, whose time no cycle tells."""
        return self.log["busy"][1:] / 1e9

    @property
    def late_share(self) -> float:
        """The share of cycles that are more than half a period late or left out, 0 to 1."""
        if not self.cycles:
            return 0.0
        bad = int((self.late > self.period / 2).sum()) + self.skipped
        return bad / (self.cycles + self.skipped)

    @property
    def missed_readings(self) -> int:
        """How many cycles had no reading."""
        return int((self.log["reading"] == 0).sum())

    def histogram(self) -> list[tuple[str, int]]:
        """Cycles by how late they began.

        Returns:
            Ranges of lateness, µs, each with its number of cycles.
        """
        counts = np.histogram(1e6 * self.late, [-np.inf, *EDGES, np.inf])[0]
        names = [
            f"under {EDGES[0]} us",
            *(f"{a} to {b} us" for a, b in pairwise(EDGES)),
            f"over {EDGES[-1]} us",
        ]
        return list(zip(names, counts.tolist(), strict=True))

    # The end

    def last(self, seconds: float = 2.0) -> Any:
        """The rows of the log at its end.

        Args:
            seconds: How long a stretch, s.

        Returns:
            Rows of the log, with its fields.
        """
        return self.log.rows[self.t >= self.t[-1] - seconds] if self.cycles else self.log.rows

    def __repr__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return (
            f"<Report: {self.cycles} cycles, {self.state.name}{why}, "
            f"error at most {self._worst(self.largest_errors, 0)}, {self.overruns} overruns>"
        )

    def _worst(self, errors: Array, places: int = 3) -> str:
        """The largest of the joints' errors, by their units: in mrad and mm, or in rad and m."""
        by_unit: dict[str, float] = {}
        for x, u in zip(errors, self.units, strict=True):
            by_unit[u.position] = max(by_unit.get(u.position, 0.0), float(x))
        milli = "m" if places else ""
        told = {milli + unit.replace(" or ", f" or {milli}"): x for unit, x in by_unit.items()}
        return " and ".join(f"{10**places * x:.3g} {unit}" for unit, x in told.items())

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The robot's own names of its joints, where the log says them."""
        names = self.log.metadata.get("joint_names")
        if isinstance(names, list) and len(names) == self.log.n:
            return tuple(map(str, names))
        return tuple(f"joint {j + 1}" for j in range(self.log.n))

    def plot(self) -> Figure:
        """A Matplotlib figure of `chart`: positions with their references, errors, forces and
        volts.

        Returns:
            A Matplotlib figure.
        """
        return self.chart().figure("report.plot")

    def chart(self) -> Chart:
        """The chart of the run, which reports draw; changes of the state are marked.

        Returns:
            A chart.
        """
        t, units, names = self.t, self.units, self.joint_names
        scale = np.array([u.scale for u in units])
        shown, forces = [u.shown for u in units], [u.force for u in units]
        signals = [
            Signal("position", t, scale * self.q, names, shown,
                   reference=("desired", t, scale * self.qd)),
            Signal("error", t, scale * self.error, names, shown),
            Signal("force", *held(t, self.tau), names, forces),
            Signal("voltage", *held(t, self.volts), names, ["V"] * len(names)),
        ]  # fmt: skip
        marks = [event.cycle * self.period for event in self.states]
        return Chart([panel for signal in signals for panel in signal.panels(marks)])
