"""A sweep on Dask that is treated badly: does it lose a point, or compute one otherwise?

    python -m benchmarks.unkind                    # 20,000 points, several minutes

A scheduler and two workers of Dask run on this machine. One worker is killed twice (SIGKILL), the
client once and started again, the scheduler once and started again. The dataset is then compared
with that of a sweep in one process that nothing disturbs: point for point, bit for bit. What came
of it goes to benchmarks/sweeps.json and docs/sweeps.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from appell.study import read_study, sweep
from appell.study.sweeps.storage.dataset import parts, read_columns
from benchmarks.sweeps import kept, write

STUDY = """
title = "A double pendulum from many starts"
points = {points}
seed = 3
block = {block}
method = "runs"
measures = ["peak_speed", "energy_end", "q.joint1", "q.joint2"]

[scenario]
robot = {{model = "planar_chain", options = {{n = 2}}}}
task = {{kind = "fall", until = 0.1}}
start = {{v = {{joint2 = 1.0}}}}

[vary]
"start.q.joint1" = {{uniform = [-3.0, 3.0]}}
"start.q.joint2" = {{normal = [0.0, 1.0]}}
"task.until" = {{normal = [0.1, 0.05]}}    # below zero it is refused: some points fail
"""


class Cluster:
    """A scheduler and workers of Dask on this machine."""

    def __init__(self, workers: int) -> None:
        self.count, self.port = workers, _free_port()
        self.scheduler = self._start_scheduler()
        self.workers = [self._start_worker() for _ in range(workers)]

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        port = ["--host", "127.0.0.1", "--port", str(self.port)]
        return self._start("scheduler", *port, "--no-dashboard")

    def _start_worker(self) -> subprocess.Popen[bytes]:
        only = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", self.address, *only, "--death-timeout", "60")

    def kill_worker(self) -> None:
        """Kill the first worker; another takes its place."""
        _kill(self.workers.pop(0))
        self.workers.append(self._start_worker())

    def restart_scheduler(self) -> None:
        """Kill the scheduler, and start it again with new workers."""
        _kill(self.scheduler)
        time.sleep(1.0)
        self.scheduler = self._start_scheduler()
        for worker in self.workers:
            _kill(worker)
        self.workers = [self._start_worker() for _ in range(self.count)]

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            _kill(process)


def survive(
    points: int, block: int, folder: Path, say: Callable[[str], Any] = print
) -> dict[str, Any]:
    """Run the sweep, disturb it, and compare; raises AssertionError with what differs.

    Returns:
        Points, kills, seconds of both sweeps, failed points and the digest of the dataset.
    """
    file = folder / "study.toml"
    file.write_text(STUDY.format(points=points, block=block))
    out, count, errors = folder / "disturbed", -(-points // block), folder / "errors.txt"
    say(f"{points:,} points in {count} blocks, in this process")
    begun = time.perf_counter()
    alone = sweep(read_study(file), folder / "alone").columns
    undisturbed = time.perf_counter() - begun
    say(f"  {undisturbed:.0f} s")
    kills = {"worker": 0, "client": 0, "scheduler": 0}
    begun = time.perf_counter()
    cluster = Cluster(2)
    try:
        client = _client(file, out, cluster.address, errors)

        def until(share: float) -> None:
            _wait(lambda: len(parts(out)) >= share * count, client)
            say(f"  {len(parts(out))} of {count} blocks")

        for share in (0.15, 0.3):
            until(share)
            cluster.kill_worker()
            kills["worker"] += 1
            say("a worker was killed")
        until(0.5)
        _kill(client)
        kills["client"] += 1
        say("the client was killed")
        before = {file: file.stat().st_mtime_ns for file in parts(out).values()}
        client = _client(file, out, cluster.address, errors)
        until(0.7)
        cluster.restart_scheduler()
        kills["scheduler"] += 1
        say("the scheduler was killed, and started again")
        assert client.wait(timeout=1800) == 0, f"the client failed: {errors.read_text()}"
        disturbed = time.perf_counter() - begun
        again = [f.name for f, t in before.items() if f.stat().st_mtime_ns != t]
        assert not again, f"computed twice: {again}"
        assert not errors.read_text(), f"the client printed: {errors.read_text()}"
    finally:
        _kill(client)
        cluster.close()
    columns = read_columns(out)
    same(alone, columns)
    failed = int(alone["failed"].sum())
    say(f"the same bits in all {points:,} points, of which {failed:,} failed with their reasons")
    return {
        "points": points, "kills": kills, "seconds": disturbed, "undisturbed": undisturbed,
        "failed": failed, "sha256": digest(columns),
    }  # fmt: skip


def digest(columns: dict[str, Any]) -> str:
    """SHA-256 of the names, kinds and bits of all columns."""
    found = sha256()
    for name, x in columns.items():
        found.update(f"{name}\0{x.dtype}\0{len(x)}\0".encode())
        found.update(json.dumps(x.tolist()).encode() if x.dtype == object else x.tobytes())
    return found.hexdigest()


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Refuse columns that differ in a bit."""
    assert list(a) == list(b), (list(a), list(b))
    for name, x in a.items():
        y = b[name]
        equal = x.tolist() == y.tolist() if x.dtype == object else x.tobytes() == y.tobytes()
        assert equal, f"column {name} differs"


def _client(file: Path, out: Path, address: str, errors: Path) -> subprocess.Popen[bytes]:
    """The command that sweeps, quietly; what it prints as errors is appended to a file."""
    command = [sys.executable, "-m", "appell", "sweep", "run", str(file), "-o", str(out), "-q"]
    with errors.open("ab") as stderr:
        return subprocess.Popen(
            [*command, "--scheduler", address], stderr=stderr, start_new_session=True
        )


def _wait(ready: Callable[[], bool], client: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 1800
    while not ready():
        assert time.monotonic() < end, "the sweep does not go on"
        assert client.poll() is None, f"the client ended early, with status {client.returncode}"
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    """Run it from the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--points", type=int, default=20_000)
    options.add_argument("--block", type=int, default=50)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = survive(given.points, given.block, Path(folder))
    write(kept() | {"unkind": result})


if __name__ == "__main__":
    main()
