"""What a robot is, as a table: its joints, the links they carry, limits and masses."""

from __future__ import annotations

from math import isinf
from typing import Any

from appell.errors import shorten
from appell.model.model import BASE, Body, Compound, Joint, Model

_HEAD = (
    "q", "joint", "kind", "limits", "speed", "effort", "spring", "friction", "from", "link", "kg",
    "fixed to it",
)  # fmt: skip


def model_table(model: Model) -> str:
    """A line on the whole, and one on each joint in the order of the coordinates; those that mimic
    others stand last."""
    base = "free base" if model.free and model.frames[0].body != BASE else "fixed base"
    mass = sum(float(body.mass) for body in model.links.values())
    g = ", ".join(f"{float(x):g}" for x in model.gravity)
    title = (
        f"{model.name}: {base}, {model.nq} coordinates, {model.nv} speeds, {len(model.frames)} "
        f"links, {mass:.4g} kg moving, gravity ({g}) m/s^2"
    )
    if model.tip:
        title += f", tip {model.tip}"
    compounds = {c.last: c for c in model.compounds}
    rows = [_row(model, i, body, compounds.get(i)) for i, body in model.links.items()]
    rows.sort(key=lambda row: row[0])
    table = [_HEAD, *(row[1] for row in rows)]
    told = [k for k in range(len(_HEAD)) if any(row[k] for row in table[1:])]
    width = {k: max(len(row[k]) for row in table) for k in told}
    lines = ["  ".join(row[k].ljust(width[k]) for k in told) for row in table]
    return "\n".join([title, *(line.rstrip() for line in lines)])


def _row(
    model: Model, i: int, body: Body, compound: Compound | None
) -> tuple[tuple[bool, int], tuple[str, ...]]:
    """Its place among the rows, and its cells."""
    first = model.bodies[compound.body] if compound else body
    above = (
        model.frames[0] if first.parent == BASE else model.frame(model.bodies[first.parent].name)
    )
    carried = [f.name for f in model.frames if f.body == i and f.name != body.name]
    ends = "" if above.name == body.name else above.name
    link = (ends, body.name, f"{float(body.mass):.4g}", shorten(", ".join(carried), 40))
    if compound:
        start = compound.speed + sum(c.speed < compound.speed for c in model.compounds)
        places = f"{start}-{start + compound.size}"
        kind = "free" if compound.free else "spherical"
        return (False, compound.speed), (places, compound.name, kind, *[""] * 5, *link)
    joint, leader = body.joint, model.joints[body.coordinate]
    unit = "rad" if joint.screw.angle else "m"
    kind = f"helical {float(joint.pitch):g} m/rad" if joint.kind == "helical" else joint.kind
    limits = ""
    if not (isinf(joint.lower) and isinf(joint.upper)):
        limits = f"{joint.lower:.4g} .. {joint.upper:.4g} {unit}"
    speed = _bounded(joint.speed, f"{unit}/s")
    effort = _bounded(joint.effort, "N m" if joint.screw.angle else "N")
    follows = leader.name != joint.name
    place = str(model.place(body.coordinate))
    if follows:
        place, kind = "", f"{kind}, {float(body.ratio):g} {leader.name} + {float(body.zero):g}"
    drive = (speed, effort, _spring(joint, unit), _friction(joint))
    cells = (place, joint.name, kind, limits, *drive, *link)
    return (follows, body.coordinate), cells


def _spring(joint: Joint, unit: str) -> str:
    if joint.stiffness == 0:
        return ""
    stiff = "N m/rad" if joint.screw.angle else "N/m"
    return f"{float(joint.stiffness):.4g} {stiff} at {float(joint.rest):.4g} {unit}"


def _friction(joint: Joint) -> str:
    """Viscous and Coulomb friction, as of v and of sign v."""
    parts = [f"{float(joint.viscous):.4g} v"] if joint.viscous != 0 else []
    if joint.coulomb_backwards is not None:
        parts.append(f"{float(joint.coulomb):.4g} forwards, {float(joint.backwards):.4g} backwards")
    elif joint.coulomb != 0:
        parts.append(f"{float(joint.coulomb):.4g} sign v")
    return " + ".join(parts)


def _bounded(x: Any, unit: str) -> str:
    return "" if isinf(x) else f"{float(x):.4g} {unit}"
