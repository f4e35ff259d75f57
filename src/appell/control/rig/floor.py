"""What a machine allows: how often a loop is late that does nothing at all."""

from __future__ import annotations

import subprocess
import sys

from appell.control.rig.realtime import Clock, prepare


def empty_loop(period: float, seconds: float) -> float:
    """The share of its cycles that begin more than half a period late, or are left out. It runs in
    a process of its own, with what a control loop is allowed."""
    code = "from appell.control.rig.floor import main; main()"
    command = [sys.executable, "-c", code, repr(period), repr(seconds)]
    # In a session of its own: an interrupt from the keyboard is for the parent, which ends it.
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, start_new_session=True)
    return float(done.stdout)


def main() -> None:
    period, seconds = map(float, sys.argv[1:])
    prepare(priority=50, cpu=0)
    clock, cycles, bad = Clock(period), 0, 0
    while cycles * period < seconds:
        steps, late = clock.wait()
        cycles += steps
        bad += steps - 1 + (late > 0.5e9 * period)
    print(bad / cycles)
