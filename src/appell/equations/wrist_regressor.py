"""The Agile Wrist's regressor: actuator torques are linear in its bodies' parameters, tau = Y p."""

from __future__ import annotations

from appell.equations.agile_wrist import (
    Coordinates,
    bodies,
    limbs,
    platform_moment,
    torques_for_moment,
)
from appell.equations.gibbs_jacobian import forces
from appell.maths.scalar import Scalar
from appell.model.inertia import Inertia
from appell.model.wrist import Wrist


def regressor(wrist: Wrist, q: Coordinates, v: Coordinates, a: Coordinates) -> list[list[Scalar]]:
    """Y, 3 x 70: ten a body about the centre, of each limb's links and of the platform.

    A column is the inverse dynamics (19, 51) of a wrist of which only that parameter is one.
    """
    at = limbs(wrist, q)
    platform, *links = bodies(wrist, q, v)
    columns = []
    for body in (*links, platform):
        for k in range(10):
            unit = Inertia.from_parameters(tuple(int(i == k) for i in range(10)))
            Q = forces([body._replace(inertia=unit)], v, a)
            columns.append(torques_for_moment(wrist, at, platform_moment(wrist, q, Q)))
    return [list(row) for row in zip(*columns, strict=True)]
