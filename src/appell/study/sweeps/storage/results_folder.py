"""Folder of results that are written while they are computed, and go on after an interruption.

One process at a time holds it. What its results depend on is written first: another study, or other
versions, are refused.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from appell.compile.native import processor
from appell.errors import InputError
from appell.study.json_numbers import read
from appell.study.sweeps.bundle import Bundle, Identity, differing
from appell.whole_file import UNFINISHED, DiskError, disk_error, remove_leftovers, write_whole

STUDY, INPUTS = "study.json", "inputs"
_LOCK = ".lock"
GO_ON = "What was written before is kept: run the same command again to continue."


class ResultsFolder:
    """A folder of results, held by this process until it is closed.

    Attributes:
        folder: Its path.
        head: Contents of study.json: the study, what results depend on, and what else is known.
        processor: The kind of processor on which the results were begun.
    """

    def __init__(self, folder: Path, kind: str, log: str) -> None:
        """Take a folder that is new, empty, or of the same kind.

        Args:
            folder: Its path.
            kind: The command whose results it holds: "sweep" or "tune".
            log: The name of its log.
        """
        self.folder, self.kind, self._log = folder, kind, folder / log
        if folder.exists() and not folder.is_dir():
            raise InputError(f"'{folder}' is a file; give the name of a folder with --output.")
        if folder.exists() and not (folder / STUDY).exists():
            self._refuse_others()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise disk_error(folder, problem, "Choose another folder with --output.") from None
        self._lock = _locked(folder)

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.close()

    def log(self, text: str) -> None:
        """Append a line to the log, with the time."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with contextlib.suppress(OSError), self._log.open("a") as file:
            file.write(f"{now} {text}\n")

    def write(self, name: str, content: Any) -> None:
        """Write a file of the folder, whole or not at all; it may lie in a folder within."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, cure=GO_ON)

    def begin(
        self, bundle: Bundle, identity: Identity, inputs: Mapping[str, bytes], **more: Any
    ) -> None:
        """Write what the results are of; refuse another study, or other versions.

        Args:
            bundle: The study with its files.
            identity: What its results depend on.
            inputs: Files that are kept beside the study.
            **more: Further entries of study.json, which stay as they were where it is there.
        """
        known: dict[str, Any] = {}
        if (self.folder / STUDY).exists():
            known = read_head(self.folder, self.kind)
            self._refuse_another(known, bundle, identity)
        remove_leftovers(self.folder)
        own = {"processor": processor(), **more, **known}
        self.head = own | {
            "study": json.loads(bundle.text),
            "hash": identity.hash,
            "files": identity.files,
            "versions": dict(bundle.versions),
        }
        self.keep()  # first: only by this file is the folder known as one of ours
        for name, content in inputs.items():
            self.write(f"{INPUTS}/{name}", content)

    def keep(self, **more: Any) -> None:
        """Write study.json, with further entries."""
        self.head |= more
        self.write(STUDY, json.dumps(self.head, indent=2, allow_nan=False) + "\n")

    @property
    def processor(self) -> str:
        """The kind of processor on which the results were begun."""
        return str(self.head["processor"])

    def other_processor(self, what: str) -> str | None:
        """Remark where the results were begun on a processor of another kind than this one."""
        here = processor()
        if self.processor == here:
            return None
        return (
            f"begun on a processor of another kind ({self.processor}; here: {here}): the last "
            f"digits of {what} may differ from those computed there"
        )

    # Refusals

    def _refuse_others(self) -> None:
        """Refuse a folder that holds anything but what is there before study.json."""
        for path in self.folder.iterdir():
            if path.name not in (_LOCK, self._log.name) and path.suffix != UNFINISHED:
                raise InputError(
                    f"'{self.folder}' is not empty, and no folder of a {self.kind}: it holds "
                    f"'{path.name}'. Choose another folder with --output."
                )

    def _refuse_another(self, known: dict[str, Any], bundle: Bundle, identity: Identity) -> None:
        if known["hash"] != identity.hash:
            changed = identity.changed_from(known["study"], known["files"])
            raise InputError(
                f"'{self.folder}' holds another {self.kind}: {changed} changed. Choose another "
                "folder with --output, or remove this one."
            )
        other = differing(known["versions"], bundle.versions)
        if other:
            raise InputError(
                f"'{self.folder}' was begun with other versions; here there is {other}. Results "
                "of both might differ: go on with those versions, or choose another folder."
            )


_KINDS = {"study": dict, "hash": str, "files": dict, "versions": dict, "processor": str}


def read_head(folder: Path, kind: str) -> dict[str, Any]:
    """Contents of study.json in a folder of results, checked."""
    path = folder / STUDY
    try:
        head = json.loads(path.read_text())
        if not all(isinstance(head[name], of) for name, of in _KINDS.items()):
            raise ValueError
        if kind == "sweep" and not (isinstance(head["block"], int) and head["block"] > 0):
            raise ValueError
        if kind == "tune" and "tune" not in head["study"]:
            raise ValueError
        _check_compared(head.get("compared", {}))
    except PermissionError as problem:
        raise DiskError(f"cannot read '{path}': {problem.strerror}.") from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        why = f"{path.name} in it is missing or damaged, or of something else"
        if not folder.is_dir():
            why = "it is a file" if folder.exists() else "it is not there"
        raise InputError(
            f"'{folder}' is no folder of a {kind}: {why}. Expected a folder that appell {kind} "
            f"wrote, such as study-{kind}."
        ) from None
    return dict(head)


def _check_compared(compared: Any) -> None:
    """Refuse comparisons that are not pairs of numbers, as many for each measure as points."""
    points = compared.get("point", []) if isinstance(compared, dict) else None
    if not isinstance(points, list):
        raise TypeError
    for name, rows in compared.items():
        if name == "refused":
            good = isinstance(rows, list) and all(isinstance(x, str) for x in rows)
        elif name == "point":
            good = all(type(x) is int for x in rows)
        else:
            good = len(rows) == len(points) and all(len(pair) == 2 for pair in rows)
            read(rows)
        if not good:
            raise ValueError


def _locked(folder: Path) -> Any:
    """Lock file of the folder, which one process at a time can hold."""
    try:
        file = (folder / _LOCK).open("a+")
    except OSError as problem:
        raise disk_error(folder / _LOCK, problem, "Choose another folder with --output.") from None
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
