"""Robots by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from appell.errors import ModelError
from appell.model.library import ROBOTS
from appell.model.model import Model
from appell.robot import Robot


def load(robot: str | os.PathLike[str], **options: Any) -> Robot:
    """A robot by its name in the library (``appell list`` shows them) or by the path of its
    .urdf file. ``options`` go to the library's function or the file's reader."""
    try:
        name = str(Path(os.fsdecode(robot)).expanduser())
    except TypeError:
        raise ModelError(
            f"load({robot!r}): expected the name of a robot or the path of its .urdf file."
        ) from None
    if name in ROBOTS:
        return Robot(_called(name, ROBOTS[name], (), options))
    suffix = Path(name).suffix.lower()
    if suffix == ".urdf":
        from appell.model.urdf import read_urdf

        return Robot(_called(name, read_urdf, (name,), options))
    if suffix:
        raise ModelError(f"'{name}': robots are read from .urdf files, not '{suffix}'.")
    near = get_close_matches(name.lower(), ROBOTS, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise ModelError(
        f"no robot '{name}' in the library ({', '.join(ROBOTS)}), and it is no path of a .urdf "
        f"file.{hint}"
    )


def _called(
    name: str, make: Callable[..., Model], given: tuple[Any, ...], options: Mapping[str, Any]
) -> Model:
    try:
        signature(make).bind(*given, **options)
    except TypeError as problem:
        raise ModelError(
            f"load('{name}'): {problem}; its options are those of {make.__name__}{signature(make)}"
        ) from None
    return make(*given, **options)
