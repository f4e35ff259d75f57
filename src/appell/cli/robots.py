"""``appell list`` and ``appell check``: the robots there are, and whether one is right."""

from __future__ import annotations

from typing import Annotated

import typer

from appell.cli.app import app
from appell.cli.tables import print_table, summary
from appell.errors import ModelError


@app.command("list")
def list_robots() -> None:
    """List the robots of the library, and of the package example-robot-data."""
    from appell.model.library.example_robots import EXAMPLES, PACKAGE, example_file
    from appell.robots.registry import makers

    rows = [[name, str(make().nv), summary(make)] for name, make in makers().items()]
    print_table(["robot", "degrees of freedom", "what it is"], rows, left=(0, 2))
    try:
        example_file("ur5")
    except ModelError:
        print(f"{len(EXAMPLES)} more robots, such as panda, ur5 and talos: pip install {PACKAGE}")
        return
    files = [[x, "free" if y.free else "fixed", y.file] for x, y in EXAMPLES.items()]
    print_table(["robot", "base", f"its file in {PACKAGE}"], files, left=(0, 1, 2))


@app.command()
def check(
    robot: Annotated[str, typer.Argument(help="A name of the library, or a .urdf file.")],
    states: Annotated[int, typer.Option(min=1, help="How many random states.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Which random states.")] = 0,
) -> None:
    """Check a robot's compiled equations against the laws of physics."""
    from appell.robots.registry import load

    checks = load(robot).selfcheck(states, seed)
    rows = [
        [c.law, f"{c.error:.1e}", f"{c.bound:.0e}", "yes" if c.passed else "[red]no[/]"]
        for c in checks
    ]
    print_table(["law", "error", "bound", "holds"], rows)
    if not all(c.passed for c in checks):
        raise typer.Exit(1)
