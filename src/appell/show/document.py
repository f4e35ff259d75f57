"""A document of tables that compare, and of pictures: what a reproduction of a paper gives."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from appell.show.page import page
from appell.show.page import table as html_table
from appell.show.rules import EQUAL, Rule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """What a paper prints and what we compute, column by column of the table.

    Values are shown by str; a value that the paper does not have is None. ``rule`` says what is
    asked of ours, for all columns or for each (:mod:`appell.show.rules`): equality, unless it is
    given. ``why`` explains a difference.
    """

    what: str
    paper: Sequence[Any]
    ours: Sequence[Any]
    why: str = ""
    rule: Rule | Sequence[Rule] = EQUAL

    @classmethod
    def own(
        cls, what: str, ours: Sequence[Any], rule: Rule | Sequence[Rule] = EQUAL, why: str = ""
    ) -> Row:
        """A row of which the paper prints nothing."""
        return cls(what, (None,) * len(ours), ours, why, rule)

    @property
    def rules(self) -> list[Rule]:
        """One per column."""
        if isinstance(self.rule, Sequence):
            return list(self.rule)
        return [self.rule] * len(self.ours)

    @property
    def holds(self) -> bool:
        """Every column is within the bounds of its rule."""
        columns = zip(self.rules, self.paper, self.ours, strict=True)
        return all(rule.holds(paper, ours) for rule, paper, ours in columns)

    @property
    def remark(self) -> str:
        """What was asked, what came of it, and why."""
        values: dict[str, list[str]] = {}
        for rule in self.rules:
            values.setdefault(rule.words, []).append(rule.told)
        asked = "; ".join(
            f"{words} {', '.join(x if len(set(x)) > 1 else x[:1])}".rstrip()
            for words, x in values.items()
        )
        verdict = asked if self.holds else f"FAILS ({asked})"
        return f"{verdict}: {self.why}" if self.why else verdict


def plain(
    title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Any]], note: str = ""
) -> Table:
    """A table for information, by what the values are of: compared with nothing."""
    return Table(title, columns, [Row.own(*row) for row in rows.items()], note, compared=False)


@dataclass(frozen=True)
class Table:
    """Rows under a title; ``columns`` name the values of each row.

    One that is not ``compared`` is information, such as times on the machine at hand: it has our
    values only, is shown apart, and proves nothing. In one that is, every value is held by a rule:
    a value that nothing is asked of does not belong there.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    compared: bool = True

    def __post_init__(self) -> None:
        for row in self.rows if self.compared else ():
            for rule, paper, ours in zip(row.rules, row.paper, row.ours, strict=True):
                if ours is None or (paper is None) is not rule.alone:
                    raise ValueError(
                        f"{self.title!r}, row {row.what!r}: {rule!r} cannot compare {ours!r} with "
                        f"{paper!r}; a value that is compared with nothing goes into a plain table."
                    )

    @property
    def failures(self) -> list[Row]:
        """Rows out of the bounds of their rules."""
        return [row for row in self.rows if not row.holds] if self.compared else []


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
    def sections(self) -> dict[str, Table]:
        """The tables by their titles: those that compare, then those for information."""
        compared = {table.title: table for table in self.tables if table.compared}
        apart = "For information: " if compared else ""
        return compared | {apart + t.title: t for t in self.tables if not t.compared}

    @property
    def failures(self) -> list[tuple[Table, Row]]:
        """The rows out of the bounds of their rules, each with its table."""
        return [(table, row) for table in self.tables for row in table.failures]


def markdown(document: Document, files: Sequence[str] = ()) -> str:
    """The document as Markdown; ``files`` are the paths of its pictures' and movies' files."""
    parts = [f"# {document.title}", document.source]
    for title, table in document.sections.items():
        escaped = [[x.replace("|", "\\|") for x in line] for line in cells(table)]
        lines = [headings(table), ["---"] * len(headings(table)), *escaped]
        parts += [f"## {title}", "\n".join(f"| {' | '.join(line)} |" for line in lines)]
        parts += [table.note] if table.note else []
    shown: list[Picture | Movie] = [*document.pictures, *document.movies]
    for picture, path in zip(shown, files, strict=True):
        parts += [f"## {picture.title}", f"![{picture.title}]({path})", picture.caption]
    return "\n\n".join(parts) + "\n"


def html(document: Document, svgs: Sequence[str], gifs: Sequence[bytes] = ()) -> str:
    """The document as one HTML file that needs nothing else."""
    parts = [f"<h1>{escape(document.title)}</h1>", f'<p class="lead">{escape(document.source)}</p>']
    for title, table in document.sections.items():
        rows = [
            [*map(escape, line[:-1]), _verdict(line[-1], row in table.failures)]
            for row, line in zip(table.rows, cells(table), strict=True)
        ]
        parts += [
            f"<h2>{escape(title)}</h2>",
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
    """The headings of the columns: what, the paper's and our value of each, and a remark."""
    if not table.compared:
        return ["", *table.columns, "remark"]
    both = [("paper", "ours") if prints else ("ours",) for prints in _printed(table)]
    columns = zip(table.columns, both, strict=True)
    return ["", *(f"{c}, {who}" for c, names in columns for who in names), "remark"]


def cells(table: Table) -> list[list[str]]:
    """The rows under these headings."""
    if not table.compared:
        return [[row.what, *map(_shown, row.ours), row.why] for row in table.rows]
    return [
        [
            row.what,
            *(
                _shown(x)
                for prints, *pair in zip(_printed(table), row.paper, row.ours, strict=True)
                for x in (pair if prints else pair[1:])
            ),
            row.remark,
        ]
        for row in table.rows
    ]


def _printed(table: Table) -> list[bool]:
    """For each column, whether the paper has something in it."""
    columns = zip(*(row.paper for row in table.rows), strict=True)
    return [any(x is not None for x in column) for column in columns]


def _verdict(remark: str, failed: bool) -> str:
    return f'<span class="warn">{escape(remark)}</span>' if failed else escape(remark)


def _shown(x: Any) -> str:
    if x is None:
        return "–"
    return f"{x:.4g}" if isinstance(x, float) else str(x)
