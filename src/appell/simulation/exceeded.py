"""What a motion asks beyond the limits of a robot's joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.model.model import Model
from appell.model.units import units_of
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.path import Piece

_ROUNDING = 1e-9  # of a limit
_BEYOND = 1e-6  # rad or m: positions on a stop are within this of it


class Exceeded(NamedTuple):
    """A limit of a joint that a motion exceeds."""

    joint: str
    quantity: str  # "position", "speed", or "torque" ("force" of a joint that slides)
    largest: float  # the value farthest beyond the limit; of speeds and torques, without sign
    limit: float
    unit: str
    time: float  # s, when it is first beyond

    def __str__(self) -> str:
        return (
            f"{self.joint}: {self.quantity} {self.largest:.4g} {self.unit}, beyond its limit of "
            f"{self.limit:.4g} {self.unit}, first at {self.time:.4g} s"
        )


def exceeded(
    robot: Dynamics, t: Array, q: Array, speeds: Array, tau: Array, pieces: Sequence[Piece]
) -> tuple[Exceeded, ...]:
    """The limits that a motion exceeds: positions and speeds of all joints at its instants and
    at eight places of each step; torques at its instants."""
    model = robot.model
    if not isinstance(model, Model):
        return ()
    forces = dict(zip(robot.actuated, tau.T, strict=False))
    times, q, v = everywhere(t, q, speeds, pieces)
    found: list[Exceeded | None] = []
    for body in model.bodies:
        joint = body.joint
        (unit,) = units_of([joint.kind], 1)
        position = body.ratio * q[:, model.place(body.coordinate)] + body.zero
        speed = np.abs(body.ratio * v[:, body.coordinate])
        below, above = joint.lower - position - _BEYOND, position - joint.upper - _BEYOND
        of_position = joint.name, "position", unit.position
        found += [
            _first(*of_position, joint.lower, times, position, below),
            _first(*of_position, joint.upper, times, position, above),
            _first(joint.name, "speed", unit.speed, joint.speed, times, speed),
        ]
        if joint.name in forces:
            kind = "force" if unit.force == "N" else "torque"
            force = np.abs(forces[joint.name])
            found.append(_first(joint.name, kind, unit.force, joint.effort, t, force))
    return tuple(x for x in found if x is not None)


def _first(
    joint: str,
    quantity: str,
    unit: str,
    limit: float,
    times: Array,
    x: Array,
    beyond: Array | None = None,
) -> Exceeded | None:
    """That values x exceed a limit, if they do."""
    beyond = x - limit * (1 + _ROUNDING) if beyond is None else beyond
    out = beyond > 0  # NaN is not
    if not out.any():
        return None
    worst = float(x[np.nanargmax(beyond)])
    return Exceeded(joint, quantity, worst, float(limit), unit, float(times[np.argmax(out)]))


def exceeded_from_json(x: Any) -> Exceeded:
    """One that was kept in a file; refused if it is anything else."""
    joint, quantity, largest, limit, unit, time = x
    return Exceeded(str(joint), str(quantity), float(largest), float(limit), str(unit), float(time))


def everywhere(t: Array, q: Array, v: Array, pieces: Sequence[Piece]) -> tuple[Array, Array, Array]:
    """Times, positions and speeds at the instants and at the nodes of all pieces, in order."""
    nodes = np.concatenate([t[:0], *(p.times for p in pieces)])
    inside = nodes <= np.repeat([p.end for p in pieces], 8) if len(pieces) else nodes > 0
    y = np.concatenate([np.concatenate([q, v], axis=1)[:0], *(p.y for p in pieces)])[inside]
    times = np.concatenate([t, nodes[inside]])
    order = np.argsort(times, kind="stable")
    n = q.shape[1]
    return times[order], np.concatenate([q, y[:, :n]])[order], np.concatenate([v, y[:, n:]])[order]
