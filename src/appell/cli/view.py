"""``appell view``: robots, runs, logs and scenarios in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.app import app, example

_FILES = (".npz", ".mcap", ".toml", ".json")


@app.command(epilog=example("appell view ur5", "appell view ur5 --html ur5.html"))
def view(
    shown: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|RUN|LOG|SCENARIO",
            help="A robot of the library or a .urdf file; a run that run.save wrote (.npz); a log "
            "of appell control (.mcap); a scenario (.toml or .json).",
        ),
    ],
    robot: Annotated[
        str | None, typer.Option(help="The robot of a run or a log, where its file names none.")
    ] = None,
    loops: Annotated[
        Path | None, typer.Option(help="The file beside a .urdf that closes its loops.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write one .html file, which needs no server and no network, and end."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to serve; 0.0.0.0 lets other machines see it.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to serve; 0 is any that is free.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Look at a robot, move its joints, or play a run, in the browser: appell view puma560"""
    from appell import view as show
    from appell.show.viewer.server import require_viewer
    from appell.show.viewer.view import view_file

    require_viewer()
    subject: Any
    if Path(shown).suffix.lower() in _FILES:
        subject = view_file(Path(shown), _loaded(robot, loops) if robot else None)
    else:
        subject = _loaded(robot or shown, loops)
    if html is not None:
        typer.echo(show(subject, html=html))
        return
    with show(subject, host=host, port=port, browser=browser) as viewer:
        typer.echo(f"{viewer.url} (Ctrl-C ends it)")
        viewer.wait()


def _loaded(robot: str, loops: Path | None) -> Any:
    from appell.robots.registry import load

    return load(robot, **({} if loops is None else {"loops": loops}))
