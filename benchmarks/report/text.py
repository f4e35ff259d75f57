"""Numbers as people read them."""

from __future__ import annotations

from math import floor, log10
from typing import Any

_UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "µs", 1e-9: "ns"}

Spread = dict[str, float]


def seconds(x: float) -> str:
    unit = next((u for u in _UNITS if x >= u), 1e-9)
    return f"{figures(x / unit)} {_UNITS[unit]}"


def seconds_with_spread(x: Spread) -> str:
    """The median, and the quartiles in its unit."""
    unit = next((u for u in _UNITS if x["median"] >= u), 1e-9)
    low, high = figures(x["low"] / unit), figures(x["high"] / unit)
    return f"{figures(x['median'] / unit)} {_UNITS[unit]} ({low} to {high})"


def times(x: Spread) -> str:
    return f"{figures(x['median'])}×"  # noqa: RUF001


def times_with_spread(x: Spread) -> str:
    return f"{times(x)} ({figures(x['low'])} to {figures(x['high'])})"


def rate(x: float) -> str:
    """States a second."""
    return f"{figures(x / 1e6)} M" if x >= 1e6 else f"{figures(x / 1e3)} k"


def figures(x: float) -> str:
    """Two or three significant figures, without an exponent."""
    digits = max(0, (1 if abs(x) >= 3 else 2) - floor(log10(abs(x)))) if x else 0
    return f"{x:.{digits}f}"


def words(quantity: str) -> str:
    return quantity.replace("_", " ")


def outcome(entry: dict[str, Any]) -> str | None:
    """Why a peer was not timed; None if it was."""
    if "absent" in entry:
        return f"absent: {entry['absent']}"
    return f"wrong by {entry['wrong']:.1e}: not timed" if "wrong" in entry else None
