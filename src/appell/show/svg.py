"""SVG texts: of elements, of pages' inks, and of files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from appell.charts.palette import INK, PAPER

_THEME = (
    "<style>svg{--ink:#20252b;--paper:#fdfdfe;color:var(--ink)}"
    "@media(prefers-color-scheme:dark){svg{--ink:#e4e8ed;--paper:#14171b}}</style>"
)


def element(tag: str, content: str = "", **attributes: Any) -> str:
    """An element; underscores in names of attributes stand for hyphens, and ink and paper for
    those of the page. What is None or empty is left out."""
    told = "".join(
        f' {name.replace("_", "-")}="{escape(_themed(str(x)))}"'
        for name, x in attributes.items()
        if x is not None and x != ""
    )
    return f"<{tag}{told}>{content}</{tag}>" if content else f"<{tag}{told}/>"


def text(words: str, x: float, y: float, **look: Any) -> str:
    """Words at a place."""
    return element("text", escape(words), x=f"{x:.1f}", y=f"{y:.1f}", **{"fill": INK} | look)


def points(places: Any) -> str:
    """Places (k, 2) as SVG lists them; those that are not finite are left out."""
    shown = np.asarray(places)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in shown[np.isfinite(shown).all(axis=1)])


def whole(svg: str) -> str:
    """An <svg> element as a file of its own, with its own ink and paper."""
    start = svg.index(">") + 1
    head = svg[:start].replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    return f"{head}{_THEME}{paper}{svg[start:]}\n"


def grid(parts: Sequence[str], size: tuple[float, float], columns: int, title: str) -> str:
    """Drawings of one size beside and below each other, as one <svg> element."""
    width, height = size
    rows = -(-len(parts) // columns)
    placed = [
        element(
            "g", part, transform=f"translate({width * (k % columns):g} {height * (k // columns):g})"
        )
        for k, part in enumerate(parts)
    ]
    return element(
        "svg", "".join(placed), role="img", aria_label=title,
        viewBox=f"0 0 {width * columns:g} {height * rows:g}",
        font_family="system-ui, sans-serif", font_size="12",
    )  # fmt: skip


def _themed(value: str) -> str:
    return value.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
