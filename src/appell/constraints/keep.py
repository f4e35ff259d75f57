"""What is kept of a simulated motion: arrays in a file, and a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.robot import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays to an .npz file, whose name gets that ending."""
    if not isinstance(path, str | os.PathLike) or not Path(path).name:
        raise InputError(f"run.save({path!r}): expected the name of a file.")
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    try:
        np.savez_compressed(target, **arrays)
    except OSError as problem:
        raise InputError(f"run.save: {target} cannot be written ({problem}).") from problem
    return target


def picture(
    t: Array,
    q: Array,
    v: Array,
    times: Array,
    energies: Mapping[str, Array],
    marks: Iterable[float] = (),
) -> Figure:
    """A Matplotlib figure with three panels: q and v over t, energies over their own times; marks
    are thin lines."""
    if find_spec("matplotlib") is None:
        raise AppellError("run.plot needs Matplotlib: pip install 'appell[show]'.")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    panels[0].plot(t, q, lw=1)
    panels[1].plot(t, v, lw=1)
    for name, energy in energies.items():
        panels[2].plot(times, energy, lw=1, label=name)
    panels[2].legend(frameon=False)
    for axes, label in zip(panels, ("q", "v", "energy, J"), strict=True):
        axes.set_ylabel(label)
        for mark in marks:
            axes.axvline(mark, color="0.7", lw=0.5, zorder=0)
    panels[2].set_xlabel("time, s")
    return figure
