"""``appell export``: an equation or a law as C or object code for a controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.choices import DTYPES, FORMULATIONS, QUANTITIES, TARGETS
from appell.cli.completion import names
from appell.cli.options import (
    Json,
    LawOption,
    Loops,
    Quiet,
    RobotName,
    free_path,
    load_robot,
    read_law,
    verbose_option,
)
from appell.cli.tables import print_json, print_table
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.export import Exported


@app.command(
    epilog=example(
        "appell export two_link mass_matrix",
        "appell export puma560 --law computed-torque --kp 100 --kd 20 -o puma_control",
    )
)
def export(
    robot: RobotName,
    quantity: Annotated[
        str | None,
        typer.Argument(
            metavar="QUANTITY",
            help=f"What to compute: {', '.join(QUANTITIES)}; by default the first.",
            autocompletion=names(QUANTITIES),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder to make, by default named after the function; if taken, a number is "
            "added.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what an earlier export wrote there.")
    ] = False,
    target: Annotated[
        str,
        typer.Option(
            help=f"Target: {', '.join(TARGETS)}, or an LLVM triple.", autocompletion=names(TARGETS)
        ),
    ] = "c",
    cpu: Annotated[str, typer.Option(help="With a triple: the processor, as LLVM names it.")] = "",
    features: Annotated[
        str, typer.Option(help="With a triple: the processor's features, such as +f,+d.")
    ] = "",
    abi: Annotated[
        str, typer.Option(help="With a triple: the calling convention, such as lp64d.")
    ] = "",
    law: Annotated[str | None, LawOption] = None,
    gain: Annotated[
        list[str] | None, typer.Option(help="A gain of the law, such as kp=100 or kp=1,2,3.")
    ] = None,
    kp: Annotated[str | None, typer.Option(help="The same as --gain kp=...")] = None,
    kd: Annotated[str | None, typer.Option(help="The same as --gain kd=...")] = None,
    kv: Annotated[str | None, typer.Option(hidden=True)] = None,
    gains_as_inputs: Annotated[
        bool, typer.Option("--gains-as-inputs", help="Gains are inputs, not numbers in the code.")
    ] = False,
    formulation: Annotated[
        str | None,
        typer.Option(
            help=f"Which equation: {', '.join(FORMULATIONS)}; each is for some quantities.",
            autocompletion=names(FORMULATIONS),
        ),
    ] = None,
    frame: Annotated[str | None, typer.Option(help="Link whose frame is used.")] = None,
    dtype: Annotated[
        str, typer.Option(help=f"Precision: {' or '.join(DTYPES)}.", autocompletion=names(DTYPES))
    ] = "float64",
    name: Annotated[str | None, typer.Option(help="Name of the function.")] = None,
    loops: Loops = None,
    quiet: Quiet = False,
    verbose: Annotated[bool, verbose_option("the function's declaration")] = False,
    as_json: Json = False,
) -> None:
    """Write an equation or a controller (law) as dependency-free C99, or as object code."""
    from rich.console import Console
    from rich.markup import escape

    from appell import export as exports

    what: Any = load_robot(robot, loops)
    given = [
        *(gain or []),
        *(f"{x}={y}" for x, y in (("kp", kp), ("kd", kd), ("kv", kv)) if y is not None),
    ]
    if law is not None:
        what = read_law(law, what, given, formulation=formulation, frame=frame)
        formulation = frame = None
    elif given or gains_as_inputs:
        raise InputError("gains go with --law.")
    if target == "c" and (cpu or features or abi):
        raise InputError("--cpu, --features and --abi go with a --target that is an LLVM triple.")
    options: dict[str, Any] = {
        "formulation": formulation,
        "frame": frame,
        "gains": gains_as_inputs or None,
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    label = name or exports.usual_name(what, quantity)
    place = output or Path(label)
    if not force and place.is_dir() and any(place.iterdir()):
        place = free_path(place)
    chosen |= {"name": label, "dtype": dtype}
    with Console(stderr=True, quiet=quiet).status(escape(f"{label}: recording, compiling")):
        if target == "c":
            made = exports.c(what, place, quantity, **chosen)
        else:
            chosen |= {"target": target, "cpu": cpu, "features": features, "abi": abi}
            made = exports.object(what, place, quantity, **chosen)
    if as_json:
        _print_as_json(made)
        return
    for path in made.files:
        typer.echo(path)
    if quiet:
        return
    if verbose:
        _print_declaration(made)
    typer.echo(f"{made.operations}. Stack: at most {made.stack} bytes.")
    if target == "c":
        try:
            _print_times(made)
        except KeyboardInterrupt:
            typer.echo("Interrupted: the files are written; they were not timed.", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _print_as_json(made: Exported) -> None:
    from appell.export.code import seconds_per_step

    print_json(
        {
            "function": made.name,
            "target": made.target,
            "dtype": made.dtype,
            "folder": str(made.folder),
            "files": [str(path) for path in made.files],
            "operations": made.operations._asdict(),
            "stack_bytes": made.stack,
            "seconds_per_step": seconds_per_step(made) if made.target == "c" else None,
        }
    )


def _print_declaration(made: Exported) -> None:
    """The lines of the header that declare the function, with what they say of it."""
    header = next(path for path in made.files if path.suffix == ".h")
    typer.echo(header.read_text().rstrip())


def _print_times(made: Exported) -> None:
    """Beside those of the control step in Valera et al. 2003."""
    from appell.export.code import PAPER, seconds_per_step

    ours = seconds_per_step(made)
    if ours is None:
        typer.echo("There is no C compiler (cc) here to time it with.")
        return
    rows = [["this machine, cc -O2", f"{ours * 1e6:.3g}"]]
    for where, seconds in PAPER.items():
        rows.append([f"a step of control, {where} (Valera 2003)", f"{seconds * 1e6:.3g}"])
    print_table(["one step", "microseconds"], rows)
