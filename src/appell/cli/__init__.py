"""The command ``appell``, a file for each thing that it does."""

from appell.cli import reproduce, robots, run  # noqa: F401  (each adds its commands)
from appell.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    app()
