"""New figures in Appell's style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from appell.errors import AppellError
from appell.show.style import MATPLOTLIB


def require_matplotlib() -> None:
    """Refuse before any work is done where its pictures could not be drawn."""
    if find_spec("matplotlib") is None:
        raise AppellError("pictures need Matplotlib: pip install matplotlib")


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Any]:
    """A new figure, inches wide and high, while Appell's style holds."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(MATPLOTLIB):
        yield Figure(figsize=(width, height))


def new_grid(figure: Any, rows: int, columns: int, legend: float = 0.0) -> Sequence[Any]:
    """Panels with room for labels, and ``legend`` inches below for a legend.

    (Matplotlib's own layout takes longer than all the rest of the drawing.)
    """
    from matplotlib.ticker import MaxNLocator

    width, height = figure.get_size_inches()
    room = {
        "left": 0.62 / width,
        "right": 1 - 0.1 / width,
        "top": 1 - 0.26 / height,
        "bottom": (0.48 + legend) / height,
        "wspace": 0.34,
        "hspace": 0.24,
    }
    made = figure.subplots(rows, columns, sharex=True, squeeze=False, gridspec_kw=room)
    panels = list(made.flat)
    panels[0].xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    return panels


def add_legend(figure: Any, columns: int) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=columns, handlelength=2.6)
