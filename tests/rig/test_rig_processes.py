"""The loop and the machine in processes of their own, over both channels; either is killed.

Cycles are slow and limits wide here, so that a machine that is busy with other things does not
make a fault of its own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rigs import PUMA, START, law

from appell.control import quintic
from appell.errors import AppellError
from appell.rig import Fault, Limits, State, run
from appell.rig.controller.controller import Phase
from appell.rig.loop import real_time_run as running
from appell.rig.loop import run_folder as memory
from appell.rig.loop.real_time_run import start
from appell.rig.loop.run_setup import setup
from appell.rig.machine.protocol import Command, Order, command_bytes
from appell.rig.signals import STATUS

SLOW = replace(PUMA, period=0.005, watchdog=200)
WIDE = Limits(missed=200, late=400, echo=400, state=400, overrun=400)
MOVE = quintic(START, START + 0.15, 0.6)


def ready(channel, **options):
    return setup(
        law(), MOVE, channel=channel, machine=SLOW, limits=WIDE, rest=options.pop("rest", 0.05),
        **options,
    )  # fmt: skip


def until(running, phase):
    """The newest row once a phase is reached."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        row = running.now()
        if row is not None and row["phase"] >= phase:
            return row.copy()
        time.sleep(0.005)
    raise AssertionError("the phase was not reached")


def test_a_process_that_never_starts_is_killed(monkeypatch):
    monkeypatch.setattr(running, "START", 0.5)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sleep", "600"], **pipes) as process:
        with pytest.raises(AppellError, match="the loop could not be started; it took over"):
            running._ready(process, bytes(10**6), "the loop")
        assert process.returncode == -signal.SIGKILL


def test_a_process_that_hangs_without_a_parent_ends_itself():
    script = (
        "import time; from appell.rig.loop import child_process as child; child._HANGS = 1\n"
        "lines = child._Lines(0.001); lines(); time.sleep(600)"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=300, check=False)
    assert ended.returncode == -signal.SIGALRM


def test_an_interrupt_leaves_nothing_that_never_started(monkeypatch):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sleep", "600"], **pipes) as process:
        monkeypatch.setattr(running, "_process", lambda: process)
        main = threading.main_thread().ident
        asked = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGTERM))
        asked.start()
        with pytest.raises(KeyboardInterrupt), start(ready("shm")):
            pass
        assert process.returncode == -signal.SIGKILL


def test_a_run_in_real_time(tmp_path):
    path = tmp_path / "run.mcap"
    report = run(law(), MOVE, channel="shm", machine=SLOW, limits=WIDE, rest=0.05, log=path)
    assert report.ok, report.reason
    assert [e.state for e in report.states] == [State.HOMING, State.ENABLED, State.STOP]
    assert report.plant["safe"]
    assert report.log.complete
    assert path.exists()
    assert np.degrees(report.max_error) < 4
    assert report.cycles + report.skipped == report.log["cycle"][-1]
    assert sum(count for _, count in report.histogram()) == report.cycles
    assert (report.late >= 0).all()
    assert set(report.allowed) == {"garbage collection", "memory", "scheduling", "processor"}


def test_a_killed_controller_leaves_the_machine_safe_and_its_log_whole(tmp_path):
    path = tmp_path / "killed.mcap"
    with start(ready("shm", log=path, rest=60.0)) as running:
        row = until(running, Phase.FOLLOW)
        os.kill(running.controller.pid, signal.SIGKILL)
        report = running.report()
    assert report.state is State.FAULT
    assert report.reason == "controller died: killed by signal 9"
    assert report.plant["safe"]
    assert report.plant["watchdog"] is not None
    assert report.plant["live_until"] < report.plant["watchdog"]
    assert np.abs(report.plant["v"][:3]).max() < 1e-3  # brakes are on the first three
    assert not report.log.complete
    assert report.log["cycle"][-1] >= row["cycle"]
    seen = report.log.rows[report.log["cycle"] == row["cycle"]]
    assert seen[0] == row


def test_a_killed_machine_leaves_the_controller_in_fault_and_its_log_closed():
    with start(ready("shm", rest=60.0)) as running:
        until(running, Phase.HOME)
        os.kill(running.plant.pid, signal.SIGKILL)
        report = running.wait()
    assert report.state is State.FAULT
    assert report.reason.startswith("readings lost")
    assert report.log.complete
    assert report.plant is None
    assert not report.log.rows[report.log["state"] == State.FAULT]["volts"].any()


def test_faults_are_injected_while_it_runs():
    with start(ready("udp", rest=60.0)) as running:
        until(running, Phase.HOME)
        running.inject(Fault("hot", joint=4))
        report = running.wait()
    assert report.reason == "over-temperature: joint 5"
    assert report.plant["safe"]


def test_a_stop_is_heard_and_the_machine_ends_with_its_parent():
    with start(ready("shm", rest=60.0)) as running:
        until(running, Phase.HOME)
        running.stop()
        assert running.controller.wait(30) == 0
        running.plant.stdin.close()
        assert running.plant.wait(30) == 0
        report, folder = running.report(), running.folder
    assert report.state is State.STOP
    assert not folder.exists()


