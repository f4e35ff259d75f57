"""The chart of a run: what its joints did over time, by their names and in their units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.charts.chart import Chart, Level, Line, Panel
from appell.charts.palette import INK, style
from appell.robots.robot import Array

# Long dashes, which no line of a joint has: see palette.DASHES.
DESIRED: dict[str, Any] = {"colour": INK, "dash": "12 4", "width": 0.9}


class Signal(NamedTuple):
    """A quantity of several joints over time: ``values`` (N, k) at ``t``, or at each instant only
    if they are not ``known`` between them. ``reference`` is drawn dashed, under its name."""

    what: str
    t: Array
    values: Array
    names: Sequence[str]
    units: Sequence[str]
    known: bool = True
    reference: tuple[str, Array, Array] | None = None
    limits: Sequence[float] = ()
    order: Sequence[str] = ()  # of all names of a chart, so that a joint has one look in it

    def panels(self, marks: Sequence[float] = ()) -> Iterator[Panel]:
        """A panel for each unit: a joint that slides is not on the scale of one that turns."""
        looks = {name: style(k) for k, name in enumerate(self.order or self.names)}
        for unit in dict.fromkeys(self.units):
            columns = [k for k, u in enumerate(self.units) if u == unit]
            drawn = [
                Line(self.names[k], self.t, self.values[:, k], **looks[self.names[k]],
                     drawn="line" if self.known else "dots")
                for k in columns
            ]  # fmt: skip
            if self.reference is not None:
                name, t, values = self.reference
                drawn += [Line(name, t, values[:, k], **DESIRED) for k in columns]
            levels = [
                Level(
                    sign * self.limits[k],
                    f"limit of {self.names[k]}",
                    looks[self.names[k]]["colour"],
                )
                for k in columns
                if self.limits and np.isfinite(self.limits[k])
                for sign in (-1, 1)
            ]
            what = "torque" if (self.what, unit) == ("force", "N m") else self.what
            yield Panel("", f"{what}, {unit}" if unit else what, drawn, levels=levels, marks=marks)


def chart_of(
    signals: Sequence[Signal], t: Array, energies: dict[str, Array], known: bool, marks: Array
) -> Chart:
    """All signals, and energies over t, with the instants of impacts marked."""
    order = list(dict.fromkeys(name for signal in signals for name in signal.names))
    drawn = [signal._replace(order=order) for signal in signals]
    shown = [panel for signal in drawn for panel in signal.panels(marks.tolist())]
    energy = [
        Line(name, t, x, **style(len(order) + k), drawn="line" if known else "dots")
        for k, (name, x) in enumerate(energies.items())
    ]
    return Chart([*shown, Panel("", "energy, J", energy, marks=marks.tolist())])


def references(chart: Chart) -> str:
    """What is drawn in long dashes, in words for a caption; nothing if nothing is."""
    names = [line.name for line in chart.legend if line.dash == DESIRED["dash"]]
    return f"Long dashes: {', '.join(names)}. " if names else ""


def held(t: Array, values: Array) -> tuple[Array, Array]:
    """Values that hold from each instant to the next, as the corners of their steps."""
    return np.repeat(t, 2)[1:], np.repeat(values, 2, axis=0)[:-1]


def coordinate_names(
    joints: Sequence[str], units: Sequence[str], quaternions: Sequence[int], nq: int
) -> tuple[list[str], list[str]]:
    """The names and the units of nq coordinates: those of the joints, of which three that turn a
    body together have a quaternion, which has no unit."""
    names, own = list(joints), list(units)
    for k in quaternions:
        body = names[k].removesuffix(" x") if k < len(names) else "body"
        names[k : k + 3] = [f"{body}, quaternion {axis}" for axis in "xyzw"]
        own[k : k + 3] = [""] * 4
    if len(names) != nq:  # of a file that says otherwise
        return [f"q{k + 1}" for k in range(nq)], (own + [""] * nq)[:nq]
    return names, own
