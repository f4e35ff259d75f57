"""The results of a sweep on disk: a folder of files, one for each block of points.

    study.json           the study, what its points depend on, how many are in a block
    inputs/              the files that the study reads, if any
    points/              the dataset: a Parquet file per block, for pandas, Polars, DuckDB, ...;
                         .npz files where pyarrow is not installed
    sweep.log            what happened, with the time

A file appears whole, by renaming, or not at all. Whatever ends a sweep, what is there is right, and
what is missing is computed when the sweep is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.study.json_numbers import read, written
from appell.study.scenario import Source
from appell.study.sweeps.bundle import Bundle
from appell.study.sweeps.storage.block_files import format_of, part_files, verified
from appell.study.sweeps.storage.block_table import Columns, Stretch
from appell.study.sweeps.storage.results_folder import INPUTS, STUDY, ResultsFolder, read_head
from appell.study.sweeps.study_file import Study, checked_study
from appell.whole_file import remove_leftovers

_POINTS = "points"
_FREE = ("title", "block", "tune")  # entries of a study that change no point
_WHOLE = ("latin_hypercube", "saltelli")  # samplings whose points depend on their number
NOTHING: Mapping[int, Columns] = {}


class Dataset(ResultsFolder):
    """The folder of a sweep, held by this process until it is closed."""

    damaged: list[str]  # files of blocks that cannot be read, when what is missing was looked for

    def __init__(self, folder: Path, bundle: Bundle, study: Study, block: int) -> None:
        super().__init__(folder, "sweep", "sweep.log")
        try:
            free = _FREE if study.sampling in _WHOLE else (*_FREE, "points")
            identity = bundle.identity(free)
            self.hash = identity.hash
            self.begin(bundle, identity, bundle.files, block=block)
            (folder / _POINTS).mkdir(exist_ok=True)
            remove_leftovers(folder / _POINTS)
            self.format = format_of(folder / _POINTS)
            self.block = int(self.head["block"])
        except BaseException:
            self.close()
            raise

    def compared(self, compare: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Result of `compare`, computed once and kept."""
        if "compared" not in self.head:
            self.keep(compared=written(compare()))
        return _compared_in(self.head)

    # Blocks

    def missing(self, count: int) -> list[Stretch]:
        """What is not there of ``count`` points: whole blocks, or the end of one that was the last
        when there were fewer points."""
        files, stretches = parts(self.folder), []
        self.damaged = []
        beyond = max(files, default=-1) * self.block >= count
        for k in range(-(-count // self.block)):
            first, last = k * self.block, min(count, (k + 1) * self.block)
            there = self._there(files[k], first) if k in files else 0
            if beyond or there > last - first:
                raise InputError(
                    f"'{self.folder}' has more points than the {count:,} of the study; choose "
                    "another folder with --output."
                )
            if first + there < last:
                stretches.append(Stretch(k, first + there, last))
        return stretches

    def _there(self, file: Path, first: int) -> int:
        """How many points a file has, from this one on; none if it cannot be read, or is of another
        study."""
        try:
            points = verified(self.format, file, self.hash)["point"]
        except ValueError:
            points = np.zeros(0)
        if not len(points) or not np.array_equal(points, np.arange(first, first + len(points))):
            self.damaged.append(file.name)
            return 0
        return len(points)

    def failed(self, missing: Sequence[Stretch]) -> int:
        """Number of failed points in the blocks that are there, without the ``missing`` points."""
        absent = {x.block for x in missing if x.first == x.block * self.block}
        files = [file for k, file in parts(self.folder).items() if k not in absent]
        return sum(int(self.format.read(file, ["failed"])["failed"].sum()) for file in files)

    def put(self, x: Stretch, columns: Columns) -> Columns:
        """Keep a stretch, behind what its block has, and return the block; the file is there whole
        when this returns, or not at all."""
        if x.first > x.block * self.block:
            file = parts(self.folder)[x.block]
            columns = joined([self.format.read(file), columns])
        self._write_block(x.block, columns)
        return columns

    def _write_block(self, block: int, columns: Columns) -> None:
        name = f"{_POINTS}/part-{block:08d}{self.format.suffix}"
        self.write(name, lambda scratch: self.format.write(scratch, columns, self.hash))

    def level(self) -> None:
        """Give all files the same columns: those of a block in which every point failed may not
        have been known."""
        files = parts(self.folder)
        names = {k: self.format.names(file) for k, file in files.items()}
        whole = list(dict.fromkeys(name for own in names.values() for name in own))
        for k, own in names.items():
            if own != whole:
                columns = self.format.read(files[k])
                nothing = np.full(len(columns["point"]), np.nan)
                self._write_block(k, {name: columns.get(name, nothing) for name in whole})


# Reading


def study_in(folder: Path) -> Study:
    """Study of a sweep's folder; the files that it names are the copies kept there."""
    source = Source(folder / INPUTS / STUDY, named=False)
    return checked_study(read_head(folder, "sweep")["study"], source)


def read_compared(folder: Path) -> dict[str, Any]:
    """How far rollouts and exact runs differ, as a sweep's folder keeps it."""
    return _compared_in(read_head(folder, "sweep"))


def _compared_in(head: Mapping[str, Any]) -> dict[str, Any]:
    compared = head.get("compared") or {}
    return {name: x if name in ("point", "refused") else read(x) for name, x in compared.items()}


def parts(folder: Path) -> dict[int, Path]:
    """The files of a sweep's folder, by the numbers of their blocks."""
    return part_files(folder / _POINTS)


def read_columns(folder: Path, known: Mapping[int, Columns] = NOTHING) -> Columns:
    """The columns of a sweep, in the order of the points; blocks that are ``known`` are not
    read."""
    files, own = parts(folder), read_head(folder, "sweep")["hash"]
    if not files:
        raise InputError(f"'{folder}' has no points yet; run the sweep.")
    form = format_of(folder / _POINTS)
    blocks, end = [], -1
    for k, file in files.items():
        try:
            blocks.append(known[k] if k in known else verified(form, file, own))
            points = blocks[-1]["point"]
            if not (np.diff(points, prepend=end) > 0).all():
                raise ValueError(f"point {points[0]} stands twice, or not in order")
        except ValueError as problem:
            why = str(problem).rstrip(".")
            text = why if file.name in why else f"{file.name}: {why}"
            raise InputError(
                f"'{folder}' has a damaged file: {text}. Run the sweep again, which computes it "
                "anew."
            ) from None
        end = points[-1] if len(points) else end
    return joined(blocks)


def joined(blocks: Sequence[Columns]) -> Columns:
    """The columns of blocks one after another; those that a block does not have are NaN in it."""
    names = dict.fromkeys(name for block in blocks for name in block)
    return {
        name: np.concatenate(
            [b[name] if name in b else np.full(len(b["point"]), np.nan) for b in blocks]
        )
        for name in names
    }
