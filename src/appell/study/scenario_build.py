"""From a scenario to what a run needs: a robot, a law, a trajectory, and options. Nothing moves
here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np

from appell import walls
from appell.control.laws import law_named
from appell.control.laws.former_names import present_name
from appell.control.laws.law import Law
from appell.control.tracking.hardware import Adc, Friction, Motor
from appell.errors import InputError, nearest
from appell.robots.closed.side_file import close_by_file
from appell.robots.dynamics import Dynamics
from appell.robots.registry import load
from appell.robots.spherical.spherical_robot import SphericalRobot
from appell.study.disturbances import disturbances_of
from appell.study.own_code import imported
from appell.study.positions import Positions, positions_of
from appell.study.puma_line import PumaLine
from appell.study.scenario import LawSection, Located, Payload, Scenario, is_file
from appell.study.scenario_tasks import FallTask, FollowedTask, TorqueTask
from appell.study.section import Section
from appell.study.task_motion import motion_of


@dataclass(frozen=True, eq=False)
class Built:
    """What a run needs. ``options`` are those of `appell.control.track` where there is a
    law, else of `appell.simulate`."""

    scenario: Scenario
    robot: Dynamics
    law: Law | None
    trajectory: Any  # a Trajectory, or a set point, where there is a law
    options: Mapping[str, Any]
    motors: Any = None  # without a law: torques of the motors, disturbances apart, as simulate's


def build(scenario: Scenario, robot: Dynamics | None = None) -> Built:
    """The robot, the law, the trajectory and the options that a scenario describes; nothing moves.

    Args:
        scenario: What to do.
        robot: Its robot, where that has been made before.

    Returns:
        A `Built`.

    Examples:
        >>> task = {"kind": "fall", "until": 0.5}
        >>> fall = appell.study.Scenario(robot="planar_chain", task=task)
        >>> appell.study.build(fall).robot.nv
        3
    """
    task = scenario.task
    robot = robot or robot_of(scenario)
    if isinstance(task, PumaLine):
        _refuse_sections(scenario, "puma_line", _ALL)
        if scenario.angles != "degrees" and "orientation" in task.said:
            raise Located(
                f"{scenario.source.place(('task', 'orientation'))} is in degrees; say so by "
                "angles = 'degrees'."
            )
        return Built(scenario, robot, None, None, {"formulation": scenario.integrator.formulation})
    places = positions_of(scenario, robot)
    q0, v0 = places.start()
    if isinstance(task, FollowedTask):
        law = law_of(scenario, robot)
        with scenario.at("task"):
            trajectory, begin = motion_of(places, task, q0)
        _refuse_unknown(scenario, robot)
        end = task.until or trajectory.duration
        options = _tracked(scenario, robot, places, end)
        options |= {"q0": begin, "v0": v0, "until": task.until}
        return Built(scenario, robot, law, trajectory, options)
    robot = _rubbed(scenario, robot)
    motors = _torque(scenario, robot)
    options = {**_simulated(scenario, robot, motors), "q0": q0, "v0": v0, "until": task.until}
    return Built(scenario, robot, None, None, options, motors)


# The robot and the law


def robot_of(scenario: Scenario, *, believed: bool = False) -> Dynamics:
    """The robot of a scenario, or the one that its law believes to move."""
    section, folder = scenario.robot, scenario.source.folder
    model = section.model
    if is_file("robot.model", model):
        model = str(folder / Path(model).expanduser())
    given = {name: getattr(section, name) for name in ("base", "root", "mimic")}
    options = {name: x for name, x in given.items() if x is not None} | section.options
    with scenario.at("robot", "model"):
        robot = load(model, **options)
    if section.locked:
        with scenario.at("robot", "locked"):
            _refuse_limbs(robot, "joints that can be locked")
            robot = robot.locked(positions_of(scenario, robot).held(section.locked))
    if section.loops is not None:
        with scenario.at("robot", "loops"):
            robot = close_by_file(robot, folder / Path(section.loops).expanduser())
    return _changed(scenario, robot, believed)


def _changed(scenario: Scenario, robot: Any, believed: bool) -> Any:
    """The robot with another gravity, armature and payload."""
    own = scenario.robot
    other = scenario.law.believes if believed and scenario.law else None
    table = ("law", "believes") if other else ("robot",)
    gravity = other.gravity if other and other.gravity else own.gravity
    armature = own.armature | (other.armature if other else {})
    payload: Payload | None = own.payload if not other or other.payload is None else other.payload
    if other and other.scale != 1:  # before what is given in numbers, which stays as given
        with scenario.at(*table, "scale"):
            robot = robot.with_parameters(other.scale * robot.parameters)
    with scenario.at(*table, "gravity"):
        robot = robot if gravity is None else robot.with_gravity(gravity)
    if armature:
        with scenario.at(*table, "armature"):
            _refuse_limbs(robot, "armature (rotors)")
            robot = robot.with_armature(armature)
    if own.springs:
        with scenario.at("robot", "springs"):
            _refuse_limbs(robot, "springs")
            robot = robot.with_springs(positions_of(scenario, robot).springs(own.springs))
    if payload is not None and payload.mass > 0:
        with scenario.at(*table, "payload"):
            if payload.link:
                _refuse_limbs(robot, "payload.link: a payload is on its platform")
            load = (payload.mass, payload.com, payload.inertia)
            robot = robot.with_payload(*load, **({"link": payload.link} if payload.link else {}))
    return robot


def _refuse_limbs(robot: Any, what: str) -> None:
    """Refuse what spherical parallel robots have not."""
    if isinstance(robot, SphericalRobot):
        raise InputError(
            f"'{robot.name}' is a spherical parallel robot, which has no {what}; leave it out."
        )


def law_of(scenario: Scenario, robot: Dynamics) -> Law:
    """The law of a scenario, for the robot that it believes to move: the one that does, unless the
    scenario says otherwise."""
    section = scenario.law or LawSection.model_validate({})
    with scenario.at("law", "name"):
        kind = law_named(section.name) if ":" not in section.name else None
        kind = kind or imported(section.name, scenario.source.folder)
        if not (isinstance(kind, type) and issubclass(kind, Law)):
            raise InputError(f"'{section.name}': expected a class derived from appell.control.Law.")
    known = [f.name for f in fields(kind) if f.init and f.name not in ("robot", "formulation")]
    given = _present_names(scenario, section, known)
    for name in given:
        if name not in known:
            near = nearest(name, known)
            cure = f"did you mean {near!r}?" if near else f"expected one of {', '.join(known)}."
            place = scenario.source.place(("law", name))
            raise Located(f"{place}: {section.name} has no such gain; {cure}")
    options = {} if section.formulation is None else {"formulation": section.formulation}
    believed = robot_of(scenario, believed=True) if section.believes.said else robot
    with scenario.at("law"), scenario.at("law", "formulation", about=" has no formulation "):
        try:
            return kind(believed, **given, **options)
        except TypeError as problem:  # a gain without a usual value
            raise InputError(f"{section.name}: {problem}; give it.") from None


def _present_names(scenario: Scenario, section: LawSection, known: Sequence[str]) -> dict[str, Any]:
    """The gains of a law by the names that they have now; a former one is warned of."""
    gains: dict[str, Any] = {}
    for name, x in (section.model_extra or {}).items():
        new = present_name(name, known)
        if new != name:
            place = scenario.source.place(("law", name))
            if new in (section.model_extra or {}):
                raise Located(f"{place} is now called {new}, which is there, too; leave it out.")
            warn(f"{place}: the gain {name} is now called {new}", DeprecationWarning, stacklevel=2)
        gains[new] = x
    return gains


# Options


def _rubbed(scenario: Scenario, robot: Any) -> Any:
    """The robot with the friction that a scenario without a law gives its joints."""
    section = scenario.robot.friction
    if isinstance(section, bool):
        return robot
    with scenario.at("robot", "friction"):
        if section.stiction is not None:
            raise InputError(
                "stiction is for runs under a law; without one, a joint at rest is held by its "
                "coulomb friction: leave stiction out."
            )
        names = rubbing_joints(robot)
        if not names:
            raise InputError(f"'{robot.name}' has no joints that can have friction; leave it out.")
        levels = {
            what: dict(zip(names, _each(what, x, names), strict=True))
            for what, x in section.model_dump().items()
            if x is not None
        }
        return robot.with_friction(**levels)


def rubbing_joints(robot: Any) -> list[str]:
    """The joints whose friction a scenario without a law gives, in the order of its numbers."""
    driven = getattr(robot.model, "driven", {}).values()
    return [body.joint.name for body in driven if body.joint.name in robot.independent]


def _each(what: str, x: float | tuple[float, ...], names: Sequence[str]) -> Sequence[float]:
    """One number per joint, of one for all or of as many."""
    if not isinstance(x, tuple):
        return [x] * len(names)
    if len(x) != len(names):
        raise InputError(
            f"{what} has {len(x)} numbers; expected one, or {len(names)}: {', '.join(names)}."
        )
    return x


def _simulated(scenario: Scenario, robot: Any, motors: Any) -> dict[str, Any]:
    """The options of appell.simulate, but for the start and the end."""
    _refuse_sections(scenario, scenario.task.kind, ("law", "sampling", "sensors", "actuators"))
    for name in ("max_error", "final_error"):
        if name in scenario.expect.said:
            place = scenario.source.place(("expect", name))
            raise Located(f"{place}: not with {scenario.task.kind}, which follows nothing.")
    contacts, integrator = scenario.contacts, scenario.integrator
    until = getattr(scenario.task, "until", None)
    pushes = disturbances_of(scenario, robot, np.inf if until is None else until)
    return {
        **{name: getattr(contacts, name) for name in type(contacts).model_fields},
        **{name: getattr(integrator, name) for name in type(integrator).model_fields},
        "walls": [_wall(scenario, k) for k in range(len(scenario.walls))],
        "friction": scenario.robot.friction is not False,
        "torque": pushes.torque(motors),
        "forces": pushes.forces,
        "axes": pushes.axes,
        "breakpoints": pushes.breakpoints,
    }


def _torque(scenario: Scenario, robot: Dynamics) -> Any:
    """What the motors give: None, (actuators,), or a function."""
    task = scenario.task
    if isinstance(task, FallTask):
        return None
    assert isinstance(task, TorqueTask)
    with scenario.at("task", "torque"):
        if isinstance(task.torque, str):
            return imported(task.torque, scenario.source.folder)
        if not isinstance(task.torque, dict):
            return np.array(task.torque)
        tau = np.zeros(len(robot.actuated))
        for name, x in task.torque.items():
            if name not in robot.actuated:
                raise InputError(
                    f"'{name}' is no actuated joint of '{robot.name}'; expected "
                    f"{', '.join(robot.actuated) or 'none: it has no actuators'}."
                )
            tau[robot.actuated.index(name)] = x
    return tau


def _tracked(scenario: Scenario, robot: Any, places: Positions, end: float) -> dict[str, Any]:
    """The options of appell.control.track for a run that ends at a time, but for the start and the
    end."""
    struck = ("stops", "stop_restitution", "restitution", "mu", "points")
    _refuse_entries(scenario, "contacts", struck)
    _refuse_entries(scenario, "integrator", ("method", "formulation"))
    sensors, actuators, friction = scenario.sensors, scenario.actuators, scenario.robot.friction
    period = scenario.sampling.period
    pushes = disturbances_of(scenario, robot, period * np.ceil(end / period - 1e-9))
    motor = actuators.motor
    return {
        "period": period,
        "delay": scenario.sampling.delay,
        "encoder": sensors.encoder,
        "adc": None if sensors.adc is None else _converter(scenario, places),
        "speeds": sensors.speeds,
        "torque_limit": actuators.torque_limit or None,
        "motor": None if motor is None else Motor(**motor.model_dump()),
        "friction": friction if isinstance(friction, bool) else Friction(**friction.model_dump()),
        "external": pushes.external,
        "forces": pushes.forces,
        "axes": pushes.axes,
        "breakpoints": pushes.breakpoints,
        "formulation": scenario.integrator.formulation,
        "method": scenario.integrator.method,
        "walls": [_wall(scenario, k) for k in range(len(scenario.walls))],
        **{name: getattr(scenario.contacts, name) for name in struck},
    }


def _converter(scenario: Scenario, places: Positions) -> Adc:
    section = scenario.sensors.adc
    assert section is not None
    names = places.robot.independent
    ends: dict[str, Any] = {}
    with scenario.at("sensors", "adc"):
        for name in ("low", "high"):
            given = getattr(section, name)
            if given is not None:
                x = places.scale * _each(name, given, names)
                ends[name] = float(x[0]) if (x == x[0]).all() else x
        return Adc(section.bits, **ends)


def _wall(scenario: Scenario, k: int) -> walls.Wall:
    section = scenario.walls[k]
    kind: Callable[..., walls.Wall] = getattr(walls, section.kind.title())
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    given = {name: x for name, x in section.said.items() if name != "kind"}
    for name in given:
        if name not in known:
            place = scenario.source.place(("walls", k, name))
            raise Located(
                f"{place}: a {section.kind} has no such entry; expected one of {', '.join(known)}."
            )
    with scenario.at("walls", k):
        if section.function is not None:
            given["function"] = imported(section.function, scenario.source.folder)
        try:
            return kind(**given)
        except TypeError as problem:
            raise InputError(f"{section.kind}: {problem}.") from None


# Refusals


def _refuse_unknown(scenario: Scenario, robot: Dynamics) -> None:
    """Bounds of errors of joints that no law moves."""
    for entry in ("max_error", "final_error"):
        bound = getattr(scenario.expect, entry)
        for name in bound if isinstance(bound, Mapping) else ():
            if name not in robot.independent:
                known = ", ".join(robot.independent)
                place = scenario.source.place(("expect", entry, name))
                raise Located(f"{place}: '{robot.name}' has no such joint; expected {known}.")


_ALL = ("start", "law", "sampling", "sensors", "actuators", "disturbances", "walls", "contacts",
        "expect")  # fmt: skip
_WHY = {
    "law": "no law moves the robot there; leave it out, or choose another task",
}


def _refuse_sections(scenario: Scenario, what: str, names: tuple[str, ...]) -> None:
    """Sections that would have no effect."""
    said = scenario.said
    for name in names:
        if name in said:
            why = _WHY.get(name, "it would have no effect; leave it out")
            raise Located(f"{scenario.source.place((name,))}: not with {what}: {why}.")


# Under a law a motion is computed from sample to sample.
_FINE = "between samples the motion is computed to 1e-11, whatever it takes; leave it out"
_WHY_NOT = {
    "rtol": _FINE,
    "atol": _FINE,
    "max_step": "no step is longer than a sample; make [sampling] period shorter",
    "max_steps": "up to 2000 steps are taken in every sample; leave it out",
    "singular": "a run ends at the usual distance from a singular configuration; leave it out",
    "law": "what is struck under a law is thrown back by Newton's rule; leave it out",
    "gap": "contacts are kept to 1e-6 m; leave it out",
    "max_impacts": "up to 10000 impacts are computed in every sample; [expect] max_impacts makes "
    "many a failure",
}


def _refuse_entries(scenario: Scenario, name: str, allowed: tuple[str, ...]) -> None:
    """Entries of a section that would have no effect under a law."""
    section: Section = getattr(scenario, name)
    for entry in section.said:
        if entry not in allowed:
            place = scenario.source.place((name, entry))
            raise Located(
                f"{place}: not with a law: {_WHY_NOT[entry]}. Of [{name}] a law takes "
                f"{', '.join(allowed)}."
            )
