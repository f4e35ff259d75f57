"""``appell info``: what a robot is: its joints, limits, masses, frames, loops and quantities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.app import app, example
from appell.cli.options import (
    Json,
    Loops,
    RobotName,
    free_path,
    load_robot,
    quiet_option,
    verbose_option,
)
from appell.cli.tables import print_json, print_table

_MOMENTS = ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@app.command(
    epilog=example(
        "appell info five_bar",
        "appell info puma560 --picture puma560.svg",
        "appell info puma560 --json",
    )
)
def info(
    robot: RobotName,
    loops: Loops = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Also draw the robot to this .svg file; if it is there, a number is added."
        ),
    ] = None,
    quiet: Annotated[bool, quiet_option("one line only, and the picture's path")] = False,
    verbose: Annotated[
        bool, verbose_option("each link's centre of mass (m) and inertia about it (kg m^2)")
    ] = False,
    as_json: Json = False,
) -> None:
    """Describe a robot: joints with limits, masses, frames, loops, and what it can compute."""
    arm = load_robot(robot, loops)
    facts = facts_of(arm)
    drawn = None if picture is None else _draw(arm, picture)
    if as_json:
        print_json(facts if drawn is None else facts | {"picture": str(drawn)})
        return
    if quiet:
        typer.echo(f"{arm.name}: {arm.nv} degrees of freedom")
    else:
        _print_facts(arm, facts)
        if verbose and "joints" in facts:
            _print_inertias(facts["joints"])
    if drawn is not None:
        typer.echo(drawn if quiet else f"Picture: {drawn}")


def _draw(robot: Any, wanted: Path) -> Path:
    """Write the picture of a robot, and give the path that it has."""
    from appell.errors import InputError
    from appell.show.film_page import picture_svg
    from appell.whole_file import write_whole

    if wanted.suffix.lower() != ".svg":
        raise InputError(f"--picture {wanted}: expected the name of an .svg file.")
    path = free_path(wanted)
    write_whole(path, picture_svg(robot))
    return path


def _print_facts(robot: Any, facts: dict[str, Any]) -> None:
    typer.echo(_described(robot))
    typer.echo(f"Frames: {', '.join(facts['frames'])}")
    typer.echo(f"Speeds: {', '.join(facts['speeds'])}")
    typer.echo(f"Actuators: {', '.join(facts['actuators']) or 'none'}")
    for loop in facts["loops"]:
        typer.echo(f"Loop: {loop}")
    typer.echo(f"Answers: {', '.join(facts['answers'])}")


def _print_inertias(joints: list[dict[str, Any]]) -> None:
    rows = [
        [
            x["link"],
            f"{x['mass']:.4g}",
            ", ".join(f"{y:.4g}" for y in x["centre_of_mass"]),
            ", ".join(f"{y:.4g}" for y in x["inertia"].values()),
        ]
        for x in joints
    ]
    print_table(["link", "mass", "centre of mass", ", ".join(_MOMENTS)], rows)


def facts_of(robot: Any) -> dict[str, Any]:
    """What a robot is, as plain values; limits that a joint does not have are None."""
    from appell.model.model import Model

    model = robot.model
    loops = getattr(robot, "constraints", ())
    facts = {
        "name": robot.name,
        "coordinates": robot.nq,
        "degrees_of_freedom": robot.nv,
        "free_base": bool(getattr(model, "free", False)),
        "gravity": [float(x) for x in model.gravity],
        "frames": list(robot.link_names),
        "speeds": list(robot.independent),
        "actuators": _motors(robot),
        "loops": [f"{type(x).__name__} '{x.name}'" for x in loops],
        "answers": [name for name in robot.system.quantities if name not in ("motion", "flow")],
    }
    if isinstance(model, Model):
        several = {c.last: c for c in model.compounds}
        facts["mass"] = sum(float(body.mass) for body in model.links.values())
        facts["joints"] = [_joint(body, several.get(i)) for i, body in model.links.items()]
    return facts


def _motors(robot: Any) -> list[str]:
    """What is driven; a free base, to which forces can be given, has no motors."""
    from appell.robots.robot import is_tree

    floating = is_tree(robot) and robot.model.free
    return list(robot.actuated[6:] if floating else robot.actuated)


def _joint(body: Any, compound: Any) -> dict[str, Any]:
    from appell.model.units import units_of

    link = {
        "link": body.name,
        "mass": float(body.mass),
        "centre_of_mass": [float(x) for x in body.inertia.com],
        "inertia": dict(zip(_MOMENTS, map(float, body.inertia.central), strict=True)),
    }
    if compound is not None:  # several at once
        return {
            "joint": compound.name,
            "kind": "free" if compound.free else "spherical",
            **link,
        }
    joint = body.joint
    (unit,) = units_of([joint.kind], 1)
    return {
        "joint": joint.name,
        "kind": joint.kind,
        **link,
        "lower": float(joint.lower),
        "upper": float(joint.upper),
        "speed": float(joint.speed),
        "effort": float(joint.effort),
        "units": {"position": unit.position, "speed": unit.speed, "effort": unit.force},
    }


def _described(robot: Any) -> str:
    """The table of a robot's joints; of a closed robot that of its tree, with a line on it."""
    from appell.model.model import Model
    from appell.model.model_table import model_table

    text = str(robot)
    if isinstance(robot.model, Model) and "\n" not in text:
        text = f"{text[1:-1]}\n{model_table(robot.model)}"
    return text
