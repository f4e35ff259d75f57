"""The simulated rig in real time, at the machine's end of a channel."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from appell.rig.loop.channels import Channel
from appell.rig.loop.realtime import Clock
from appell.rig.machine.faults import active, fault_of
from appell.rig.machine.faulty_wire import Wire
from appell.rig.machine.outputs import levels_of
from appell.rig.machine.protocol import Command, command_of, reading_bytes
from appell.rig.machine.simulated_machine import Rig

_MOST = 1000  # cycles that are made up for at once


def serve(rig: Rig, channel: Channel, lines: Callable[[], list[bytes] | None]) -> dict[str, Any]:
    """One cycle per period until it is told to end. What it came to.

    ``lines`` gives what was said to it since it was last asked, None when nobody is there any more.
    After a stall it makes up for the cycles that passed, as a real arm would not have stood still,
    each with the commands that had been sent by then.
    """
    up, down = Wire("readings", rig.faults), Wire("commands", rig.faults)
    clock = Clock(rig.machine.period)
    while True:
        steps, _ = clock.wait()
        said = lines()
        if said is None or b"end" in said:
            return summary(rig, clock)
        for line in said:
            _obey(rig, line)
        came, sleeping = deque(channel.receive()), rig.echo == 0
        for behind in reversed(range(min(steps, _MOST))):
            by = clock.deadline - behind * clock.period if behind else None
            reading = rig.step(_arrived(rig, down, _sent(by, came, rig.n)))
        if sleeping and rig.echo:  # cycles of faults count from the first command
            rig.faults[:] = [replace(f, cycle=f.cycle + rig.cycle) for f in rig.faults]
        if rig.echo and active(rig.faults, "dead plant", rig.cycle):
            os.kill(os.getpid(), 9)
        for data in up.carry(rig.cycle, reading_bytes(reading)):
            channel.send(data)


def _sent(by: int | None, came: deque[bytes], n: int) -> Iterator[bytes]:
    """Those that were sent by then, or all; what is damaged has no time."""
    while came:
        command = command_of(came[0], n) if by is not None else None
        if by is not None and command is not None and command.time > by:
            return
        yield came.popleft()


def _arrived(rig: Rig, wire: Wire, sent: Iterable[bytes]) -> Command | None:
    """The last that comes out of the wire in this cycle."""
    out = wire.carry(rig.cycle, None)
    for data in sent:
        out = wire.carry(rig.cycle, data) or out
    return command_of(out[-1], rig.n) if out else None


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
    """What became of a simulated machine."""
    return {
        "cycles": rig.cycle,
        "safe": rig.safe,
        "outputs": [name for name, on in levels_of(rig.tools, rig.machine.outputs).items() if on],
        "watchdog": rig.stopped_at,
        "live_until": rig.last_live,
        "overruns": 0 if clock is None else clock.overruns,
        "q": rig.arm.q.tolist(),
        "v": rig.arm.v.tolist(),
        "temperature": rig.switches.temperature.tolist(),
    }
