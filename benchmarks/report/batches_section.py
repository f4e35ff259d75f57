"""Batches of several sizes and threads, as a section of docs/speed.md."""

from __future__ import annotations

from typing import Any

from benchmarks.report.text import (
    quartiles,
    seconds,
    seconds_with_quartiles,
    size,
    times,
    words,
)

HEADINGS = ["", "states", "one thread", "all threads", "the call itself"]


def batches_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Times per state, and the call's own, as text."""
    return [
        [
            words(row["quantity"]),
            size(row["states"]).removesuffix(" states"),
            " ".join(seconds_with_quartiles(row["one thread"])),
            f"{' '.join(seconds_with_quartiles(row['all threads']))}<br>"
            f"{times(row['ratio'])} {quartiles(row['ratio'])}",
            seconds(row["call"]) if row["call"] > 0 else "below the noise",
        ]
        for row in rows
    ]
