"""Values that the shell completes: robots, names of a list, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

Completer = Callable[[str], list[str]]

ROBOT_FILES = (".urdf",)
SETTINGS = (".toml", ".json")
MOTIONS = (".csv", ".npz")


def names(known: Iterable[str]) -> Completer:
    """Completes one of the names."""
    fixed = tuple(known)

    def complete(incomplete: str) -> list[str]:
        return [name for name in fixed if name.startswith(incomplete)]

    return complete


def files(*suffixes: str) -> Completer:
    """Completes the path of a file with one of the suffixes; folders end with a slash."""

    def complete(incomplete: str) -> list[str]:
        found = _entries(incomplete, suffixes)
        while len(found) == 1 and found[0].endswith("/"):  # else the shell would add a space
            inner = _entries(found[0], suffixes)
            if not inner:
                break
            found = inner
        return found

    return complete


def robots(*suffixes: str) -> Completer:
    """Completes the name of a robot, or the path of a .urdf file or of one with the suffixes."""
    paths = files(*ROBOT_FILES, *suffixes)

    def complete(incomplete: str) -> list[str]:
        return [*names(_robot_names())(incomplete), *paths(incomplete)]

    return complete


def _robot_names() -> Iterable[str]:
    from appell.cli.choices import CLOSED
    from appell.model.library import ROBOTS, SPHERICAL
    from appell.model.library.example_robots import EXAMPLES

    return (*ROBOTS, *SPHERICAL, *CLOSED, *EXAMPLES)


def _entries(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files and folders whose path begins so; hidden ones only where the dot is given."""
    folder, start = os.path.split(incomplete)
    try:
        with os.scandir(Path(folder).expanduser()) as entries:
            found = [
                f"{os.path.join(folder, x.name)}{'/' if x.is_dir() else ''}"
                for x in entries
                if x.name.startswith(start)
                and (start.startswith(".") or not x.name.startswith("."))
                and (x.is_dir() or x.name.lower().endswith(suffixes))
            ]
    except OSError:  # no such folder: nothing to complete
        return []
    return sorted(found)
