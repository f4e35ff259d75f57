"""The errors Appell raises: each says what was given, what was expected, and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path


class AppellError(Exception):
    """Anything Appell refuses to do."""


class ModelError(AppellError, ValueError):
    """A robot that cannot exist, or a description of one that cannot be read."""


class InputError(AppellError, ValueError):
    """An argument of the wrong shape, kind or name."""


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """What the system says against reading a file, as an InputError."""
    if Path(path).is_dir():
        raise InputError(f"{path}: this is a folder; expected a file.")
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror or problem}.") from None


_whole: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def whole() -> Iterator[None]:
    """All or nothing: runs and searches that are interrupted (Control-C) raise KeyboardInterrupt.

    By themselves they keep what they have and say so in their result. What computes a report from
    many of them has no use for a part of one.
    """
    before = _whole.set(True)
    try:
        yield
    finally:
        _whole.reset(before)


def interrupted() -> None:
    """Called where an interrupt is caught and something is kept; within ``whole`` nothing is."""
    if _whole.get():
        raise KeyboardInterrupt
