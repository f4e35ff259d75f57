"""Where a robot can be put by hand: its independent joints, moved one at a time or together.

Loops stay closed, and joints that mimic others follow. Where a robot cannot go, it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from appell.errors import AppellError, InputError
from appell.model.configuration import random
from appell.model.limits import limits
from appell.model.model import Compound, Model
from appell.model.shapes import Array
from appell.model.units import Units
from appell.robots.dynamics import Dynamics
from appell.robots.robot import is_tree
from appell.show.viewer.read_outs import units_of_speeds


class Knob(NamedTuple):
    """A speed that can be moved by hand: the place of its coordinate in q (None where it has none
    of its own), and from where to where, in rad or m."""

    name: str
    speed: int
    place: int | None
    units: Units
    low: float
    high: float
    limited: bool


class Postures:
    """The coordinates q of a robot, and how they are changed."""

    def __init__(self, robot: Dynamics, q: Any = None, room: float = 1.0) -> None:
        self.robot, self.room = robot, room
        start = robot.neutral() if q is None else q
        self.q = np.array(start, dtype=float)
        if self.q.shape != (robot.nq,) or not np.isfinite(self.q).all():
            raise InputError(
                f"view: q has shape {self.q.shape}; expected {robot.nq} finite coordinates of "
                f"'{robot.name}'."
            )
        robot.poses(self.q)  # refuses what cannot be
        self.knobs = self._knobs()

    @property
    def handles(self) -> tuple[Compound, ...]:
        """The balls and free bodies that can be turned and moved freely: those of trees."""
        return self.robot.model.compounds if is_tree(self.robot) else ()

    def _knobs(self) -> list[Knob]:
        robot, model = self.robot, self.robot.model
        units = units_of_speeds(robot)
        joints = {name: k for k, name in enumerate(robot.joint_names)}
        held = {k for c in self.handles for k in range(c.speed, c.speed + c.size)}
        knobs = []
        for i, (name, unit) in enumerate(zip(robot.independent, units, strict=True)):
            k = joints[name]
            if k in held:
                continue
            own = not isinstance(model, Model) or model.is_coordinate[k]
            place = (model.place(k) if isinstance(model, Model) else k) if own else None
            low, high, limited = self._range(place, unit.scale != 1.0)
            knobs.append(Knob(name, i, place, unit, low, high, limited))
        return knobs

    def _range(self, place: int | None, turns: bool) -> tuple[float, float, bool]:
        """A coordinate's limits; where it has none, half a turn or some length both ways."""
        half = np.pi if turns else self.room
        now = 0.0 if place is None else float(self.q[place])
        own = limits(self.robot.model) if isinstance(self.robot.model, Model) else ()
        at = [x for x in own if x.coordinate == place]
        wide = half * max(1.0, np.ceil(abs(now) / half))
        low = max((x.value for x in at if x.side > 0), default=-wide)
        high = min((x.value for x in at if x.side < 0), default=wide)
        return min(low, now), max(high, now), bool(at)

    def moved(self, positions: Mapping[int, float]) -> Array:
        """Coordinates with knobs, by number, at these positions."""
        q = self.q.copy()
        if is_tree(self.robot) or not isinstance(self.robot.model, Model):
            for i, x in positions.items():
                q[self.knobs[i].place] = x
            return q
        way = np.zeros(self.robot.nv)
        for i, x in positions.items():
            knob = self.knobs[i]
            way[knob.speed] = x - (0.0 if knob.place is None else q[knob.place])
        return np.asarray(self.robot.integrate(q, way), dtype=float)

    def drawn(self, seed: int | None = None) -> Array:
        """A configuration drawn at random; a free base stays where it is, and slides that have no
        limits stay near."""
        rng = np.random.default_rng(seed)
        if not is_tree(self.robot):
            return np.asarray(self.robot.random(rng), dtype=float)
        q = np.asarray(random(self.robot.model, rng, room=self.room), dtype=float)
        for c in self.handles:
            first = self.robot.model.place(c.speed)
            span = slice(first, first + c.size + 1)
            if c.free:
                q[span] = self.q[span]
        return q

    def go(self, q: Array) -> str | None:
        """Take coordinates; where the robot cannot be there it stays where it is, and the reason is
        returned."""
        try:
            self.robot.gravity(q)
            self.robot.poses(q)
        except AppellError as problem:
            return str(problem)
        self.q = np.array(q, dtype=float)
        return None

    def turn(self, positions: Mapping[int, float]) -> str | None:
        """Move knobs; as `go`."""
        try:
            return self.go(self.moved(positions))
        except AppellError as problem:
            return str(problem)
