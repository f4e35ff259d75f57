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

import contextlib
import errno
import json
import os
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from appell.errors import InputError
from appell.study.sweeps.bundle import Bundle, differing
from appell.study.sweeps.storage.dataset import DiskError, appear, changed, locked

_STUDY, _EVALUATIONS, _LOG = "study.json", "evaluations.jsonl", "tune.log"
_FREE = ("title", "block", ("tune", "iterations"), ("tune", "tolerance"))  # may change on the way
_SYNC = 1.0  # s of evaluations that a failure of the machine's power may cost
Record = dict[str, Any]


def hash_of(bundle: Bundle) -> str:
    """Hash of what a search depends on: all of the study but the criteria by which it ends."""
    fixed = _fixed(json.loads(bundle.text))
    digest = sha256(json.dumps(fixed).encode())
    for name, content in sorted(bundle.files.items()):
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _fixed(study: dict[str, Any]) -> dict[str, Any]:
    """A study without the entries that may change."""
    kept = json.loads(json.dumps(study))
    for entry in _FREE:
        table, key = (kept, entry) if isinstance(entry, str) else (kept[entry[0]], entry[1])
        table.pop(key, None)
    return dict(kept)


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

    def _write(self, line: Record) -> None:
        """Put it on disk, where there is one."""

    def log(self, text: str) -> None:
        """Tell the log, where there is one."""

    def close(self) -> None:
        """Let others write."""

    def __len__(self) -> int:
        return sum(kind == "value" for kind, _ in self._records)


class TuneFolder(Memory):
    """The folder of a tune, held by this process until it is closed."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        super().__init__()
        self.folder, self.bundle, self._synced = folder, bundle, monotonic()
        if folder.exists() and not folder.is_dir():
            raise InputError(f"'{folder}' is a file; give the name of a folder with --output.")
        if folder.exists() and not (folder / _STUDY).exists() and any(folder.iterdir()):
            raise InputError(
                f"'{folder}' holds something else than a tune; choose another folder with --output."
            )
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(folder)
        try:
            self._begin()
            self._file = self._opened()
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()
        self._lock.close()

    # What is tuned

    def _begin(self) -> None:
        """Write what is tuned, or compare it with what was."""
        path = self.folder / _STUDY
        own = hash_of(self.bundle)
        if path.exists():
            head = _head(self.folder)
            if head["hash"] != own:
                now = self.bundle._replace(text=json.dumps(_fixed(json.loads(self.bundle.text))))
                before = {"study": _fixed(head["study"])}
                raise InputError(
                    f"'{self.folder}' holds another tune: {changed(before, now)}. Choose another "
                    "folder with --output, or remove this one."
                )
            other = differing(head["versions"], self.bundle.versions)
            if other:
                raise InputError(
                    f"'{self.folder}' was begun with other versions; here there is {other}. "
                    "Evaluations of both might differ: go on with those versions, or choose "
                    "another folder."
                )
        head = {
            "study": json.loads(self.bundle.text),
            "hash": own,
            "files": sorted(self.bundle.files),
            "versions": dict(self.bundle.versions),
        }
        self.write(_STUDY, json.dumps(head, indent=2) + "\n")

    # Evaluations

    def _opened(self) -> Any:
        """The file of evaluations, read, and cut to its whole lines."""
        path = self.folder / _EVALUATIONS
        whole = 0
        if path.exists():
            for line in path.read_bytes().splitlines(keepends=True):
                record = _record(line)
                if record is None:
                    break
                whole += len(line)
                kind, x = record.pop("kind"), tuple(record.pop("x"))
                self._records[kind, x] = record
            os.truncate(path, whole)
        return path.open("ab")

    def _write(self, line: Record) -> None:
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()  # what ends this process does not end the line
            if monotonic() - self._synced > _SYNC:
                os.fsync(self._file.fileno())
                self._synced = monotonic()
        except OSError as problem:
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full" if full else str(problem.strerror or problem)
            raise DiskError(
                f"cannot write '{self.folder / _EVALUATIONS}': {why}. What was written before is "
                "kept: make room, and run the same command again to go on."
            ) from None

    # Other files

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file of the folder, whole or not at all."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        appear(path, lambda scratch: scratch.write_bytes(content))

    def log(self, text: str) -> None:
        """Add a line to the log."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with contextlib.suppress(OSError), (self.folder / _LOG).open("a") as file:
            file.write(f"{now} {text}\n")


def _record(line: bytes) -> Record | None:
    """A whole line of evaluations; None if it was cut off or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and {"kind", "x"} <= set(record) else None


def _head(folder: Path) -> dict[str, Any]:
    """Contents of study.json in a tune's folder, checked."""
    path = folder / _STUDY
    try:
        head = json.loads(path.read_text())
        if not {"study", "hash", "versions"} <= set(head) or "tune" not in head["study"]:
            raise ValueError
    except (OSError, ValueError, TypeError):
        raise InputError(
            f"'{folder}' is no folder of a tune: {path.name} in it is missing or damaged, or of a "
            "sweep. Choose another folder with --output."
        ) from None
    return dict(head)
