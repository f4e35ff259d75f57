"""The same dynamics from fewer numbers: inertia moved across joints to where it costs nothing.

What turns with a joint but looks the same at every angle may as well hang on the
joint's parent: mass on the axis, and a moment of inertia equal in all directions
across it. What slides with a joint turns as the parent does, so all its moments of
inertia may (Khalil and Kleinfinger 1987; Gautier and Khalil 1990). No torque, no
acceleration and no energy changes; most links are left without mass and with five
moments instead of ten, and zeros cost nothing when an equation is recorded. The
links of a regrouped model are not bodies any more: only the robot as a whole is.
"""

from __future__ import annotations

from dataclasses import replace

from appell.maths.vector import ZERO, Symmetric, Vector
from appell.model.build import snapped
from appell.model.inertia import Inertia
from appell.model.model import BASE, Body, Model


def regrouped(model: Model) -> Model:
    """A model with the same inverse and forward dynamics and the most zeros."""
    inertias = [body.inertia for body in model.bodies]
    for i, body in model.inwards():
        idle = _indifferent(body, inertias[i])
        inertias[i] = inertias[i] - idle
        if body.parent != BASE:
            inertias[body.parent] = inertias[body.parent] + idle.moved(body.R0, body.s0)
    bodies = (replace(b, inertia=snapped(x)) for b, x in zip(model.bodies, inertias, strict=True))
    return replace(model, bodies=tuple(bodies))


def _indifferent(body: Body, inertia: Inertia) -> Inertia:
    """The part of an inertia whose effect does not depend on the joint's position."""
    if body.sigma:
        return Inertia(0, ZERO, inertia.tensor)
    across = inertia.tensor.yy
    return Inertia(
        inertia.mass, Vector(0, 0, inertia.moment.z), Symmetric(across, 0, across, 0, 0, 0)
    )
