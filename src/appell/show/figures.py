"""New figures in Appell's style."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from appell.errors import AppellError
from appell.show.document import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")


def can_draw() -> bool:
    """Whether pictures can be drawn."""
    return find_spec("matplotlib") is not None


def require_matplotlib() -> None:
    """Refuse before any work is done where its pictures could not be drawn."""
    if not can_draw():
        raise AppellError("pictures need Matplotlib: pip install matplotlib")


def drawing(
    width: float,
    height: float,
    rows: int = 0,
    columns: int = 0,
    *,
    legend: int = 0,
    below: float = 0.3,
) -> Callable[[Callable[Concatenate[Any, P], Any]], Callable[P, Figure]]:
    """Make a function that returns a new figure, inches wide and high, of one that draws.

    The latter is given a grid of panels first, or the figure itself where there are no ``rows``.
    ``legend`` is the number of a legend's columns, if there is one, in ``below`` inches.
    """

    def decorate(draw: Callable[Concatenate[Any, P], Any]) -> Callable[P, Figure]:
        @wraps(draw)
        def drawn(*arguments: P.args, **named: P.kwargs) -> Figure:
            with new_figure(width, height) as figure:
                grid = new_grid(figure, rows, columns, below if legend else 0.0) if rows else figure
                draw(grid, *arguments, **named)
                if legend:
                    handles, labels = figure.axes[0].get_legend_handles_labels()
                    place = {"loc": "lower center", "ncols": legend, "handlelength": 2.6}
                    figure.legend(handles, labels, **place)
            return figure

        return drawn

    return decorate


def picture(
    title: str, caption: str, *size: Any, **layout: Any
) -> Callable[[Callable[[Any], Any]], Picture]:
    """Make a picture of a function that draws; size and layout are those of :func:`drawing`."""
    return lambda draw: Picture(title, caption, drawing(*size, **layout)(draw))


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Any]:
    """A new figure, inches wide and high, while Appell's style holds."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    style = Path(__file__).with_name("appell.mplstyle")
    with matplotlib.rc_context(matplotlib.rc_params_from_file(style, use_default_template=False)):
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
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False, gridspec_kw=room).flat
    panels[0].xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    return list(panels)
