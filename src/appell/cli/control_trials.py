"""``appell control soak`` and ``campaign``: the rig put to the test."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appell.cli.app import example
from appell.cli.control import (
    ChannelName,
    LogFile,
    Quiet,
    _breakable,
    _law,
    _setup,
    control,
)
from appell.cli.options import Json, quiet_option, verbose_option
from appell.cli.tables import print_json, print_table, rows_as_json
from appell.errors import InputError, quoted

if TYPE_CHECKING:
    from appell.rig.campaign import Outcome
    from appell.rig.loop.run_setup import Setup


_EMPTY = 10.0  # s


@control.command(epilog=example("appell control soak --minutes 0.05"))
def soak(
    minutes: Annotated[float, typer.Option(help="Duration, minutes.")] = 10.0,
    channel: ChannelName = None,
    log: LogFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Move the PUMA back and forth for minutes at 1 kHz, and say how late cycles were.

    Takes about 10 seconds more than --minutes.
    """
    from appell.cli.control_view import print_report, report_as_json, watching
    from appell.rig.loop.real_time_run import start
    from appell.rig.loop.realtime import empty_loop
    from appell.rig.signals import STATUS

    if not 0 < minutes < 1e5:
        raise InputError(f"--minutes {minutes}: expected a number from 0 to 100000.")
    if channel == "lockstep":
        raise InputError("--channel lockstep: soak measures real time; expected shm or udp.")
    once = 4.0
    ready = _to_and_fro(once, max(1, round(60 * minutes / once)), channel, log)
    with _breakable():
        idle = min(_EMPTY, 60 * minutes)
        empty = empty_loop(ready.machine.period, idle)
        with start(ready) as running, watching(not quiet and not as_json) as watch:
            report = running.wait(watch)
            size = running.log.stat().st_size
    plant = report.plant or {}
    struck = report.state.name == "FAULT" and "watchdog" in report.reason
    if as_json:
        print_json(
            report_as_json(report)
            | {
                "late_share": report.late_share,
                "late_share_of_empty_loop": empty,
                "missed_watchdogs": int(struck),
                "machine": {name: plant.get(name, 0) for name in ("cycles", "overruns")},
                "log_bytes": size,
                "complete": report.log.complete,
            }
        )
    elif quiet:
        if log is not None:
            typer.echo(running.log)
        if not report.ok:
            typer.echo(report.verdict, err=True)
    else:
        print_report(report, True)
        typer.echo(f"Of a loop that does nothing, for {idle:g} s before it: {100 * empty:.4f} %.")
        typer.echo(
            f"{report.cycles * report.period:.1f} s; missed watchdogs: {int(struck)}; the machine "
            f"made {plant.get('cycles', 0)} cycles with {plant.get('overruns', 0)} overruns; "
            f"log {size / 1e6:.1f} MB, {'complete' if report.log.complete else 'cut'}."
        )
    if not report.ok:
        raise typer.Exit(STATUS.get(report.reason, 1))


def _to_and_fro(once: float, times: int, channel: str | None, log: Path | None) -> Setup:
    """A way of the PUMA that comes back after so many seconds."""
    import numpy as np

    from appell.control import spline

    law = _law("puma560", "tracking-integral")
    points = np.radians(
        [
            [0, -45, 60, 0, 30, 0],
            [20, -30, 70, 20, 50, 30],
            [30, -15, 30, 45, 60, 90],
            [10, -40, 50, 30, 40, 40],
            [0, -45, 60, 0, 30, 0],
        ]
    )
    way = spline(points, np.linspace(0, once, 5))
    return _setup(law, way, channel, log, None, None, repeat=times)


@control.command(epilog=example("appell control campaign --faults 2"))
def campaign(
    faults: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of faults.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random faults.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File of outcomes; faults that are in it already are not tried again.",
        ),
    ] = None,
    quiet: Annotated[bool, quiet_option("only the faults that did not end as they must")] = False,
    verbose: Annotated[bool, verbose_option("the outcome of every fault")] = False,
    as_json: Json = False,
) -> None:
    """Inject random faults in lock step, and count those that end safely. Status 1 if not all do.

    Takes about 4 minutes for 1,000 faults on two cores.
    """
    from rich.console import Console
    from rich.progress import track

    from appell.rig import campaign as trials

    ready = _to_and_fro(2.0, 1, "lockstep", None)
    done = _known(output, seed)
    left = sum(k not in done for k in range(faults))
    interrupted = False
    try:
        with nullcontext() if output is None else output.open("a") as file:
            if file and not file.tell():
                file.write(json.dumps({"seed": seed}) + "\n")
            tried = trials.campaign(ready, faults, seed, done)
            console = Console(stderr=True, quiet=quiet or as_json)
            for outcome in track(tried, "Faults", total=left, console=console):
                done[outcome.number] = outcome
                if file:
                    file.write(trials.outcome_line(outcome) + "\n")
                    file.flush()
    except KeyboardInterrupt:
        typer.echo("Interrupted: this is what was done so far.", err=quiet or as_json)
        interrupted = True
    outcomes = [o for k, o in sorted(done.items()) if k < faults]
    for o in outcomes if verbose and not quiet and not as_json else ():
        typer.echo(f"{o.fault}: due {o.due}, stood {o.stood}, {o.reason!r}")
    _summary(outcomes, faults, quiet, as_json)
    if interrupted:
        raise typer.Exit(130)
    if sum(o.good for k, o in done.items() if k < faults) < faults:
        raise typer.Exit(1)


def _known(output: Path | None, seed: int) -> dict[int, Outcome]:
    from appell.rig import campaign as trials

    if output is None or not output.exists() or not output.stat().st_size:
        return {}
    first = output.read_text(errors="replace").partition("\n")[0]
    try:
        other = json.loads(first)["seed"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{output}: not a file of outcomes.") from None
    if other != seed:
        raise InputError(f"{output}: its outcomes are those of --seed {quoted(other)}, not {seed}.")
    return trials.outcomes_in(output)


def _summary(outcomes: list[Outcome], wanted: int, quiet: bool, as_json: bool) -> None:
    by_kind = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.fault.kind].append(outcome)
    rows = []
    for kind, those in sorted(by_kind.items()):
        due = [o for o in those if o.due is not None]
        after = [o.stood - o.due for o in due if o.stood is not None and o.due is not None]
        rows.append(
            [
                kind,
                f"{len(those)}",
                f"{len(due)}",
                f"{sum(o.stood is not None for o in those)}",
                f"{max(after):+d}" if after else "",
                f"{sum(o.good for o in those)}",
            ]
        )
    head = ["fault", "tried", "beyond limits", "stopped", "cycles past limit", "good"]
    good = sum(o.good for o in outcomes)
    lost = sum(not o.logged for o in outcomes)
    if as_json:
        told = {"tried": len(outcomes), "wanted": wanted, "good": good, "incomplete_logs": lost}
        print_json(told | {"faults": rows_as_json(head, rows)})
        return
    if not quiet:
        print_table(head, rows)
        typer.echo(
            f"{good} of {len(outcomes)} as they must be; {lost} logs incomplete; "
            f"{wanted - len(outcomes)} not tried."
        )
    for o in [o for o in outcomes if not o.good][:20]:
        typer.secho(f"{o.fault}: due {o.due}, stood {o.stood}, {o.reason!r}", fg="red", err=True)
