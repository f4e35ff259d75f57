"""Object code kept between runs, in a folder that only its user can write.

A file's name is the hash of everything its code depends on; its first line is the
hash of the rest, so damage is seen and the code made anew. Files appear whole, by
renaming. Nothing here is needed for a right answer: a full disk, a read-only home
or a folder that others can write to only cost the time to compile.

The folder may hold other things, too. Only regular files of this user with a name of
the cache's own form are read, replaced or removed; links are never followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
import warnings
from functools import cache as remember
from hashlib import sha256
from pathlib import Path
from typing import Any

_ROOM = 512 * 2**20  # bytes kept before the longest unused files go
_LOOK = 16  # one stored file in so many looks whether they fit: listing thousands takes long
_SUFFIX, _SCRATCH = ".appell-kernel", ".new-"
_NAME = re.compile(rf"([0-9a-f]{{64}}|{re.escape(_SCRATCH)}\w+){re.escape(_SUFFIX)}", re.ASCII)
_READ = (  # never through a link, and without waiting for whoever writes to a pipe
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class CacheWarning(UserWarning):
    """Compiled code could not be kept or was not trusted."""


def is_off() -> bool:
    """Whether $APPELL_CACHE asks that all code be compiled anew."""
    return os.environ.get("APPELL_CACHE", "").lower() == "off"


@remember
def folder() -> Path | None:
    """Where object code is kept: $APPELL_CACHE, or the user's cache; None where it is 'off'."""
    if is_off():
        return None
    try:
        chosen = os.environ.get("APPELL_CACHE")
        place = (
            Path(chosen).expanduser().resolve()
            if chosen
            else _users_caches() / "appell" / "kernels"
        )
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_shared(place)
    except (OSError, RuntimeError) as problem:  # RuntimeError: the user has no home
        warnings.warn(f"compiled code is not kept: {problem}", CacheWarning, stacklevel=2)
        return None
    return place


def fetch(name: str) -> tuple[dict[str, Any], bytes] | None:
    """The header and code stored under a name, if they are there and whole."""
    place = folder()
    if place is None:
        return None
    path = _path(place, name)
    try:
        digest, _, content = _read(path).partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as problem:
        warnings.warn(f"compiled code was not read: {problem}", CacheWarning, stacklevel=2)
        return None
    if sha256(content).hexdigest().encode() != digest:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    header, _, code = content.partition(b"\n")
    with contextlib.suppress(OSError):
        os.utime(path)
    try:
        return json.loads(header), code
    except ValueError:
        return None


def store(name: str, header: dict[str, Any], code: bytes) -> None:
    """Keep code under a name; whoever does so last or first, the file is whole."""
    place = folder()
    if place is None:
        return
    content = json.dumps(header).encode() + b"\n" + code
    import tempfile

    scratch = None
    try:
        handle, scratch = tempfile.mkstemp(dir=place, prefix=_SCRATCH, suffix=_SUFFIX)
        with os.fdopen(handle, "wb") as file:
            file.write(sha256(content).hexdigest().encode() + b"\n" + content)
        _replace(scratch, _path(place, name))
        if int(name, 16) % _LOOK == 0:
            _make_room(place)
    except OSError as problem:
        if scratch is not None:
            with contextlib.suppress(OSError):
                Path(scratch).unlink()
        warnings.warn(f"compiled code is not kept: {problem}", CacheWarning, stacklevel=2)


def clear() -> None:
    """Forget all compiled code. What else the folder holds stays."""
    place = folder()
    if place is not None:
        for path, _ in _own_files(place):
            path.unlink(missing_ok=True)


def _users_caches() -> Path:
    """Where the user's programs keep what they can make again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    chosen = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return chosen if chosen.is_absolute() else Path.home() / ".cache"  # as its specification says


def _path(place: Path, name: str) -> Path:
    return place / (name + _SUFFIX)


def _read(path: Path) -> bytes:
    handle = os.open(path, _READ)
    try:
        _refuse_foreign(os.fstat(handle), path)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _is_own(status: os.stat_result) -> bool:
    """Whether this is the status of a regular file of this user."""
    return stat.S_ISREG(status.st_mode) and (os.name != "posix" or status.st_uid == os.getuid())


def _own_files(place: Path) -> list[tuple[Path, os.stat_result]]:
    """The files that the cache has written into the folder."""
    found = []
    with os.scandir(place) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if _is_own(status):
                        found.append((Path(entry.path), status))
    return found


def _replace(scratch: str, path: Path) -> None:
    """Give a finished file its name, unless something that is not the cache's has it."""
    with contextlib.suppress(FileNotFoundError):
        if not _is_own(path.lstat()):
            raise PermissionError(f"{path} is not a file of the cache; delete it")
    Path(scratch).replace(path)


def _make_room(place: Path) -> None:
    files = _own_files(place)
    excess = sum(status.st_size for _, status in files) - _ROOM
    for path, status in sorted(files, key=lambda entry: entry[1].st_mtime):
        if excess <= 0:
            return
        excess -= status.st_size
        path.unlink(missing_ok=True)


def _refuse_shared(place: Path) -> None:
    if os.name == "posix":
        status = place.stat()
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{place} can be written by others; make it private (chmod 700)")


def _refuse_foreign(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(f"{path} is not a file of the cache; delete it")
    if os.name == "posix" and (
        status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(f"{path} can be written by others; delete it")
