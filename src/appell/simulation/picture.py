"""A run at a glance: coordinates, speeds and energies over time."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import AppellError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from appell.simulation.run import Run


def picture(run: Run, instants: int = 1000) -> Figure:
    """A Matplotlib figure with three panels; impacts are thin lines."""
    if find_spec("matplotlib") is None:
        raise AppellError("run.plot needs Matplotlib: pip install 'appell[show]'.")
    from matplotlib.figure import Figure

    t = np.linspace(run.t[0], run.t[-1], instants)
    q, v = run(t)
    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    panels[0].plot(t, q, lw=1)
    panels[1].plot(t, v, lw=1)
    energies = {"kinetic": run.kinetic, "potential": run.potential, "total": run.energy}
    for name, energy in energies.items():
        panels[2].plot(run.t, energy, lw=1, label=name)
    panels[2].legend(frameon=False)
    for axes, label in zip(panels, ("q", "v", "energy, J"), strict=True):
        axes.set_ylabel(label)
        for impact in run.impacts[:100]:
            axes.axvline(impact.time, color="0.7", lw=0.5, zorder=0)
    panels[2].set_xlabel("time, s")
    return figure
