"""Robots by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from appell.errors import ModelError, nearest
from appell.model.library import ROBOTS, SPHERICAL
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Robot

if TYPE_CHECKING:
    from appell.robots.spherical import SphericalRobot

Made = TypeVar("Made")
Makers = Mapping[str, Callable[..., Any]]


def _trees() -> tuple[Makers, Callable[[Any], Dynamics]]:
    return ROBOTS, Robot


def _spherical() -> tuple[Makers, Callable[[Any], Dynamics]]:
    from appell.robots.spherical import SphericalRobot

    return SPHERICAL, SphericalRobot


def _closed() -> tuple[Makers, Callable[[Any], Dynamics]]:
    from appell.robots.closed.library import CLOSED

    return CLOSED, _as_it_is


def _as_it_is(robot: Dynamics) -> Dynamics:
    return robot


# What each kind of robot's numbers are made by, and what makes a robot of them; a kind is imported
# only when none before it has the name.
_KINDS = (_trees, _spherical, _closed)


def makers() -> dict[str, Callable[..., Any]]:
    """What makes each robot of the library, by name."""
    return {name: make for kind in _KINDS for name, make in kind()[0].items()}


@overload
def load(
    robot: Literal["agile_wrist", "agile_eye", "spherical_five_bar", "redundant_wrist"],
    **options: Any,
) -> SphericalRobot: ...
@overload
def load(robot: str | os.PathLike[str], **options: Any) -> Robot: ...
def load(robot: str | os.PathLike[str], **options: Any) -> Any:
    """A robot by its name in the library (``appell list`` shows them) or by the path of its
    .urdf file. ``options`` go to the library's function or the file's reader; ``loops`` names a
    file beside the .urdf that closes it: see :mod:`appell.robots.closed.side_file`."""
    try:
        name = str(Path(os.fsdecode(robot)).expanduser())
    except TypeError:
        raise ModelError(
            f"load({robot!r}): expected the name of a robot or the path of its .urdf file."
        ) from None
    for kind in _KINDS:
        known, robot_of = kind()
        if name in known:
            return robot_of(_called(name, known[name], (), options))
    suffix = Path(name).suffix.lower()
    if suffix == ".urdf":
        from appell.model.urdf import read_urdf

        loops = options.pop("loops", None)
        tree = Robot(_called(name, read_urdf, (name,), options))
        if loops is None:
            return tree
        from appell.robots.closed.side_file import close_by_file

        return close_by_file(tree, loops)
    if suffix:
        raise ModelError(f"'{name}': robots are read from .urdf files, not '{suffix}'.")
    names = makers()
    near = nearest(name.lower(), [*names])
    hint = f" Did you mean '{near}'?" if near else ""
    raise ModelError(
        f"no robot '{name}' in the library ({', '.join(names)}), and it is no path of a .urdf "
        f"file.{hint}"
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
