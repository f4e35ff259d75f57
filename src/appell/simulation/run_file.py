"""Runs in files: the arrays of a run in an .npz file, written and read back with care."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from appell.errors import AppellError, InputError, quoted


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
