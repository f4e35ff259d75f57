"""Figures as SVG that stands in a page and follows its theme."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from appell.show.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
