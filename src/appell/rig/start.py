"""Runs over a rig: in lock step in this process, or in real time in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from appell.control.laws.law import Law
from appell.errors import interrupted
from appell.rig.controller.safety import Limits
from appell.rig.log.log_file import LogWriter, read_log
from appell.rig.log.run_report import Report
from appell.rig.loop.control_loop import ControlLoop, Result
from appell.rig.loop.real_time_run import start
from appell.rig.loop.run_setup import Setup, setup
from appell.rig.loop.serve_simulated import summary
from appell.rig.machine.faults import Fault
from appell.rig.machine.lockstep import Lockstep
from appell.rig.machine.machine import Machine
from appell.rig.machine.protocol import Hardware, connected
from appell.rig.machine.simulated_machine import Rig
from appell.rig.signals import terminable
from appell.robots.robot import Robot


def run(
    law: Law,
    trajectory: Any,
    *,
    channel: str | None = None,
    hardware: Callable[[], Hardware] | None = None,
    machine: Machine | None = None,
    robot: Robot | None = None,
    q0: Any = None,
    log: Path | str | None = None,
    faults: Sequence[Fault] = (),
    limits: Limits | None = None,
    repeat: int = 1,
    rest: float = 0.5,
    tool: int = 0,
    switches: Sequence[Any] = (),
    seed: int = 0,
) -> Report:
    """The report of a run: home the arm, bring it to where the trajectory begins, follow it, and
    stop.

    Without ``hardware`` the machine is simulated.

    Args:
        law: What controls the arm.
        trajectory: What is followed: a `Trajectory`, or a mission of your own.
        channel: "lockstep", which is exact and takes no more time than it must; or in real time in
            a process of its own, over shared memory ("shm") or "udp".
        hardware: Called for a driver of your own machine, in the process of the control loop;
            with ``channel="lockstep"`` in this process, at the pace of the readings.
        machine: What the arm is built of; `machine_for` the law's robot without it.
        robot: The simulated arm, if it is another than the law believes.
        q0: Where it wakes up; where the trajectory begins without it.
        log: The file to write, which must not be there; without it the log is in the report only.
        faults: Of the simulated machine.
        limits: When the checks strike.
        repeat: How often the trajectory is followed.
        rest: How long its end is held, s.
        tool: The bits of its outputs while the arm is enabled.
        switches: Outputs that go on or off on the way, each a time in s after the trajectory's
            start, a name of ``machine.outputs`` and whether it goes on: ``[(0.5, "tool1", True)]``.
        seed: Of the sensors' noise.

    Returns:
        A `Report`.

    Examples:
        >>> puma = appell.load("puma560")
        >>> law = appell.control.ComputedTorque(puma, kp=400, kd=40)
        >>> start, end = np.radians([[0, -45, 60, 0, 30, 0], [5, -40, 65, 5, 35, 5]])
        >>> move = appell.control.quintic(start, end, 0.5)
        >>> report = appell.rig.run(law, move, channel="lockstep")
        >>> report.ok, report.state.name
        (True, 'STOP')
        >>> len(report.histogram()) > 0, report.last(0.1)["q"].shape[1]
        (True, 6)
    """
    ready = setup(
        law, trajectory, channel=channel, hardware=hardware, machine=machine, robot=robot, q0=q0,
        log=log, faults=faults, limits=limits, repeat=repeat, rest=rest, tool=tool,
        switches=switches, seed=seed,
    )  # fmt: skip
    if ready.channel == "lockstep":
        report = in_lockstep(ready)
    else:
        with start(ready) as running:
            report = running.wait()
    if report.interrupted:
        interrupted()
    return report


def _to_the_end(loop: ControlLoop, rig: Rig | None) -> Result:
    return loop.run()


def in_lockstep(
    ready: Setup, drive: Callable[[ControlLoop, Rig | None], Result] = _to_the_end
) -> Report:
    """The report of a run in this process; ``drive`` moves its loop, and the simulated machine if
    there is one, to the end."""
    with terminable():
        rig, connect = None, ready.hardware
        if connect is None:
            rig = ready.rig()
            connect = partial(Lockstep, rig)
        controller = ready.controller()
        own = [f for f in ready.faults if f.kind == "disk full"]
        with ready.log_path() as path:
            writer = LogWriter(path, ready.machine.n, ready.metadata)
            try:
                result = drive(ControlLoop(controller, connected(connect), writer, faults=own), rig)
            finally:
                writer.close(clean=False)
            log = read_log(path)
    plant = None if rig is None else summary(rig)
    period = ready.machine.period
    return Report(log, result.state, result.reason, period, plant, stands=result.stands)
