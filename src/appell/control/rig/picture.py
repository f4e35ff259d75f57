"""A run over a rig as a picture."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from appell.errors import AppellError
from appell.model.units import joined

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from appell.control.rig.report import Report


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
