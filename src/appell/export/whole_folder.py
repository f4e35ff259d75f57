"""A folder of files that appear whole or not at all, and never in the place of somebody else's.

Beside the files lies a manifest with their hashes. What it lists, unchanged, is an earlier export
and may be replaced. Anything else is somebody's work, whatever its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from appell.errors import InputError

MANIFEST = ".appell-export.json"
_MOST = 2**16  # bytes of a manifest


def place_of(folder: Any) -> Path:
    """The path of a folder; refused if it is none."""
    if not isinstance(folder, str | os.PathLike):
        raise InputError(f"export: folder={folder!r}; expected the path of a folder.")
    return Path(folder)


def write(folder: Path, own: str, files: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """Write the files of the function ``own``. What an earlier export of it wrote is replaced; a
    folder that holds anything else is refused."""
    earlier = _earlier(folder, own)
    contents = {x: y.encode() if isinstance(y, str) else y for x, y in files.items()}
    hashes = earlier | {name: sha256(content).hexdigest() for name, content in contents.items()}
    contents[MANIFEST] = json.dumps({"function": own, "files": hashes}, indent=1).encode() + b"\n"
    _put(folder, contents)
    return tuple(folder / name for name in files)


def _put(folder: Path, contents: Mapping[str, bytes]) -> None:
    """All files, or none if one cannot be written."""
    new = not folder.exists()
    scratch = {name: folder / f".new-{secrets.token_hex(8)}-{name}" for name in contents}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with scratch[name].open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name in contents:
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


def _earlier(folder: Path, own: str) -> dict[str, str]:
    """The files of an earlier export of this function, with their hashes. A folder with anything
    else in it is refused, but for the self-test that the Makefile builds there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder.")
    found = sorted(folder.iterdir()) if folder.exists() else []
    listed = _manifest(folder / MANIFEST, own)
    built = (f"{own}_test", f"{own}_test.exe")
    others = [x for x in found if x.name not in (MANIFEST, *built) or not _is_regular(x)]
    foreign = [path.name for path in others if path.name not in listed]
    if foreign:
        raise InputError(
            f"{folder} holds other files ({_some(foreign)}); give a new or empty folder."
        )
    changed = [x.name for x in others if not _is_regular(x) or _hash(x) != listed[x.name]]
    if changed:
        raise InputError(
            f"{folder} holds files that were changed after they were exported ({_some(changed)}); "
            "move them elsewhere, or give a new or empty folder."
        )
    return {path.name: listed[path.name] for path in others}


def _manifest(path: Path, own: str) -> dict[str, str]:
    """The hashes that the manifest of an earlier export lists; none where there is none."""
    if not path.is_symlink() and not path.exists():
        return {}
    try:
        if not _is_regular(path) or path.stat().st_size > _MOST:
            raise ValueError
        content = json.loads(path.read_bytes())
        function, listed = content["function"], dict(content["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is not the list of an export; give a new or empty folder."
        ) from None
    if function != own:
        raise InputError(
            f"{path.parent} holds the export of {str(function)[:80]!r}, and {own!r} would replace "
            "its Makefile; give each function a folder of its own."
        )
    return listed


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
