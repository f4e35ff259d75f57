"""How near kernels come to the machine's limits, as a section of docs/speed.md."""

from __future__ import annotations

from typing import Any

from benchmarks.report.text import figures, seconds_with_quartiles, size, words

HEADINGS = [
    "", "states", "type", "time", "bytes", "operations", "copy", "multiply-adds", "nearer limit",
    "reached",
]  # fmt: skip


def limits_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Each figure beside the machine's, as text."""
    return [
        [
            f"{row['robot']}, {words(row['quantity'])}",
            size(row["states"]).removesuffix(" states"),
            row["dtype"],
            " ".join(seconds_with_quartiles(row["seconds"])),
            str(row["bytes"]),
            str(row["operations"]),
            f"{figures(row['bytes per second'] / 1e9)} GB/s",
            f"{figures(row['multiply-adds per second'] / 1e9)} G/s",
            row["limit"],
            f"{100 * row['reached']:.0f} %",
        ]
        for row in rows
    ]
