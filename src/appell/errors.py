"""The errors Appell raises: each says what was given, what was expected, and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
