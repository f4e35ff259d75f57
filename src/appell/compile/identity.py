"""Identities of what code is compiled from: equal for equal things, different for all others.

Plain values and arrays are identified by value, records of Appell's own classes by their fields,
and Appell's own functions by their place in its source, whose hash is part of every identity, and
by what they close over. Nothing else is identified: what a user's function computes depends on
variables, attributes and other functions that no walk lists in full. Once such a function is
recorded, its tape can be identified.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any

import numpy as np

import appell

_PLAIN = frozenset((NoneType, bool, int, float, str, bytes, np.float64))


class Unidentified(Exception):
    """Appell's source and plain values do not say what a thing is."""


def identity(*things: Any) -> str:
    """The identity of these things together, a hash."""
    parts = [source_identity()]
    try:
        _describe(things, parts.append)
    except (RecursionError, ValueError):  # it contains itself, or what is not there yet
        raise Unidentified from None
    return sha256("\0".join(parts).encode()).hexdigest()


def is_current() -> bool:
    """Whether this process runs Appell's source as it is on disk: there are files (a frozen program
    has none), and none was changed after this process began to import them."""
    try:
        times = [max(status.st_mtime, status.st_ctime) for status in map(os.stat, _files())]
    except OSError:
        return False
    return bool(times) and max(times) < appell._imported


def _describe(things: Sequence[Any], tell: Callable[[str], None]) -> None:
    for thing in things:
        if type(thing) in _PLAIN:
            tell(repr(thing))
        else:
            kind, parts = _parts(thing)
            tell(f"{kind} {len(parts)}")
            _describe(parts, tell)


def _parts(thing: Any) -> tuple[str, Sequence[Any]]:
    """The kind of a thing, and the things it is made of."""
    kind: Any = type(thing)
    if kind in (tuple, list):
        return kind.__name__, thing
    if kind is dict:
        return "dict", (*thing, *thing.values())
    if kind is partial:
        return "partial", (thing.func, thing.args, thing.keywords)
    if kind is FunctionType:
        return _parts_of_function(thing)
    if kind is np.ndarray and thing.dtype.kind in "fiub":
        return "array", (thing.dtype.str, thing.shape, thing.tobytes())
    names = _fields(kind)
    return f"{kind.__module__} {kind.__qualname__}", [getattr(thing, name) for name in names]


def _parts_of_function(function: FunctionType) -> tuple[str, Sequence[Any]]:
    """The place of a function in Appell's source, and the values it holds.

    Names are not trusted: functools.wraps copies the name and the module of what it wraps. The code
    must come from the module's file. A line may hold several lambdas, so these have no place."""
    code, module = function.__code__, _module(function.__globals__.get("__name__", ""))
    own = vars(module) is function.__globals__ and code.co_filename == module.__file__
    if not own or code.co_name == "<lambda>":
        raise Unidentified
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    name = f"{module.__name__} {code.co_firstlineno} {code.co_name}"
    return name, (*held, function.__defaults__, function.__kwdefaults__)


@lru_cache(maxsize=256)
def _fields(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass or NamedTuple of Appell's own, which its module has by its name; of
    a dataclass, those by which it is compared."""
    if vars(_module(kind.__module__)).get(kind.__qualname__) is not kind:
        raise Unidentified
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind) if field.compare)
    if not hasattr(kind, "_fields"):
        raise Unidentified
    return tuple(kind._fields)


def _module(name: Any) -> Any:
    """The module of that name, if it is one of Appell's."""
    if not str(name).startswith("appell.") or name not in sys.modules:
        raise Unidentified
    return sys.modules[name]


def _files() -> list[str]:
    """All of Appell's source."""
    package = Path(__file__).parent.parent  # os.walk takes half the time of Path.rglob
    return sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(package)
        for name in names
        if name.endswith(".py")
    )


@cache
def source_identity() -> str:
    """The hash of all of Appell's source: a new version never runs old code."""
    digest = sha256()
    package = len(str(Path(__file__).parent.parent))
    for path in _files():
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            content = file.read()
        digest.update(f"{path[package:]} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
