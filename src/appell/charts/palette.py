"""Colours and dashes of lines: apart from each other, and readable on light and on dark paper."""

from __future__ import annotations

from typing import TypedDict

INK, PAPER = "#20252b", "#fdfdfe"  # these two follow the theme of the page
COLOURS = (
    "#2f78c4", "#d55e00", "#0f9d74", "#a55fb0", "#b27d00",
    "#64748b", "#d6457f", "#1593ab", "#6f9000", "#946b52",
)  # fmt: skip
THIRTY = (  # where dashes are not shown: as far apart as COLOURS, nearly
    *COLOURS,
    "#ff00ff", "#8020ff", "#0050ff", "#307040", "#8f80ff",
    "#bf00cf", "#bf808f", "#cf0020", "#ff00af", "#cf60ef",
    "#7050bf", "#ff3040", "#bf008f", "#208fff", "#8f5070",
    "#808fbf", "#808f80", "#9f50ef", "#6060ff", "#807000",
)  # fmt: skip
DASHES = ("", "6 3", "2 3", "9 3 2 3")  # lengths of strokes and gaps in pixels


class Style(TypedDict):
    """The colour and the dashes of a line."""

    colour: str
    dash: str


def style(k: int) -> Style:
    """The look of the k-th of many lines: ten colours, then the same ones dashed, dotted and both,
    so that 40 lines stay apart."""
    turn, place = divmod(k, len(COLOURS))
    return {"colour": COLOURS[place], "dash": DASHES[turn % len(DASHES)]}
