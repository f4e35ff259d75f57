"""The results as tables on the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.cases import OURS
from benchmarks.report.text import (
    outcome, rate, seconds, seconds_with_spread, times_with_spread, words,
)  # fmt: skip


def show(results: dict[str, Any]) -> None:
    console = Console()
    machine = results["machine"]
    console.print(
        f"{machine['cpu']}, {machine['cores']} cores; median (quartiles) of {results['rounds']} rounds"
    )
    for case in results["cases"]:
        console.print(_table(case))
    console.print(_first_calls(results["first call"]))
    console.print(_operations(results["operations"]))


def _table(case: dict[str, Any]) -> Table:
    size = "one state" if case["states"] == 1 else f"{case['states']:,} states"
    table = Table(title=f"{case['robot']}, {words(case['quantity'])}, {size}", title_justify="left")
    table.add_column("")
    for heading in ("per state", "states/s", "times Appell's"):
        table.add_column(heading, justify="right")
    for peer, entry in case["peers"].items():
        reason = outcome(entry)
        if reason:
            table.add_row(peer, reason, style="dim")
            continue
        table.add_row(
            peer,
            seconds_with_spread(entry["seconds"]),
            rate(1 / entry["seconds"]["median"]),
            "" if peer == OURS else times_with_spread(entry["ratio"]),
            style="bold" if peer == OURS else None,
        )
    return table


def _first_calls(waits: dict[str, Any]) -> Table:
    table = Table(title="A new process", title_justify="left")
    table.add_column("")
    for step in next(iter(waits.values())):
        table.add_column(step, justify="right")
    for name, steps in waits.items():
        table.add_row(name, *(seconds(x["median"]) for x in steps.values()))
    return table


def _operations(counts: dict[str, dict[str, int]]) -> Table:
    table = Table(title="PUMA 560, operations", title_justify="left")
    table.add_column("")
    for kind in next(iter(counts.values())):
        table.add_column(words(kind), justify="right")
    for quantity, count in counts.items():
        table.add_row(words(quantity), *map(str, count.values()))
    return table
