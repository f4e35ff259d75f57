"""``appell run``: the main job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.completion import SETTINGS, files
from appell.cli.options import (
    Animation,
    Force,
    Json,
    Quiet,
    keep_inputs,
    print_written,
    verbose_option,
)
from appell.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from appell.study import Result, Scenario
    from appell.study.straight_line import StraightLine


@app.command(epilog=example("appell run", "appell run ur5.toml -o fall --json"))
def run(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A .toml or .json file (appell new writes one); by default the PUMA's line.",
            autocompletion=files(*SETTINGS),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to make; if taken, a number is added."),
    ] = None,
    force: Force = False,
    animation: Animation = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_option("the largest torques, and the path of every file written")
    ] = False,
    as_json: Json = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files, and end.")
    ] = False,
) -> None:
    """Run a scenario of any robot: motion, torques, a verdict, and a report of them.

    Status 0 if it went as the scenario expects, 1 if not, 130 if it was interrupted. For instance:
    appell new ur5 -o ur5.toml && appell run ur5.toml
    """
    from appell import study
    from appell.show.scenario_report import write_scenario

    if schema:
        typer.echo(study.json_schema(), nl=False)
        return
    asked = study.read_scenario(scenario) if scenario else None
    if animation:
        asked = (asked or study.puma_line()).changed({"outputs.animation": True})
    told = not quiet and not as_json
    wanted = output or _folder(asked, scenario)
    for name in ("scenario.json", "summary.json") if force else ():
        keep_inputs(wanted / name, scenario)
    result = study.run(asked, progress=sys.stdout.isatty() and told)
    report = write_scenario(result, wanted, force)
    if told:  # who reads this may close the pipe, as head does
        _print_result(result) if result.line is None else _print_line(result.line)
        if verbose:
            _print_torques(result)
            print_written(report.parent)
    if as_json:
        print_json(result.summary() | {"report": str(report)})
    else:
        kind = "Report" if result.scenario.outputs.report else "Summary"
        typer.echo(report if quiet else f"{kind}: {report}")
    if result.interrupted:
        typer.echo("Interrupted: what was done so far is in the report.", err=True)
        raise typer.Exit(INTERRUPTED)
    if not result.verdict.ok:
        raise typer.Exit(1)


def _folder(asked: Scenario | None, file: Path | None) -> Path:
    """The scenario's, or one named after it."""
    if asked is not None and asked.outputs.folder is not None:
        return Path(asked.outputs.folder)
    return Path("appell-run" if file is None else f"{file.stem}-run")


def _print_result(result: Result) -> None:
    verdict = result.verdict
    typer.echo(result.scenario.title or f"{result.robot.name}: {result.scenario.task.kind}")
    for warning in result.warnings:
        typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
        typer.echo(warning, err=True)
    if verdict.checks:
        rows = [
            [c.what, f"{c.value:.3g}", f"{c.bound:g}", c.unit, "yes" if c.ok else "no"]
            for c in verdict.checks
        ]
        print_table(["expected", "of the run", "bound", "unit", "kept"], rows)
    label = "interrupted" if result.interrupted else "ok" if verdict.ok else "not as expected"
    typer.secho(f"{label}: ", bold=True, nl=False)
    typer.echo(f"{verdict.text}.")


def _print_torques(result: Result) -> None:
    summary = result.summary()
    rows = [[name, f"{x:.4g}"] for name, x in summary["largest_torques"].items()]
    print_table(["actuator", "largest torque, N m or N"], rows)
    typer.echo(f"{summary['impacts']} impacts; computed in {summary['seconds']:.2f} s.")


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
