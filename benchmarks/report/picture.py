"""States per second of the PUMA 560 on one core, as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.cases import OURS, OURS_ALIKE
from benchmarks.report.text import outcome, rate, words

_OURS, _THEIRS, _INK = "#c2410c", "#94a3b8", "#1f2937"
_STYLE = {
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "svg.hashsalt": "appell",  # the same results give the same file
}


def draw(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    bars = [(words(case["quantity"]), _rates(case)) for case in _of_puma(results)]
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(
            len(bars),
            figsize=(8, 0.6 + sum(0.45 + 0.26 * len(rates) for _, rates in bars)),
            height_ratios=[len(rates) for _, rates in bars],
            sharex=True,
            squeeze=False,
            layout="constrained",
        )
        for ax, (quantity, rates) in zip(axes[:, 0], bars, strict=True):
            _panel(ax, quantity, rates)
        every = [rate for _, rates in bars for rate in rates.values()]
        axes[-1, 0].set_xlim(min(every) / 2, 2 * max(every))
        axes[-1, 0].set_xlabel("states per second, PUMA 560, one core, float64 (log axis)")
        figure.savefig(path, facecolor="white", metadata={"Date": None})
        plt.close(figure)


def _of_puma(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [case for case in results["cases"] if case["section"] == "PUMA 560"]


def _rates(case: dict[str, Any]) -> dict[str, float]:
    """Fastest first."""
    found = {
        peer: 1 / entry["seconds"]["median"]
        for peer, entry in case["peers"].items()
        if peer not in OURS_ALIKE and outcome(entry) is None
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _panel(ax: Any, quantity: str, rates: dict[str, float]) -> None:
    colours = [_OURS if peer == OURS else _THEIRS for peer in rates]
    bars = ax.barh(list(rates), list(rates.values()), color=colours, height=0.72)
    ax.bar_label(bars, [rate(x) for x in rates.values()], padding=4)
    ax.set_title(quantity, loc="left", fontsize=11, fontweight="bold")
    ax.set_xscale("log")
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == OURS else "normal")
