"""The simulated rig in real time, at the machine's end of a channel."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from appell.control.rig.channels import Channel, newest_command
from appell.control.rig.faults import active, fault_of
from appell.control.rig.plant import Rig
from appell.control.rig.protocol import command_bytes, command_of, reading_bytes
from appell.control.rig.realtime import Clock
from appell.control.rig.wire import Wire

_MOST = 1000  # cycles that are made up for at once


def serve(rig: Rig, channel: Channel, lines: Callable[[], list[bytes] | None]) -> dict[str, Any]:
    """A cycle a period until it is told to end. What it came to.

    ``lines`` gives what was said to it since it was last asked, None when nobody is there any more.
    After a stall it makes up for the cycles that passed, as a real arm would not have stood still.
    """
    up, down = Wire("readings", rig.faults), Wire("commands", rig.faults)
    clock = Clock(rig.machine.period, awake=0.0)  # nobody waits for it: its time is the loop's
    while True:
        steps, _ = clock.wait()
        said = lines()
        if said is None or b"end" in said:
            return summary(rig, clock)
        for line in said:
            _obey(rig, line)
        heard = newest_command(channel, rig.n)
        arrived = down.carry(rig.cycle, None if heard is None else command_bytes(heard))
        command = command_of(arrived[-1], rig.n) if arrived else None
        sleeping = rig.echo == 0
        for _ in range(min(steps, _MOST)):
            reading = rig.step(command)
            command = None
        if sleeping and rig.echo:  # cycles of faults count from the first command
            rig.faults[:] = [replace(f, cycle=f.cycle + rig.cycle) for f in rig.faults]
        if rig.echo and active(rig.faults, "dead plant", rig.cycle):
            os.kill(os.getpid(), 9)
        for data in up.carry(rig.cycle, reading_bytes(reading)):
            channel.send(data)


def _obey(rig: Rig, line: bytes) -> None:
    """A line: a fault, from now on if it has no cycle, or where a hand leads the arm."""
    said = json.loads(line)
    if "lead" in said:
        rig.led = np.asarray(said["lead"], dtype=float)
        return
    if not said.get("cycle"):
        said["cycle"] = rig.cycle
    rig.faults.append(fault_of(json.dumps(said)))


def summary(rig: Rig, clock: Clock | None = None) -> dict[str, Any]:
    return {
        "cycles": rig.cycle,
        "safe": rig.safe,
        "watchdog": rig.stopped_at,
        "live_until": rig.last_live,
        "overruns": 0 if clock is None else clock.overruns,
        "q": rig.arm.q.tolist(),
        "v": rig.arm.v.tolist(),
        "temperature": rig.switches.temperature.tolist(),
    }
