"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from appell.errors import InputError


def write_whole(path: Path, text: str) -> None:
    """Write a text file, or replace it; where that fails, what was there before is kept."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
