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

MATPLOTLIB = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # fixed: looking for a free place takes half the time of a picture
    "axes.titlepad": 5.0,
    "axes.formatter.useoffset": False,
    "figure.facecolor": PAPER,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}
