"""Time Appell and its peers side by side, and write down what was found.

python -m benchmarks            all of it, about five minutes, into docs/ and README.md
python -m benchmarks --quick    one case of each kind, under a minute, on the terminal only
python -m benchmarks --again    write the documents anew from the last results
python -m benchmarks --limits   the same, but how near the machine's limits are is measured anew
python -m benchmarks --batches  the same, but batches of several sizes are measured anew
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.batch_sizes import batch_sizes
from benchmarks.cases import cases
from benchmarks.figures import figures
from benchmarks.formulations import formulations
from benchmarks.fresh import first_calls
from benchmarks.limits import limits
from benchmarks.machine import libraries, machine
from benchmarks.measure import measure, started
from benchmarks.operations import operation_counts
from benchmarks.report import RESULTS, write
from benchmarks.report.terminal import show
from benchmarks.rollouts import rollouts

ROOT = Path(__file__).parents[1]


def main(
    quick: Annotated[bool, typer.Option(help="One case of each kind.")] = False,
    again: Annotated[bool, typer.Option(help="Write documents from the last results.")] = False,
    only_limits: Annotated[
        bool, typer.Option("--limits", help="Measure only how near the machine's limits are.")
    ] = False,
    only_batches: Annotated[
        bool, typer.Option("--batches", help="Measure only batches of several sizes.")
    ] = False,
    states: Annotated[int | None, typer.Option(help="At most so many states a batch.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How often each case is timed.")] = None,
    into: Annotated[Path | None, typer.Option(help="Folder to write to.")] = None,
) -> None:
    """Time Appell and other libraries side by side on one core of this machine."""
    into = into or (None if quick else ROOT)
    if again or only_limits or only_batches:
        results = json.loads(((into or ROOT) / RESULTS).read_text())
        if only_limits:
            results["limits"] = limits(rounds or 15, quick, states)
        if only_batches:
            results["batches"] = batch_sizes(rounds or 15, states)
    else:
        results = run(quick, states, rounds or (5 if quick else 15))
    show(results)
    if into is not None:
        write(results, into)
    wrong = [peer for case in results["cases"] for peer, x in case["peers"].items() if "wrong" in x]
    raise typer.Exit(1 if wrong else 0)


def run(quick: bool, states: int | None, rounds: int) -> dict[str, Any]:
    """Everything that is reported.

    A round of a peer lasts 0.1 s or one batch, whichever is more; with ``states``, one batch.
    """
    chosen = cases(quick, states)
    slot = 0.0 if states else 0.03 if quick else 0.1
    about = {"date": datetime.now(timezone.utc).date().isoformat(), "machine": machine()}
    peers = dict.fromkeys(peer for case in chosen for peer in case.peers)
    measured = []
    with _progress() as progress, started(peers) as (workers, versions, absent):
        task = progress.add_task("", total=len(chosen) + 4)

        def tell(subject: str, what: str) -> None:
            progress.update(task, description=f"{subject}: {what}")

        for case in chosen:
            name = f"{case.robot}, {case.quantity.replace('_', ' ')}"
            measured.append(
                measure(
                    case, workers, absent, rounds, slot, lambda what, name=name: tell(name, what)
                )
            )
            progress.advance(task)
        tell("limits of the machine", "in turn")
        reached = limits(rounds, quick, states)
        progress.advance(task)
        tell("batches of several sizes", "in turn")
        sizes = batch_sizes(rounds, states)
        progress.advance(task)
        waits = first_calls(1 if quick else 7, not quick, lambda what: tell("first call", what))
        progress.advance(task)
        tell("formulations", "all in turn")
        compared = formulations(2 if quick else 15)
        tell("single figures", "in turn")
        single = figures(2 if quick else 15)
        tell("rollouts", "in turn")
        loops = rollouts(2 if quick else 15)
        progress.advance(task)
    return about | {
        "versions": {**libraries(), **versions},
        "rounds": rounds,
        "cases": measured,
        "limits": reached,
        "batches": sizes,
        "first call": waits,
        "operations": operation_counts(),
        "formulations": compared,
        "figures": single,
        "rollouts": loops,
    }


def _progress() -> Progress:
    """Drawn seldom: it shares the machine with what is timed."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    described = TextColumn("{task.description}")
    return Progress(*columns, described, console=Console(stderr=True), refresh_per_second=2)


if __name__ == "__main__":
    typer.run(main)
