"""Gains under the names that they had before."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import wraps
from typing import Any, TypeVar
from warnings import warn

from appell.errors import InputError

_Class = TypeVar("_Class", bound=type)


FORMER = {"kv": "kd"}


def present_name(gain: str, known: Container[str]) -> str:
    """The name that a gain has now, of a law that knows these; its own if it has no other."""
    new = FORMER.get(gain)
    return gain if new is None or gain in known or new not in known else new


def formerly(**names: str) -> Callable[[_Class], _Class]:
    """A decorator of a law some of whose gains have new names, by the old ones: those are still
    taken, and read, with a DeprecationWarning."""

    def renamed(kind: _Class) -> _Class:
        made: Any = kind.__init__  # type: ignore[misc]

        @wraps(made)
        def begin(self: Any, *arguments: Any, **gains: Any) -> None:
            for old, new in names.items():
                if old in gains:
                    if new in gains:
                        raise InputError(f"{kind.__name__}: {old} is {new}; give {new} alone.")
                    _warn(kind, old, new)
                    gains[new] = gains.pop(old)
            made(self, *arguments, **gains)

        kind.__init__ = begin  # type: ignore[misc]
        for old, new in names.items():
            told = f"The former name of ``{new}``, in its unit."
            setattr(kind, old, property(_reader(kind, old, new), doc=told))
        return kind

    return renamed


def _reader(kind: type, old: str, new: str) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        _warn(kind, old, new)
        return getattr(self, new)

    return read


def _warn(kind: type, old: str, new: str) -> None:
    warn(f"{kind.__name__}: {old} is now called {new}.", DeprecationWarning, stacklevel=3)
