"""A report as a document: tables, of which some compare, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from appell.show.figure import Drawn, Picture, figure_html
from appell.show.head import Head
from appell.show.page import animation, page
from appell.show.page import table as html_table
from appell.show.rules import EQUAL, Rule


@dataclass(frozen=True)
class Row:
    """What a paper prints and what we compute, column by column of the table.

    Values are shown by str; a value that the paper does not have is None. ``rule`` says what is
    asked of ours, for all columns or for each (`appell.show.rules`): equality, unless it is
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
class Document:
    """A report: what was asked (``source``), tables and pictures. Of one that compares, the rows
    give the verdict; of others it is said, and whether it is a good one."""

    name: str
    title: str
    source: str
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    verdict: str = ""
    good: bool = True
    warnings: Sequence[str] = ()
    models: Sequence[Any] = ()

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

    def head(self, files: Mapping[str, str] | None = None) -> Head:
        """What stands first, with the files beside the report."""
        verdict, good = self.verdict, self.good and not self.failures
        rows = sum(len(table.rows) for table in self.tables if table.compared)
        failures: list[str] = []
        if rows:
            verdict = (
                f"{rows - len(self.failures)} of {rows} rows agree{verdict and ': ' + verdict}"
            )
            failures = [f"{t.title}, {row.what}: {row.remark}" for t, row in self.failures]
        return Head(
            self.title, self.source, verdict, good, self.warnings, files or {}, self.models,
            failures,
        )  # fmt: skip


def markdown(
    document: Document, pictures: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> str:
    """The document as Markdown; ``pictures`` are the paths of its pictures' files."""
    parts = [document.head(files).markdown()]
    for title, table in document.sections.items():
        head, rows = _grid(table)
        escaped = [[x.replace("|", "\\|") for x in line] for line in rows]
        lines = [head, ["---"] * len(head), *escaped]
        parts += [f"## {title}", "\n".join(f"| {' | '.join(line)} |" for line in lines)]
        parts += [table.note] if table.note else []
    for picture, path in zip(document.pictures, pictures, strict=True):
        parts += [f"## {picture.title}", f"![{picture.title}]({path})", picture.caption]
    return "\n\n".join(parts) + "\n"


def html(document: Document, drawn: Sequence[Drawn], files: Mapping[str, str] | None = None) -> str:
    """The document as one HTML file that needs nothing else; ``drawn`` are its pictures."""
    parts = [document.head(files).html(), animation(files or {})]
    for title, table in document.sections.items():
        parts += [
            f"<h2>{escape(title)}</h2>",
            table_html(table),
            f'<p class="note">{escape(table.note)}</p>' if table.note else "",
        ]
    for picture, image in zip(document.pictures, drawn, strict=True):
        parts.append(f"<h2>{escape(picture.title)}</h2>")
        parts.append(figure_html(image, picture.title, picture.caption))
    return page(document.title, parts)


def table_html(table: Table) -> str:
    """A table as HTML: what the paper prints and what we compute under one heading."""
    head, rows = _grid(table)
    head, rows = [escape(x) for x in head], [[escape(x) for x in line] for line in rows]
    if not table.compared:
        return html_table(head, rows, remark=head[-1] == _REMARK)
    marks = [
        '<span class="warn">✗</span>' if row in table.failures else '<span class="ok">✓</span>'
        for row in table.rows
    ]
    for mark, line in zip(marks, rows, strict=True):
        line[-1] = f"{mark} {line[-1]}"
    both = [("paper", "ours") if prints else ("ours",) for prints in _printed(table)]
    groups = [(escape(c), len(names)) for c, names in zip(table.columns, both, strict=True)]
    inner = ["", *(name for names in both for name in names), _REMARK]
    return html_table(inner, rows, [("", 1), *groups, ("", 1)], remark=True)


_REMARK, _WIDE = "remark", 9


def _grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """Headings and rows as they are shown: without remarks where there are none, and turned where
    a table of our own is wider than long."""
    head, rows = headings(table), cells(table)
    if not table.compared and not any(line[-1] for line in rows):
        head, rows = head[:-1], [line[:-1] for line in rows]
        if len(head) > max(_WIDE, len(rows)):
            turned = [list(column) for column in zip(head, *rows, strict=True)]
            return turned[0], turned[1:]
    return head, rows


def headings(table: Table) -> list[str]:
    """The headings of the columns: what, the paper's and our value of each, and a remark."""
    if not table.compared:
        return ["", *table.columns, _REMARK]
    both = [("paper", "ours") if prints else ("ours",) for prints in _printed(table)]
    columns = zip(table.columns, both, strict=True)
    return ["", *(f"{c}, {who}" for c, names in columns for who in names), _REMARK]


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


def _shown(x: Any) -> str:
    if x is None:
        return "–"
    return f"{x:.4g}" if isinstance(x, float) else str(x)
