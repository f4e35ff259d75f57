"""``appell control teach``: lead the arm by hand, and keep where it was."""

from __future__ import annotations

import queue
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.app import example
from appell.cli.completion import robots
from appell.cli.control import (
    ChannelName,
    Driver,
    FormerArm,
    Injected,
    LogFile,
    Numbers,
    Quiet,
    Verbose,
    Wakes,
    _breakable,
    _home,
    _law,
    _own,
    _positions,
    _refuse_waking,
    _setup,
    _tell_unused,
    control,
)
from appell.cli.control_finish import Folder, Told, finish
from appell.cli.options import Json, free_path, robot_then_file
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.rig.log.run_report import Report
    from appell.rig.loop.run_setup import Setup
    from appell.rig.teach import Lesson


@control.command(epilog=example("appell control teach puma560 poses.csv --channel lockstep"))
def teach(
    robot_and_file: Annotated[
        list[str],
        typer.Argument(
            metavar="[ROBOT] FILE",
            help="A robot of the library (appell list), or a .urdf file; by default puma560. Then "
            "the CSV file to write, for replay; if it is there, a number is added.",
            autocompletion=robots(".csv"),
        ),
    ],
    motion: Annotated[
        bool, typer.Option("--motion", help="Keep the whole motion, not the marks alone.")
    ] = False,
    former: FormerArm = None,
    channel: ChannelName = None,
    log: LogFile = None,
    fault: Injected = None,
    wakes: Wakes = None,
    hardware: Driver = None,
    machine: Numbers = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Lead the arm by hand, and write where it was.

    Brakes off, the arm bears its own weight; standard input says what to do, line by line:
    '1 +10' leads joint 1 on by 10 degrees, '3 +0.1' a joint that slides by 0.1 m (the simulated
    arm), 'tool1 on' and 'tool1 off' switch a digital output, 'mark' notes where the arm is and
    which outputs are on, 'end' ends."""
    from appell.rig import teach as lessons
    from appell.rig.controller.mission import Yield
    from appell.rig.log.motion_files import write_motion

    robot, file = robot_then_file(robot_and_file, former)
    file = free_path(file)
    if not file.absolute().parent.is_dir():
        raise InputError(f"there is no folder {file.parent} for {file.name}.")
    try:  # now, and not when all is taught
        file.open("x").close()
        file.unlink()
    except OSError as problem:
        raise InputError(f"{file}: {problem.strerror}; name another file.") from None
    law = _law(robot, "tracking-integral")
    _refuse_waking(wakes, hardware)
    start = _positions(wakes or _home(law), law)
    told = Told(quiet, verbose, as_json)
    led = Yield(law.robot.nv, lessons.yielding(law.robot))
    ready = _setup(law, led, channel, log, fault, start, **_own(hardware, machine))
    if ready.hardware is not None and channel == "lockstep":
        raise InputError("teach --channel lockstep: a simulated hand leads a simulated arm only.")
    if channel == "lockstep" and any(f.kind == "disk full" for f in ready.faults):
        raise InputError("teach --channel lockstep: the fault 'disk full' is not supported there.")
    if channel == "lockstep":
        report, lesson = lessons.teach_in_lockstep(
            ready, sys.stdin, lambda problem: typer.echo(problem, err=True)
        )
    else:
        report, lesson = _in_real_time(ready, told.tables)
    enough = (report.following.sum() if motion else len(lesson.marks)) > 1
    written: dict[str, Any] = {"motion": None}
    if report.ok or (report.interrupted and enough):
        if motion:
            t, q, levels = lessons.motion_of(report.log)
        else:
            t, q, levels = lessons.poses(lesson, ready.machine)
        write_motion(file, t, q, levels, kinds=ready.machine.kinds or ())
        written = {"motion": str(file), "positions": len(t)}
        if not as_json:
            typer.echo(file if quiet else f"Written: {file}, {len(t)} positions")
    if told.tables:
        _tell_unused(ready, report)
    finish(report, ready.log, Folder(), told, **written)


def _in_real_time(ready: Setup, live: bool) -> tuple[Report, Lesson]:
    from appell.cli.control_view import watching
    from appell.rig import teach as lessons
    from appell.rig.loop.real_time_run import Running, start

    said: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(said,), daemon=True).start()
    lesson = lessons.Lesson(ready.machine)

    def heard() -> str | None:
        return None if said.empty() else said.get()

    with _breakable(), start(ready) as running, watching(live) as watch:

        def look(run: Running) -> None:
            try:
                lessons.teach_live(run, lesson, heard)
            except InputError as problem:
                typer.echo(problem, err=True)
            if watch is not None:
                watch(run)

        report = running.wait(look)
    return report, lesson


def _listen(said: queue.Queue[str]) -> None:
    for line in sys.stdin:
        said.put(line)
    said.put("end")
