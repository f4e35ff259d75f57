"""``appell identify``: a motion to excite a robot, its parameters from data, a worked example."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.app import app, example
from appell.cli.choices import CRITERIA, KINDS, METHODS
from appell.cli.completion import files as files_of
from appell.cli.completion import names
from appell.cli.joint_numbers import read_limits, shown_limit
from appell.cli.options import (
    Animation,
    Force,
    Json,
    Quiet,
    RobotName,
    Verbose,
    load_robot,
    note,
    print_written,
    verbose_option,
)
from appell.cli.tables import print_json, print_table, tables_as_json
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.identify import Data, Fit
    from appell.robots.robot import Robot
    from appell.show.document import Table

identify = typer.Typer(no_args_is_help=True, help="Identify a robot's parameters from data.")
app.add_typer(identify, name="identify")

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The folder to make, by default named after its content; if taken, a number is added.",
    ),
]
AllTables = Annotated[
    bool, verbose_option("the tables of every parameter, and the path of every file")
]
Friction = Annotated[bool, typer.Option(help="Include viscous and Coulomb friction.")]

_EACH = "; one number, or one per joint with commas between"
_POSITION, _SPEED, _ACCELERATION = 2.5, 2.0, 8.0  # rad or m, per s, per s^2: where none is known
_SAMPLES = 1e7  # of a motion in a file
_CURE = (
    "Do not use the files written. Record longer and livelier motion (appell identify excite), "
    "check the units (--unit t=ms), and give --friction if joints rub."
)


@identify.command(
    epilog=example("appell identify excite two_link --harmonics 2 --duration 4 --starts 1")
)
def excite(
    robot: RobotName,
    output: Output = None,
    duration: Annotated[float, typer.Option(help="Duration of one period, s.")] = 10.0,
    harmonics: Annotated[int, typer.Option(help="Number of harmonics of the Fourier series.")] = 5,
    kind: Annotated[
        str,
        typer.Option(help=f"Kind of motion: {' or '.join(KINDS)}.", autocompletion=names(KINDS)),
    ] = "fourier",
    criterion: Annotated[
        str,
        typer.Option(
            help=f"What is optimised: {' or '.join(CRITERIA)}.", autocompletion=names(CRITERIA)
        ),
    ] = "condition",
    position: Annotated[
        str | None,
        typer.Option(
            help=f"Largest position, degrees both ways, m for slides{_EACH}; by default the "
            "model's limits, or 143 degrees, 2.5 m."
        ),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(
            help=f"Largest speed, degrees/s, m/s for slides{_EACH}; by default the model's limits, "
            "or 115 degrees/s, 2 m/s."
        ),
    ] = None,
    acceleration: Annotated[
        str | None,
        typer.Option(
            help=f"Largest acceleration, degrees/s^2, m/s^2 for slides{_EACH}; by default 458 "
            "degrees/s^2, 8 m/s^2."
        ),
    ] = None,
    torque: Annotated[
        float | None, typer.Option(help="Largest torque, N m or N; by default the model's.")
    ] = None,
    friction: Friction = False,
    rig: Annotated[
        bool, typer.Option(help="Stay within the limits of the machine of appell control.")
    ] = False,
    rate: Annotated[
        float, typer.Option(min=1, max=1e5, help="Samples per second in the file.")
    ] = 500.0,
    starts: Annotated[int, typer.Option(min=1, max=10_000, help="Number of random starts.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random motions.")] = 0,
    force: Force = False,
    animation: Animation = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Find a motion that excites all parameters of a robot.

    Takes about 20 seconds for the PUMA, and about one minute for the Panda with friction, on two
    cores. Control-C keeps the best so far, with status 130.
    """
    from appell import identify as identification
    from appell.identify.data.checks import named, refuse_no_tree
    from appell.identify.excitation.excite import CRITERIA as BEST
    from appell.identify.excitation.excite import KINDS as MOTIONS
    from appell.show.identification import excitation_document, excitation_files
    from appell.show.report_folder import document_files, new_folder, unless_empty, write_files

    arm = load_robot(robot)
    refuse_no_tree(f"excite {robot}", arm)
    if not duration * rate <= _SAMPLES:
        raise InputError(
            f"--duration {duration:g} --rate {rate:g}: {duration * rate:.3g} samples; expected at "
            f"most {_SAMPLES:g}."
        )
    motion = named("--kind", kind, MOTIONS)
    best = named("--criterion", criterion, BEST)
    limits = _limits(arm, position, speed, acceleration, torque, rig)
    folder = new_folder(
        output or _named("excitation", arm), force
    )  # now, and not after all is computed
    with unless_empty(folder), _searching() as progress:
        found = identification.excite(
            arm,
            duration=duration,
            harmonics=harmonics,
            kind=motion,
            criterion=best,
            **limits,
            friction=friction,
            starts=starts,
            seed=seed,
            progress=progress,
        )
    document = excitation_document(found, arm)
    files = excitation_files(found, arm, rate, animation)
    written = write_files(document_files(document, files), folder, force)
    if found.interrupted:
        typer.echo("Interrupted: this is the best so far.", err=as_json or quiet)
    _tell(document, document.tables, written, quiet, verbose, as_json)
    if found.interrupted:
        raise typer.Exit(130)


