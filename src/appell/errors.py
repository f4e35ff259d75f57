"""The errors Appell raises: each says what was given, what was expected, and the cure."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import Any

_MOST = 4000  # characters of a message; names and values come from files of any size
_LONG, _MANY = 100, 1000  # characters of a name, and names, that are compared with another


def shorten(text: str, most: int = 200) -> str:
    """The text, without its middle where it is longer than that."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 5]} ... {text[-end:]}"


def quoted(value: Any) -> str:
    """The repr of a value that came from outside, of bounded length however large the value is."""
    try:
        return shorten(_REPR.repr(value))
    except Exception:  # an object of any class, a whole number of too many digits
        return f"<{type(value).__name__}>"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, if there is one. Comparing takes time, so long names and
    many of them are passed over."""
    return next(iter(_close(name, names, 1)), None)


def _close(name: str, names: Iterable[str], most: int) -> list[str]:
    if len(name) > _LONG:
        return []
    from difflib import get_close_matches

    candidates = [x for x in islice(names, _MANY) if len(x) <= _LONG]
    return get_close_matches(name, candidates, n=most)


def did_you_mean(name: Any, names: Iterable[str], most: int = 1) -> str:
    """The end of a message about a name that is not known: `` Did you mean 'ur5' or 'ur3'?``, with
    as many names, or nothing where none is near."""
    near = _close(name, names, most) if isinstance(name, str) else []
    *first, last = map(repr, near) if near else [""]
    return f" Did you mean {', '.join(first)}{' or ' if first else ''}{last}?" if near else ""


def printable(text: str) -> str:
    """The text with escapes for what no encoding has, such as a file name that is not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 120
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = _REPR.maxarray = 12


class AppellError(Exception):
    """Anything Appell refuses to do. Its message can be printed, and is never longer than a page:
    its beginning says what was given, and its end the cure."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(
            *(shorten(printable(x), _MOST) if isinstance(x, str) else x for x in arguments)
        )


class ModelError(AppellError, ValueError):
    """A robot that cannot exist, or a description of one that cannot be read."""


class InputError(AppellError, ValueError):
    """An argument of the wrong shape, kind or name."""


class GpuError(AppellError, RuntimeError):
    """A GPU, or its driver, that is absent, too old, full or lost."""


class PhysicalWarning(UserWarning):
    """A robot has inertias that no body can have."""


class UrdfWarning(UserWarning):
    """A URDF file is read with a repair, or holds what other programs do not read."""


@contextmanager
def reading(path: str | os.PathLike[str], expected: str = "") -> Iterator[None]:
    """What the system says against reading a file, as an InputError; ``expected`` is what the file
    should be."""
    wanted = f"; expected {expected}" if expected else ""
    if "\0" in str(path):
        raise InputError(f"{quoted(str(path))}: no file has such a name{wanted}.")
    try:
        if Path(path).is_dir():
            raise InputError(f"{path}: this is a folder; expected {expected or 'a file'}.")
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file{wanted}.") from None
    except OSError as problem:
        raise InputError(
            f"{path}: cannot be read: {problem.strerror or problem}{wanted}."
        ) from None


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
