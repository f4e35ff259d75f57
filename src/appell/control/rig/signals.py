"""Runs that are broken off from outside: Ctrl-C, and SIGTERM, which ends a run in the same way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STATUS = {"interrupted": 130, "terminated": 143}  # reason, and a shell's exit status for it


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


def reason_of(asked: KeyboardInterrupt) -> str:
    return "terminated" if isinstance(asked, Terminated) else "interrupted"


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM as an exception, so that what is under way is stopped and cleaned up.

    A handler of the program's own is left alone; only the main thread can have one."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(*_: Any) -> None:
    raise Terminated
