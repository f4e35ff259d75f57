"""Small files of settings, in TOML or JSON, that may come from anyone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from appell.errors import AppellError, shorten

_LARGEST = 2**20  # bytes
_DEEPEST = 64  # dots of a key: the time to read one grows with their square
_FAULTS = 10  # of one file that are told


def json_of(file: Path, what: str, error: type[AppellError]) -> str:
    """The settings ``what`` in a .json file or, from Python 3.11 on, a .toml file, as JSON."""
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
    if file.suffix == ".toml":
        return _of_toml(file, text, error)
    if file.suffix != ".json":
        raise error(f"'{file}': {what} can be read from .toml and .json files.")
    return text


def _of_toml(file: Path, text: str, error: type[AppellError]) -> str:
    if any(part.count(".") > _DEEPEST for part in re.split(r"[,=\[\]{}\n]", text)):
        raise error(f"'{file}' is not TOML of settings: a key has more than {_DEEPEST} parts.")
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return json.dumps(tomllib.loads(text), default=str)
        except RecursionError:
            raise error(f"'{file}' is not TOML of settings: it is nested too deeply.") from None
        except ValueError as problem:  # not TOML, or a whole number of thousands of digits
            raise error(f"'{file}' is not TOML: {shorten(str(problem))}.") from None
    raise error(f"'{file}': TOML is read from Python 3.11 on; write a .json file.")


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
