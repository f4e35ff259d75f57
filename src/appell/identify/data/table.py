"""Columns of numbers from files: CSV, Parquet, and the logs of the rig (MCAP)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import AppellError, InputError, quoted, reading, shorten
from appell.robots.robot import Array

_LEFT_OUT = 20  # cycles of a log, one after the other, that are filled


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns of equal length by name, where they come from, and what was done to them."""

    columns: Mapping[str, Array]
    origin: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def read_table(path: str | Path) -> ColumnTable:
    """The columns of a .csv, .parquet or .mcap file."""
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: data are read from {', '.join(_READERS)} files, not '{file.suffix}'."
        )
    with reading(path):
        columns, notes = reader(file)
    table = ColumnTable(columns, str(path), notes)
    if not len(table):
        raise InputError(f"{path}: the file has no samples.")
    return table


def _csv(file: Path) -> dict[str, Array]:
    """A head of names and lines of numbers, separated by commas, semicolons or tabs."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            start = lines.readline()
            mark = max(",;\t", key=start.count)
            names = [name.strip() for name in next(csv.reader([start], delimiter=mark), [])]
            _refuse_head(file, names)
            with np.errstate(all="ignore"):
                numbers = _fast(lines, mark, len(names))
        if numbers is None:
            with file.open(newline="", encoding="utf-8-sig") as lines:
                rows = csv.reader(islice(lines, 1, None), delimiter=mark)
                numbers = np.array([*_lines(file, names, rows)], dtype=float)
    except UnicodeDecodeError:
        raise InputError(f"{file}: not a text in UTF-8; expected lines of numbers.") from None
    except csv.Error as problem:
        raise InputError(f"{file}: not a CSV file ({problem}).") from None
    return dict(zip(names, numbers.reshape(-1, len(names)).T, strict=True))


def _fast(lines: Any, mark: str, count: int) -> Array | None:
    """NumPy's own reader; None where something is not as it should be, which is then looked for."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files without samples
            numbers = np.loadtxt(lines, delimiter=mark, ndmin=2, comments=None)
    except ValueError:
        return None
    return numbers if not numbers.size or numbers.shape[1] == count else None


def _refuse_head(file: Path, names: list[str]) -> None:
    if not any(names):
        raise InputError(f"{file}:1: the first line is empty; expected the columns' names.")
    numbers = sum(_is_number(name) for name in names)
    if numbers == len(names):
        raise InputError(
            f"{file}:1: the first line holds numbers; expected the columns' names, such as t, q1 "
            "[deg], tau1."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{file}:1: column '{shorten(min(repeated))}' is there more than once; rename one."
        )


def _lines(file: Path, names: list[str], rows: Iterator[list[str]]) -> Iterator[list[float]]:
    for k, row in enumerate(rows, start=2):
        if not row or row == [""]:
            continue
        if len(row) != len(names):
            raise InputError(
                f"{file}:{k}: {len(row)} values; expected {len(names)}, as the first line has "
                "names. Was the file cut?"
            )
        values = []
        for name, text in zip(names, row, strict=True):
            if text.strip() and not _is_number(text):
                comma = " (decimal commas are not read)" if "," in text else ""
                raise InputError(
                    f"{file}:{k}: column '{shorten(name)}' holds {quoted(text)}, no number{comma}."
                )
            values.append(float(text) if text.strip() else np.nan)
        yield values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(file: Path) -> dict[str, Array]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise AppellError("Parquet files need pyarrow: pip install 'appell[identify]'.") from None
    try:
        table = parquet.read_table(file)
    except ArrowException as problem:
        raise InputError(f"{file}: cannot be read as Parquet: {problem}.") from None
    columns = {}
    for name in table.column_names:
        try:
            columns[name] = table[name].to_numpy().astype(float)
        except (TypeError, ValueError):
            continue  # a text; a column that is asked for is missed by its name
    return columns


def _mcap(file: Path) -> tuple[dict[str, Array], tuple[str, ...]]:
    from appell.rig.log.log_file import read_log

    return log_columns(read_log(file))


def log_columns(log: Any) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Columns of the cycles in which a log's rig followed its trajectory, at their even times;
    those that were left out in between, if few, are filled by a spline, and a note says so."""
    from appell.rig.controller.controller import Phase

    following = np.flatnonzero(log["phase"] == Phase.FOLLOW)
    cycle, t = log["cycle"][following].astype(np.int64), log.t[following]
    filled = _filled(cycle)
    if len(filled) > 1:
        t = t[0] + (filled - cycle[0]) * (t[-1] - t[0]) / (cycle[-1] - cycle[0])
    columns = {"t": t}
    for name in ("q", "tau"):
        for j in range(log.n):
            x = np.array(log[name][following, j], dtype=float)
            columns[f"{name}{j + 1}"] = _between(cycle, x, filled)
    missing = len(filled) - len(cycle)
    note = f"{missing} of {len(filled)} cycles were left out, and are filled by a spline"
    return columns, (note,) if missing else ()


def _filled(cycle: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All cycles from the first to the last."""
    steps = np.diff(cycle)
    if len(steps) and steps.min() < 1:
        k = int(np.argmin(steps))
        raise InputError(
            f"log: cycle {cycle[k]} is followed by {cycle[k + 1]}; expected rising numbers (is "
            "this the log of one run?)."
        )
    if steps.max(initial=0) > _LEFT_OUT + 1:
        k = int(np.argmax(steps))
        raise InputError(
            f"log: {steps[k] - 1} cycles are missing after cycle {cycle[k]}; up to {_LEFT_OUT} are "
            "filled. Run it on a machine that is less busy, or slower."
        )
    return np.arange(cycle[0], cycle[-1] + 1) if len(cycle) else cycle


def _between(cycle: npt.NDArray[np.int64], x: Array, filled: npt.NDArray[np.int64]) -> Array:
    if len(filled) == len(cycle):
        return x
    from scipy.interpolate import CubicSpline

    whole = CubicSpline(cycle, x)(filled)
    whole[cycle - cycle[0]] = x
    return np.asarray(whole, dtype=float)


_READERS: dict[str, Callable[[Path], tuple[dict[str, Array], tuple[str, ...]]]] = {
    ".csv": lambda file: (_csv(file), ()),
    ".parquet": lambda file: (_parquet(file), ()),
    ".mcap": _mcap,
}
