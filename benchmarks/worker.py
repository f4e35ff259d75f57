"""A peer in a process of its own, which waits until it is told to run a round.

Orders and answers are pickles over the process's standard input and output. It ends when
its input does, so none outlives the run that started it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from timeit import timeit
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers import PEERS
from benchmarks.peers.common import Absent

CHECKED = 1000  # states whose results are compared
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_disable_hlo_passes=fusion",
}


class Worker:
    """The process, seen from the run that started it."""

    def __init__(self, peer: str, core: int, folder: str) -> None:
        self.peer = peer
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", peer, str(core)],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **ENVIRONMENT, "TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def start(self) -> str:
        """Import the library; its version."""
        return self._ask("start")

    def prepare(self, case: Case, states: list[Any], slot: float) -> Any:
        """Its results at the first states, as rows; a round is then to last ``slot`` seconds."""
        return self._ask("prepare", case, states, slot)

    def round(self) -> float:
        """Seconds per state."""
        return self._ask("round")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _ask(self, *order: Any) -> Any:
        try:
            pickle.dump(order, self._process.stdin)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError):
            raise Absent(f"{self.peer}: the process ended, {self._process.wait()}") from None
        if isinstance(answer, Absent):
            raise answer
        return answer


class Server:
    """The same, seen from inside."""

    def __init__(self, peer: str) -> None:
        self.name = peer

    def start(self) -> str:
        self.peer = PEERS[self.name].make()
        return self.peer.version

    def prepare(self, case: Case, states: list[Any], slot: float) -> Any:
        self.run, read = self.peer.prepare(case, *states)
        results = read(self.run())
        self.times = max(1, int(slot / timeit(self.run, number=1)))
        self.states = case.states
        parts = results if isinstance(results, tuple) else (results,)
        return np.hstack([np.reshape(x, (case.states, -1))[:CHECKED] for x in parts])

    def round(self) -> float:
        return timeit(self.run, number=self.times) / self.times / self.states

    def answer(self, order: str, *arguments: Any) -> Any:
        try:
            return getattr(self, order)(*arguments)
        except Absent as reason:
            return reason
        except Exception as problem:  # a peer may raise anything: it is then absent
            return Absent(f"{type(problem).__name__}: {problem}")


def serve(peer: str, core: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run that started it ends it
    if PEERS[peer].threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    orders, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    server = Server(peer)
    while True:
        try:
            order = pickle.load(orders)
        except EOFError:
            return
        pickle.dump(server.answer(*order), answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
