"""What is kept of a simulated motion: arrays in a file, and a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from appell.errors import AppellError, InputError, quoted
from appell.model.units import Units, joined
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


def smooth(t: Array, q: Array, rates: Array, *others: Array) -> tuple[Array, ...]:
    """Times, eight or more to each step from one instant to the next; coordinates there, by the
    cubics that have the rates of the instants; and other values, by splines."""
    if len(t) < 2:
        return t, q, *others
    from scipy.interpolate import CubicHermiteSpline, CubicSpline

    parts = np.maximum(8, np.ceil(1000 * np.diff(t) / (t[-1] - t[0]))).astype(int)
    steps = zip(t, t[1:], parts, strict=False)
    times = np.concatenate([*(np.linspace(a, b, n, endpoint=False) for a, b, n in steps), t[-1:]])
    splines = (CubicHermiteSpline(t, q, rates), *(CubicSpline(t, x) for x in others))
    return times, *(spline(times) for spline in splines)


# Files that come from elsewhere may be small and unpack to much more than memory holds. Motions of
# real robots shrink by less than this factor: their times are hard to compress.
_UNPACKED, _SMALL = 100, 2**28  # times the file's size; bytes that any file may have


def load_arrays(
    path: str | os.PathLike[str], names: Iterable[str], expected: str, also: Iterable[str] = ()
) -> dict[str, Any]:
    """The arrays of these names in an .npz file that may be damaged, or made to do harm, and those
    of ``also`` that it has: nothing is unpacked before its size is known. ``expected`` tells errors
    what the file should be."""
    try:
        with ZipFile(path) as archive:
            there = set(archive.namelist())
            names = (*names, *(name for name in also if f"{name}.npy" in there))
            members = {name: archive.getinfo(f"{name}.npy") for name in names}
            size = sum(info.file_size for info in members.values())
            most = max(_SMALL, _UNPACKED * Path(path).stat().st_size)
            if size > most:
                raise InputError(
                    f"{path}: it unpacks to {size} bytes; expected {expected}, of at most {most}. "
                    "If you trust it, unpack it first: np.savez(new, **np.load(old))."
                )
            return {name: _array(archive, info) for name, info in members.items()}
    except (AppellError, OSError):
        raise
    except Exception as problem:  # there is no end of what a broken archive may raise
        raise InputError(
            f"{path}: expected {expected} ({type(problem).__name__}: {quoted(str(problem))})."
        ) from None


def _array(archive: ZipFile, info: Any) -> Any:
    """One array, if its header and its size in the archive tell the same."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, kind = read(file)
        if kind.hasobject or file.tell() + prod(shape) * kind.itemsize != info.file_size:
            raise ValueError(f"{info.filename} does not hold what its head says")
        data = np.frombuffer(bytearray(file.read()), kind, prod(shape))
    return data.reshape(shape, order="F" if by_columns else "C")


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
