"""The picture of a run: coordinates, speeds and energies over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from appell.errors import AppellError
from appell.model.units import Units, joined
from appell.robots.robot import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(
    path: tuple[Array, Array, Array],
    energies: tuple[Array, Mapping[str, Array]],
    units: tuple[Sequence[Units], Sequence[Units]],
    marks: Iterable[float] = (),
) -> Figure:
    """A Matplotlib figure with three panels: q and v over t along the ``path`` (t, q, v), and
    energies over their own times, as points where these are not the path's. ``units`` are those
    of the tree's joints and of the joints whose speeds v has; ``marks`` are thin lines."""
    if find_spec("matplotlib") is None:
        raise AppellError("run.plot needs Matplotlib: pip install 'appell[show]'.")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    t, q, v = path
    panels[0].plot(t, q, lw=1)
    panels[1].plot(t, v, lw=1)
    times, values = energies
    style: dict[str, Any] = {"lw": 1} if times is t else {"ls": "", "marker": ".", "ms": 2}
    for name, energy in values.items():
        panels[2].plot(times, energy, label=name, **style)
    panels[2].legend(frameon=False)
    positions = [u.position for u in units[0]]
    if q.shape[1] > len(positions):
        positions[3:6] = ["1"]  # a quaternion
    labels = f"q, {joined(positions)}", f"v, {joined(u.speed for u in units[1])}", "energy, J"
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        for mark in marks:
            axes.axvline(mark, color="0.7", lw=0.5, zorder=0)
    panels[2].set_xlabel("time, s")
    return figure
