"""Colours that stand for something in several pictures."""

from __future__ import annotations

from appell.charts.palette import COLOURS

LINE = "#e8590c"
POSTURES = {"start": "#9dbfe4", "half way": "#5a96d3", "end": "#2a6fbb"}
ARMS = {
    ("left", "up"): COLOURS[0],
    ("left", "down"): COLOURS[4],
    ("right", "up"): COLOURS[2],
    ("right", "down"): COLOURS[3],
}
