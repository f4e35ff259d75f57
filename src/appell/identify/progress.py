"""How far a fit has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def told(
    progress: Callable[[int], Any] | bool | None, total: int | None
) -> Iterator[Callable[[int], Any] | None]:
    """What to call with the number of samples done: the function given, or a bar for True."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        from rich.progress import Progress

        with Progress(transient=True) as bar:
            job = bar.add_task("samples", total=total)
            yield lambda done: bar.update(job, completed=done)
