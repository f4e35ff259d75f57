"""``appell new``: a scenario for a robot, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.app import app, example
from appell.cli.choices import TASKS
from appell.cli.completion import names
from appell.cli.options import Json, Loops, Quiet, RobotName, keep_inputs, same_file
from appell.cli.tables import print_json
from appell.errors import InputError


@app.command(epilog=example("appell new ur5"))
def new(
    robot: RobotName,
    task: Annotated[
        str | None,
        typer.Option(
            help=f"Kind of task: {', '.join(TASKS[:-1])} or {TASKS[-1]}; by default the first that "
            "the robot can do.",
            autocompletion=names(TASKS),
        ),
    ] = None,
    frame: Annotated[
        str | None, typer.Option(help="The link that moves along a line or a circle.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, ROBOT.toml or, where that is the file of loops, "
            "ROBOT_scenario.toml; - prints it.",
        ),
    ] = None,
    loops: Loops = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file that is there.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a commented scenario for a robot, which runs as it stands.

    Its JSON Schema is written beside it, by which editors complete it. For instance:
    appell new ur5 --task circle -o circle.toml && appell run circle.toml
    """
    from appell.study import json_schema
    from appell.study.starter import SCHEMA, new_scenario
    from appell.whole_file import write_whole

    file = _usual_name(robot, loops) if output is None else output
    printed = str(file) == "-"
    keep_inputs(file, robot, loops)
    if not printed and file.exists() and not force:
        raise InputError(
            f"{file} is there already; give another name with --output, or --force to replace it."
        )
    if not printed and file.suffix != ".toml":
        raise InputError(f"{file}: scenarios are written as .toml files; give such a name.")
    text = new_scenario(
        robot,
        task,
        frame=frame,
        loops=None if loops is None else str(loops),
        file=None if printed else file,
    )
    if printed:
        print_json({"text": text}) if as_json else typer.echo(text, nl=False)
        return
    schema = file.with_name(SCHEMA)
    write_whole(file, text)
    if force or not schema.exists():
        write_whole(schema, json_schema())
    if as_json:
        print_json({"scenario": str(file), "schema": str(schema)})
        return
    if quiet:
        typer.echo(f"{file}\n{schema}")
        return
    typer.echo(f"Written: {file}; appell run {file} runs it.")
    typer.echo(f"{schema} lets editors complete it.")


def _usual_name(robot: str, loops: Path | None) -> Path:
    """The robot's, or where that is the file of its loops, another."""
    name = Path(robot).stem
    usual = Path(f"{name}.toml")
    taken = loops is not None and same_file(usual, loops)
    return Path(f"{name}_scenario.toml") if taken else usual
