"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10
from typing import Any

_UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "µs", 1e-9: "ns"}

Spread = dict[str, float]


def seconds(x: float) -> str:
    unit = _unit(x)
    return f"{figures(x / unit)} {_UNITS[unit]}"


def seconds_with_quartiles(x: Spread) -> tuple[str, str]:
    """The median, and the quartiles in the same unit."""
    unit = _unit(x["median"])
    return seconds(x["median"]), quartiles({k: y / unit for k, y in x.items()})


def quartiles(x: Spread) -> str:
    return f"({figures(x['low'])} to {figures(x['high'])})"


def times(x: Spread) -> str:
    return f"{figures(x['median'])}×"


def rate(x: float) -> str:
    """States a second."""
    return f"{figures(x / 1e6)} M" if x >= 1e6 else f"{figures(x / 1e3)} k"


def gibibytes(x: float) -> str:
    return f"{x / 2**30:.2f} GiB"


def figures(x: float) -> str:
    """Three significant figures, without an exponent."""
    return f"{x:.{max(0, 2 - floor(log10(x)))}f}"


def words(quantity: str) -> str:
    return quantity.replace("_", " ")


def size(states: int) -> str:
    return "one state" if states == 1 else f"{states:,} states"


def outcome(entry: dict[str, Any]) -> str | None:
    """Why a peer was not timed; None if it was."""
    if "absent" in entry:
        return f"absent, {entry['absent']}"
    return f"not timed, wrong by {entry['wrong']:.1e}" if "wrong" in entry else None


def _unit(x: float) -> float:
    return next((unit for unit in _UNITS if x >= unit), 1e-9)


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
