"""The command ``appell``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from appell import __version__
from appell.errors import AppellError

if TYPE_CHECKING:
    from appell.show.document import Document
    from appell.study import StraightLine


class _Commands(TyperGroup):
    """Shows what Appell or the system refuses as one message, with exit status 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # who read the output has enough
            raise typer.Exit(1) from None
        except (AppellError, OSError) as problem:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo(problem, err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False
)


def main() -> None:
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"appell {__version__}")
        raise typer.Exit


@app.callback()
def appell(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Robot dynamics by the Gibbs-Appell equations."""


@app.command()
def run(
    scenario: Annotated[
        Path | None, typer.Argument(help="A .json or .toml file; without it, the PUMA's line.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The folder to make; if taken, a number is added.")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the report's path only.")
    ] = False,
) -> None:
    """Draw a tool along a straight line: motion, torques, checks, and a report of them."""
    from appell import study as studies
    from appell.show.figures import require_matplotlib
    from appell.study.timing import measure

    require_matplotlib()
    task = studies.read_scenario(scenario) if scenario else studies.Scenario()
    study = studies.run(task)
    if not quiet:
        _print_summary(study)

    from appell.show.folder import write

    report = write(study, measure(study), output or Path(task.output))
    typer.echo(report if quiet else f"Report: {report}")


@app.command("list")
def list_robots() -> None:
    """List the robots of the library."""
    from appell.constraints.library import CLOSED
    from appell.model.library import ROBOTS, WRISTS

    rows = []
    makers: dict[str, Any] = {**ROBOTS, **WRISTS, **CLOSED}
    for name, make in makers.items():
        about = (make.__doc__ or "").strip().partition("\n")[0]
        rows.append([name, str(make().nv), about])
    _print_table(["robot", "freedoms", "what it is"], rows, left=(0, 2))


@app.command()
def check(
    robot: Annotated[str, typer.Argument(help="A name of the library, or a .urdf file.")],
    states: Annotated[int, typer.Option(min=1, help="How many random states.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Which random states.")] = 0,
) -> None:
    """Check a robot's compiled equations against the laws of physics."""
    from appell.library import load

    checks = load(robot).selfcheck(states, seed)
    rows = [
        [c.law, f"{c.error:.1e}", f"{c.bound:.0e}", "yes" if c.passed else "[red]no[/]"]
        for c in checks
    ]
    _print_table(["law", "error", "bound", "holds"], rows)
    if not all(c.passed for c in checks):
        raise typer.Exit(1)


@app.command()
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help="Such as mata2002; without it, all papers.")
    ] = None,
    output: Annotated[
        Path, typer.Option(help="The folder to make; if taken, a number is added.")
    ] = Path("reproduction"),
) -> None:
    """Compute the papers' tables and figures; status 1 if a value that must come out does not."""
    from appell.papers import PAPERS
    from appell.papers import reproduce as reproduced
    from appell.show.figures import require_matplotlib
    from appell.show.folder import new_folder, write_documents

    require_matplotlib()
    if paper is not None and paper not in PAPERS:
        reproduced(paper)  # says which there are
    folder = new_folder(output)  # now, and not after all is computed
    documents = []
    for name in [paper] if paper else PAPERS:
        document = reproduced(name)
        documents.append(document)
        _print_document(document)
    typer.echo(f"Written: {write_documents(documents, folder)}")
    failures = [(d, table, row) for d in documents for table, row in d.failures]
    for document, table, row in failures:
        typer.secho(f"{document.name}, {table.title}, {row.what}: not equal", fg="red", err=True)
    if failures:
        raise typer.Exit(1)


def _print_document(document: Document) -> None:
    """Tables with remarks below them, numbered."""
    from appell.show.document import cells, headings

    typer.secho(f"\n{document.title}", bold=True)
    typer.echo(document.source)
    for table in document.tables:
        typer.echo(f"\n{table.title}")
        remarks: dict[str, int] = {}
        rows = [[*line[:-1], _footnote(line[-1], remarks)] for line in cells(table)]
        head = [_short(h) for h in headings(table)[:-1]]
        _print_table([*head, ""], rows, left=(0, len(head)))
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


def _print_summary(study: StraightLine) -> None:
    task, motions = study.scenario, study.motions.values()
    typer.echo(
        f"{study.robot.name}: {task.start} to {task.end} m in {study.path.duration:.2f} s, "
        f"{len(study.path.t)} samples. Largest torques, N m:"
    )
    joints = [f"joint {j + 1}" for j in range(study.robot.nv)]
    rows = [
        [
            name + (" (near a singularity)" if motion.near_singular else ""),
            *(f"{x:.3f}" for x in motion.peak),
        ]
        for name, motion in study.motions.items()
    ]
    _print_table(["branch", *joints], rows)
    for reason in study.refused.values():
        typer.echo(reason)
    typer.echo(
        f"Pose error at most {max(m.residual for m in motions):.1e}; forward dynamics returns the "
        f"accelerations to {max(m.returned for m in motions):.1e} rad/s^2."
    )


def _print_table(head: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,)) -> None:
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
