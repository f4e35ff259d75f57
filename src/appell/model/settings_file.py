"""Small files of settings, in TOML or JSON, that may come from anyone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from appell.errors import AppellError, shorten

_LARGEST = 2**20  # bytes
_DEEPEST = 64  # dots of a key: the time to read one grows with their square
_FAULTS = 10  # of one file that are told


def json_of(file: Path, what: str, error: type[AppellError]) -> str:
    """The settings ``what`` in a .json or .toml file, as JSON."""
    text = text_of(file, what, error)
    if file.suffix == ".json":
        return text
    try:
        return json.dumps(_of_toml(file, text, error), default=str)
    except AppellError:
        raise
    except ValueError as problem:  # a whole number of thousands of digits
        raise error(f"'{file}' is not TOML of settings: {shorten(str(problem))}.") from None


def data_of(file: Path, what: str, error: type[AppellError]) -> tuple[Any, str]:
    """The settings ``what`` in a .json or .toml file as values, and the file's text."""
    text = text_of(file, what, error)
    if file.suffix == ".toml":
        return _of_toml(file, text, error), text
    try:
        return json.loads(text), text
    except RecursionError:
        raise error(f"'{file}' is not JSON of settings: it is nested too deeply.") from None
    except ValueError as problem:  # not JSON, or a whole number of thousands of digits
        raise error(f"'{file}' is not JSON: {shorten(str(problem))}.") from None


def text_of(file: Path, what: str, error: type[AppellError]) -> str:
    """The text of a .json or .toml file, if it is not too long."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST + 1).decode()
    except UnicodeDecodeError:
        raise error(f"cannot read {what} '{file}': it is not UTF-8 text.") from None
    except (OSError, ValueError) as problem:  # ValueError: a name with a zero byte
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"cannot read {what} '{file}': {reason}.") from None
    if len(text) > _LARGEST:
        raise error(f"cannot read {what} '{file}': expected at most {_LARGEST} bytes.")
    if file.suffix not in (".toml", ".json"):
        raise error(f"'{file}': {what} can be read from .toml and .json files.")
    return text


def _of_toml(file: Path, text: str, error: type[AppellError]) -> Any:
    if any(part.count(".") > _DEEPEST for part in re.split(r"[,=\[\]{}\n]", text)):
        raise error(f"'{file}' is not TOML of settings: a key has more than {_DEEPEST} parts.")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(f"'{file}' is not TOML of settings: it is nested too deeply.") from None
    except ValueError as problem:  # not TOML, or a whole number of thousands of digits
        raise error(f"'{file}' is not TOML: {shorten(str(problem))}.") from None


def given(fault: Any) -> str:
    """The value that a fault is about, as the file has it."""
    return shorten(json.dumps(fault["input"]))


def told(problem: ValidationError, line: Callable[[Any], str]) -> str:
    """The first faults of a file, a line each."""
    faults = problem.errors()
    lines = [f"  {shorten(line(fault), 400)}" for fault in faults[:_FAULTS]]
    if len(faults) > _FAULTS:
        lines.append(f"  and {len(faults) - _FAULTS} more.")
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers that JSON does not have are None."""
    if isinstance(value, dict):
        return {str(key): plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value if not isinstance(value, float) or isfinite(value) else None
