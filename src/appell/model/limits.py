"""The limits of a robot's joints, as limits of its coordinates."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from appell.model.model import Model


class Limit(NamedTuple):
    """A joint's limit. Of its coordinate q, side * (q - value) is positive within it; a joint that
    mimics another has the coordinate of that one, and reads ``number`` there."""

    joint: str
    which: str  # "lower" or "upper"
    number: float
    coordinate: int  # in q
    value: float
    side: int

    def __str__(self) -> str:
        return f"the {self.label} {self.number:g} of joint '{self.joint}'"

    @property
    def label(self) -> str:
        return f"{self.which} limit"

    def beyond(self, q: Any) -> Any:
        """How far coordinates (..., nq) are beyond it; negative within."""
        return -self.side * (q[..., self.coordinate] - self.value)


def limits(model: Model) -> tuple[Limit, ...]:
    """All finite limits of a robot's joints, those that mimic others included."""
    found = []
    for body in model.bodies:
        joint, coordinate = body.joint, model.place(body.coordinate)
        for which, number, side in (("lower", joint.lower, 1), ("upper", joint.upper, -1)):
            if not isfinite(number) or body.ratio == 0:
                continue
            value = (float(number) - body.zero) / body.ratio
            turned = side if body.ratio > 0 else -side
            found.append(Limit(joint.name, which, float(number), coordinate, value, turned))
    return tuple(found)
