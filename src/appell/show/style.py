"""One look for all pictures. INK and PAPER follow the page's theme in a report; the other
colours read on light and on dark."""

from __future__ import annotations

INK, PAPER = "#20252b", "#fdfdfe"
LINE = "#e8590c"
JOINTS = ("#2f78c4", "#d55e00", "#0f9d74", "#a55fb0", "#c28a00", "#64748b")
POSTURES = {"start": "#9dbfe4", "half way": "#5a96d3", "end": "#2a6fbb"}
ARMS = {
    ("left", "up"): JOINTS[0],
    ("left", "down"): JOINTS[4],
    ("right", "up"): JOINTS[2],
    ("right", "down"): JOINTS[3],
}
