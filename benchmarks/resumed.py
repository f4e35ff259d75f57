"""How soon a sweep goes on that was killed: a new process, until it has written its first block."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from appell.study import Study
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage.dataset import parts
from benchmarks.machine import machine

_LIMIT = 1800.0  # s for a new block


def after_a_kill(study: Study, share: float = 0.15, rounds: int = 3) -> dict[str, Any]:
    """Kill a sweep (SIGKILL) when a share of its blocks is there, and time new processes from their
    start to their first new block.

    Each is killed in turn, when it has written its block. Kernels are in the cache, as they are
    for a user who runs the same command again. On a machine with other work, the processor's time
    says more than the clock's.
    """
    with tempfile.TemporaryDirectory() as name:
        file, out = Path(name) / "study.json", Path(name) / "sweep"
        file.write_text(study.text())
        points = Points(study)
        blocks = -(-points.design.count // points.block)
        _until(file, out, max(1, round(share * blocks)))
        return {"points": points.design.count, "blocks": blocks} | goes_on(file, out, rounds)


def goes_on(file: Path, out: Path, rounds: int) -> dict[str, Any]:
    """Seconds until the next block of a folder, by the clock and of the processor: medians."""
    done = len(parts(out))
    clock, processor = [], []
    for _ in range(rounds):
        before = _processor()
        clock.append(_until(file, out, len(parts(out)) + 1))
        processor.append(_processor() - before)
    return {
        "blocks_done": done, "seconds": median(clock), "cpu_seconds": median(processor),
        "load": machine()["load"],
    }  # fmt: skip


def _processor() -> float:
    """Seconds of the processor that ended child processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until(file: Path, out: Path, blocks: int) -> float:
    """Seconds from the start of a process until so many blocks are there; then it is killed."""
    command = [sys.executable, "-m", "appell", "sweep", "run", str(file), "-o", str(out), "-q"]
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    try:
        while len(parts(out)) < blocks:
            assert process.poll() is None, f"it ended early, with status {process.returncode}"
            assert time.perf_counter() - begin < _LIMIT, "no block was written"
            time.sleep(0.01)
        return time.perf_counter() - begin
    finally:
        process.kill()  # SIGKILL
        process.wait()
