"""A run on the terminal: while it goes on, and when it is over.

It reads shared memory and writes nothing there, so the loop does not know of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from appell.cli.tables import print_table
from appell.model.units import joined, listed

if TYPE_CHECKING:
    from rich.table import Table

    from appell.model.units import Units
    from appell.rig.log.run_report import Report
    from appell.rig.loop.real_time_run import Running

_LAST = 2.0  # s before a fault that are shown


@contextmanager
def watching(wanted: bool) -> Iterator[Callable[[Running], None] | None]:
    """What looks at a run now and then and shows it, if someone can see it."""
    if not wanted or not sys.stdout.isatty():
        yield None
        return
    from rich.live import Live

    with Live(refresh_per_second=10, transient=True) as live:

        def look(running: Running) -> None:
            row = running.now()
            if row is not None:
                live.update(table_of(row, running.ready.machine.units))

        yield look


@contextmanager
def in_viewer(
    robot: Any, besides: Callable[[Running], None] | None = None
) -> Iterator[Callable[[Running], None] | None]:
    """What looks at a run now and then and shows it in the browser, and as ``besides`` does; that
    alone where there is no robot to be shown."""
    if robot is None:
        yield besides
        return
    from appell import view

    with view(robot) as viewer:
        typer.echo(viewer.url, err=True)

        def look(running: Running) -> None:
            row = running.now()
            if row is not None:
                viewer.show_cycle(row, running.ready.machine.units)
            if besides is not None:
                besides(running)

        yield look


def table_of(row: Any, units: Sequence[Units]) -> Table:
    """A cycle: the joints in lines."""
    from rich.table import Table

    from appell.rig.controller.controller import Phase
    from appell.rig.controller.safety import State

    table = Table(
        title=f"{State(row['state']).name}, {Phase(row['phase']).name.lower()}: cycle "
        f"{row['cycle']}, late by {row['late'] / 1e3:.0f} us, {row['overruns']} overruns"
    )
    for name in ("joint", "position", "error", "speed", "force", "volts"):
        table.add_column(name, justify="right")
    for j, u in enumerate(units):
        hot = " hot" if int(row["hot"]) >> j & 1 else ""
        q, error, v = (u.text(x[j], 3) for x in (row["q"], row["qd"] - row["q"], row["v"]))
        cells = f"{q} {u.shown}", f"{error} {u.shown}", f"{v} {u.shown}/s"
        force = f"{row['tau'][j]:.2f} {u.force}"
        table.add_row(f"{j + 1}{hot}", *cells, force, f"{row['volts'][j]:+.2f}")
    return table


def report_as_json(report: Report) -> dict[str, Any]:
    """What a report says, in SI units."""
    following = report.error[report.following]
    return {
        "ok": report.ok,
        "state": report.state.name,
        "reason": report.reason,
        "verdict": report.verdict,
        "cycles": report.cycles,
        "period": report.period,
        "skipped": report.skipped,
        "overruns": report.overruns,
        "units": [u.position for u in report.units],
        "final_error": following[-1] if len(following) else None,
        "largest_error": report.largest_errors if len(following) else None,
        "warnings": report.warnings,
        "states": [
            {"time": e.cycle * report.period, "state": e.state.name, "reason": e.reason}
            for e in report.states
        ],
    }


def print_report(report: Report, verbose: bool = False) -> None:
    """Whether it arrived, states, errors; before a fault the last seconds; joints and times
    if asked for."""
    typer.secho(report.verdict, bold=True, fg="green" if report.ok else "red")
    for event in report.states:
        why = f": {event.reason}" if event.reason else ""
        typer.echo(f"{event.cycle * report.period:9.3f} s  {event.state.name}{why}")
    if not report.ok and not any(e.reason == report.reason for e in report.states):
        typer.echo(f"           {report.state.name}: {report.reason}")  # no room in the log
    if not report.stands:
        typer.echo("The machine has not said that it stands with its brakes on.")
    for text in report.warnings:
        typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
        typer.echo(text, err=True)
    if report.following.any():
        shown = listed(report.largest_errors, report.units, 2)
        typer.echo(f"Largest errors on the way: {shown}")
    typer.echo(
        f"{report.cycles} cycles logged, {report.skipped} left out, {report.overruns} overruns, "
        f"{report.missed_readings} without a reading."
    )
    for at, name, on in report.switches:
        typer.echo(f"Output {name} {'on' if on else 'off'}, {at:.3f} s after the motion's start")
    if verbose:
        _print_joints(report)
    if report.allowed and verbose:
        print_times(report)
    if report.state.name == "FAULT":
        _print_last(report)


def print_times(report: Report) -> None:
    """How late cycles began, and how long they took, as measured."""
    import numpy as np

    typer.echo("; ".join(f"{name}: {what}" for name, what in report.allowed.items()))
    rows = [
        [name, f"{count}", f"{100 * count / max(report.cycles, 1):.3f} %"]
        for name, count in report.histogram()
        if count
    ]
    print_table(["late by", "cycles", "share"], rows)
    typer.echo(
        f"{100 * report.late_share:.4f} % of cycles more than half a period late or left out."
    )
    if len(report.busy):
        median, most = np.percentile(1e3 * report.busy, [50, 99])
        typer.echo(f"A cycle took {median:.2f} ms (median), 99 % of them at most {most:.2f} ms.")


def _print_joints(report: Report) -> None:
    """Each joint's errors on the way and at its end, and the largest of its forces and voltages."""
    import numpy as np

    following = report.error[report.following]
    rows = []
    for j, u in enumerate(report.units):
        error = following[:, j]
        errors = (np.abs(error).max(), error[-1]) if len(error) else ()
        rows.append(
            [
                f"{j + 1}",
                *([u.text(x, 3) for x in errors] or ["–", "–"]),
                u.shown,
                f"{np.abs(report.tau[:, j]).max(initial=0):.2f} {u.force}",
                f"{np.abs(report.volts[:, j]).max(initial=0):.2f}",
            ]
        )
    head = ["joint", "largest error", "last error", "unit", "largest force", "largest volts"]
    print_table(head, rows)


def _print_last(report: Report) -> None:
    """About ten rows of the last seconds."""
    import numpy as np

    rows = report.last(_LAST)
    if not len(rows):
        return
    units = report.units
    shown = joined(u.shown for u in units)
    typer.echo(f"The last {_LAST:g} s, errors in {shown}, and volts:")
    picked = rows[np.unique(np.linspace(0, len(rows) - 1, 10).astype(int))]
    lines = [
        [
            f"{int(row['cycle']) * report.period:.3f}",
            *(
                f"{u.text(e, 2)} {volts:+.2f}"
                for e, volts, u in zip(row["qd"] - row["q"], row["volts"], units, strict=True)
            ),
        ]
        for row in picked
    ]
    heads = [
        f"joint {j + 1}" + (f", {u.shown}" if u.shown != shown else "") for j, u in enumerate(units)
    ]
    print_table(["s", *heads], lines)
