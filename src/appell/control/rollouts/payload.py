"""What a robot carries, another load in every run, and the link that holds it with its load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from appell.equations.linear import dot
from appell.errors import InputError
from appell.maths.rotation import After, as_matrix
from appell.maths.scalar import sign
from appell.robots.robot import Robot

Numbers = npt.ArrayLike
List = Sequence[Any]
TINY = 1e-30  # kg: where link and load have no mass, neither has a centre of mass


@dataclass(frozen=True)
class Payload:
    """A load that a link carries.

    Attributes:
        mass: kg, one number or one per run; a load without mass is none.
        com: Where it is in the link's frame, m, (3,) or (runs, 3).
        link: The tip without a name.
        inertia: Its moments of inertia about com along the link's axes, kg m^2, (3,) or (runs, 3).

    Examples:
        >>> appell.control.Payload(mass=[0.5, 1.0], com=(0, 0, 0.1)).link is None
        True
    """

    mass: Numbers
    com: Numbers = (0.0, 0.0, 0.0)
    link: str | None = None
    inertia: Numbers = (0.0, 0.0, 0.0)


class Holder(NamedTuple):
    """What holds a load: the number of a link among those with parameters, and the frame in which
    the load is given, as the link sees it: its axes (rows of a rotation) and its origin."""

    link: int
    axes: tuple[tuple[float, ...], ...]
    origin: tuple[float, ...]


def holder_of(robot: Robot, payload: Payload) -> Holder:
    """The link that the load is given for."""
    frame = robot.model.frame(payload.link, "link")
    numbers = list(robot.model.links)
    if frame.body not in numbers:
        raise InputError(f"rollout: payload: the base of '{robot.name}' carries it; name a link.")
    home = robot.model.frame(robot.model.bodies[frame.body].name)
    axes = as_matrix(After(home.R.T, frame.R)).rows
    origin = home.R.T @ (frame.s - home.s)
    return Holder(
        numbers.index(frame.body),
        tuple(tuple(float(x) for x in row) for row in axes),
        tuple(float(x) for x in origin),
    )


def carried(
    holder: Holder, own: tuple[Any, List, List], mass: Any, com: List, moments: List
) -> tuple[Any, list[Any], list[Any]]:
    """Mass, centre of mass and inertia about it of a link and its load together: the sum of both
    inertias, and that of two point masses, m1 m2 / (m1 + m2), apart from each other."""
    m, c, tensor = own
    axes = holder.axes
    place = [x + dot(row, com) for x, row in zip(holder.origin, axes, strict=True)]
    share = mass / (m + mass + TINY)
    x, y, z = apart = [a - b for a, b in zip(place, c, strict=True)]
    points = [y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]
    there = sign(mass)  # a load without mass is none
    turned = [dot(moments, [a * b for a, b in zip(axes[i], axes[j], strict=True)]) for i, j in _SIX]
    return (
        m + mass,
        [a + share * b for a, b in zip(c, apart, strict=True)],
        [t + m * share * p + there * w for t, p, w in zip(tensor, points, turned, strict=True)],
    )


_SIX = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # xx, xy, yy, xz, yz, zz
