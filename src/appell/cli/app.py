"""The command ``appell``, to which the other files here add what it does."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from appell import __version__
from appell.errors import AppellError

INTERRUPTED = 130  # the status of a command that Control-C ends, as shells have it


# Commands as help lists them, in the order in which a newcomer needs them.
ORDER = (
    "list", "info", "view", "new", "run", "control", "identify", "sweep", "tune", "export",
    "check", "reproduce",
)  # fmt: skip


class _Commands(TyperGroup):
    """Shows what Appell or the system refuses as one message, with exit status 2, and what
    Control-C ends with 130."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        _print_any_name()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except BrokenPipeError:  # who read the output has enough
            raise typer.Exit(1) from None
        except (AppellError, OSError) as problem:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo(problem, err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted: what was under way is not kept.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
            typer.echo("there is not enough memory for so much; ask for less.", err=True)
            raise typer.Exit(2) from None


def _print_any_name() -> None:
    """Let the output escape what it cannot encode, such as names of files that are not UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _show_warning(message: Warning | str, *_where: Any, **_line: Any) -> None:
    """A warning for users of the command, who need not know where in the code it was given."""
    typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
    typer.echo(message, err=True)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def example(*lines: str) -> str:
    """The end of a command's help: examples, which a test runs."""
    return "Example: " + "; ".join(lines)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"appell {__version__}")
        raise typer.Exit


@app.callback()
def appell(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Robot dynamics by the Gibbs-Appell equations."""
