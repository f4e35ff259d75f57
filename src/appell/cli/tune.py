"""``appell tune``: parameters of a scenario, optimised."""

from __future__ import annotations

import sys
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.completion import SETTINGS, files
from appell.cli.options import Json, Quiet, note, own_output, print_written, verbose_option
from appell.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from appell.study import Tuned
    from appell.study.tuning.tune_progress import TuneProgress


@app.command(epilog=example("appell tune gains.toml", "appell tune gains.toml -o tuned --json"))
def tune(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help=r"A .toml or .json file with a table \[tune].",  # else rich takes it for a style
            autocompletion=files(*SETTINGS),
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder of results; an earlier one goes on."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of Dask worker processes on this machine.")
    ] = None,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_option("every reason of failed samples, and the path of every file")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find parameters of a scenario, such as gains, that make a measure as small as can be.

    Takes as long as its evaluations, which progress counts: one per iteration along gradients, and
    population times parameters per generation of evolution, each of all samples. The best
    scenario is FOLDER/scenario.json, for appell run. A tune that was interrupted goes on
    when the same command is given again. Status 0 if something was found that keeps all
    constraints, 1 if not, 130 if it was interrupted.
    """
    from appell import study as studies
    from appell.show.tuning_report import write_tuning

    folder = output or Path(f"{study.stem}-tune")
    shown = not quiet and not as_json
    with own_output(not shown):
        tuned = studies.tune(
            studies.read_study(study), folder, workers=workers, progress=_progress(shown)
        )
    report = write_tuning(tuned, folder)
    if as_json:
        print_json(tuned.summary() | {"folder": str(folder), "report": str(report)})
    else:
        if shown:
            _print_tuned(tuned, verbose)
            if verbose:
                print_written(folder)
        typer.echo(report if quiet else f"Report: {report}")
    if tuned.interrupted:
        typer.echo(
            "Interrupted: this is the best so far; the same command goes on from here.", err=True
        )
        raise typer.Exit(INTERRUPTED)
    if not tuned.ok:
        raise typer.Exit(1)


def _progress(shown: bool) -> TuneProgress:
    from appell.study.tuning.tune_progress import TuneLines, TuneProgress, TuneStatus

    if not shown:
        return TuneProgress()
    return TuneStatus() if sys.stderr.isatty() else TuneLines()


def _print_tuned(tuned: Tuned, verbose: bool) -> None:
    typer.echo(tuned.study.title or "Tune")
    known = any(tuned.units.values())
    rows = []
    for name, x in tuned.parameters.items():
        own = tuned.own[name]
        unit = [tuned.units[name]] * known
        rows.append([name, "–" if own is None else f"{own:.5g}", f"{x:.5g}", *unit])
    print_table(["parameter", "before", "after", *["unit"] * known], rows)
    if tuned.constraints:
        rows = [
            [
                x.what,
                f"at {'least' if x.least else 'most'} {x.bound:g}",
                "–" if isnan(x.before) else f"{x.before:.4g}",
                f"{x.after:.4g}",
                x.unit,
                "yes" if x.kept else "no",
            ]
            for x in tuned.constraints
        ]
        print_table(["constraint", "bound", "before", "after", "unit", "kept"], rows)
    for why, count in list(tuned.failures.items())[: None if verbose else 3]:
        typer.echo(f"{count:,} evaluations had failed samples: {why}")
    for warning in tuned.warnings:
        note(f"{warning}.")
    typer.secho("ok: " if tuned.ok else "not found: ", bold=True, nl=False)
    typer.echo(f"{tuned.verdict}.")
