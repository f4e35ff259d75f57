"""``appell new``: a scenario for a robot, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.app import app, example
from appell.cli.choices import TASKS
from appell.cli.completion import names
from appell.cli.options import Json, Loops, Quiet, RobotName
from appell.cli.tables import print_json
from appell.errors import InputError


@app.command(epilog=example("appell new ur5"))
def new(
    robot: RobotName,
    task: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(TASKS[:-1])} or {TASKS[-1]}; without it, the first of these that the "
            "robot can do.",
            autocompletion=names(TASKS),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write, ROBOT.toml; - prints it."),
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

    file = Path(f"{Path(robot).stem}.toml") if output is None else output
    printed = str(file) == "-"
    if not printed and file.exists() and not force:
        raise InputError(
            f"{file} is there already; give another name with --output, or --force to replace it."
        )
    if not printed and file.suffix != ".toml":
        raise InputError(f"{file}: scenarios are written as .toml files; give such a name.")
    text = new_scenario(
        robot, task, loops=None if loops is None else str(loops), file=None if printed else file
    )
    if printed:
        print_json({"text": text}) if as_json else typer.echo(text, nl=False)
        return
    schema = file.with_name(SCHEMA)
    try:
        file.write_text(text)
        if force or not schema.exists():
            schema.write_text(json_schema())
    except OSError as problem:
        raise InputError(f"{file} cannot be written: {problem.strerror}.") from None
    if as_json:
        print_json({"scenario": str(file), "schema": str(schema)})
        return
    if quiet:
        typer.echo(f"{file}\n{schema}")
        return
    typer.echo(f"Written: {file}; appell run {file} runs it.")
    typer.echo(f"{schema} lets editors complete it.")
