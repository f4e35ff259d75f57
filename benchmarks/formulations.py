"""Every formulation of a quantity: its operations as recorded, and the time of its kernel.

    python -m benchmarks.formulations

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

import numpy as np

from benchmarks.measure import spread

ROBOTS = {"puma560": "PUMA 560", "stanford_arm": "Stanford arm"}
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
STATES, ROUNDS = 10_000, 15
WARM = 0.2  # seconds, before all rounds


def formulations(rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """A row for each robot, quantity and formulation, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.formulations", str(rounds)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measured(rounds: int) -> list[dict[str, Any]]:
    import appell
    from appell.equations.quantities import QUANTITIES as KNOWN

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    appell.set_threads(1)
    draw = np.random.default_rng(0)
    states = draw.uniform(-np.pi, np.pi, (3, STATES, 6))
    rows = []
    for name, title in ROBOTS.items():
        robot = appell.load(name)
        for quantity in QUANTITIES:
            kernels = {
                f: robot.kernel(quantity, formulation=f) for f in KNOWN[quantity].formulations
            }
            times = _times(kernels, states[: len(KNOWN[quantity].inputs)], rounds)
            for formulation, seconds in times.items():
                count = robot.operations(quantity, formulation=formulation)
                rows.append(
                    {
                        "robot": title,
                        "quantity": quantity,
                        "formulation": formulation,
                        "multiplications": count.multiplications,
                        "additions": count.additions,
                        "seconds": spread(seconds),
                    }
                )
    return rows


def _times(kernels: dict[str, Any], states: Any, rounds: int) -> dict[str, list[float]]:
    """Seconds per state, all kernels in turn."""
    outs = {name: kernel(*states) for name, kernel in kernels.items()}
    for name, kernel in kernels.items():  # until ways to write the results are tried no more
        start = perf_counter()
        while perf_counter() - start < WARM * rounds / ROUNDS:
            kernel(*states, out=outs[name])
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(rounds):
        for name, kernel in kernels.items():
            start = perf_counter()
            kernel(*states, out=outs[name])
            times[name].append((perf_counter() - start) / STATES)
    return times


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
