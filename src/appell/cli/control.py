"""``appell control``: laws that move an arm over a hardware interface, simulated or real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.app import app, example
from appell.cli.choices import CHANNELS
from appell.cli.completion import MOTIONS, files, names, robots
from appell.cli.control_finish import Folder, Told, finish
from appell.cli.joint_numbers import joint_kinds, joint_names, read_positions
from appell.cli.options import (
    Animation,
    Force,
    Json,
    LawOption,
    QuietNames,
    RobotName,
    former_option,
    free_path,
    imported,
    load_robot,
    quiet_option,
    read_law,
    robot_then_file,
    verbose_option,
)
from appell.cli.tables import print_json, print_table, summary
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.control.laws.law import Law
    from appell.rig.log.run_report import Report
    from appell.rig.loop.run_setup import Setup
    from appell.rig.machine.outputs import Switch

control = typer.Typer(no_args_is_help=True, help="Move an arm over a hardware interface.")
app.add_typer(control, name="control")

HOME = "0,-45,60,0,30,0"

FormerArm = Annotated[str | None, typer.Option("--robot", hidden=True)]
RobotAndFile = Annotated[
    list[str],
    typer.Argument(
        metavar="[ROBOT] FILE",
        help="A robot of the library (appell list), or a .urdf file; by default puma560. Then the "
        "file: CSV with t, q1, ... in s, rad and m, or as its first line says, and 0 or 1 for each "
        "digital output (columns v1, a1, tau1, ... of appell run are ignored); or npz.",
        autocompletion=robots(*MOTIONS),
    ),
]
LawName = Annotated[str, LawOption]
Gains = Annotated[
    list[str] | None,
    typer.Option(help="A gain of the law, such as kp=100 or kp=1,2,3; several may be given."),
]
ChannelName = Annotated[
    str | None,
    typer.Option(
        "--channel",
        help="How to reach the machine: shm (the default) or udp, in real time; or lockstep, in "
        "simulated time.",
        autocompletion=names(CHANNELS),
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option("--log", help="The MCAP file to write; if it is there, a number is added."),
]
Injected = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        help="Inject a fault: kind@cycle, such as 'stuck@1500,joint=2', joints from 1 on; several "
        "may be given.",
    ),
]
Switches = Annotated[
    list[str] | None,
    typer.Option(
        "--switch",
        help="Switch a digital output during the motion: name=on@time, the time in s after the "
        "motion's start, such as tool1=on@0.5; several may be given.",
    ),
]
Wakes = Annotated[
    str | None,
    typer.Option("--from", help="Where the simulated arm starts: degrees, m for slides."),
]
Driver = Annotated[
    str | None,
    typer.Option("--hardware", help="A machine of your own: module:name of what makes its driver."),
]
Numbers = Annotated[
    str | None, typer.Option("--machine", help="The machine's data: module:name of a Machine.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The folder of a report to make, with charts."),
]
Quiet = Annotated[
    bool, quiet_option("the paths of what was written only, and nothing while the run goes on")
]
Seen = Annotated[
    bool, typer.Option("--view", help="Show the arm in the browser while the run goes on.")
]
Verbose = Annotated[
    bool, verbose_option("each joint's errors and forces, how late cycles were, how long they took")
]


@control.command(
    epilog=example("appell control move puma560 --to 20,-30,70,20,50,30 --channel lockstep")
)
def move(
    to: Annotated[
        str,
        typer.Option("--to", help="Where to go: degrees, m for slides, with commas between."),
    ],
    robot: RobotName = "puma560",
    duration: Annotated[float, typer.Option(help="Duration of the motion, s.")] = 2.0,
    former: FormerArm = None,
    law: LawName = "tracking-integral",
    gain: Gains = None,
    channel: ChannelName = None,
    log: LogFile = None,
    fault: Injected = None,
    wakes: Wakes = None,
    hardware: Driver = None,
    machine: Numbers = None,
    switch: Switches = None,
    view: Seen = False,
    output: Output = None,
    force: Force = False,
    animation: Animation = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Move the arm to a position, and stop. Status 1 on a fault."""
    from appell.control import quintic

    chosen = _law(former_option(robot, former), law, gain)
    start = _positions(wakes or _home(chosen), chosen)
    trajectory = quintic(start, _positions(to, chosen), duration)
    own = _own(hardware, machine)
    own["switches"] = _switches(switch)
    ready = _setup(chosen, trajectory, channel, log, fault, start, **own)
    _run(ready, view, Folder(output, force, animation), Told(quiet, verbose, as_json))


