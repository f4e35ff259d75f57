"""``appell reproduce``: the papers' tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.choices import PAPERS
from appell.cli.completion import names
from appell.cli.options import Force, Json, Quiet, Verbose, print_written
from appell.cli.tables import print_json, print_table, tables_as_json

if TYPE_CHECKING:
    from appell.show.document import Document


@app.command(epilog=example("appell reproduce lee1982 -o lee"))
def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help=f"One of {', '.join(PAPERS)}; by default all of them.",
            autocompletion=names(PAPERS),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder to make, by default reproduction-PAPER; if taken, a number is added.",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Compute the papers' tables and figures; status 1 if a row is out of its bounds.

    Takes about 2 minutes for all papers, and at most 40 seconds for one, on two cores.
    """
    from appell.errors import whole
    from appell.papers import reproduce as reproduced
    from appell.show.report_folder import new_folder, unless_empty, write_documents

    if paper is not None and paper not in PAPERS:
        reproduced(paper)  # says which there are
    named = Path(f"reproduction-{paper}" if paper else "reproduction")
    folder = new_folder(output or named, force)  # now, and not after all is computed
    documents, wanted = [], [paper] if paper else PAPERS
    with unless_empty(folder):
        try:
            with whole():
                for name in wanted:
                    document = reproduced(name)
                    documents.append(document)
                    if not quiet and not as_json:
                        _print_document(document)
        except KeyboardInterrupt:
            if not documents:
                raise
        pages = write_documents(documents, folder, force)
    heads = [document.head() for document in documents]
    if as_json:
        told = zip(documents, heads, pages, strict=True)
        print_json(
            {
                d.name: {
                    "verdict": head.verdict,
                    "report": str(page),
                    "tables": tables_as_json(d.sections.values()),
                }
                for d, head, page in told
            }
        )
    for document, head, page in zip(documents, heads, pages, strict=True):
        if as_json:
            continue
        if not quiet:
            typer.secho(f"{document.name}: {head.verdict}", fg="green" if head.good else "red")
        typer.echo(page if quiet else f"Report: {page}")
    if verbose and not as_json and not quiet:
        print_written(pages[0].parent)
    failures = [(d, table, row) for d in documents for table, row in d.failures]
    for document, table, row in failures:
        place = f"{document.name}, {table.title}, {row.what}"
        typer.secho(f"{place}: {row.remark}", fg="red", err=True)
    if len(documents) < len(wanted):
        left = ", ".join(wanted[len(documents) :])
        typer.echo(f"Interrupted: not done are {left}.", err=True)
        raise typer.Exit(INTERRUPTED)
    if failures:
        raise typer.Exit(1)


def _print_document(document: Document) -> None:
    """Tables with remarks below them, numbered."""
    from appell.show.document import cells, headings

    typer.secho(f"\n{document.title}", bold=True)
    typer.echo(document.source)
    for title, table in document.sections.items():
        typer.echo(f"\n{title}")
        remarks: dict[str, int] = {}
        rows = [[*line[:-1], _footnote(line[-1], remarks)] for line in cells(table)]
        head = [_short(h) for h in headings(table)[:-1]]
        print_table([*head, ""], rows, left=(0, len(head)))
        for remark, number in remarks.items():
            typer.echo(f"{number}. {remark}")
        if table.note:
            typer.echo(table.note)


def _short(heading: str) -> str:
    short = heading.replace("multiplications", "mult.").replace("additions", "add.")
    return short.replace(", ", "\n")


def _footnote(remark: str, known: dict[str, int]) -> str:
    """Short remarks as they are, long ones by number."""
    if len(remark) <= len("equal"):
        return remark
    return str(known.setdefault(remark, len(known) + 1))
