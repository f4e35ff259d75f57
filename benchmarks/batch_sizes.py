"""Batches of several sizes, on one thread and on all, and what a call costs besides its states.

    python -m benchmarks.batch_sizes ROUNDS STATES

Prints JSON; run by :mod:`benchmarks` in a process of its own. One thread and all take turns. The
call's own cost is what is left at no states of a line through the times of two small batches.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.cases import DYNAMICS, Case
from benchmarks.machine import machine
from benchmarks.measure import spread

SIZES = (512, 10_000, 100_000, 1_000_000)
SMALL = (64, 512)  # states, so few that one thread computes them
SLOT = 0.02  # seconds of a round of each
WARM = 0.3  # seconds after which a batch of a size is computed in the fastest way known


def batch_sizes(rounds: int, states: int | None) -> list[dict[str, Any]]:
    """A row for each quantity and size, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.batch_sizes", str(rounds), str(states or 0)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return [row | {"cpu": machine()["cpu"]} for row in json.loads(done.stdout)]


def measured(rounds: int, states: int) -> Iterator[dict[str, Any]]:
    sizes = sorted({min(size, states or size) for size in SIZES})
    for quantity in (*DYNAMICS, "mass_matrix"):
        for size in sizes:
            yield _row(Case("batches", quantity, size, ()), rounds)


def _row(case: Case, rounds: int) -> dict[str, Any]:
    import appell
    from appell.robots.robot import Robot

    kernel = Robot(case.model()).kernel(case.quantity)
    inputs = replace(case, states=max(case.states, *SMALL)).draw()

    def job(states: int) -> Callable[[], Any]:
        some = [x[:states] for x in inputs]
        return partial(kernel, *some, out=kernel(*some))

    run, times = job(case.states), {1: [], None: []}
    for _ in range(rounds):
        for threads, seconds in times.items():
            appell.set_threads(threads)
            seconds.append(_seconds(run, warm=not seconds) / case.states)
    appell.set_threads(1)
    few, some = (np.median([_seconds(job(n)) for _ in range(rounds)]) for n in SMALL)
    call = few - SMALL[0] * (some - few) / (SMALL[1] - SMALL[0])
    one, every = (np.array(x) for x in times.values())
    return {
        "quantity": case.quantity,
        "states": case.states,
        "one thread": spread(one),
        "all threads": spread(every),
        "ratio": spread(every / one),
        "call": float(f"{call:.3g}"),
    }


def _seconds(job: Callable[[], Any], warm: bool = False) -> float:
    """Seconds of a job, from as many as fill a slot."""
    job()
    start = perf_counter()
    while warm and perf_counter() - start < WARM:
        job()
    start = perf_counter()
    job()
    count = max(1, int(SLOT / (perf_counter() - start)))
    start = perf_counter()
    for _ in range(count):
        job()
    return (perf_counter() - start) / count


if __name__ == "__main__":
    print(json.dumps(list(measured(*map(int, sys.argv[1:])))))
