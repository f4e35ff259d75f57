"""What a motion asks beyond the limits of a robot's joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.model.model import Body, Model
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


class _Limit(NamedTuple):
    """A limit of a joint's position or speed, which is a number of the state y = (q, v)."""

    quantity: str
    unit: str
    limit: float
    column: int  # of y
    ratio: float
    zero: float
    side: int  # -1: a lower limit, 1: an upper one, 0: of the absolute value

    def value(self, y: Array) -> Array:
        """The number in states, (..., ny)."""
        x = self.ratio * y[..., self.column] + self.zero
        return x if self.side else np.abs(x)

    def beyond(self, y: Array) -> Array:
        """How far it is beyond the limit."""
        if self.side:
            return self.side * (self.value(y) - self.limit) - _BEYOND
        return self.value(y) - self.limit * (1 + _ROUNDING)


def _limits(body: Body, place: int, n: int) -> tuple[_Limit, ...]:
    joint = body.joint
    (unit,) = units_of([joint.kind], 1)
    at = place, body.ratio, body.zero
    return (
        _Limit("position", unit.position, joint.lower, *at, -1),
        _Limit("position", unit.position, joint.upper, *at, 1),
        _Limit("speed", unit.speed, joint.speed, n + body.coordinate, body.ratio, 0.0, 0),
    )


def exceeded(
    robot: Dynamics, t: Array, q: Array, speeds: Array, tau: Array, pieces: Sequence[Piece]
) -> tuple[Exceeded, ...]:
    """The limits that a motion exceeds: positions and speeds of all joints at its instants and
    at eight places of each step, torques at its instants; and when it first does, which between
    these places is found on the path."""
    model = robot.model
    if not isinstance(model, Model):
        return ()
    forces = dict(zip(robot.actuated, tau.T, strict=False))
    times, q, v = everywhere(t, q, speeds, pieces)
    y, n = np.concatenate([q, v], axis=1), q.shape[1]
    found: list[Exceeded | None] = []
    for body in model.bodies:
        joint = body.joint
        for x in _limits(body, model.place(body.coordinate), n):
            first = _first(
                joint.name, x.quantity, x.unit, x.limit, times, x.value(y), x.beyond(y)
            )  # fmt: skip
            if first is not None:
                first = first._replace(time=_crossing(x, first.time, times, pieces))
            found.append(first)
        if joint.name in forces:
            (unit,) = units_of([joint.kind], 1)
            kind = "force" if unit.force == "N" else "torque"
            force = np.abs(forces[joint.name])
            beyond = force - joint.effort * (1 + _ROUNDING)
            found.append(_first(joint.name, kind, unit.force, joint.effort, t, force, beyond))
    return tuple(x for x in found if x is not None)


def _first(
    joint: str, quantity: str, unit: str, limit: float, times: Array, x: Array, beyond: Array
) -> Exceeded | None:
    """That values x exceed a limit, if they do."""
    out = beyond > 0  # NaN is not
    if not out.any():
        return None
    worst = float(x[np.nanargmax(beyond)])
    return Exceeded(joint, quantity, worst, float(limit), unit, float(times[np.argmax(out)]))


def _crossing(limit: _Limit, end: float, times: Array, pieces: Sequence[Piece]) -> float:
    """When a limit is first exceeded: by halves between the time ``end``, when it is, and the one
    before, if one piece of the path has both."""
    start = float(times[max(0, np.searchsorted(times, end) - 1)])
    piece = next((p for p in pieces if p.start <= start and end <= p.end), None)
    if piece is None or not limit.beyond(piece(end)) > 0:
        return end
    while True:
        middle = (start + end) / 2
        if not start < middle < end:
            return end
        if limit.beyond(piece(middle)) > 0:
            end = middle
        else:
            start = middle


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
