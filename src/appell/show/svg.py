"""Figures as SVG that stands in a page and follows its theme."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from appell.show.figures import can_draw
from appell.show.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_section(title: str, draw: Callable[[], Figure], caption: str) -> str:
    """A section of a page with a figure; without Matplotlib, with what would bring it."""
    if not can_draw():
        return (
            f'<h2>{escape(title)}</h2>\n<p class="note">This picture is left out: it needs '
            "Matplotlib, pip install 'appell[show]'.</p>"
        )
    inside = f"{inline_svg(draw(), title)}<figcaption>{escape(caption)}</figcaption>"
    return f"<h2>{escape(title)}</h2>\n<figure>{inside}</figure>"


def inline_svg(figure: Figure, title: str) -> str:
    """The figure as an <svg> element without a background; ink and paper are the page's."""
    svg = _svg(figure, title, transparent=True)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg)
    svg = re.sub(r'<g id="[\w.]*_\d+">', "<g>", svg)  # numbered alike in every figure
    svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def whole_svg(figure: Figure) -> str:
    """The figure as a file of its own."""
    return _svg(figure, "appell", transparent=False)


def _svg(figure: Figure, salt: str, *, transparent: bool) -> str:
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(text, format="svg", transparent=transparent, metadata={"Date": None})
    return text.getvalue()
