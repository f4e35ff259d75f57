"""Report: what came of a run, cycle by cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError
from appell.model.units import Units, joined, units_of
from appell.rig.controller.controller import Phase
from appell.rig.controller.safety import State
from appell.rig.log.log_file import Event, Log
from appell.rig.machine.outputs import Switch, levels_of, names_in, switches_of
from appell.rig.signals import STATUS
from appell.robots.robot import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)  # us


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A run over a rig: its log, its end, and what the simulated machine says of itself."""

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
        """Volts of the commands, (cycles, n)."""
        return self.log["volts"]

    @property
    def error(self) -> Array:
        """Desired minus estimated positions, rad, or m of a joint that slides."""
        return self.qd - self.q

    @property
    def outputs(self) -> dict[str, Array]:
        """Which digital outputs were told to be on, by name, (cycles,) each."""
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
        """Which cycles are the mission itself, after homing and the way to its start."""
        return self.log["phase"] == Phase.FOLLOW

    @property
    def max_error(self) -> float:
        """The largest of any joint on the mission, rad, or m of a joint that slides."""
        return float(self.largest_errors.max())

    @property
    def largest_errors(self) -> Array:
        """The largest error of each joint on the mission, rad, or m of a joint that slides."""
        return np.abs(self.error[self.following]).max(axis=0, initial=0.0)

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
        """Of all cycles, those more than half a period late or left out."""
        if not self.cycles:
            return 0.0
        bad = int((self.late > self.period / 2).sum()) + self.skipped
        return bad / (self.cycles + self.skipped)

    @property
    def missed_readings(self) -> int:
        """How many cycles had no reading."""
        return int((self.log["reading"] == 0).sum())

    def histogram(self) -> list[tuple[str, int]]:
        """Cycles by how late they began."""
        counts = np.histogram(1e6 * self.late, [-np.inf, *EDGES, np.inf])[0]
        names = [
            f"under {EDGES[0]} us",
            *(f"{a} to {b} us" for a, b in pairwise(EDGES)),
            f"over {EDGES[-1]} us",
        ]
        return list(zip(names, counts.tolist(), strict=True))

    # The end

    def last(self, seconds: float = 2.0) -> Any:
        """The rows of the log of the last seconds."""
        return self.log.rows[self.t >= self.t[-1] - seconds] if self.cycles else self.log.rows

    def __repr__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return (
            f"<Report: {self.cycles} cycles, {self.state.name}{why}, "
            f"error at most {self._worst()}, {self.overruns} overruns>"
        )

    def _worst(self) -> str:
        """The largest errors, by their units."""
        by_unit: dict[str, float] = {}
        for x, u in zip(self.largest_errors, self.units, strict=True):
            by_unit[u.position] = max(by_unit.get(u.position, 0.0), float(x))
        return " and ".join(f"{x:.3g} {unit}" for unit, x in by_unit.items())

    def plot(self) -> Figure:
        """Positions with their references, errors and volts."""
        return figure_of(self)


def figure_of(report: Report) -> Figure:
    """Positions with their references, errors and volts, over time."""
    if find_spec("matplotlib") is None:
        raise AppellError("report.plot needs Matplotlib: pip install 'appell[show]'.")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    units = report.units
    shown = joined(u.shown for u in units)
    for j, u in enumerate(units):
        label = f"joint {j + 1}" if u.shown == shown else f"joint {j + 1}, {u.shown}"
        (line,) = top.plot(report.t, u.scale * report.q[:, j], label=label)
        top.plot(report.t, u.scale * report.qd[:, j], color="black", lw=0.8, ls="--")
        middle.plot(report.t, u.scale * report.error[:, j], color=line.get_color())
        bottom.plot(report.t, report.volts[:, j], color=line.get_color())
    top.set_ylabel(f"position, {shown}")
    middle.set_ylabel(f"error, {shown}")
    bottom.set(ylabel="volts", xlabel="time, s")
    top.legend(ncols=6, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.25))
    for event in report.states:
        for axes in (top, middle, bottom):
            axes.axvline(event.cycle * report.period, color="grey", lw=0.6)
    return figure
