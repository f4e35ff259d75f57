"""How commands of ``appell control`` end: what is told of a run, its report, and the status."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from appell.cli.tables import print_json
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.rig.log.run_report import Report


class Folder(NamedTuple):
    """The folder of a report, if one is asked for, whether one that is there is used, and whether
    the robot moves in it."""

    path: Path | None = None
    force: bool = False
    animation: bool = False

    def check(self) -> None:
        """Refuse, before anything moves, what could not be written after it."""
        if self.animation and self.path is None:
            raise InputError("--animation is part of a report; give its folder with --output.")


def _write_report(report: Report, folder: Folder, log: Path | None) -> Path | None:
    """Write a report, if one is asked for, and give the path of its page."""
    if folder.path is None:
        return None
    from appell.show.control_report import control_document, control_files
    from appell.show.report_folder import document_files, write_files

    near = None if log is None else Path(os.path.relpath(log, folder.path))
    files = control_files(report, near, folder.animation)
    return write_files(document_files(control_document(report), files), folder.path, folder.force)


class Told(NamedTuple):
    """How much of a run is told: paths only, or times as well, or all of it as JSON."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False

    @property
    def tables(self) -> bool:
        """Whether there is text for people."""
        return not self.quiet and not self.as_json

    def results(self, report: Report, folder: Folder, log: Path | None, **more: Any) -> None:
        """Write the report of a run, and print what came of it; ``more`` is part of the JSON."""
        from appell.cli.control_view import print_report, report_as_json

        page = _write_report(report, folder, log)
        if self.as_json:
            paths = {"log": log, "report": page}
            written = {name: None if x is None else str(x) for name, x in paths.items()}
            print_json(report_as_json(report) | written | more)
            return
        if self.tables:
            print_report(report, self.verbose)
        elif not report.ok:
            typer.echo(report.verdict, err=True)
        if page is not None:
            typer.echo(page if self.quiet else f"Report: {page}")


def finish(
    report: Report,
    log: Path | None,
    folder: Folder = Folder(),  # noqa: B008
    told: Told = Told(),  # noqa: B008
    **more: Any,
) -> None:
    """Tell what came of a run, write its report, and end with its status."""
    from appell.rig.signals import STATUS

    if told.quiet and not told.as_json and log is not None:
        typer.echo(log)
    told.results(report, folder, log, **more)
    if told.tables and log is not None:
        typer.echo(f"Log: {log}")
    if not report.ok:
        raise typer.Exit(STATUS.get(report.reason, 1))
