"""A bar that shows how far a run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    wanted: bool, start: float, until: float
) -> Iterator[Callable[[float, int], None]]:
    """A function (t, impacts) that shows how far a run is, if that is wanted."""
    if not wanted:
        yield lambda t, impacts: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.completed:.3f} of {task.total:g} s"), BarColumn(),
        TextColumn("{task.fields[impacts]} impacts"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns) as bar:
        task = bar.add_task("", total=until, impacts=0)
        bar.update(task, completed=start)
        yield lambda t, impacts: bar.update(task, completed=t, impacts=impacts)
