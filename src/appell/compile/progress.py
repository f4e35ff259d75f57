"""A line on the terminal while something takes long, which is gone when it is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Timer

PATIENCE = 1.0  # s, after which the line appears


@contextmanager
def told(what: str) -> Iterator[None]:
    """Show ``what`` on stderr after a second, where that is a terminal that someone looks at: not
    in a pipe, a file, a notebook, nor where the variable CI is set."""
    screen = sys.stderr
    if not getattr(screen, "isatty", bool)() or os.environ.get("CI"):
        yield
        return
    line = f"{what} ..."[: get_terminal_size().columns - 1]
    shown: list[str] = []

    def show() -> None:
        shown.append(line)
        screen.write(f"\r{line}")
        screen.flush()

    timer = Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # no thread of ours is left when the process forks
        if shown:
            screen.write("\r" + " " * len(line) + "\r")
            screen.flush()
