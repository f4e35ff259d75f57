"""Folder of a tune, so that one that was killed goes on where it stood.

    study.json           the study, and what evaluations depend on
    evaluations.jsonl    every evaluation, a line each, in the order in which they came
    tune.log             what happened, with the time
    scenario.json        the tuned scenario, for `appell run`; what it reads lies beside it
    summary.json         the result

An optimiser is deterministic: started again, it asks for the same evaluations in the same order,
finds those that are kept, and goes on. Lines are added at the end, whole; one that was cut off is
taken away when the folder is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic
from typing import Any
from zlib import crc32

from appell.study.sweeps.bundle import Bundle
from appell.study.sweeps.storage.results_folder import GO_ON, ResultsFolder
from appell.whole_file import disk_error, write_whole

_EVALUATIONS = "evaluations.jsonl"
_FREE = ("title", "block", "tune.iterations", "tune.tolerance")  # may change on the way
_SYNC = 1.0  # s of evaluations that a failure of the machine's power may cost
Record = dict[str, Any]


class Memory:
    """Evaluations that have been made, by their parameters."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, tuple[float, ...]], Record] = {}

    def find(self, kind: str, x: tuple[float, ...]) -> Record | None:
        """An evaluation, or a record of another kind, at parameters."""
        return self._records.get((kind, x))

    def keep(self, kind: str, x: tuple[float, ...], record: Record) -> None:
        """Remember a record."""
        self._records[kind, x] = record
        self._write({"kind": kind, "x": list(x), **record})

    def _write(self, record: Record) -> None:
        """Write a record to the disk; in memory, do nothing."""

    def log(self, text: str) -> None:
        """Append a line to the log; in memory, do nothing."""

    def close(self) -> None:
        """Write nothing more."""

    def __len__(self) -> int:
        return sum(kind == "value" for kind, _ in self._records)


class TuneFolder(Memory):
    """Evaluations that are kept in a folder, held by this process until it is closed."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        super().__init__()
        self.damaged = 0  # lines of the file
        self.results = ResultsFolder(folder, "tune", "tune.log")
        self._synced = monotonic()
        try:
            self.results.begin(bundle, bundle.identity(_FREE), {})
            self._path = folder / _EVALUATIONS
            self._read()
            self._file = self._path.open("ab", buffering=0)
        except BaseException:
            self.results.close()
            raise

    def close(self) -> None:
        try:
            self._file.close()
        finally:
            self.results.close()

    def log(self, text: str) -> None:
        self.results.log(text)

    def _read(self) -> None:
        """Read the evaluations that are there; lines that are damaged are removed."""
        lines = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
        good = []
        for line in lines:
            record = self._record(line)
            if record is not None:
                good.append(line)
                kind, x = record.pop("kind"), tuple(record.pop("x"))
                self._records[kind, x] = record
        if len(good) < len(lines):
            write_whole(self._path, b"".join(good), cure=GO_ON)
            self.damaged = len(lines) - len(good)

    def _write(self, record: Record) -> None:
        left = self._line(record)
        try:
            while left:  # a disk may take a part of it
                left = left[self._file.write(left) :]
            if monotonic() - self._synced > _SYNC:
                os.fsync(self._file.fileno())
                self._synced = monotonic()
        except OSError as problem:
            raise disk_error(self._path, problem, GO_ON) from None

    def _line(self, record: Record) -> bytes:
        """The line of a record, with a checksum that is also of the study."""
        text = f"{self.results.head['hash']} {json.dumps(record, allow_nan=False)}"
        return json.dumps({**record, "check": crc32(text.encode())}).encode() + b"\n"

    def _record(self, line: bytes) -> Record | None:
        """The record of a line; None if it was cut off or damaged, or is of another study."""
        try:
            record = json.loads(line)
            own = {name: x for name, x in record.items() if name != "check"}
            return own if line == self._line(own) else None
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None
