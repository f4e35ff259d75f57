"""``appell info``: what a robot is: its joints, limits, masses, frames, loops and quantities."""

from __future__ import annotations

from typing import Any

import typer

from appell.cli.app import app, example
from appell.cli.options import Json, RobotName
from appell.cli.tables import print_json


@app.command(epilog=example("appell info five_bar", "appell info puma560 --json"))
def info(robot: RobotName, as_json: Json = False) -> None:
    """Tell what a robot is: joints with limits, masses, frames, loops, and what it answers."""
    from appell.robots.registry import load

    arm = load(robot)
    facts = facts_of(arm)
    if as_json:
        print_json(facts)
        return
    typer.echo(_described(arm))
    typer.echo(f"Frames: {', '.join(facts['frames'])}")
    typer.echo(f"Speeds: {', '.join(facts['speeds'])}")
    typer.echo(f"Actuators: {', '.join(facts['actuators']) or 'none'}")
    for loop in facts["loops"]:
        typer.echo(f"Loop: {loop}")
    typer.echo(f"Answers: {', '.join(facts['answers'])}")


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
        "actuators": list(robot.actuated),
        "loops": [f"{type(x).__name__} '{x.name}'" for x in loops],
        "answers": [name for name in robot.system.quantities if name not in ("motion", "flow")],
    }
    if isinstance(model, Model):
        several = {c.last: c for c in model.compounds}
        facts["mass"] = sum(float(body.mass) for body in model.links.values())
        facts["joints"] = [_joint(body, several.get(i)) for i, body in model.links.items()]
    return facts


def _joint(body: Any, compound: Any) -> dict[str, Any]:
    from appell.model.units import units_of

    link = {"link": body.name, "mass": float(body.mass)}
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
