"""Progress of a sweep: a bar on a terminal, lines elsewhere and in its log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

_EVERY = 30.0  # s between lines


class Progress:
    """Shows nothing, but keeps the log; subclasses show more."""

    log: Callable[[str], None] = staticmethod(lambda text: None)
    rate: float | None = None  # points per second, when some have been computed

    def note(self, text: str) -> None:
        """Report something that a user should know."""
        self.log(text)
        self.show(text)

    def show(self, text: str) -> None:
        """Print a line, if lines are printed."""

    @contextmanager
    def running(self, count: int, left: int, failed: int = 0) -> Iterator[Seen]:
        """While points are computed, of which so many are left, and so many failed before."""
        with self._rated(Seen(self, count, left, failed)) as seen:
            yield seen

    @contextmanager
    def _rated(self, seen: Seen) -> Iterator[Seen]:
        yield seen
        self.rate = seen.rate if seen.done > seen.before else None


class Seen:
    """Count of points that are done, and of those that failed."""

    def __init__(self, progress: Progress, count: int, left: int, failed: int = 0) -> None:
        self.progress, self.count = progress, count
        self.done, self.failures = count - left, failed
        self.before, self.begun = self.done, monotonic()
        self.last_line = self.begun

    def advance(self, points: int) -> None:
        """Count points that are done."""
        self.done += points
        now = monotonic()
        if now - self.last_line >= _EVERY:
            self.last_line = now
            self.progress.note(self.line())
        self.update()

    def failed(self, points: int) -> None:
        """Count points that failed."""
        self.failures += points
        self.update()

    def update(self) -> None:
        """Bring what is shown up to date."""

    @property
    def rate(self) -> float:
        """Points per second."""
        return (self.done - self.before) / max(monotonic() - self.begun, 1e-9)

    def line(self) -> str:
        """Points done, rate, time left and failures, in words."""
        left = (self.count - self.done) / self.rate if self.rate > 0 else float("inf")
        failed = f", {self.failures:,} failed" if self.failures else ""
        return (
            f"{self.done:,} of {self.count:,} points, {self.rate:,.3g}/s, {duration(left)} left"
            f"{failed}"
        )


class Lines(Progress):
    """Lines on the standard error output."""

    def show(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    def show(self, text: str) -> None:
        self._console.print(text, markup=False)

    @contextmanager
    def running(self, count: int, left: int, failed: int = 0) -> Iterator[Seen]:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (BarColumn(), TextColumn("{task.description}", markup=False))
        with RichProgress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task("", total=count, completed=count - left)

            class Shown(Seen):
                def update(self) -> None:
                    bar.update(task, completed=self.done, description=self.line())

            seen = Shown(_Quiet(self), count, left, failed)
            seen.update()
            with self._rated(seen):
                yield seen


class _Quiet(Progress):
    """The log of another, without its lines: the bar has them."""

    def __init__(self, of: Progress) -> None:
        self._of = of

    @property
    def log(self) -> Any:  # type: ignore[override]
        return self._of.log


def duration(seconds: float) -> str:
    """A time in words: 12 s, 3 min, 2 h 5 min."""
    if seconds == float("inf"):
        return "unknown time"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