@identify.command(epilog=example("appell identify fit puma560 run.csv --method qr --friction"))
def fit(
    robot: RobotName,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="Measured data: .csv, .parquet or .mcap files.",
            autocompletion=files_of(".csv", ".parquet", ".mcap"),
        ),
    ],
    output: Output = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Estimator: {', '.join(METHODS)}; may be given several times. By default sdp, or "
            "where cvxpy is not installed log_cholesky, which finds the same minimum.",
            autocompletion=names(METHODS),
        ),
    ] = None,
    friction: Friction = False,
    validate: Annotated[
        Path | None,
        typer.Option(help="Data to validate with; by default the last quarter is held out."),
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(
            help="Cut-off of the low-pass filter, Hz; by default chosen from the spectrum."
        ),
    ] = None,
    slowest: Annotated[
        str | None,
        typer.Option(
            help=f"Slowest speed that is used, degrees/s, m/s for slides{_EACH}: samples with "
            "slower joints are left out."
        ),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(help="Unit of columns without one, such as q=deg.")
    ] = None,
    resample: Annotated[
        bool, typer.Option(help="Resample data with jitter or short gaps evenly.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    verbose: AllTables = False,
    as_json: Json = False,
) -> None:
    """Estimate a robot's parameters: a report, parameters.csv, and robot.urdf, the new robot.

    The exit status is 1 where an estimate does not predict the held-out data (a negative R2),
    or leaves over 1.1 times as much of their variance unexplained as the robot as it was, and
    over 1 %; the files are written all the same.
    """
    from appell import identify as identification
    from appell.identify.data.checks import named
    from appell.identify.estimate.fitting import METHODS as KNOWN
    from appell.show.identification import fit_document
    from appell.show.report_folder import document_files, refuse_file, write_files

    if output is not None:
        refuse_file(output)
    methods = [named("--method", name, KNOWN) for name in method or [_usual_method()]]
    arm = load_robot(robot)
    units = _units(unit)
    options: dict[str, Any] = {"units": units, "cutoff": cutoff, "resample": resample}
    least = read_limits("--slowest", slowest, arm, "/s")
    with _told_for_commands():
        parts = [identification.observe(arm, path, slowest=least, **options) for path in data]
    if not quiet and not as_json:
        _print_notes([*parts])
    used = parts[0] if len(parts) == 1 else identification.joined(parts)
    if validate is None:
        used, held_out = used.split()
    else:
        held_out = identification.observe(arm, validate, **options)
    fits: dict[str, Fit] = {
        name: identification.fit(arm, *used.states, method=name, friction=friction)
        for name in methods
    }
    validations = {name: identification.validate(x, held_out) for name, x in fits.items()}
    document = fit_document(fits, validations)
    files = document_files(document, _results(fits))
    written = write_files(files, output or _named("identification", arm), force)
    tables = document.tables if verbose else document.tables[:2]
    _tell(document, tables, written, quiet, verbose, as_json)
    useless = {name: faults for name, x in validations.items() if (faults := x.faults)}
    for name, faults in useless.items():
        typer.secho(f"warning: {name} is of no use: ", fg="red", bold=True, nl=False, err=True)
        typer.echo(f"{'; '.join(faults)}. {_CURE}", err=True)
    if useless:
        raise typer.Exit(1)


@identify.command(epilog=example("appell identify demo --quick -o demo"))
def demo(
    output: Output = None,
    quick: Annotated[bool, typer.Option(help="Use a shorter motion and a shorter search.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
    verbose: AllTables = False,
    as_json: Json = False,
) -> None:
    """A worked example: the PUMA on the simulated rig is identified.

    Excitation, estimates by every method, validation, and a controller with the nominal and with
    the identified model. Takes about one minute on two cores.
    """
    from rich.console import Console

    from appell.errors import whole
    from appell.show.identification import example_document
    from appell.show.report_folder import document_files, new_folder, unless_empty, write_files
    from appell.study.identify_puma import identify_puma

    folder = new_folder(output or Path("identification-demo"), force)
    with unless_empty(folder), whole(), Console(stderr=True, quiet=quiet).status("") as status:
        worked = identify_puma(quick=quick, seed=seed, told=status.update)
    document = example_document(worked)
    results = _results({worked.chosen: worked.fits[worked.chosen]})
    written = write_files(document_files(document, results), folder, force)
    for name, reason in worked.refused.items():
        typer.echo(f"{name}: {reason}", err=quiet or as_json)
    tables = [x for x in document.tables if verbose or not x.title.startswith("Base")]
    _tell(document, tables, written, quiet, verbose, as_json)


@contextmanager
def _told_for_commands() -> Iterator[None]:
    """Where a message tells of an argument in Python, tell what helps on the command line."""
    try:
        yield
    except InputError as problem:
        cure = "Rename the columns in the file's first line, such as t, q1, v1, a1, tau1."
        raise InputError(str(problem).replace("Name others by columns={...}.", cure)) from None


def _usual_method() -> str:
    """The method of physically consistent estimates that the installed packages allow."""
    solvers = all(map(find_spec, ("cvxpy", "clarabel")))
    return "sdp" if solvers else "log_cholesky"


def _limits(
    arm: Robot,
    position: str | None,
    speed: str | None,
    acceleration: str | None,
    torque: float | None,
    rig: bool,
) -> dict[str, Any]:
    """Those given; the machine's, the model's or usual ones where they are not."""
    given: dict[str, Any] = {
        "position": read_limits("--position", position, arm),
        "speed": read_limits("--speed", speed, arm, "/s"),
        "torque": torque,
        "acceleration": read_limits("--acceleration", acceleration, arm, "/s^2"),
    }
    if acceleration is None:
        given["acceleration"] = _ACCELERATION
    if rig:
        from appell.rig import machine_for
        from appell.study.identify_puma import machine_limits

        return machine_limits(machine_for(arm)) | {k: x for k, x in given.items() if x is not None}
    if position is None:
        given["position"] = _usual(arm, "lower", "position", _POSITION)
    if speed is None:
        given["speed"] = _usual(arm, "speed", "speed", _SPEED, "/s")
    return given


def _usual(arm: Robot, own: str, what: str, usual: float, rate: str = "") -> float | None:
    """None for the model's limits, or the usual one where it has none, which is told."""
    from math import isfinite

    missing = [j.name for j in arm.model.joints if not isfinite(getattr(j, own))]
    if not missing:
        return None
    taken = shown_limit(usual, arm, missing, rate)
    note(f"{', '.join(missing)}: no limit of {what} in the model; {taken} is taken.")
    return usual


def _units(given: list[str] | None) -> dict[str, str] | None:
    pairs = [text.partition("=") for text in given or []]
    for signal, mark, unit in pairs:
        if not (mark and signal and unit):
            raise InputError(f"--unit {signal}{mark}{unit}: expected a signal and its unit, q=deg.")
    return {signal: unit for signal, _, unit in pairs} or None


@contextmanager
def _searching() -> Iterator[Any]:
    """A bar of the search, while it lasts."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(
        *columns, transient=True, console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("random motions", total=None)

        def progress(step: Any) -> None:
            done = (step.start - 1) * step.iterations + step.iteration
            text = f"search {step.start} of {step.starts}, criterion {step.value:.4g}"
            bar.update(task, description=text, completed=done, total=step.starts * step.iterations)

        yield progress


def _tell(
    document: Any, tables: Any, written: Path, quiet: bool, verbose: bool, as_json: bool
) -> None:
    """The results, as they were asked for, and where they are written."""
    if as_json:
        told = {"report": str(written), "verdict": document.verdict}
        print_json(told | {"tables": tables_as_json(tables)})
        return
    if not quiet:
        _print(tables)
        if verbose:
            print_written(written.parent)
    typer.echo(written if quiet else f"\n{document.verdict}.\nReport: {written}")


def _print(tables: Any) -> None:
    from appell.show.document import cells, headings

    table: Table
    for table in tables:
        typer.echo(f"\n{table.title}")
        rows = [line[:-1] for line in cells(table)]
        print_table(headings(table)[:-1], rows)
        if table.note:
            typer.echo(table.note)


def _print_notes(parts: list[Data]) -> None:
    for part in parts:
        typer.echo(repr(part)[1:-1])
        for remark in part.notes:
            typer.echo(f"  {remark}")


def _named(what: str, arm: Any) -> Path:
    """A folder named after what is in it."""
    return Path(f"{what}-{re.sub(r'[^A-Za-z0-9._-]+', '_', arm.name)[:60]}")


def _results(fits: Mapping[str, Fit]) -> dict[str, tuple[str, str | bytes]]:
    """parameters.csv of all estimates, and the first that is a robot as robot.urdf."""
    from warnings import catch_warnings, simplefilter

    from appell.model.description.urdf_writer import urdf_text

    some = next(iter(fits.values()))
    names = some.nominal.parameter_names(friction=some.basis.friction, rotors=some.basis.rotors)
    rows = zip(
        names, some.prior.tolist(), *(f.parameters.tolist() for f in fits.values()), strict=True
    )
    head = ["parameter", "nominal", *fits]
    files: dict[str, tuple[str, str | bytes]] = {
        "parameters.csv": ("all parameters, before and after", _csv(head, rows))
    }
    for found in fits.values():
        if found.physical:
            with catch_warnings(record=True) as remarks:
                simplefilter("always")
                files["robot.urdf"] = ("the identified robot", urdf_text(found.robot.model))
            for remark in remarks:
                note(f"robot.urdf: {remark.message}")
            break
    else:
        note(
            "No estimate is physical, so no robot.urdf is written; "
            "try --method sdp or log_cholesky."
        )
    return files


def _csv(head: list[str], rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()
