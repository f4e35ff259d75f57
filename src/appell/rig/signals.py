"""Runs that are broken off from outside: Ctrl-C, and signals that end a run in the same way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Reason, and a shell's exit status for it.
STATUS = {"interrupted": 130, "terminated": 143, "hung up": 129}
_REASONS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}  # a terminal that is closed hangs up


class Terminated(KeyboardInterrupt):
    """One of these signals, by its name."""


def reason_of(asked: KeyboardInterrupt) -> str:
    """The reason that a run ended for, in words."""
    return _REASONS[asked.args[0]] if isinstance(asked, Terminated) else "interrupted"


@contextmanager
def terminable() -> Iterator[None]:
    """Signals as exceptions, so that what is under way is stopped and cleaned up.

    A handler of the program's own is left alone; only the main thread can have one."""
    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in _REASONS if hasattr(signal, name)]
    ours = [x for x in known if main and signal.getsignal(x) is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, _raise)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


def _raise(number: int, _: Any) -> None:
    raise Terminated(signal.Signals(number).name)
