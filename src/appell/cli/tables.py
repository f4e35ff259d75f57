"""Tables on a terminal."""

from __future__ import annotations

import re
from typing import Any


def summary(described: Any) -> str:
    """The first sentence of what a function or class says of itself."""
    paragraph = " ".join((described.__doc__ or "").strip().partition("\n\n")[0].split())
    sentence, *more = re.split(r"\. (?=[A-Z])", paragraph, maxsplit=1)  # "et al. 2003" goes on
    return f"{sentence}." if more else sentence


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON does not have are null."""
    import json

    from appell.model.settings_file import plain

    print(json.dumps(plain(value), indent=2, ensure_ascii=False))


def rows_as_json(head: list[str], rows: list[list[str]]) -> list[dict[str, str]]:
    """The rows of a table, each by the names of its columns."""
    return [dict(zip(head, row, strict=True)) for row in rows]


def tables_as_json(tables: Any) -> list[dict[str, Any]]:
    """Tables of a document: titles, rows by column, notes."""
    from appell.show.document import cells, headings

    return [
        {
            "title": table.title,
            "rows": rows_as_json([*headings(table)], [[*line] for line in cells(table)]),
            "note": table.note,
        }
        for table in tables
    ]


def print_table(head: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,)) -> None:
    """Print a table; columns are set to the right, but for those on the ``left``."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(head):
        table.add_column(Text(name), justify="left" if k in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as they are: names may have [brackets]
    console = Console()
    console = console if console.is_terminal else Console(width=max(console.width, 120))
    console.print(table)
