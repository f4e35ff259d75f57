"""Progress of a tune: one line on a terminal, lines elsewhere and in its log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

_EVERY = 10.0  # s between lines that are not on a terminal


class TuneProgress:
    """Shows nothing, but keeps the log; subclasses show more."""

    log: Callable[[str], None] = staticmethod(lambda text: None)
    replaying = False  # whether all evaluations so far were kept ones

    def __init__(self) -> None:
        self.iteration, self.most = 0, 0
        self.evaluations, self.computed, self.failed = 0, 0, 0
        self.best = ""
        self._begun: float | None = None

    def note(self, text: str) -> None:
        """Something that a user should know."""
        self.log(text)
        self.show(text)

    def show(self, text: str) -> None:
        """Print a line, if lines are printed."""

    @contextmanager
    def running(self, most: int) -> Iterator[None]:
        """While an optimiser runs, for at most so many iterations."""
        self.most = most
        yield

    def evaluated(self, count: int, computed: int, failed: int, best: str) -> None:
        """So many evaluations more, of which some were computed, the others kept ones; so many had
        failed samples; the best so far."""
        if computed and self._begun is None:
            self._begun = monotonic()
        self.evaluations += count
        self.computed += computed
        self.failed += failed
        self.best, self.replaying = best, not computed
        self.update()

    def iterated(self, iteration: int) -> None:
        """An iteration is over."""
        self.iteration = iteration
        if not self.replaying:
            self.log(self.line())
        self.update()

    def update(self) -> None:
        """Bring what is shown up to date."""

    def line(self) -> str:
        """Iteration, best so far, evaluations and their rate, failures, in words."""
        begun = monotonic() if self._begun is None else self._begun
        rate = self.computed / max(monotonic() - begun, 1e-9)
        speed = f", {rate:.3g}/s" if self.computed > 1 and monotonic() - begun > 0.1 else ""
        failed = f", {self.failed:,} with failed samples" if self.failed else ""
        return (
            f"iteration {self.iteration} of {self.most}: {self.best}; "
            f"{self.evaluations:,} evaluations{speed}{failed}"
        )


class TuneLines(TuneProgress):
    """Lines on the standard error output."""

    def __init__(self) -> None:
        super().__init__()
        self._last_line = monotonic()

    def show(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def update(self) -> None:
        if monotonic() - self._last_line >= _EVERY:
            self._last_line = monotonic()
            self.show(self.line())


class TuneStatus(TuneProgress):
    """One line on a terminal, that changes."""

    def __init__(self) -> None:
        super().__init__()
        self._console: Any = None
        self._status: Any = None

    def show(self, text: str) -> None:
        if self._console is not None:
            self._console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def running(self, most: int) -> Iterator[None]:
        from rich.console import Console

        self.most, self._console = most, Console(stderr=True)
        try:
            with self._console.status("starting") as self._status:
                yield
        finally:
            self._console = self._status = None

    def update(self) -> None:
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(self.line()))
