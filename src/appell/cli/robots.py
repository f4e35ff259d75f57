"""``appell list`` and ``appell check``: the robots there are, and whether one is right."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

import typer

from appell.cli.app import app, example
from appell.cli.options import (
    Json,
    Loops,
    QuietNames,
    RobotName,
    load_robot,
    quiet_option,
    verbose_option,
)
from appell.cli.tables import print_json, print_table, summary


@app.command("list", epilog=example("appell list", "appell list --json"))
def list_robots(
    quiet: QuietNames = False,
    verbose: Annotated[bool, verbose_option("where the files of the package are")] = False,
    as_json: Json = False,
) -> None:
    """List the robots of the library, and of the package example-robot-data."""
    from appell.model.library.example_robots import EXAMPLES, PACKAGE, packaged_file
    from appell.robots.registry import makers

    if quiet and not as_json:
        print("\n".join([*makers(), *(EXAMPLES if packaged_file("ur5") else ())]))
        return
    rows = [[name, str(make().nv), summary(make)] for name, make in makers().items()]
    if as_json:
        own = [
            {"robot": name, "degrees_of_freedom": int(nv), "what": what} for name, nv, what in rows
        ]
        others = [
            {"robot": x, "free_base": y.free, "package": PACKAGE} for x, y in EXAMPLES.items()
        ]
        print_json([*own, *others])
        return
    print_table(["robot", "degrees of freedom", "what it is"], rows, left=(0, 2))
    if packaged_file("ur5") is None:
        print(f"{len(EXAMPLES)} more robots, such as panda, ur5 and talos: pip install {PACKAGE}")
        return
    files = [
        [x, "free" if y.free else "fixed", str(packaged_file(x)) if verbose else y.file]
        for x, y in EXAMPLES.items()
    ]
    print_table(["robot", "base", f"its file in {PACKAGE}"], files, left=(0, 1, 2))


@app.command(epilog=example("appell check puma560"))
def check(
    robot: RobotName,
    states: Annotated[int, typer.Option(min=1, help="Number of random states.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    loops: Loops = None,
    quiet: Annotated[bool, quiet_option("only the laws that do not hold")] = False,
    verbose: Annotated[
        bool, verbose_option("how many states were tried, and how long it took")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a robot's compiled equations against the laws of physics.

    Status 1 if one does not hold.
    """
    began = perf_counter()
    checks = load_robot(robot, loops).selfcheck(states, seed)
    rows = [
        [c.law, f"{c.error:.1e}", f"{c.bound:.0e}", "yes" if c.passed else "no"]
        for c in checks
        if not (quiet and c.passed)
    ]
    if as_json:
        fields = ("law", "error", "bound", "passed")
        print_json([{name: getattr(c, name) for name in fields} for c in checks])
    elif rows:
        print_table(["law", "error", "bound", "holds"], rows)
    if verbose and not as_json:
        typer.echo(f"{states} random states, seed {seed}: {perf_counter() - began:.1f} s.")
    if not all(c.passed for c in checks):
        raise typer.Exit(1)
