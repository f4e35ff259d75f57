"""A process of a run, told by a pickle what to be.

Its standard input carries the pickle and then lines; at its end the parent is gone, and so is the
process. It says, in one line of JSON, that it is ready.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from appell.errors import AppellError, InputError
from appell.rig.controller.controller import rehearse
from appell.rig.log.log_file import LogWriter, message_type
from appell.rig.loop.channels import Channel, Remote, SharedMemory, Slot, Udp, mapped
from appell.rig.loop.control_loop import SWITCH, ControlLoop, between_readings
from appell.rig.loop.realtime import Clock, prepare
from appell.rig.loop.run_setup import Setup
from appell.rig.loop.serve_simulated import serve
from appell.rig.loop.users_script import import_script, script_of
from appell.rig.machine.faults import OWN, Fault
from appell.rig.machine.machine import Machine
from appell.rig.machine.protocol import Hardware, connected
from appell.rig.machine.simulated_machine import Rig
from appell.rig.signals import STATUS
from appell.robots.robot import Robot

START = 300.0  # s that a process may take to be ready: code is compiled in it
_HANGS, _MANY = 10.0, 100  # s, or cycles, of silence after which a process ends itself
_LENGTH = struct.Struct("<Q")

Ready = Callable[[dict[str, Any]], None]


@dataclass
class PlantJob:
    """To be the machine."""

    folder: Path
    channel: str
    key: bytes  # of the run
    robot: Robot
    machine: Machine
    q0: Any
    faults: list[Fault]
    seed: int

    def run(self, ready: Ready) -> None:
        """Be the machine until the run is over."""
        rig = Rig(self.robot, self.machine, self.q0, self.faults, self.seed)
        rig.arm.settle(rig.volts, rig.arm.brake)  # compiled before it has to be quick
        channel: Channel
        address: Any
        if self.channel == "udp":
            channel = udp = Udp(self.key)
            address = udp.address
        else:
            address = str(self.folder / "channel")
            channel = SharedMemory(address, self.machine.n, machine=True)
        allowed = prepare(priority=40, cpu=1)
        ready({"address": address})
        made = serve(rig, channel, _Lines(self.machine.period))
        _leave(self.folder / "plant.json", made | {"allowed": allowed})


@dataclass
class ControllerJob:
    """To be the controller."""

    folder: Path
    setup: Setup
    hardware: Callable[[], Hardware]

    def run(self, ready: Ready) -> None:
        """Move the machine until the run is over."""
        machine, n = self.setup.machine, self.setup.machine.n
        controller = self.setup.controller()
        for law in (controller.mission_law, controller.law):
            rehearse(law, machine)
        board = board_in(self.folder, n)
        assert self.setup.log is not None
        writer = LogWriter(self.setup.log, n, self.setup.metadata)
        hardware = connected(self.hardware)
        lines, own = _Lines(machine.period), [f for f in self.setup.faults if f.kind in OWN]
        loop = ControlLoop(
            controller, hardware, writer, board=board, faults=own, ask=lambda: _asked(lines)
        )
        allowed = prepare(priority=50, cpu=0)
        ready({})
        clock = between_readings(hardware, machine.period)
        if clock is None:
            controller.fail("readings lost: the machine does not answer")
        result = loop.run(clock or Clock(machine.period))
        _leave(self.folder / "controller.json", asdict(result) | {"allowed": allowed})


def board_in(folder: Path, n: int) -> Slot:
    """The newest cycle of a run, in memory that its processes share."""
    room = message_type(n).itemsize
    return Slot(mapped(folder / "board", Slot.size(room)), 0, room)


def over_channel(channel: str, address: Any, key: bytes, n: int) -> Remote:
    """The simulated rig, from the controller's end."""
    if channel == "udp":
        return Remote(Udp(key, tuple(address)), n)
    return Remote(SharedMemory(address, n), n)


def send_job(job: PlantJob | ControllerJob) -> bytes:
    """The bytes that tell a process what to be."""
    try:
        data = pickle.dumps(job)
    except Exception as problem:  # what a user's own class may raise
        raise InputError(
            f"{problem}; the loop runs in a process of its own, so laws, missions and what makes "
            "the hardware must be picklable: defined in a module, and no lambda."
        ) from None
    known = pickle.dumps((sys.path, sys.argv, script_of(data)))
    return b"".join(_LENGTH.pack(len(part)) + part for part in (known, data))


def _asked(lines: _Lines) -> str | None:
    said = lines()
    if said is None:
        return "the process that started the run is gone"
    ends = next((x for x in ("stop", *STATUS) if x.encode() in said), None)
    switched = [x.decode() for x in said if x.startswith(SWITCH.encode())]
    return ends or (switched[-1] if switched else None)


class _Lines:
    """What is said on standard input, without waiting for it. A process that hangs and does not ask
    any more ends itself, as there may be no parent to do it."""

    def __init__(self, period: float) -> None:
        os.set_blocking(0, False)
        self.rest, self.hangs = b"", ceil(max(_HANGS, _MANY * period))

    def __call__(self) -> list[bytes] | None:
        signal.alarm(self.hangs)
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            return []
        if not data:
            return None
        *whole, self.rest = (self.rest + data).split(b"\n")
        return whole


def _to_parent() -> Ready:
    """What says that the process is ready. What else is printed goes to standard error: the parent
    would take it for that word; later nobody reads it, and a full pipe would hold the loop."""
    fd = os.dup(1)
    os.dup2(2, 1)

    def ready(what: dict[str, Any]) -> None:
        with os.fdopen(fd, "w") as pipe:
            pipe.write(json.dumps(what) + "\n")

    return ready


def _leave(path: Path, what: dict[str, Any]) -> None:
    """All of it or nothing; nothing for a parent that is gone, and its folder with it."""
    part = path.with_suffix(".part")
    with suppress(FileNotFoundError):
        part.write_text(json.dumps(what))
        part.replace(path)


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(0, count - len(data))
        if not more:
            raise SystemExit(1)  # the run that started it is gone already
        data += more
    return data


def _part() -> Any:
    return pickle.loads(_exactly(_LENGTH.unpack(_exactly(_LENGTH.size))[0]))


def main() -> None:
    """Do the job that standard input tells."""
    signal.alarm(ceil(START + _HANGS))
    ready = _to_parent()
    try:
        sys.path[:], sys.argv[:], script = _part()
        if script is not None:
            import_script(script)
        _part().run(ready)
    except AppellError as problem:
        raise SystemExit(f"error: {problem}") from None
