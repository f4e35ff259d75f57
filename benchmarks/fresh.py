"""What a new process waits for before its first result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import spread

COLD, CACHED = "PUMA 560, inverse dynamics, cold", "PUMA 560, inverse dynamics, from the cache"
LONG = "chain of 50 joints, forward dynamics, cold"


def first_calls(times: int, long: bool, tell: Callable[[str], None]) -> dict[str, Any]:
    """Seconds of each step of :mod:`benchmarks.first_call`; ``long`` adds the 50 joints."""
    runs: dict[str, list[dict[str, float]]] = {COLD: [], CACHED: [], LONG: []}
    for k in range(times):
        tell(f"process {k + 1} of {times}")
        with TemporaryDirectory(prefix="appell-benchmarks-") as cache:
            runs[COLD].append(_first_call(cache, "inverse_dynamics"))
            runs[CACHED].append(_first_call(cache, "inverse_dynamics"))
    for _ in range(min(3, times) if long else 0):
        tell("50 joints")
        with TemporaryDirectory(prefix="appell-benchmarks-") as cache:
            runs[LONG].append(_first_call(cache, "forward_dynamics", "50"))
    return {
        name: {step: spread([run[step] for run in done]) for step in done[0]}
        for name, done in runs.items()
        if done
    }


def _first_call(cache: str, *arguments: str) -> dict[str, float]:
    seconds: dict[str, float] = json.loads(
        new_process(["-m", "benchmarks.first_call", *arguments], APPELL_CACHE=cache)
    )
    return seconds


def new_process(arguments: Sequence[str], **settings: str) -> str:
    """What a new process of Python prints. It reads modules as an installed package's are read:
    compiled by an earlier process."""
    inherited = {k: x for k, x in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=Path(__file__).parents[1],
        env={**inherited, **settings},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout
