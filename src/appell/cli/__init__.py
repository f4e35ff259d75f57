"""The command ``appell``, a file for each thing that it does."""

import sys

from appell.cli import (  # noqa: F401  (each adds its commands)
    control,
    control_teach,
    control_trials,
    export,
    identify,
    info,
    new,
    reproduce,
    robots,
    run,
    sweep,
    tune,
    view,
)
from appell.cli.app import INTERRUPTED, app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        app()
    except OSError as problem:  # of help, which is printed before any command begins
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:  # likewise
        sys.stderr.write("Interrupted.\n")
        sys.exit(INTERRUPTED)
