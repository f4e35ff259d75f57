"""Positions and speeds that a scenario gives by joint or for all joints, in rad and m."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from appell.errors import InputError, did_you_mean
from appell.given import vector
from appell.model.limits import limits
from appell.model.model import Model
from appell.model.units import TURNING, units_of
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Array, Dynamics
from appell.study.scenario import Scenario

Given = Mapping[str, Any] | tuple[float, ...]


@dataclass(frozen=True)
class Positions:
    """How a scenario's numbers become a robot's. ``angle`` is the unit of angles, in rad."""

    scenario: Scenario
    robot: Dynamics
    angle: float

    def start(self) -> tuple[Array, Array | None]:
        """Coordinates (nq,) and speeds (nv,) that the run starts with; no speeds at rest."""
        section, robot = self.scenario.start, self.robot
        q = middle(robot) if section.at == "middle" else robot.neutral()
        with self.scenario.at("start", "q"):
            if section.q is not None:
                q = self._coordinates(section.q, q)
            elif section.at == "middle" and isinstance(robot, ClosedRobot):
                q = robot.assemble(q)
        if section.v is None:
            return q, None
        with self.scenario.at("start", "v"):
            return q, self.speeds(section.v, np.zeros(robot.nv))

    def speeds(self, given: Given, otherwise: Array) -> Array:
        """A number for each independent joint (nv,), of positions or speeds; those not named are
        as ``otherwise``."""
        names, scale = self.robot.independent, self.scale
        if not isinstance(given, Mapping):
            why = f"'{self.robot.name}' has {', '.join(names)}: "
            return scale * vector("the array", given, len(names), why)
        x = otherwise.copy()
        for name, value in given.items():
            k = _place(self.robot, name, names)
            x[k] = scale[k] * _one(name, value)
        return x

    def limits(self, name: str, given: Any) -> Any:
        """Limits of speed or acceleration, one for all joints or one per joint, or None."""
        if given is None or np.ndim(given) == 0:
            return None if given is None else float(given) * self.scale
        names = self.robot.independent
        why = f"'{self.robot.name}' has {', '.join(names)}: one number is for all; "
        return vector(name, given, len(names), why) * self.scale

    @property
    def scale(self) -> Array:
        """The unit of each independent joint's position: that of angles, or 1 m."""
        names = self.robot.independent
        return np.array([self._unit(name) for name in names])

    def held(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Positions by joint for ``robot.locked``."""
        known = self.robot.joint_names
        return {
            name: self._unit(name) * x if name in known and not isinstance(x, tuple) else x
            for name, x in given.items()
        }

    def springs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Springs by joint for ``robot.with_springs``: where they rest is a position."""
        known = self._kinds()
        return {
            name: (x[0], self._unit(name) * x[1]) if isinstance(x, tuple) and name in known else x
            for name, x in given.items()
        }

    def _unit(self, joint: str) -> float:
        return self.angle if units_of([self._kinds()[joint]], 1)[0] is TURNING else 1.0

    def _kinds(self) -> dict[str, str]:
        """The kind of every joint by its name, also of those that mimic others."""
        kinds = dict(zip(self.robot.joint_names, self.robot.joint_kinds, strict=True))
        model = self.robot.model
        bodies = model.bodies if isinstance(model, Model) else ()
        return {body.joint.name: body.joint.kind for body in bodies} | kinds

    def _coordinates(self, given: Given, q: Array) -> Array:
        """All coordinates; loops are closed about them, with the joints that are named held."""
        robot = self.robot
        own = list(robot.system.coordinates)
        if not isinstance(given, Mapping):
            if len(given) == robot.nv != robot.nq and isinstance(robot, ClosedRobot):
                q[own] = self.speeds(given, q[own])
                return robot.assemble(q, list(robot.independent))
            why = f"'{robot.name}' has {robot.nq} coordinates: "
            q = vector("the array", given, robot.nq, why)
            for name, place in coordinate_places(robot).items():
                if place.stop - place.start == 1:
                    q[place] *= self._unit(name)
            return robot.assemble(q) if isinstance(robot, ClosedRobot) else q
        places, held = coordinate_places(robot), []
        for name, value in given.items():
            place = places[list(places)[_place(robot, name, tuple(places))]]
            count = place.stop - place.start
            if count == 1:
                q[place] = self._unit(name) * _one(name, value)
                held.append(name)
            else:
                q[place] = vector(f"'{name}'", value, count, "a position and quaternion xyzw: ")
        return robot.assemble(q, held) if isinstance(robot, ClosedRobot) else q


def coordinate_places(robot: Dynamics) -> dict[str, slice]:
    """Where in q each joint's coordinates are, by its name."""
    model = robot.model
    if not isinstance(model, Model):
        return {name: slice(k, k + 1) for k, name in enumerate(robot.joint_names)}
    places = {
        name: slice(model.place(k), model.place(k) + 1)
        for k, name in enumerate(robot.joint_names)
        if model.is_coordinate[k]
    }
    whole = {
        c.name: slice(model.place(c.speed), model.place(c.speed) + c.size + 1)
        for c in model.compounds
    }
    return whole | places


def positions_of(scenario: Scenario, robot: Dynamics) -> Positions:
    """How this scenario's numbers are meant for a robot."""
    return Positions(scenario, robot, pi / 180 if scenario.angles == "degrees" else 1.0)


def middle(robot: Dynamics) -> Array:
    """The middle of the joints' limits; a joint without two is where it counts from, or at its
    limit."""
    q, low, high = robot.neutral(), np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    for limit in limits(robot.model) if isinstance(robot.model, Model) else ():
        side = low if limit.side > 0 else high
        keep = max if limit.side > 0 else min
        side[limit.coordinate] = keep(side[limit.coordinate], limit.value)
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, (np.where(both, low, 0) + np.where(both, high, 0)) / 2,
                    np.clip(q, low, high))  # fmt: skip


def _place(robot: Dynamics, name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        if name in {body.joint.name for body in getattr(robot.model, "bodies", ())}:
            why = f"joint '{name}' of '{robot.name}' follows others, and cannot be set by itself"
        else:
            why = f"'{robot.name}' has no joint '{name}' here"
        hint = did_you_mean(name, names)
        raise InputError(f"{why}; expected {', '.join(names)}.{hint}")
    return names.index(name)


def _one(name: str, value: Any) -> float:
    if isinstance(value, tuple):
        raise InputError(f"'{name}' = {list(value)}; expected one number.")
    return float(value)
