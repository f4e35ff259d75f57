"""``appell new``: a scenario for a robot, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.app import app, example
from appell.errors import InputError


@app.command(epilog=example("appell new ur5"))
def new(
    robot: Annotated[str, typer.Argument(help="A name that appell list shows, or a .urdf file.")],
    task: Annotated[
        str | None,
        typer.Option(help="line, circle, moves, via, hold, torque or fall; the first that it can."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write, ROBOT.toml; - prints it."),
    ] = None,
    loops: Annotated[
        Path | None, typer.Option(help="A file that closes the loops of the .urdf file.")
    ] = None,
) -> None:
    """Write a commented scenario for a robot, which runs as it stands.

    For instance: appell new ur5 --task circle -o circle.toml && appell run circle.toml
    """
    from appell.study.starter import new_scenario

    file = Path(f"{Path(robot).stem}.toml") if output is None else output
    printed = str(file) == "-"
    if not printed and file.exists():
        raise InputError(f"{file} is there already; give another name with --output.")
    if not printed and file.suffix != ".toml":
        raise InputError(f"{file}: scenarios are written as .toml files; give such a name.")
    text = new_scenario(
        robot, task, loops=None if loops is None else str(loops), file=None if printed else file
    )
    if printed:
        typer.echo(text, nl=False)
        return
    try:
        file.write_text(text)
    except OSError as problem:
        raise InputError(f"{file} cannot be written: {problem.strerror}.") from None
    typer.echo(f"Written: {file}; appell run {file} runs it.")
