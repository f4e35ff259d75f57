"""What is kept of a simulated motion: arrays in a file, and a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from appell.errors import AppellError, InputError, quoted
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


# Files that come from elsewhere may be small and unpack to much more than memory holds. Motions of
# real robots shrink by less than this factor: their times are hard to compress.
_UNPACKED, _SMALL = 100, 2**28  # times the file's size; bytes that any file may have


def load_arrays(
    path: str | os.PathLike[str], names: Iterable[str], expected: str
) -> dict[str, Any]:
    """The arrays of these names in an .npz file that may be damaged, or made to do harm: nothing is
    unpacked before its size is known. ``expected`` tells errors what the file should be."""
    try:
        with ZipFile(path) as archive:
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
