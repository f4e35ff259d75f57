"""Motions in files: times and positions, as CSV or NumPy's npz."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.trajectories import spline
from appell.control.trajectory import Trajectory
from appell.errors import InputError
from appell.robot import Array


def read_motion(path: Path | str, n: int, speed: float = 1.0) -> Trajectory:
    """The spline through a file's positions of n joints, so many times as fast.

    A CSV file has the columns t, q1, ..., qn in s and rad, with or without a line of names; an npz
    file has the arrays t, (m,), and q, (m, n).
    """
    if not 0 < speed < np.inf:
        raise InputError(f"speed = {speed!r}; expected a number greater than zero.")
    path = Path(path)
    t, q = _from_npz(path) if path.suffix == ".npz" else _from_csv(path)
    if q.ndim != 2 or t.shape != q.shape[:1] or q.shape[1] != n:
        raise InputError(
            f"{path}: times of shape {t.shape} and positions of shape {q.shape}; expected (m,) and "
            f"(m, {n}), a column for each joint."
        )
    if len(t) < 2 or not (np.isfinite(t).all() and np.isfinite(q).all()):
        raise InputError(f"{path}: expected two or more rows of finite numbers.")
    if (np.diff(t) <= 0).any():
        row = int(np.argmax(np.diff(t) <= 0)) + 2
        raise InputError(f"{path}: the time of row {row} is not later than the one before it.")
    return spline(q, (t - t[0]) / speed)


def write_motion(path: Path | str, t: Array, q: Array) -> None:
    """As read_motion reads it; never over a file that is there."""
    with Path(path).open("x", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", *(f"q{j + 1}" for j in range(q.shape[1]))])
        writer.writerows([f"{x:.9g}" for x in (a, *row)] for a, row in zip(t, q, strict=True))


def _from_npz(path: Path) -> tuple[Array, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return np.asarray(file["t"], dtype=float), np.asarray(file["q"], dtype=float)
    except (KeyError, ValueError, EOFError) as problem:
        raise InputError(f"{path}: {problem}; expected an npz file with arrays t and q.") from None
    except Exception as problem:
        if isinstance(problem, OSError):
            raise
        raise InputError(f"{path}: not an npz file ({problem}).") from None


def _from_csv(path: Path) -> tuple[Array, Array]:
    try:
        rows = [row for row in csv.reader(path.read_text().splitlines()) if row]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise InputError(f"{path}: not a CSV file ({problem}).") from None
    if rows and not _number(rows[0][0]):
        rows = rows[1:]
    try:
        table = np.array([[float(x) for x in row] for row in rows])
    except ValueError as problem:
        raise InputError(
            f"{path}: {problem}; expected rows t, q1, q2, ... of as many numbers each."
        ) from None
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"{path}: expected rows t, q1, q2, ... of as many numbers each.")
    return table[:, 0], table[:, 1:]


def _number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
