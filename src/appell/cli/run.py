"""``appell run``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import app
from appell.cli.tables import print_table

if TYPE_CHECKING:
    from appell.study import StraightLine


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
    from appell.study.study_timing import measure

    require_matplotlib()
    task = studies.read_scenario(scenario) if scenario else studies.Scenario()
    study = studies.run(task)

    from appell.show.report_folder import write

    report = write(study, measure(study), output or Path(task.output))
    if not quiet:  # who reads this may close the pipe, as head does
        _print_summary(study)
    typer.echo(report if quiet else f"Report: {report}")


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
    print_table(["branch", *joints], rows)
    for reason in study.refused.values():
        typer.echo(reason)
    typer.echo(
        f"Pose error at most {max(m.residual for m in motions):.1e}; forward dynamics returns the "
        f"accelerations to {max(m.returned for m in motions):.1e} rad/s^2."
    )
