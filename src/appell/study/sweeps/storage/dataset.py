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

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.compile.native import processor
from appell.errors import AppellError, InputError
from appell.study.scenario import Source
from appell.study.sweeps.bundle import Bundle, differing
from appell.study.sweeps.storage.block_files import format_of, part_files
from appell.study.sweeps.storage.block_table import Columns, Stretch
from appell.study.sweeps.study_file import Study, checked_study

_STUDY, _POINTS, _INPUTS, _LOCK = "study.json", "points", "inputs", ".lock"
NOTHING: Mapping[int, Columns] = {}


class Dataset:
    """The folder of a sweep, held by this process until it is closed."""

    def __init__(self, folder: Path, bundle: Bundle, block: int) -> None:
        self.folder, self.bundle = folder, bundle
        self.hash = bundle.hash
        self.processor = processor()  # that of the client which began the sweep
        self._make()
        self._lock = locked(folder)
        try:
            self.format = format_of(folder / _POINTS)
            self.block = self._begun(block)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.close()

    def _make(self) -> None:
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"'{folder}' is a file; give the name of a folder with --output.")
        if folder.exists() and not (folder / _STUDY).exists() and any(folder.iterdir()):
            raise InputError(
                f"'{folder}' holds something else than a sweep; choose another folder with "
                "--output."
            )
        (folder / _POINTS).mkdir(parents=True, exist_ok=True)

    def _begun(self, block: int) -> int:
        """Write what is swept, or compare it with what was; how many points a block has."""
        path = self.folder / _STUDY
        if path.exists():
            head = read_head(self.folder)
            if head["hash"] != self.hash:
                raise InputError(
                    f"'{self.folder}' holds another study: "
                    f"{changed(head, self.bundle, self.folder / _INPUTS)}. Choose "
                    "another folder with --output, or remove this one."
                )
            other = differing(head["versions"], self.bundle.versions)
            if other:
                raise InputError(
                    f"'{self.folder}' was begun with other versions; here there is {other}. Points "
                    "of both might differ: go on with those versions, or choose another folder."
                )
            block = int(head["block"])
            self.processor = str(head.get("processor", self.processor))
        self._write_head(block)
        return block

    def compared(self, compare: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Result of `compare`, computed once and kept."""
        head = read_head(self.folder)
        if "compared" not in head:
            head["compared"] = compare()
            text = json.dumps(head, indent=2) + "\n"
            appear(self.folder / _STUDY, lambda path: path.write_text(text))
        return dict(head["compared"])

    def _write_head(self, block: int) -> None:
        for name, content in self.bundle.files.items():
            file = self.folder / _INPUTS / name
            file.parent.mkdir(parents=True, exist_ok=True)
            appear(file, lambda path, content=content: path.write_bytes(content))
        known = read_head(self.folder) if (self.folder / _STUDY).exists() else {}
        head = known | {
            "study": json.loads(self.bundle.text),
            "hash": self.hash,
            "files": sorted(self.bundle.files),
            "versions": dict(self.bundle.versions),
            "processor": self.processor,
            "block": block,
        }
        text = json.dumps(head, indent=2) + "\n"
        appear(self.folder / _STUDY, lambda path: path.write_text(text))

    # Blocks

    def missing(self, count: int) -> list[Stretch]:
        """What is not there of ``count`` points: whole blocks, or the end of one that was the last
        when there were fewer points."""
        files = self.parts()
        stretches = []
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

    def parts(self) -> dict[int, Path]:
        """Files that are there, by block number."""
        return parts(self.folder)

    def _there(self, file: Path, first: int) -> int:
        """How many points a file has, from this one on; none if it cannot be read, or is of another
        study."""
        try:
            rows, study = self.format.head(file)
            points = self.format.points(file)
        except (OSError, ValueError, KeyError):  # pyarrow.ArrowInvalid is a ValueError
            return 0
        whole = study == self.hash and np.array_equal(points, np.arange(first, first + rows))
        return rows if whole else 0

    def failed(self, missing: Sequence[Stretch]) -> int:
        """Number of failed points in the blocks that are there, without the ``missing`` points."""
        absent = {x.block for x in missing if x.first == x.block * self.block}
        files = [file for k, file in self.parts().items() if k not in absent]
        return sum(int(self.format.read(file, ["failed"])["failed"].sum()) for file in files)

    def write(self, x: Stretch, columns: Columns) -> Columns:
        """Keep a stretch, behind what its block has, and return the block; the file is there whole
        when this returns, or not at all."""
        if x.first > x.block * self.block:
            columns = joined([self.format.read(self.parts()[x.block]), columns])
        self._put(x.block, columns)
        return columns

    def _put(self, block: int, columns: Columns) -> None:
        path = self.folder / _POINTS / f"part-{block:08d}{self.format.suffix}"
        appear(path, lambda scratch: self.format.write(scratch, columns, self.hash))

    def level(self) -> None:
        """Give all files the same columns: those of a block in which every point failed may not
        have been known."""
        files = self.parts()
        names = {k: self.format.names(file) for k, file in files.items()}
        whole = list(dict.fromkeys(name for own in names.values() for name in own))
        for k, own in names.items():
            if own != whole:
                columns = self.format.read(files[k])
                nothing = np.full(len(columns["point"]), np.nan)
                self._put(k, {name: columns.get(name, nothing) for name in whole})

    def log(self, text: str) -> None:
        """Add a line to the sweep's log."""
        from datetime import datetime, timezone

        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with contextlib.suppress(OSError), (self.folder / "sweep.log").open("a") as file:
            file.write(f"{now} {text}\n")


# Reading


def read_head(folder: Path) -> dict[str, Any]:
    """Contents of study.json in a sweep's folder, checked."""
    path = folder / _STUDY
    try:
        head = json.loads(path.read_text())
        kinds = {"study": dict, "hash": str, "block": int, "versions": dict}
        if not all(isinstance(head[name], kind) for name, kind in kinds.items()):
            raise ValueError
        if head["block"] < 1 or not isinstance(head.get("compared", {}), dict):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(
            f"'{folder}' is no folder of a sweep: {path.name} in it is missing or damaged. Give "
            "the folder that appell sweep wrote, such as study-sweep."
        ) from None
    return dict(head)


def study_in(folder: Path) -> Study:
    """Study of a sweep's folder; the files that it names are the copies kept there."""
    source = Source(folder / _INPUTS / _STUDY, named=False)
    return checked_study(read_head(folder)["study"], source)


def parts(folder: Path) -> dict[int, Path]:
    """The files of a sweep's folder, by the numbers of their blocks."""
    return part_files(folder / _POINTS)


def read_columns(folder: Path, known: Mapping[int, Columns] = NOTHING) -> Columns:
    """The columns of a sweep, in the order of the points; blocks that are ``known`` are not
    read."""
    files, own = parts(folder), read_head(folder)["hash"]
    if not files:
        raise InputError(f"'{folder}' has no points yet; run the sweep.")
    form = format_of(folder / _POINTS)
    blocks, end = [], -1
    for k, file in files.items():
        try:
            if k not in known and form.head(file)[1] != own:
                raise ValueError(f"{file.name} is of another study")
            blocks.append(known[k] if k in known else form.read(file))
            points = blocks[-1]["point"]
            if not (np.diff(points, prepend=end) > 0).all():
                raise ValueError(f"point {points[0]} stands twice, or not in order")
        except (OSError, ValueError, KeyError) as problem:
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


# Writing


def appear(path: Path, write: Any) -> None:
    """Write a file that is there whole, or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(scratch)
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            scratch.unlink()
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else str(problem.strerror or problem)
        raise DiskError(
            f"cannot write '{path}': {why}. What was written before is kept: make room, and run "
            "the same command again to go on."
        ) from None
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise


class DiskError(AppellError):
    """Raised where results could not be written."""


def locked(folder: Path) -> Any:
    """Lock file of the folder, which one process at a time can hold."""
    file = (folder / _LOCK).open("a+")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # a system without such locks
        pass
    except OSError:
        file.close()
        raise InputError(
            f"'{folder}' is being written by another process; wait for it, or choose another "
            "folder with --output."
        ) from None
    return file


def changed(head: Mapping[str, Any], bundle: Bundle, inputs: Path | None = None) -> str:
    """What differs between the study of a folder, whose files are in ``inputs``, and another, in
    words."""
    before, now = (
        {key: x for key, x in study.items() if key not in ("title", "block")}
        for study in (head["study"], json.loads(bundle.text))
    )
    entries = [*_differing(before, now, "")]
    if not entries and inputs is not None:
        entries = [name for name, x in bundle.files.items() if not _holds(inputs / name, x)]
    if not entries:
        entries = ["a file that it reads, or the order of its entries,"]
    more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
    return f"{', '.join(entries[:3])}{more} changed"


def _holds(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() == content
    except OSError:
        return False


def _differing(a: Any, b: Any, path: str) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from _differing(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif a != b:
        yield path
