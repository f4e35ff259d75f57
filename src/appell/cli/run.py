"""``appell run``: the main job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import app, example
from appell.cli.tables import print_table

if TYPE_CHECKING:
    from appell.study import Result
    from appell.study.straight_line import StraightLine

_INTERRUPTED = 130  # as shells have it


@app.command(epilog=example("appell run", "appell run ur5.toml -o fall"))
def run(
    scenario: Annotated[
        Path | None, typer.Argument(help="A .toml or .json file; without it, the PUMA's line.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to make; if taken, a number is added."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the report's path only.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files, and end.")
    ] = False,
) -> None:
    """Run a scenario of any robot: motion, torques, a verdict, and a report of them.

    Status 0 if it went as the scenario expects, 1 if not, 130 if it was interrupted. For instance:
    appell new ur5 -o ur5.toml && appell run ur5.toml
    """
    from appell import study
    from appell.show.report_folder import write

    if schema:
        typer.echo(study.json_schema(), nl=False)
        return
    asked = study.read_scenario(scenario) if scenario else None
    result = study.run(asked, progress=sys.stdout.isatty() and not quiet)
    wanted = output or _folder(result, scenario)
    if result.line is not None:
        from appell.study.study_timing import measure

        report = write(result.line, measure(result.line), wanted)
        if not quiet:  # who reads this may close the pipe, as head does
            _print_line(result.line)
    else:
        from appell.show.scenario_report import write_scenario

        report = write_scenario(result, wanted)
        if not quiet:
            _print_result(result)
    typer.echo(report if quiet else f"Report: {report}")
    if result.interrupted:
        typer.echo("Interrupted: what was done so far is in the report.", err=True)
        raise typer.Exit(_INTERRUPTED)
    if not result.verdict.ok:
        raise typer.Exit(1)


def _folder(result: Result, file: Path | None) -> Path:
    """The scenario's, or one named after it."""
    if result.scenario.outputs.folder is not None:
        return Path(result.scenario.outputs.folder)
    return Path("appell-run" if file is None else f"{file.stem}-run")


def _print_result(result: Result) -> None:
    verdict = result.verdict
    typer.echo(f"{result.robot.name}: {result.scenario.title or result.scenario.task.kind}")
    for warning in result.warnings:
        typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
        typer.echo(warning, err=True)
    if verdict.checks:
        rows = [
            [c.what, f"{c.value:.3g}", f"{c.bound:g}", c.unit, "yes" if c.ok else "[red]no[/]"]
            for c in verdict.checks
        ]
        print_table(["expected", "of the run", "bound", "unit", "kept"], rows)
    typer.secho("ok: " if verdict.ok else "not as expected: ", bold=True, nl=False)
    typer.echo(f"{verdict.text}.")


def _print_line(study: StraightLine) -> None:
    task, motions = study.task, study.motions.values()
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
    print_table(["branch", *joints], rows)
    for reason in study.refused.values():
        typer.echo(reason)
    typer.echo(
        f"Pose error at most {max(m.residual for m in motions):.1e}; forward dynamics returns the "
        f"accelerations to {max(m.returned for m in motions):.1e} rad/s^2."
    )
