"""Robots by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from appell.errors import ModelError, nearest
from appell.model.library import ROBOTS, WRISTS
from appell.robot import Robot

if TYPE_CHECKING:
    from appell.parallel import AgileWrist

Made = TypeVar("Made")


@overload
def load(robot: Literal["agile_wrist"], **options: Any) -> AgileWrist: ...
@overload
def load(robot: str | os.PathLike[str], **options: Any) -> Robot: ...
def load(robot: str | os.PathLike[str], **options: Any) -> Robot | AgileWrist:
    """A robot by its name in the library (``appell list`` shows them) or by the path of its
    .urdf file. ``options`` go to the library's function or the file's reader; ``loops`` names a
    file beside the .urdf that closes it: see :mod:`appell.constraints.side_file`."""
    try:
        name = str(Path(os.fsdecode(robot)).expanduser())
    except TypeError:
        raise ModelError(
            f"load({robot!r}): expected the name of a robot or the path of its .urdf file."
        ) from None
    if name in ROBOTS:
        return Robot(_called(name, ROBOTS[name], (), options))
    if name in WRISTS:
        from appell.parallel import AgileWrist

        return AgileWrist(_called(name, WRISTS[name], (), options))
    from appell.constraints.library import CLOSED

    if name in CLOSED:
        return _called(name, CLOSED[name], (), options)
    suffix = Path(name).suffix.lower()
    if suffix == ".urdf":
        from appell.model.urdf import read_urdf

        loops = options.pop("loops", None)
        tree = Robot(_called(name, read_urdf, (name,), options))
        if loops is None:
            return tree
        from appell.constraints.side_file import close_by_file

        return close_by_file(tree, loops)
    if suffix:
        raise ModelError(f"'{name}': robots are read from .urdf files, not '{suffix}'.")
    near = nearest(name.lower(), [*ROBOTS, *WRISTS, *CLOSED])
    hint = f" Did you mean '{near}'?" if near else ""
    raise ModelError(
        f"no robot '{name}' in the library ({', '.join([*ROBOTS, *WRISTS, *CLOSED])}), and it is "
        f"no path of a .urdf file.{hint}"
    )


def _called(
    name: str, make: Callable[..., Made], given: tuple[Any, ...], options: Mapping[str, Any]
) -> Made:
    try:
        signature(make).bind(*given, **options)
    except TypeError as problem:
        raise ModelError(
            f"load('{name}'): {problem}; its options are those of {make.__name__}{signature(make)}"
        ) from None
    return make(*given, **options)
