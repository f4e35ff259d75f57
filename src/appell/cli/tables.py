"""Tables on a terminal."""

from __future__ import annotations


def print_table(head: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,)) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(head):
        table.add_column(name, justify="left" if k in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console = console if console.is_terminal else Console(width=max(console.width, 120))
    console.print(table)
