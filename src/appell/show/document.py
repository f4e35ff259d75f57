"""A document of tables that compare, and of pictures: what a reproduction of a paper gives."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from appell.show.page import page
from appell.show.page import table as html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Near:
    """A printed number, equal to any within a bound of it."""

    def __init__(self, value: float, bound: float, text: str | None = None) -> None:
        self.value, self.bound = value, bound
        self._text = text or f"{value:g}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(other - self.value) <= self.bound

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True)
class Row:
    """What a paper prints and what we compute, column by column of the table.

    Values are shown by str and compared by ==; a value that the paper does not have is None.
    ``exact`` rows must agree; others say why they do not.
    """

    what: str
    paper: Sequence[Any]
    ours: Sequence[Any]
    why: str = ""
    exact: bool = False

    @property
    def agrees(self) -> bool:
        return all(p is None or p == o for p, o in zip(self.paper, self.ours, strict=True))


def plain(
    title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Any]], note: str = ""
) -> Table:
    """A table of our own values, by what they are of."""
    made = [Row(what, [None] * len(columns), values) for what, values in rows.items()]
    return Table(title, columns, made, note, compared=False)


@dataclass(frozen=True)
class Table:
    """Rows under a title; ``columns`` name the values of each row. One that is not ``compared``
    with a paper has our values only."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    compared: bool = True

    @property
    def failures(self) -> list[Row]:
        """Rows that had to agree and do not."""
        return [row for row in self.rows if row.exact and not row.agrees]


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when it is asked for."""

    title: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Movie:
    """A moving picture, made when it is asked for: a GIF file's bytes."""

    title: str
    caption: str
    make: Callable[[], bytes]


@dataclass(frozen=True)
class Document:
    """A paper reproduced."""

    name: str
    title: str
    source: str
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    movies: Sequence[Movie] = ()

    @property
    def failures(self) -> list[tuple[Table, Row]]:
        return [(table, row) for table in self.tables for row in table.failures]


def markdown(document: Document, files: Sequence[str] = ()) -> str:
    """The document as Markdown; ``files`` are the paths of its pictures' and movies' files."""
    parts = [f"# {document.title}", document.source]
    for table in document.tables:
        escaped = [[x.replace("|", "\\|") for x in line] for line in cells(table)]
        lines = [headings(table), ["---"] * len(headings(table)), *escaped]
        parts += [f"## {table.title}", "\n".join(f"| {' | '.join(line)} |" for line in lines)]
        parts += [table.note] if table.note else []
    shown: list[Picture | Movie] = [*document.pictures, *document.movies]
    for picture, path in zip(shown, files, strict=True):
        parts += [f"## {picture.title}", f"![{picture.title}]({path})", picture.caption]
    return "\n\n".join(parts) + "\n"


def html(document: Document, svgs: Sequence[str], gifs: Sequence[bytes] = ()) -> str:
    """The document as one HTML file that needs nothing else."""
    parts = [f"<h1>{escape(document.title)}</h1>", f'<p class="lead">{escape(document.source)}</p>']
    for table in document.tables:
        rows = [
            [*map(escape, line[:-1]), _verdict(row, line[-1])]
            for row, line in zip(table.rows, cells(table), strict=True)
        ]
        parts += [
            f"<h2>{escape(table.title)}</h2>",
            html_table([escape(x) for x in headings(table)], rows, "plain"),
            f'<p class="note">{escape(table.note)}</p>' if table.note else "",
        ]
    images = [
        f'<img alt="{escape(movie.title)}" src="data:image/gif;base64,{b64encode(gif).decode()}">'
        for movie, gif in zip(document.movies, gifs, strict=True)
    ]
    shown: list[Picture | Movie] = [*document.pictures, *document.movies]
    for picture, svg in zip(shown, [*svgs, *images], strict=True):
        caption = f"<figcaption>{escape(picture.caption)}</figcaption>"
        parts.append(f"<h2>{escape(picture.title)}</h2>\n<figure>{svg}{caption}</figure>")
    return page(document.title, parts)


def headings(table: Table) -> list[str]:
    """Of the columns: what, the paper's and our value of each, and a remark."""
    if not table.compared:
        return ["", *table.columns, "remark"]
    return ["", *(f"{c}, {who}" for c in table.columns for who in ("paper", "ours")), "remark"]


def cells(table: Table) -> list[list[str]]:
    """The rows under these headings."""
    if not table.compared:
        return [[row.what, *map(_shown, row.ours), row.why] for row in table.rows]
    return [
        [
            row.what,
            *(_shown(x) for pair in zip(row.paper, row.ours, strict=True) for x in pair),
            row.why if not row.agrees or not row.exact else row.why or "equal",
        ]
        for row in table.rows
    ]


def _verdict(row: Row, remark: str) -> str:
    failed = row.exact and not row.agrees
    return f'<span class="warn">not equal. {escape(remark)}</span>' if failed else escape(remark)


def _shown(x: Any) -> str:
    if x is None:
        return "–"
    return f"{x:.4g}" if isinstance(x, float) else str(x)
