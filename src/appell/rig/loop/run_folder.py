"""The folder of a run: private, and in memory where the system has a folder for that.

All users of the system share that folder, so what lies there under a run's name may be anybody's,
and anything. Only folders of this user are looked into, through their descriptors: what is
exchanged for a link meanwhile is out of reach.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SHARED = "/dev/shm"
_NAME = re.compile(r"appell-[0-9a-f]{32}")
_STALE = 60.0  # s; younger folders may not have been locked yet
_OWNER = "owner"  # the file that a run keeps locked


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only this user can enter, gone with the block. What killed runs of this
    user have left in memory goes, too."""
    base = Path(tempfile.gettempdir())
    if _is_safe(_SHARED):
        sweep()
        base = Path(_SHARED)
    folder = base / f"appell-{secrets.token_hex(16)}"
    folder.mkdir(mode=0o700)
    try:
        with (folder / _OWNER).open("x") as owner:
            _lock(owner.fileno())
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove the folders that killed runs of this user have left in memory."""
    with _opened(_SHARED, None, os.O_DIRECTORY) as shared, os.scandir(shared) as entries:
        for name in [entry.name for entry in entries if _NAME.fullmatch(entry.name)]:
            with suppress(OSError), _opened(name, shared, os.O_DIRECTORY) as folder:
                _remove_if_left(name, folder, shared)


def _is_safe(path: str) -> bool:
    """Whether files can be made there that no other user can rename or remove."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
    trusted = status.st_uid in (0, os.geteuid()) and not shared
    return stat.S_ISDIR(status.st_mode) and trusted and os.access(path, os.W_OK | os.X_OK)


@contextmanager
def _opened(name: str, parent: int | None, kind: int = 0) -> Iterator[int]:
    """The descriptor of what is no link, without waiting for whoever writes to a pipe."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name, how | kind, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _remove_if_left(name: str, folder: int, shared: int) -> None:
    """Remove the folder of a run of this user whose process is gone."""
    status = os.fstat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return
    with _opened(_OWNER, folder) as owner:
        status = os.fstat(owner)
        own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if own and time.time() - status.st_mtime > _STALE and _lock(owner):
            _remove(name, folder, shared)


def _remove(name: str, folder: int, shared: int) -> None:
    """The folder; if a child that is about to end has just written there, at the next time."""
    for left in os.listdir(folder):
        if left != _OWNER:
            os.unlink(left, dir_fd=folder)
    os.unlink(_OWNER, dir_fd=folder)
    try:
        os.rmdir(name, dir_fd=shared)
    except OSError:
        os.close(os.open(_OWNER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder))


def _lock(fd: int) -> bool:
    """Whether it could be locked, until it is closed or its process is gone."""
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
