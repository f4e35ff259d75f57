"""What a desktop system allows towards real time, and deadlines kept as well as it can.

Nothing here is needed: what is not allowed is told, and the loop runs without it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import time

_MCL_CURRENT, _MCL_FUTURE = 1, 2
_PR_SET_TIMERSLACK = 29


def prepare(priority: int = 50, cpu: int | None = None) -> dict[str, str]:
    """Garbage collection off, memory locked, a real-time priority, one processor; what became of
    each."""
    gc.collect()
    gc.freeze()
    gc.disable()
    return {
        "garbage collection": "off",
        "memory": _lock(),
        "scheduling": _first(priority),
        "processor": _pin(cpu),
    }


def _lock() -> str:
    if sys.platform != "linux":
        return "not locked: not Linux"
    import resource

    libc = ctypes.CDLL(None, use_errno=True)
    free = os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == -1
    # With a limit, memory that is locked in future could not be had any more.
    if libc.mlockall(_MCL_CURRENT | (_MCL_FUTURE if free else 0)):
        return f"not locked: {os.strerror(ctypes.get_errno())}"
    return "locked"


def _first(priority: int) -> str:
    if not hasattr(os, "sched_setscheduler"):
        return "as others: no SCHED_FIFO here"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as problem:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        return f"as others: {problem.strerror}"
    return f"SCHED_FIFO {priority}"


def _pin(cpu: int | None) -> str:
    if not hasattr(os, "sched_setaffinity"):
        return "any"
    have = sorted(os.sched_getaffinity(0))
    if cpu is None or len(have) < 2:
        return "any"
    try:
        os.sched_setaffinity(0, {have[cpu % len(have)]})
    except OSError as problem:
        return f"any: {problem.strerror}"
    return str(have[cpu % len(have)])


class Clock:
    """Deadlines a period apart, counted from the first; those that passed unmet are left out."""

    def __init__(self, period: float, phase: float = 0.0) -> None:
        self.period = round(1e9 * period)
        self.deadline = time.monotonic_ns() + round(1e9 * period * phase)  # then one period on
        self.overruns = 0

    def wait(self) -> tuple[int, int]:
        """Sleep until the next deadline. How many periods that is on, and ns after it."""
        self.deadline += self.period
        steps, now = 1, time.monotonic_ns()
        if now > self.deadline:
            steps += (now - self.deadline) // self.period
            self.overruns += 1
            self.deadline += (steps - 1) * self.period
        while now < self.deadline:
            time.sleep((self.deadline - now) / 1e9)
            now = time.monotonic_ns()
        late = now - self.deadline
        slept = late // self.period  # deadlines that passed while it was not woken
        self.deadline += slept * self.period
        return int(steps + slept), late


class NoClock:
    """The same without time: every cycle is on its deadline."""

    overruns = 0

    def wait(self) -> tuple[int, int]:
        """One period on, and not late."""
        return 1, 0


def empty_loop(period: float, seconds: float) -> float:
    """The share of its cycles that begin more than half a period late, or are left out. It runs in
    a process of its own, with what a control loop is allowed."""
    code = "from appell.rig.loop.realtime import time_empty_loop; time_empty_loop()"
    command = [sys.executable, "-c", code, repr(period), repr(seconds)]
    # In a session of its own: an interrupt from the keyboard is for the parent, which ends it.
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, start_new_session=True)
    return float(done.stdout)


def time_empty_loop() -> None:
    """Print the share of late cycles of a loop that does nothing."""
    period, seconds = map(float, sys.argv[1:])
    prepare(priority=50, cpu=0)
    clock, cycles, bad = Clock(period), 0, 0
    while cycles * period < seconds:
        steps, late = clock.wait()
        cycles += steps
        bad += steps - 1 + (late > 0.5e9 * period)
    print(bad / cycles)