@control.command(epilog=example("appell control follow puma560 motion.csv --channel lockstep"))
def follow(
    robot_and_file: RobotAndFile,
    former: FormerArm = None,
    law: LawName = "tracking-integral",
    gain: Gains = None,
    channel: ChannelName = None,
    log: LogFile = None,
    fault: Injected = None,
    wakes: Wakes = None,
    hardware: Driver = None,
    machine: Numbers = None,
    switch: Switches = None,
    view: Seen = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
    speed: Annotated[float, typer.Option(help="Factor on the speed of the file's motion.")] = 1.0,
    repeat: Annotated[
        int, typer.Option(help="Number of repetitions; the motion must end where it starts.")
    ] = 1,
    output: Output = None,
    force: Force = False,
    animation: Animation = False,
) -> None:
    """Move along a trajectory from a file, and stop. Status 1 on a fault."""
    from appell.rig.log.motion_files import read_motion
    from appell.rig.machine.machine import machine_for

    robot, file = robot_then_file(robot_and_file, former)
    chosen = _law(robot, law, gain)
    _refuse_waking(wakes, hardware)
    start = None if wakes is None else _positions(wakes, chosen)
    own = _own(hardware, machine)
    outputs = (own.get("machine") or machine_for(chosen.robot)).outputs
    motion = (file, chosen.robot.nv, speed, joint_names(chosen.robot), outputs)
    trajectory, switches = read_motion(*motion, kinds=joint_kinds(chosen.robot))
    own["switches"] = _switches(switch, switches)
    ready = _setup(chosen, trajectory, channel, log, fault, start, repeat=repeat, **own)
    _run(ready, view, Folder(output, force, animation), Told(quiet, verbose, as_json))


control.command(
    "replay",
    help="Move along the poses that teach has written, as follow does.",
    epilog=example("appell control replay puma560 poses.csv --channel lockstep"),
)(follow)


@control.command(epilog=example("appell control show move.mcap"))
def show(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A log (.mcap).", autocompletion=files(".mcap")),
    ],
    output: Output = None,
    force: Force = False,
    animation: Animation = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Show a log, including a truncated one. Status 1 if it ends in a fault, or is truncated."""
    from appell.rig import Report, State, read_log

    folder = Folder(output, force, animation)
    folder.check()
    log = read_log(file)
    last = log.events[-1] if log.events else None
    state, reason = (State.HOMING, "") if last is None else (last.state, last.reason)
    report = Report(log, state, reason, float(log.metadata.get("period", 0.001)))
    told = Told(quiet, verbose, as_json)
    told.results(report, folder, file, complete=log.complete, damaged=log.damaged)
    if told.tables and log.damaged:
        typer.echo(f"The log is damaged: {log.damaged}. What could be read is shown.")
    elif told.tables and not log.complete:
        typer.echo(
            "The log was cut: it was never closed, as of a run that was killed, a full disk or a "
            "copy that is not whole. All before the cut is shown."
        )
    if state is not State.STOP or not log.complete:
        raise typer.Exit(1)


@control.command(epilog=example("appell control laws"))
def laws(
    quiet: QuietNames = False,
    verbose: Annotated[bool, verbose_option("what each law computes, with its equation")] = False,
    as_json: Json = False,
) -> None:
    """List the controllers (control laws), for --law here and in appell export."""
    from inspect import getdoc

    from appell.control.laws import LAWS

    if quiet and not as_json:
        typer.echo("\n".join(LAWS))
        return
    rows = [[name, ", ".join(law.gains), summary(law)] for name, law in LAWS.items()]
    if as_json:
        print_json([{"law": x, "gains": [*y.gains], "what": summary(y)} for x, y in LAWS.items()])
        return
    print_table(["law", "gains", "what it is"], rows, left=(0, 1, 2))
    for name, law in LAWS.items() if verbose else ():
        typer.secho(f"\n{name}", bold=True)
        typer.echo(getdoc(law))


# What commands share


def _law(robot: str, name: str, gains: list[str] | None = None) -> Law:
    return read_law(name, load_robot(robot), gains or [])


def _home(law: Law) -> str:
    return HOME if law.robot.name == "puma560" else ",".join("0" * law.robot.nv)


def _positions(text: str, law: Law) -> Any:
    """Positions of the joints in rad and m, from a text in degrees and m."""
    return read_positions(text, law.robot, HOME)


def _refuse_waking(wakes: str | None, hardware: str | None) -> None:
    if wakes is not None and hardware is not None:
        raise InputError(
            f"--from {wakes}: only a simulated arm can be told where it starts; leave it out."
        )


def _switches(texts: list[str] | None, file: list[Switch] | None = None) -> list[Switch]:
    """Those of the command line, and those of a file; an output is switched by one of them."""
    from appell.rig.machine.outputs import switch_option

    given, read = [switch_option(text) for text in texts or []], file or []
    both = {x.output for x in given} & {x.output for x in read}
    if both:
        raise InputError(
            f"--switch {min(both)}=...: the file switches {min(both)}, too; leave out one of them."
        )
    return read + given


def _own(hardware: str | None, machine: str | None) -> dict[str, Any]:
    """One's own machine, found by its names."""
    named = {"machine": machine, "hardware": hardware}
    return {x: imported(f"--{x}", name) for x, name in named.items() if name is not None}