def test_a_controller_whose_parent_is_gone_stops_the_machine():
    with start(ready("shm", rest=60.0)) as running:
        until(running, Phase.HOME)
        running.controller.stdin.close()
        report = running.wait()
    assert report.state is State.FAULT
    assert "gone" in report.reason
    assert report.plant["safe"]


def test_an_interrupt_stops_the_arm_and_is_told():
    def press(running):
        row = running.now()
        if row is not None and row["phase"] == Phase.HOME:
            raise KeyboardInterrupt

    with start(ready("shm", rest=60.0)) as running:
        report = running.wait(press)
    assert (report.state, report.reason) == (State.STOP, "interrupted")
    assert report.states[-1].reason == "interrupted"
    assert report.interrupted
    assert not report.ok
    assert report.plant["safe"]


def test_a_frozen_controller_is_noticed():
    with start(ready("shm", rest=60.0)) as running:
        until(running, Phase.HOME)
        os.kill(running.controller.pid, signal.SIGSTOP)
        report = running.wait()
    assert report.state is State.FAULT
    assert report.reason.startswith("controller does not answer")
    assert report.plant["safe"]
    assert not report.log.complete


def test_another_process_of_the_host_cannot_take_the_machine_over(monkeypatch):
    """It knows the port, and sends what the controller would send, only later and more of it."""
    addresses, listen = [], running._ready

    def overheard(*arguments):
        said = listen(*arguments)
        addresses.append(said.get("address"))
        return said

    monkeypatch.setattr(running, "_ready", overheard)
    order = Order.ENABLE | Order.RELEASE
    forged = command_bytes(Command(10**9, 0, order, np.full(6, 4000)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as intruder, start(ready("udp")) as rig:
        intruder.setblocking(False)

        def intrude(_):
            with suppress(BlockingIOError):
                for data in (forged, bytes(8) + forged + bytes(16)):
                    intruder.sendto(data, tuple(addresses[0]))

        intrude(None)
        report = rig.wait(intrude)
        with pytest.raises(BlockingIOError):  # it was not answered
            intruder.recv(2048)
    assert report.state is State.STOP, report.reason
    assert report.plant["safe"]


PARENT = """
import sys
sys.path.insert(0, {tests!r})
from test_rig_processes import ready, start
shown = []
def show(running):
    if not shown:
        shown.append(True)
        print(running.folder, flush=True)
with start(ready("shm", rest=60.0)) as running:
    report = running.wait(show)
print(report.reason, report.plant["safe"])
"""


def parent_of_a_run():
    """A process that waits for a run, and the run's folder."""
    text = PARENT.format(tests=str(Path(__file__).parent))
    parent = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    folder = Path(parent.stdout.readline().strip())
    assert folder.is_dir()
    return parent, folder


def test_a_terminated_parent_stops_the_arm_and_leaves_nothing():
    parent, folder = parent_of_a_run()
    parent.terminate()
    assert parent.communicate(timeout=60)[0] == "terminated True\n"
    assert parent.returncode == 0
    assert not folder.exists()


def test_what_a_killed_parent_left_in_memory_is_removed(monkeypatch):
    parent, folder = parent_of_a_run()
    monkeypatch.setattr(memory, "_STALE", -1.0)
    monkeypatch.setattr(memory, "_SHARED", str(folder.parent))  # where no folder is memory
    memory.sweep()
    assert folder.is_dir()  # it is in use
    parent.kill()
    parent.communicate()
    for _ in range(300):  # its children may still be at work, until their watchdogs strike
        memory.sweep()
        if not folder.exists():
            return
        time.sleep(0.1)
    pytest.fail(f"{folder} was not removed")


# A command that says when it hears signals; a hang-up is as it is without nohup.
READY = """
import signal
from contextlib import contextmanager
import appell.cli.control_teach, appell.cli.control_trials
from appell.cli import app
from appell.cli.control import _breakable
signal.signal(signal.SIGHUP, signal.SIG_DFL)
@contextmanager
def ready():
    with _breakable():
        print("ready", flush=True)
        yield
appell.cli.control_trials._breakable = appell.cli.control_teach._breakable = ready
app()
"""


@pytest.mark.parametrize("command", ["soak --quiet", "teach poses.csv --quiet"])
@pytest.mark.parametrize(
    ("sent", "reason"),
    [("SIGTERM", "terminated"), ("SIGINT", "interrupted"), ("SIGHUP", "hung up")],
)
def test_a_command_that_is_broken_off_while_it_starts_says_so(tmp_path, command, sent, reason):
    """A signal that comes before the command can hear it is the system's own affair."""
    started = subprocess.Popen(
        [sys.executable, "-c", READY, "control", *command.split()],
        cwd=tmp_path, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert started.stdout.readline() == "ready\n"
    time.sleep(0.1)
    started.send_signal(getattr(signal, sent))
    out, err = started.communicate(timeout=60)
    assert started.returncode == STATUS[reason], err
    assert reason in out + err
    assert "Traceback" not in err
