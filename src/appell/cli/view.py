"""``appell view``: robots, runs, logs, scenarios and motions in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.completion import robots
from appell.cli.options import Json, Loops, free_path, load_robot, quiet_option
from appell.cli.tables import print_json

_FILES = (".npz", ".mcap", ".toml", ".json", ".csv")


@app.command(epilog=example("appell view ur5", "appell view ur5 --html ur5.html"))
def view(
    shown: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|RUN|LOG|SCENARIO|MOTION",
            help="A robot of the library or a .urdf file; a run that run.save wrote (.npz), or "
            "the folder of appell run; a log of appell control (.mcap); a scenario (.toml or "
            ".json); a motion (.csv).",
            autocompletion=robots(*_FILES),
        ),
    ],
    robot: Annotated[
        str | None,
        typer.Option(
            help="The robot of a run, a log or a motion, where no file names it.",
            autocompletion=robots(),
        ),
    ] = None,
    loops: Loops = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write one .html file, which needs no server and no network, and end; if it is "
            "there, a number is added."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address of the server; 0.0.0.0 lets other machines see the page.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 is any free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    quiet: Annotated[bool, quiet_option("the address or path only")] = False,
    as_json: Json = False,
) -> None:
    """Look at a robot, move its joints, or play a run, in the browser.

    Without the extra "view" it writes a page with a moving picture.
    """
    from appell import view as show
    from appell.robots.registry import makers
    from appell.show.viewer.server import missing
    from appell.show.viewer.view import view_file

    subject: Any
    folder = Path(shown).is_dir() and shown not in makers()
    if folder or Path(shown).suffix.lower() in _FILES:
        subject = view_file(Path(shown), load_robot(robot, loops) if robot else None)
    else:
        subject = load_robot(robot or shown, loops)
    if html is not None or missing():
        path = show(subject, html=free_path(html or Path(f"{Path(shown).resolve().stem}.html")))
        print_json({"html": str(path)}) if as_json else typer.echo(path)
        if missing():
            _tell_extra(path, browser and html is None, told=not quiet)
        return
    with show(subject, host=host, port=port, browser=browser) as viewer:
        told = viewer.url if quiet else f"{viewer.url} (Ctrl-C ends it)"
        try:
            print_json({"url": viewer.url}) if as_json else typer.echo(told)
            viewer.wait()
        except KeyboardInterrupt:  # the usual end
            raise typer.Exit(INTERRUPTED) from None


def _tell_extra(path: Path, browser: bool, told: bool) -> None:
    """Say what is shown without the viewer, and perhaps open it."""
    from appell.show.film_page import NOTE

    if told:
        typer.echo(NOTE, err=True)
    if browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