def _setup(
    law: Law,
    trajectory: Any,
    channel: str | None,
    log: Path | None,
    faults: list[str] | None,
    start: Any,
    **others: Any,
) -> Setup:
    from appell.rig.loop.run_setup import setup
    from appell.rig.machine.faults import fault_option

    if "hardware" not in others:
        channel = channel or "shm"
    elif channel not in (None, "lockstep"):
        raise InputError(
            f"--channel {channel}: a machine of your own (--hardware) brings its own; leave it "
            "out, or give lockstep."
        )
    given = [fault_option(text, joint_names(law.robot)) for text in faults or []]
    log = None if log is None else free_path(log)
    return setup(law, trajectory, channel=channel, log=log, faults=given, q0=start, **others)


def _run(ready: Setup, view: bool, folder: Folder, told: Told) -> None:
    from appell.cli.control_view import in_viewer, watching
    from appell.rig.loop.real_time_run import start
    from appell.rig.start import in_lockstep

    folder.check()
    if ready.channel == "lockstep":
        if view:
            raise InputError(
                "--view shows runs in real time, and --channel lockstep has none; give another "
                "channel, or write a --log and see it with `appell view LOG`."
            )
        report = in_lockstep(ready)
    else:
        with (
            _breakable(),
            start(ready) as running,
            watching(told.tables) as watch,
            in_viewer(ready.robot if view else None, watch) as look,
        ):
            report = running.wait(look)
    if told.tables:
        _tell_unused(ready, report)
    finish(report, ready.log, folder, told)


@contextmanager
def _breakable() -> Iterator[None]:
    """Interrupts before a run began, or twice, end the command with their reason and status."""
    from appell.rig.signals import STATUS, reason_of, terminable

    try:
        with terminable():
            yield
    except KeyboardInterrupt as asked:
        typer.echo(f"{reason_of(asked)}.", err=True)
        raise typer.Exit(STATUS[reason_of(asked)]) from None


def _tell_unused(ready: Setup, report: Report) -> None:
    ends = [e.cycle for e in report.states if e.state.name in ("STOP", "FAULT")]
    logged = int(report.log["cycle"][-1]) + 1 if report.cycles else 0  # the log may lack the end
    last = ends[-1] if ends else logged
    for fault in ready.faults:
        if fault.cycle > last:
            typer.echo(
                f"The fault '{fault.kind}@{fault.cycle}' never took effect: the run ended in cycle "
                f"{last}."
            )
