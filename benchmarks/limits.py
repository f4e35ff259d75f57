"""How near kernels come to the limits of the machine, inside and outside its caches.

    python -m benchmarks.limits ROUNDS QUICK STATES

A kernel takes at least as long as its floating-point instructions at the processor's peak rate of
fused multiply-adds, and as a copy of as many bytes as it reads and writes. Both are measured in the
same rounds as the kernel. Prints JSON; run by :mod:`benchmarks` in a process of its own, on one
core.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.cases import Case, cases
from benchmarks.measure import spread
from benchmarks.operation_count import floating_point_operations

INSIDE, OUTSIDE = 512, 1_000_000  # states: in a core's own caches, and in none
SLOT = 0.02  # seconds of a round of each
CHAINS = 12  # independent multiply-adds: more than the processor's latency needs
CALLS = 100_000


def limits(rounds: int, quick: bool, states: int | None) -> list[dict[str, Any]]:
    """A row for each kernel and number of states, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.limits", str(rounds), str(int(quick)), str(states or 0)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measured(rounds: int, quick: bool, states: int) -> Iterator[dict[str, Any]]:
    """The figures of the other tables, and the PUMA's of few states and of many."""
    import appell

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    appell.set_threads(1)
    most = states or OUTSIDE
    for case in cases(quick, states or None):
        if case.states == 1:
            continue
        if case.joints is not None or case.section != "PUMA 560":
            yield _row(case, "float64", rounds)
            continue
        for size in sorted({min(INSIDE, most), case.states, min(OUTSIDE, most)}):
            for dtype in ("float64", "float32"):
                yield _row(replace(case, states=size), dtype, rounds)


def _row(case: Case, dtype: str, rounds: int) -> dict[str, Any]:
    from appell.robots.robot import Robot

    kernel = Robot(case.model()).kernel(case.quantity, dtype=dtype)
    inputs = [x.astype(dtype) for x in case.draw()]
    run = partial(kernel, *inputs, out=kernel(*inputs))
    width = sum(map(prod, (*kernel.inputs.values(), *kernel.outputs.values())))
    moved = width * kernel.dtype.itemsize
    source = np.zeros(moved * case.states // 2, np.uint8)
    copy = partial(np.copyto, np.zeros_like(source), source)
    jobs = [_repeated(job) for job in (run, copy, multiply_adds(dtype))]
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, seconds in zip(jobs, times, strict=True):
            seconds.append(job())
    state, copied, added = (spread(x) for x in times)
    operations = floating_point_operations(kernel.tape(), dtype)
    bandwidth = 2 * len(source) / copied["median"]
    rate = multiply_adds_per_call(dtype) / added["median"]
    least = {"copy": moved / bandwidth, "arithmetic": operations / rate}
    limit = max(least, key=least.__getitem__)
    seconds = {name: x / case.states for name, x in state.items()}
    return {
        "robot": case.robot,
        "quantity": case.quantity,
        "dtype": dtype,
        "states": case.states,
        "seconds": {name: float(f"{x:.4g}") for name, x in seconds.items()},
        "bytes": moved,
        "operations": operations,
        "bytes per second": float(f"{bandwidth:.4g}"),
        "multiply-adds per second": float(f"{rate:.4g}"),
        "limit": limit,
        "reached": float(f"{least[limit] / seconds['median']:.3g}"),
    }


def _repeated(job: Callable[[], Any]) -> Callable[[], float]:
    """Seconds of a job, from as many as fill a slot."""
    job()
    start = perf_counter()
    job()
    count = max(1, int(SLOT / (perf_counter() - start)))

    def seconds() -> float:
        start = perf_counter()
        for _ in range(count):
            job()
        return (perf_counter() - start) / count

    return seconds


def multiply_adds_per_call(dtype: str) -> int:
    from appell.compile.native import lanes

    return CALLS * CHAINS * lanes(dtype)


def multiply_adds(dtype: str) -> Callable[[], Any]:
    """A function that does nothing but so many fused multiply-adds, in registers."""
    from appell.compile.lower import REALS
    from appell.compile.native import compile_module, lanes, load

    real, width = REALS[dtype], lanes(dtype)
    vector, kind = f"<{width} x {real.name}>", f"v{width}f{real.bits}"
    chains = range(CHAINS)
    lines = [
        f"declare {vector} @llvm.fmuladd.{kind}({vector}, {vector}, {vector})",
        "define void @loop(ptr %numbers, i64 %n) {",
        "entry:",
        f"  %a = load {vector}, ptr %numbers, align 64",
        "  br label %next",
        "next:",
        "  %k = phi i64 [0, %entry], [%more, %next]",
        *(f"  %x{j} = phi {vector} [%a, %entry], [%y{j}, %next]" for j in chains),
        *(
            f"  %y{j} = call {vector} @llvm.fmuladd.{kind}"
            f"({vector} %x{j}, {vector} %a, {vector} %a)"
            for j in chains
        ),
        "  %more = add i64 %k, 1",
        "  %go = icmp slt i64 %more, %n",
        "  br i1 %go, label %next, label %exit",
        "exit:",
        f"  %s0 = fadd {vector} %y0, %y0",
        *(f"  %s{j} = fadd {vector} %s{j - 1}, %y{j}" for j in chains[1:]),
        f"  store {vector} %s{CHAINS - 1}, ptr %numbers, align 64",
        "  ret void",
        "}",
    ]
    addresses, memory = load(*compile_module("\n".join(lines)))
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses["loop"])
    room = np.full(64, 0.5, dtype)
    start = -room.ctypes.data % 64

    def job() -> Any:
        room[:] = 0.5  # each sum then tends to one
        function(room.ctypes.data + start, CALLS)
        return memory

    return job


if __name__ == "__main__":
    print(json.dumps(list(measured(int(sys.argv[1]), sys.argv[2] == "1", int(sys.argv[3])))))
