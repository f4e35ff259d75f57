"""A folder of files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from appell.errors import InputError


def place_of(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"export: folder={folder!r}; expected the path of a folder.")
    return Path(folder)


def write(folder: Path, own: str, files: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """Write the files; what an earlier export wrote under these names is replaced. A folder is
    refused that holds anything else whose name does not begin as theirs do."""
    _refuse_foreign(folder, own, files)
    new = not folder.exists()
    scratch = {name: folder / f".new-{os.getpid()}-{name}" for name in files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            with scratch[name].open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for name in files:
            scratch[name].replace(folder / name)
    except BaseException as problem:
        for path in scratch.values():
            with contextlib.suppress(OSError):
                path.unlink()
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(problem, OSError):
            raise OSError(
                f"{folder} cannot be written: {problem.strerror or problem}; "
                "make room there or choose another folder."
            ) from problem
        raise
    return tuple(folder / name for name in files)


def _refuse_foreign(folder: Path, own: str, files: Mapping[str, str | bytes]) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder.")
    found = sorted(folder.iterdir()) if folder.exists() else []
    foreign = [
        path.name for path in found if not (path.name.startswith(own) or _earlier(path, files))
    ]
    if foreign:
        raise InputError(
            f"{folder} holds other files ({', '.join(foreign[:3])}"
            f"{', ...' if len(foreign) > 3 else ''}); give a new or empty folder."
        )


def _earlier(path: Path, files: Mapping[str, str | bytes]) -> bool:
    """Whether an earlier export wrote it: it begins as the one to be written does."""
    content = files.get(path.name)
    if not isinstance(content, str) or not path.is_file():
        return False
    return path.read_text(errors="replace").partition("\n")[0] == content.partition("\n")[0]
