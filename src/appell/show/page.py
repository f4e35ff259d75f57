"""An HTML page that needs nothing else: its script and its style are in it, and no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

_NUMBER = re.compile(
    r"[−-]?\d[\d.,]*(e[+−-]?\d+|×10<sup>[−\d]+</sup>)?( ?(%|[µnmk]?[a-zA-Z²/°]{1,5}( m)?))?|−?∞|–|"
)


_SHORT = 20  # characters of a cell that is not broken


def page(title: str, sections: Iterable[str]) -> str:
    """The sections under the project's style sheet, with the script that draws charts."""
    css, script = (
        files("appell.show").joinpath(name).read_text(encoding="utf-8")
        for name in ("report.css", "chart.js")
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + f"\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


ANIMATION = "animation.html"  # beside a report
MOVING = "the moving robot with its charts, in one file"


def animation(files: Iterable[str]) -> str:
    """The moving robot as a section of a page; nothing where it is not among the files beside."""
    if ANIMATION not in files:
        return ""
    return (
        f'<h2>Animation</h2>\n<iframe class="scene" src="{ANIMATION}" loading="lazy" '
        'title="Animation"></iframe>'
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    groups: Sequence[tuple[str, int]] = (),
    remark: bool = False,
) -> str:
    """A table whose cells are HTML. The first column names the rows, and the last is a ``remark``
    if that is said; ``groups`` are headings over several columns, each with their number.

    Numbers never break. Words wrap; where the table still does not fit, the page's script stacks
    it: each row becomes a block, each value with the name of its column.
    """
    body = [list(row) for row in rows]
    numeric = [
        all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*body, strict=True)
    ]
    kinds = ["n" if number else "" for number in numeric or [False] * len(head)]
    if remark:
        kinds[-1] = "remark"
    over = _labels(head, groups)
    lines = []
    for key, *cells in body:
        parts = [
            f'<td{_class(kind or _short(cell))} data-label="{label}">{cell}</td>'
            for kind, label, cell in zip(kinds[1:], over[1:], cells, strict=True)
        ]
        lines.append(f'<tr><th scope="row">{key}</th>{"".join(parts)}</tr>')
    top = "".join(f"<th{_class(k)}>{cell}</th>" for k, cell in zip(kinds, head, strict=True))
    grouped = "".join(f'<th class="group" colspan="{n}">{text}</th>' for text, n in groups)
    first = f"<tr>{grouped}</tr>" if groups else ""
    return (
        f'<div class="table"><table><thead>{first}<tr>{top}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _labels(head: Sequence[str], groups: Sequence[tuple[str, int]]) -> list[str]:
    """The names of the columns for a stacked table, as plain text."""
    above = [text for text, n in groups for _ in range(n)] or [""] * len(head)
    joined = [", ".join(filter(None, pair)) for pair in zip(above, head, strict=True)]
    return [
        re.sub("<[^>]*>", "", text.replace("<br>", " ")).replace('"', "&quot;") for text in joined
    ]


def _short(cell: str) -> str:
    return "s" if len(cell) <= _SHORT else ""


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
