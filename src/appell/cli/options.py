"""Options that several commands share, each defined once, and what they mean."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.choices import LAWS
from appell.cli.completion import SETTINGS, files, names, robots
from appell.errors import InputError

if TYPE_CHECKING:
    from appell.control import Law


_ROBOT_HELP = "A robot of the library (appell list), or a .urdf file."

RobotName = Annotated[
    str, typer.Argument(help=_ROBOT_HELP, metavar="ROBOT", autocompletion=robots())
]
Loops = Annotated[
    Path | None,
    typer.Option(
        "--loops",
        help="A .toml or .json file that closes the loops of the .urdf file.",
        autocompletion=files(*SETTINGS),
    ),
]
LawOption = typer.Option(
    "--law",
    help=f"The controller: {', '.join(LAWS)} (appell control laws describes them); or your own, "
    "module:name.",
    autocompletion=names(LAWS),
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Use the folder that is there, and replace its files."),
]
Animation = Annotated[
    bool,
    typer.Option(
        "--animation", help="Show the moving robot in the report, and write animation.html."
    ),
]


def quiet_option(printed: str) -> Any:
    """``-q``, with what is printed in spite of it."""
    return typer.Option("--quiet", "-q", help=f"Print {printed}.")


def verbose_option(printed: str) -> Any:
    """``-v``, with what is printed because of it."""
    return typer.Option("--verbose", "-v", help=f"Also print {printed}.")


Quiet = Annotated[bool, quiet_option("the paths of what was written only")]
QuietNames = Annotated[bool, quiet_option("names only, one per line")]
Verbose = Annotated[bool, verbose_option("the path of every file written")]


def load_robot(robot: str, loops: Path | None = None) -> Any:
    """The robot of a name or a file, its loops closed by another file."""
    from appell.errors import ModelError
    from appell.robots.registry import load

    if loops is None:
        return load(robot)
    if Path(robot).suffix.lower() != ".urdf":
        raise ModelError(f"--loops {loops}: closes the loops of a .urdf file, not of '{robot}'.")
    return load(robot, loops=loops)


def print_written(folder: Path) -> None:
    """The paths of all files in a folder that was written, for ``-v``."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            typer.echo(path)


def free_path(wanted: Path) -> Path:
    """The path itself if nothing is there, else the next of its name: move-2.mcap."""
    path, n = wanted, 1
    while path.exists():
        n += 1
        path = wanted.with_name(f"{wanted.stem}-{n}{wanted.suffix}")
    return path


def keep_inputs(written: Path, *inputs: Path | str | None) -> None:
    """Refuse to write a file onto one that is read, which --force does not mean."""
    for given in inputs:
        if given is not None and same_file(written, Path(given)):
            raise InputError(f"{written} is read here, so it is not replaced; give another name.")


def same_file(first: Path, other: Path) -> bool:
    """Whether two paths lead to one file that is there."""
    return first.exists() and other.exists() and first.samefile(other)


def former_option(robot: str, option: str | None) -> str:
    """The robot, where it may be given by the option that it once was."""
    if option is None:
        return robot
    note("--robot: the robot is now the first argument.")
    return option


def robot_then_file(given: list[str], option: str | None) -> tuple[str, Path]:
    """The robot, puma560 without one, and the file that follows it."""
    if len(given) > 2:
        raise InputError(f"{' '.join(given)}: expected a robot and a file.")
    robot = given[0] if len(given) == 2 else "puma560"
    return former_option(robot, option), Path(given[-1])


def read_law(name: str, robot: Any, gains: list[str], **options: str | None) -> Law:
    """The law of that name (or module:name) for a robot, with gains such as ``kp=100``; options
    that are None are left out."""
    from appell.control import Law
    from appell.control.laws import law_named
    from appell.control.laws.law import refuse_gains

    kind = imported("--law", name) if ":" in name else law_named(name)
    if not (isinstance(kind, type) and issubclass(kind, Law)):
        raise InputError(f"--law {name}: expected a class derived from appell.control.Law.")
    refuse_gains(kind)
    chosen = {option: x for option, x in options.items() if x is not None}
    known = {field.name: field.default for field in fields(kind)}
    for option, x in chosen.items():
        if option not in known:
            raise InputError(f"--{option} {x}: {name} has no {option}; leave it out.")
    chosen |= _read_gains(name, kind.gains, gains)
    missing = [gain for gain in kind.gains if known[gain] is MISSING and gain not in chosen]
    if missing:
        raise InputError(
            f"{name}: {missing[0]} has no usual value; give it as --gain {missing[0]}=100."
        )
    return kind(robot, **chosen)


def _read_gains(law: str, known: Any, texts: list[str]) -> dict[str, Any]:
    """Numbers, or lists of them, by their names."""
    from appell.control.laws.former_names import present_name

    gains: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        new = present_name(name, known)
        if new != name:
            note(f"{law}: the gain {name} is now called {new}.")
            name = new
        if name not in known or name in gains:
            problem = "is given twice" if name in gains else "is none of its gains"
            raise InputError(f"{law}: {name!r} {problem}; they are {', '.join(known)}.")
        try:
            numbers = [float(x) for x in value.split(",")]
        except ValueError:
            raise InputError(
                f"{law}: {text!r}; expected a number or several, such as {name}=100 or {name}=1,2."
            ) from None
        gains[name] = numbers if len(numbers) > 1 else numbers[0]
    return gains


@contextmanager
def own_output(apart: bool) -> Iterator[None]:
    """Keep what code of the user's prints apart from the results: on the standard error output."""
    with redirect_stdout(sys.stderr) if apart else nullcontext():
        yield


def note(text: str) -> None:
    """Tell something beside the results, on the standard error output."""
    typer.secho("note: ", fg="yellow", bold=True, nl=False, err=True)
    typer.echo(text, err=True)


def imported(option: str, name: str) -> Any:
    """What an option names as module:name; modules are also those of the working folder."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise InputError(f"{option} {name}: {problem}; expected module:name.") from None
    finally:
        sys.path.remove("")
    sys.path.append(str(Path.cwd()))  # for the process of the control loop
    return thing
