"""How long a whole simulation takes: the ten-link tree of Shafei 2018 in its circle, 1.5 s.

    python -m benchmarks.flight ROUNDS

Prints JSON; run by :mod:`benchmarks` in a process of its own, on one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measure import spread


def flight(rounds: int) -> dict[str, Any]:
    """Seconds, impacts and the largest change of energy, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.flight", str(rounds)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measured(rounds: int) -> dict[str, Any]:
    from appell.papers import shafei2018

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    _, run = shafei2018.flight()  # compiles
    seconds = []
    for _ in range(rounds):
        shafei2018.flight.cache_clear()
        start = perf_counter()
        shafei2018.flight()
        seconds.append(perf_counter() - start)
    return {
        "seconds": spread(seconds),
        "impacts": len(run.impacts),
        "energy_change": float(f"{abs(run.energy - run.energy[0]).max():.1e}"),
    }


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
