"""Robots by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from appell.errors import ModelError, did_you_mean
from appell.model.library import ROBOTS, SPHERICAL
from appell.model.library.example_robots import EXAMPLES, PACKAGE, example_file
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
    """The robot that a name or a file describes.

    Args:
        robot: A name that ``appell list`` shows (of the library, or of the package
            example-robot-data where that is installed), the path of a .urdf file, or the text of
            one, ``"<robot ...>"``.
        **options: For the library's function, such as ``n=5`` of "planar_chain", or for the reader
            of the file: ``base`` ("fixed", "free" or "planar"), ``gravity`` in m/s^2, ``root``,
            ``physical``, ``mimic``, as `Robot.from_urdf` has them, and ``loops``, a file that
            closes loops. Legged and flying robots of the package have a free base unless
            ``base="fixed"``.

    Returns:
        A `Robot`, a `ClosedRobot` where it has loops or wheels, or a `SphericalRobot`.

    Examples:
        >>> puma = appell.load("puma560")
        >>> puma.nq, puma.joint_names[0]
        (6, 'joint1')
        >>> appell.load("planar_chain", n=5).nv
        5
    """
    try:
        name = str(Path(os.fsdecode(robot)).expanduser())
    except TypeError:
        raise ModelError(
            f"load({robot!r}): expected the name of a robot or the path of its .urdf file."
        ) from None
    if name == ".":
        raise ModelError(
            f"load({robot!r}): that names no robot; expected a name that `appell list` shows, or "
            "the path of a .urdf file."
        )
    text = isinstance(robot, str) and robot.lstrip("\ufeff \t\r\n").startswith("<")
    for kind in () if text else _KINDS:
        known, robot_of = kind()
        if name in known:
            return robot_of(_called(name, known[name], (), options))
    suffix = Path(name).suffix.lower()
    if text or suffix == ".urdf" or name in EXAMPLES:
        from appell.model.description.urdf import read_urdf

        loops = options.pop("loops", None)
        shown, source = ("<robot ...>", robot) if text else (name, name)
        if name in EXAMPLES:
            source = example_file(name)
            options.setdefault("base", "free" if EXAMPLES[name].free else "fixed")
        tree = Robot(_called(shown, read_urdf, (source,), options))
        if loops is None:
            return tree
        from appell.robots.closed.side_file import close_by_file

        return close_by_file(tree, loops)
    if suffix:
        raise ModelError(f"'{name}': robots are read from .urdf files, not '{suffix}'.")
    hint = did_you_mean(name.lower(), [*makers(), *EXAMPLES], most=3)
    raise ModelError(
        f"no robot '{name}' in the library or the package {PACKAGE}; expected a name that "
        f"`appell list` shows, such as puma560 or ur5, or the path of a .urdf file.{hint}"
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
