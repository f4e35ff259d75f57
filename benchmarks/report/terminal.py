"""The results as tables on the terminal."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.cases import OURS
from benchmarks.report.batches_section import HEADINGS as BATCHES
from benchmarks.report.batches_section import batches_rows
from benchmarks.report.limits_section import HEADINGS, limits_rows
from benchmarks.report.text import (
    gibibytes,
    outcome,
    quartiles,
    rate,
    seconds,
    seconds_with_quartiles,
    size,
    times,
    words,
)


def show(results: dict[str, Any]) -> None:
    console = Console(width=max(160, Console().width))
    machine = results["machine"]
    console.print(f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']}")
    console.print(f"Medians of {results['rounds']} rounds, with quartiles.")
    for case in results["cases"]:
        console.print(_table(case))
        for peer, entry in case["peers"].items():
            if reason := outcome(entry):
                console.print(f" {peer}: {reason}")
    limits = _titled("Limits of the machine, one core", HEADINGS[1:])
    for row in limits_rows(results["limits"]):
        limits.add_row(*row)
    console.print(limits)
    batches = _titled("Sizes of batches", BATCHES[1:])
    for row in batches_rows(results["batches"]):
        batches.add_row(*(text.replace("<br>", " ") for text in row))
    console.print(batches)
    console.print(_first_calls(results["first call"]))
    console.print(_operations(results["operations"]))
    for row in [*results["figures"], *results["rollouts"]]:
        if "bytes" in row:
            console.print(f"{row['what']}: {gibibytes(row['bytes'])}, {row['note']}")
            continue
        time = " ".join(seconds_with_quartiles(row["seconds"]))
        ratio = f", {times(row['ratio'])} {quartiles(row['ratio'])}" if "ratio" in row else ""
        console.print(f"{row['what']}: {time}{ratio}, {row['note']}")


def _table(case: dict[str, Any]) -> Table:
    table = _titled(
        f"{case['robot']}, {words(case['quantity'])}, {size(case['states'])}",
        ["per state", "", "states/s", "times Appell's", ""],
    )
    for peer, entry in case["peers"].items():
        if outcome(entry):
            continue
        ratio = ("", "") if peer == OURS else (times(entry["ratio"]), quartiles(entry["ratio"]))
        median, around = seconds_with_quartiles(entry["seconds"])
        table.add_row(
            peer, median, around, rate(1 / entry["seconds"]["median"]), *ratio,
            style="bold" if peer == OURS else None,
        )  # fmt: skip
    return table


def _first_calls(waits: dict[str, Any]) -> Table:
    table = _titled("A new process", list(next(iter(waits.values()))))
    for name, steps in waits.items():
        table.add_row(name, *(seconds(x["median"]) for x in steps.values()))
    return table


def _operations(counts: dict[str, dict[str, int]]) -> Table:
    table = _titled("PUMA 560, operations", list(map(words, next(iter(counts.values())))))
    for quantity, count in counts.items():
        table.add_row(words(quantity), *map(str, count.values()))
    return table


def _titled(title: str, headings: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
