"""Rounds of a case over all peers in turn, so that the machine's noise hits all alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.cases import OURS, Case
from benchmarks.peers import PEERS
from benchmarks.peers.common import Absent
from benchmarks.worker import Worker

Outcome = dict[str, Any]


@contextmanager
def started(peers: Iterable[str]) -> Iterator[tuple[dict[str, Worker], Outcome, Outcome]]:
    """Workers of the peers that are here, their versions, and why the others are not."""
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="appell-benchmarks-"))
        workers, versions, absent = {}, {}, {}
        for peer in peers:
            workers[peer] = Worker(peer, core, folder)
            stack.callback(workers[peer].close)
        for peer in list(workers):
            try:
                versions[peer] = workers[peer].start()
            except Absent as reason:
                absent[peer] = str(reason)
                del workers[peer]
        if OURS in absent:
            raise RuntimeError(f"{OURS} does not start: {absent[OURS]}")
        yield workers, versions, absent


def measure(
    case: Case,
    workers: Mapping[str, Worker],
    absent: Mapping[str, str],
    rounds: int,
    slot: float,
    tell: Callable[[str], None],
) -> Outcome:
    """What each peer took, and how many times as long as ours it took, round by round."""
    found = {peer: {"absent": absent[peer]} for peer in case.peers if peer in absent}
    here = {peer: workers[peer] for peer in case.peers if peer in workers}
    found |= _prepared(case, here, slot, tell)
    times: dict[str, list[float]] = {peer: [] for peer in here if "difference" in found[peer]}
    for k in range(rounds):
        tell(f"round {k + 1} of {rounds}")
        for peer, seconds in times.items():
            seconds.append(workers[peer].round())
    for peer, seconds in times.items():
        found[peer] |= {
            "seconds": spread(seconds),
            "ratio": spread(np.divide(seconds, times[OURS])),
            "rounds": [float(f"{x:.5g}") for x in seconds],
        }
    return {
        "section": case.section,
        "robot": case.robot,
        "quantity": case.quantity,
        "states": case.states,
        "peers": {peer: found[peer] for peer in case.peers},
    }


def _prepared(
    case: Case, workers: Mapping[str, Worker], slot: float, tell: Callable[[str], None]
) -> dict[str, Outcome]:
    """How far each peer's results are from ours, or why it cannot be timed. Ours come first."""
    states = case.draw()
    found: dict[str, Outcome] = {}
    ours = None
    for peer, worker in workers.items():
        tell(f"{peer} prepares")
        try:
            results = worker.prepare(case, states, slot)
        except Absent as reason:
            if peer == OURS:
                raise
            found[peer] = {"absent": str(reason)}
            continue
        ours = results if peer == OURS else ours
        error = difference(results, ours)
        found[peer] = {"difference" if error <= PEERS[peer].tolerance else "wrong": error}
    return found


def difference(results: Any, expected: Any) -> float:
    """The largest over the states of |x - ours| / |ours|."""
    size = np.linalg.norm(expected, axis=1)
    return float(np.max(np.linalg.norm(results - expected, axis=1) / size))


def spread(values: Sequence[float] | Any) -> Outcome:
    """Median and quartiles."""
    low, median, high = (float(f"{x:.4g}") for x in np.quantile(values, (0.25, 0.5, 0.75)))
    return {"median": median, "low": low, "high": high}
