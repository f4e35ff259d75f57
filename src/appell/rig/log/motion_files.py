"""Motions in files: times and positions, as CSV or NumPy's npz."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.trajectories.joint_space import spline
from appell.control.trajectories.trajectory import Trajectory
from appell.errors import InputError, quoted, reading
from appell.given import number
from appell.model.model import KINDS
from appell.model.units import units_of
from appell.rig.machine.outputs import OUTPUTS, Switch, switches_of
from appell.robots.robot import Array
from appell.simulation.run_file import load_arrays

Levels = dict[str, Array]  # 1 where an output is on, by its name

_TIMES = {"s": 1.0, "ms": 1e-3}
_ANGLES = {"rad": 1.0, "deg": np.pi / 180}
_LENGTHS = {"m": 1.0, "mm": 1e-3}
_BESIDES = re.compile(r"(v|a|tau)\d+$")


def read_motion(
    path: Path | str,
    n: int,
    speed: float = 1.0,
    joints: Sequence[str] = (),
    outputs: Sequence[str] = OUTPUTS,
    *,
    kinds: Sequence[str] = (),
) -> tuple[Trajectory, list[Switch]]:
    """The spline through a file's positions of n joints, so many times as fast, and when the
    digital outputs are switched on the way.

    A CSV file has the columns t, q1, ..., qn in s and rad, or m for joints that slide. A first line
    may name them, in any order: ``t`` and ``q1`` to ``qn``, or the names in ``joints``, each with a
    unit if it likes: ``t [ms]``, ``q2 [deg]``, ``q3 [mm]``. ``kinds`` are those of the joints, all
    revolute if not given. A column named as one of the ``outputs`` has 1 where that is on from its
    row's time on, until the next row's, and 0 where it is off. Columns of speeds, accelerations and
    torques (v1, a1, tau1), which files of other commands have, are left alone, unless joints have
    these names and no column is named q1. An npz file has the
    arrays t, (m,), and q, (m, n), and one, (m,), for each output.
    """
    number("speed", speed)
    kinds = kinds or ("revolute",) * n
    path = Path(path)
    with reading(path):
        if path.suffix == ".npz":
            t, q, levels = _from_npz(path, outputs)
        else:
            t, q, levels = _from_csv(path, kinds, joints, outputs)
    if q.ndim != 2 or t.shape != q.shape[:1] or q.shape[1] != n:
        raise InputError(
            f"{path}: times of shape {t.shape} and positions of shape {q.shape}; expected (m,) and "
            f"(m, {n}), a column for each joint."
        )
    if len(t) < 2:
        raise InputError(f"{path}: {len(t)} rows; expected two or more rows of finite numbers.")
    bad = ~(np.isfinite(t) & np.isfinite(q).all(axis=1))
    if bad.any():
        raise InputError(
            f"{path}: row {int(np.argmax(bad)) + 1} of numbers holds one that is not finite; "
            "expected two or more rows of finite numbers."
        )
    if (np.diff(t) <= 0).any():
        row = int(np.argmax(np.diff(t) <= 0)) + 2
        raise InputError(f"{path}: the time of row {row} is not later than the one before it.")
    for name, x in levels.items():
        wrong = np.flatnonzero(~np.isin(x, (0.0, 1.0)))
        if len(wrong) or x.shape != t.shape:
            row = int(wrong[0]) + 1 if len(wrong) else min(len(x), len(t)) + 1
            raise InputError(
                f"{path}: output {name!r} in row {row}; expected 1 (on) or 0 (off) in each row."
            )
    t = (t - t[0]) / speed
    return spline(q, t), switches_of(t, levels)


def write_motion(
    path: Path | str, t: Array, q: Array, levels: Levels | None = None, *, kinds: Sequence[str] = ()
) -> None:
    """Write a motion as read_motion reads it, of joints of these kinds; never over a file that is
    there."""
    levels = levels or {}
    units = [f" [{u.position}]" for u in units_of(kinds, q.shape[1])] if kinds else []
    names = [f"q{j + 1}{units[j] if units else ''}" for j in range(q.shape[1])]
    with Path(path).open("x", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", *names, *levels])
        for k, a in enumerate(t):
            on = (str(int(x[k])) for x in levels.values())
            writer.writerow([f"{a:.9g}", *(f"{x:.9g}" for x in q[k]), *on])


def _from_npz(path: Path, outputs: Sequence[str]) -> tuple[Array, Array, Levels]:
    expected = "an npz file with arrays t and q of real numbers, and of outputs"
    data = load_arrays(path, ("t", "q"), expected, also=outputs)
    if any(x.dtype.kind not in "fiu" for x in data.values()):
        raise InputError(
            f"{path}: arrays of {data['t'].dtype} and {data['q'].dtype}; expected {expected}."
        )
    t, q = data.pop("t").astype(float), data.pop("q").astype(float)
    return t, q, {name: x.astype(float) for name, x in data.items()}


def _from_csv(
    path: Path, kinds: Sequence[str], joints: Sequence[str], outputs: Sequence[str]
) -> tuple[Array, Array, Levels]:
    try:
        rows = [row for row in csv.reader(path.read_text("utf-8-sig").splitlines()) if row]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise InputError(f"{path}: not a CSV file ({problem}).") from None
    names = None
    if rows and not any(_number(x) for x in rows[0]):
        names, rows = rows[0], rows[1:]
    uneven = [k for k, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if uneven:
        raise InputError(
            f"{path}: row {uneven[0]} of numbers has {len(rows[uneven[0] - 1])}; expected "
            f"{len(rows[0])}, as in the first."
        )
    for k, text in ((k, x) for k, row in enumerate(rows, 1) for x in row if not _number(x)):
        raise InputError(
            f"{path}: row {k} of numbers holds {quoted(text)}; expected rows t, q1, q2, ... of "
            "numbers with commas between them."
        )
    table = np.array([[float(x) for x in row] for row in rows])
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"{path}: expected rows t, q1, q2, ... of as many numbers each.")
    levels: Levels = {}
    if names is not None:
        names, table, levels = _without_outputs(path, names, table, outputs, joints)
        table = _in_order(path, names, table, kinds, joints)
    return table[:, 0], table[:, 1:], levels


def _without_outputs(
    path: Path, names: list[str], table: Array, outputs: Sequence[str], joints: Sequence[str]
) -> tuple[list[str], Array, Levels]:
    """The columns of times and positions, and those of outputs by their names."""
    mine = [k for k, text in enumerate(names[: table.shape[1]]) if text.strip() in outputs]
    levels = {names[k].strip(): table[:, k] for k in mine}
    if len(levels) < len(mine):
        raise InputError(f"{path}: a column of an output is there twice; expected each once.")
    # Where positions are numbered, v1 is a speed; else it may be the name of a joint.
    plain = [_name_and_unit(x)[0] for x in names[: table.shape[1]]]
    positions = () if "q1" in plain else joints
    mine += [k for k, x in enumerate(plain) if _BESIDES.match(x) and x not in positions]
    others = [name for k, name in enumerate(names) if k not in mine]
    return others, np.delete(table, mine, axis=1), levels


def _in_order(
    path: Path, names: list[str], table: Array, kinds: Sequence[str], joints: Sequence[str]
) -> Array:
    """The columns t, q1, ..., qn in s and rad or m, as a file's first line names them."""
    n = len(kinds)
    known = {name: j + 1 for j, name in enumerate(joints)}
    known |= {"t": 0} | {f"q{j + 1}": j + 1 for j in range(n)}
    ordered = np.full((len(table), n + 1), np.nan)
    missing = set(range(n + 1))
    for k, text in enumerate(names):
        name, unit = _name_and_unit(text)
        place = known.get(name)
        turns = place and KINDS[kinds[place - 1]].angle
        units = _ANGLES if turns else _LENGTHS if place else _TIMES
        if place not in missing or (unit and unit not in units) or k >= table.shape[1]:
            raise InputError(
                f"{path}: column {quoted(text.strip())}; expected t [s] or [ms], and a column for "
                f"each of q1 to q{n}{' or ' + ', '.join(joints) if joints else ''}, [rad] or "
                "[deg], [m] or [mm] if it slides, each once, and columns for the machine's digital "
                "outputs."
            )
        ordered[:, place] = table[:, k] * units.get(unit, 1.0)
        missing.discard(place)
    if missing or table.shape[1] != n + 1:
        wanted = ", ".join(f"q{j}" if j else "t" for j in sorted(missing))
        raise InputError(
            f"{path}: {len(names)} names over {table.shape[1]} columns"
            f"{', without ' + wanted if wanted else ''}; expected a column for each joint and one "
            "for the time."
        )
    return ordered


def _name_and_unit(text: str) -> tuple[str, str]:
    """``q1 [deg]``: q1 and deg."""
    name, _, unit = text.strip().partition("[")
    return name.strip(), unit.rstrip("] ").strip()


def _number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
