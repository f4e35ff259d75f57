"""Single figures: times of jobs that no peer does alike, each the median of some rounds.

    python -m benchmarks.figures ROUNDS

Prints JSON; run by :mod:`benchmarks` in a process of its own, on one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import spread

STATES = 20_000


def figures(rounds: int) -> list[dict[str, Any]]:
    """What was timed, and its times, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.figures", str(rounds)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measured(rounds: int) -> Iterator[dict[str, Any]]:
    import appell

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    appell.set_threads(1)
    for what, job, times, note in (_flight(), *_closed(), *_control()):
        job()  # compiles
        seconds = []
        for _ in range(rounds):
            start = perf_counter()
            job()
            seconds.append((perf_counter() - start) / times)
        yield {"what": what, "seconds": spread(seconds), "note": note}


Job = tuple[str, Callable[[], Any], int, str]


def _flight() -> Job:
    from appell.papers import shafei2018

    def job() -> Any:
        shafei2018.flight.cache_clear()
        return shafei2018.flight()

    _, run = job()
    change = np.abs(run.energy - run.energy[0]).max()
    note = f"1.5 s with {len(run.impacts)} impacts; energy kept to {change:.0e} J"
    return "simulation of the ten-link tree (Shafei 2018)", job, 1, note


def _closed() -> Iterator[Job]:
    import appell

    draw = np.random.default_rng(0)
    wrist = appell.load("agile_wrist")
    q = draw.uniform(-0.3, 0.3, (STATES, 3))
    v, a = draw.normal(size=(2, STATES, 3))
    yield (
        "Agile Wrist, inverse dynamics",
        lambda: wrist.inverse_dynamics(q, v, a),
        STATES,
        "a state",
    )
    stewart = appell.load("stewart_gough").unchecked()
    pose = np.tile(np.eye(4), (STATES, 1, 1))
    pose[:, :3, 3] = [0, 0, 0.7] + draw.uniform(-0.05, 0.05, (STATES, 3))
    Q = stewart.inverse_kinematics(pose)
    V, A = draw.normal(size=(2, STATES, 6))
    for name in ("inverse_dynamics", "forward_dynamics"):
        call = getattr(stewart, name)
        what = f"Stewart-Gough platform, {name.replace('_', ' ')}"
        yield what, lambda call=call: call(Q, V, A), STATES, "a state, unchecked"


def _control() -> Iterator[Job]:
    import appell

    puma = appell.load("puma560")
    law = appell.control.ComputedTorque(puma, kp=100, kv=20)
    kernel = law.kernel()
    draw = np.random.default_rng(0)
    states = draw.uniform(-1, 1, (5, STATES, 6))
    yield "computed torque of the PUMA", lambda: kernel(*states), STATES, "a state of many"
    one = [x[0] for x in states]
    calls = 1000

    def often() -> None:
        for _ in range(calls):
            law(*one)

    note = "one state from Python; 3 ms in Lee 1982, 0.225 and 0.061 ms in Valera 2003"
    yield "computed torque of the PUMA", often, calls, note
    poses = puma.forward_kinematics(draw.uniform(-1, 1, (STATES, 6)))
    solve = appell.control.closed_form(puma)
    yield (
        "closed-form inverse kinematics of the PUMA",
        lambda: solve(poses),
        STATES,
        ("a pose, all eight branches"),
    )


if __name__ == "__main__":
    print(json.dumps(list(measured(int(sys.argv[1])))))
