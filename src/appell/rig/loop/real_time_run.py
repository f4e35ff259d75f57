"""A run in real time: the control loop, and the simulated machine, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np

from appell.errors import AppellError, InputError
from appell.rig.controller.safety import State
from appell.rig.log.log_file import message_type, read_log
from appell.rig.log.run_report import Report
from appell.rig.loop.channels import Slot
from appell.rig.loop.child_process import (
    START,
    ControllerJob,
    PlantJob,
    board_in,
    over_channel,
    send_job,
)
from appell.rig.loop.control_loop import SWITCH, TAIL
from appell.rig.loop.run_folder import private_folder
from appell.rig.loop.run_setup import Setup
from appell.rig.loop.seal import new_key
from appell.rig.loop.users_script import refuse_import
from appell.rig.machine.faults import OWN, Fault, fault_line
from appell.rig.signals import reason_of, terminable

_LAST, _PATIENCE = 10.0, 3.0  # s to wait for a process to end, and for one that may not listen
_FIRST = 15.0  # s that the first cycle may take: the loop listens to the machine before it
_LOOK = 0.05  # s between two looks at a run


@contextmanager
def start(ready: Setup) -> Iterator[Running]:
    """A run under way, in processes of its own; they end with the block."""
    refuse_import()
    with terminable(), private_folder() as folder:
        running = Running(ready, folder)
        try:
            running.begin()
            yield running
        finally:
            running.end()


class Running:
    """Two processes, and what is heard of them."""

    def __init__(self, ready: Setup, folder: Path) -> None:
        self.ready, self.folder = ready, folder
        self.log = ready.log or folder / "log.mcap"
        self.plant: subprocess.Popen[bytes] | None = None
        self.controller: subprocess.Popen[bytes] | None = None
        self.kind = message_type(ready.machine.n)
        self.board = board_in(folder, ready.machine.n)
        self.pulse = Slot(self.board.memory, 0, self.kind.itemsize)
        self.still, self.left = 0.0, _FIRST  # s without a new cycle, and how many there may be
        self.verdict = ""  # why its processes were killed
        self.begun = False  # whether they listen

    def begin(self) -> None:
        """Start the processes, and wait until they are ready."""
        r = self.ready
        hardware = r.hardware
        if hardware is None:
            faults = [f for f in r.faults if f.kind not in OWN]
            key = new_key()
            job = PlantJob(self.folder, r.channel, key, r.robot, r.machine, r.q0, faults, r.seed)
            told = send_job(job)
            self.plant = _process()
            address = _ready(self.plant, told, "the simulated machine")["address"]
            hardware = partial(over_channel, r.channel, address, key, r.machine.n)
        told = send_job(ControllerJob(self.folder, replace(r, log=self.log.absolute()), hardware))
        self.controller = _process()
        _ready(self.controller, told, "the control loop")
        self.begun = True

    # While it runs

    def now(self) -> Any:
        """The newest cycle: a row of the log, or None if there is none that is new."""
        data = self.board.read()
        return None if data is None else np.frombuffer(data, self.kind)["payload"][0]

    def inject(self, fault: Fault) -> None:
        """A fault of the simulated machine; with cycle 0, at once."""
        self.tell_plant(fault_line(fault))

    def tell_plant(self, line: bytes) -> None:
        """Send a line to the simulated machine."""
        if self.plant is None:
            raise InputError("the machine is not simulated; it takes no faults.")
        _tell(self.plant, line)

    def stop(self, reason: str = "stop") -> None:
        """The end: zero volts and brakes."""
        _tell(self.controller, reason.encode() + b"\n")

    def switch(self, bits: int) -> None:
        """The outputs of an arm that is led."""
        _tell(self.controller, f"{SWITCH}{bits}\n".encode())

    @property
    def over(self) -> bool:
        """Whether the loop has ended."""
        return self.controller is None or self.controller.poll() is not None

    def wait(self, watch: Callable[[Running], None] | None = None) -> Report:
        """To its end; ``watch`` is called now and then. An interrupt stops the arm first."""
        until = None
        while True:
            try:
                if self.over:
                    return self.report()
                if watch is not None:
                    watch(self)
                time.sleep(_LOOK)
                if until is not None and time.monotonic() > until:
                    self._kill(f"it was told to stop {_PATIENCE + self._tail():.1f} s ago")
                elif self._stands_still():
                    self._kill(f"no cycle for {self.still:.1f} s")
            except KeyboardInterrupt as asked:
                self.stop(reason_of(asked))
                until = until or time.monotonic() + _PATIENCE + self._tail()

    def _tail(self) -> float:
        """s that a run takes to stop, if all is well."""
        machine = self.ready.machine
        return 2 * (TAIL + machine.watchdog) * machine.period

    def _stands_still(self) -> bool:
        """Whether the loop makes no cycles. Looks are counted, not time: where the whole system
        stood, this process did, too."""
        if self.pulse.read() is not None:
            self.still, self.left = 0.0, max(_PATIENCE, 10 * self.ready.machine.period)
        else:
            self.still += _LOOK
        return self.still > self.left

    def _kill(self, why: str) -> None:
        """The loop. The machine stops by its own watchdog."""
        assert self.controller is not None
        if self.controller.poll() is None:
            self.verdict = f"controller does not answer: {why}"
            self.controller.kill()
            self.controller.wait()

    # After it

    def report(self) -> Report:
        """What came of the run, when its loop has ended."""
        controller = self.controller
        assert controller is not None
        controller.wait()
        said = _left(self.folder / "controller.json")
        if self.plant is not None and self.plant.poll() is None:
            machine = self.ready.machine
            if said is None or not said["stands"]:
                time.sleep(2 * machine.watchdog * machine.period)  # that it may stop by itself
            _tell(self.plant, b"end\n")
            with suppress(subprocess.TimeoutExpired):  # one that hangs is killed at the end
                self.plant.wait(_LAST)
        plant = _left(self.folder / "plant.json")
        log = read_log(self.log)
        period = self.ready.machine.period
        if said is None:
            reason = self.verdict or f"controller died: {_how(controller.returncode)}"
            stands = plant is not None and bool(plant["safe"])
            return Report(log, State.FAULT, reason, period, plant, stands=stands)
        state, reason = State(said["state"]), said["reason"]
        return Report(log, state, reason, period, plant, said["allowed"], said["stands"])

    def end(self) -> None:
        """Nothing is left running; an arm that moves is stopped first."""
        if self.begun and self.controller is not None and not self.over:
            self.stop()
            with suppress(subprocess.TimeoutExpired):
                self.controller.wait(_PATIENCE)
        for process in (self.controller, self.plant):
            if process is None:
                continue
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self.board.memory.close()


def _process() -> subprocess.Popen[bytes]:
    """In a session of its own: an interrupt from the keyboard is for the parent to pass on."""
    return subprocess.Popen(
        [sys.executable, "-c", "from appell.rig.loop.child_process import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _tell(process: subprocess.Popen[bytes] | None, data: bytes) -> None:
    assert process is not None
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it is over
        process.stdin.write(data)
        process.stdin.flush()


def _ready(process: subprocess.Popen[bytes], told: bytes, what: str) -> dict[str, Any]:
    """The line with which a process that is told what to be says that it is ready."""
    assert process.stdout is not None
    late = Timer(START, process.kill)
    late.start()
    try:
        _tell(process, told)
        line = process.stdout.readline()
    finally:
        in_time = late.is_alive()
        late.cancel()
    if line:
        return json.loads(line)
    code = process.wait()
    why = "see its message above" if code > 0 else f"it was {_how(code)}"
    raise AppellError(
        f"{what} could not be started; {why if in_time else f'it took over {START:.0f} s'}."
    )


def _left(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}"
