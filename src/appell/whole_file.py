"""Files that are there whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any

from appell.errors import AppellError

UNFINISHED = ".appell-part"  # the end of the names of files that are being written


class DiskError(AppellError):
    """A file could not be written, or read."""


def write_whole(
    path: Path, content: str | bytes | Callable[[Path], Any], *, cure: str = ""
) -> None:
    """Write a file, or replace it; where that fails, what was there before is kept.

    Args:
        path: The file, or a link to it. What is no file, such as a pipe, is written to directly.
        content: Text, bytes, or a function that writes the file at the path it is given.
        cure: What to do where it cannot be written: the end of the message.
    """
    target = Path(os.path.realpath(path))
    scratch = target.with_name(f".{target.name[:100]}.{os.getpid()}{UNFINISHED}")
    try:
        if path.is_fifo() or path.is_char_device() or path.is_relative_to("/dev"):
            _put(content, path)
            return
        mode = S_IMODE(target.stat().st_mode) if target.exists() else None
        scratch.unlink(missing_ok=True)
        # What somebody else puts in the way, such as a link, is not followed.
        os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        _put(content, scratch)
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())
        if mode is not None:
            scratch.chmod(mode)
        scratch.replace(target)
    except OSError as problem:
        raise disk_error(path, problem, cure) from None
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def _put(content: str | bytes | Callable[[Path], Any], path: Path) -> None:
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def disk_error(path: Path, problem: OSError, cure: str = "") -> DiskError:
    """The error of a file that could not be written, with the reason and the cure."""
    why = str(problem.strerror or problem)
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "the disk is full; make room"
    elif problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = f"{why}; choose a place where you may write"
    return DiskError(f"cannot write '{path}': {why}.{cure and f' {cure}'}")


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files of processes that were killed while they wrote into a folder;
    nobody else may write there meanwhile."""
    for path in folder.glob(f".*{UNFINISHED}"):
        with suppress(OSError):
            path.unlink()
