"""Units of the fields of a scenario, for tables and charts of what varies and what is tuned."""

from __future__ import annotations

from collections.abc import Iterable

from appell.study.scenario import Scenario

_UNITS = {
    "robot.payload.mass": "kg",
    "robot.payload.com": "m",
    "robot.payload.inertia": "kg m^2",
    "robot.gravity": "m/s^2",
    "robot.armature": "kg m^2 or kg",
    "robot.springs": "N m/rad or N/m",
    "robot.friction.viscous": "N m s/rad or N s/m",
    "robot.friction.coulomb": "N m or N",
    "robot.friction.stiction": "N m or N",
    "law.believes.payload.mass": "kg",
    "law.believes.payload.com": "m",
    "law.believes.gravity": "m/s^2",
    "law.believes.armature": "kg m^2 or kg",
    "sampling.period": "s",
    "sampling.delay": "samples",
    "sensors.encoder": "counts",
    "actuators.torque_limit": "N m or N",
    "task.duration": "s",
    "task.until": "s",
    "task.torque": "N m or N",
}


def common_unit(paths: Iterable[str], scenario: Scenario) -> str:
    """The unit that all of these fields have; empty where they have several, or it is not known."""
    units = {unit_of(path, scenario) for path in paths}
    return units.pop() if len(units) == 1 else ""


def unit_of(path: str, scenario: Scenario) -> str:
    """The unit of a field, where it is known: of gains, it is the law's."""
    angle = "deg" if scenario.angles == "degrees" else "rad"
    keys = path.split(".")
    if keys[0] == "start" and len(keys) > 1:
        return {"q": f"{angle} or m", "v": f"{angle}/s or m/s"}.get(keys[1], "")
    if keys[-1] == "duration":
        return "s"
    ends = (".".join(keys[:n]) for n in range(len(keys), 0, -1))
    return next((_UNITS[x] for x in ends if x in _UNITS), "")
