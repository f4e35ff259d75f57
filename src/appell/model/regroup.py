"""The same dynamics from fewer numbers: inertia moved across joints to where it costs nothing.

What turns with a joint but looks the same at every angle may as well hang on the
joint's parent: mass on the axis, and a moment of inertia equal in all directions
across it. What slides with a joint turns as the parent does, so all its moments of
inertia may (Khalil and Kleinfinger 1987; Gautier and Khalil 1990); what does both, as
on a screw, may hand on what both may. No torque, no
acceleration and no energy changes; most links are left without mass and with seven
numbers instead of ten, and zeros cost nothing when an equation is recorded.

A link is made a lamina across its joint's axis, I_zz = I_xx + I_yy, whose moments
gibbs_lean computes with fewer operations; one that is alike in all directions across
the axis keeps only I_zz. The links of a regrouped model are not bodies any more:
only the robot as a whole is.
"""

from __future__ import annotations

from dataclasses import replace

from appell.maths.vector import ZERO, Symmetric, Vector
from appell.model.inertia import Inertia, rounded, snapped, with_sizes
from appell.model.model import BASE, Body, Model


def regrouped(model: Model) -> Model:
    """A model with the same inverse and forward dynamics and the most zeros."""
    inertias = [with_sizes(body.inertia) for body in model.bodies]
    turning = {c.body: c for c in model.compounds}
    for i, body in reversed(list(enumerate(model.bodies))):
        # What was summed here counts anew: sizes that went along a chain would grow at every turn.
        inertias[i] = with_sizes(rounded(inertias[i]))
        idle = _indifferent(body, inertias[i])
        if i in turning and body.parent != BASE:  # of a ball only the centre stays where it is
            mass = 0 if turning[i].free else inertias[i].mass
            idle = Inertia(mass, ZERO, Symmetric(0, 0, 0, 0, 0, 0))
        inertias[i] = inertias[i] - idle
        if body.parent != BASE:
            inertias[body.parent] = inertias[body.parent] + idle.moved(body.R0, body.s0)
    bodies = (replace(b, inertia=_lamina(x)) for b, x in zip(model.bodies, inertias, strict=True))
    return replace(model, bodies=tuple(bodies))


def _indifferent(body: Body, inertia: Inertia) -> Inertia:
    """The part of an inertia whose effect does not depend on the joint's position."""
    I = inertia.tensor
    if not body.rho:
        return Inertia(0, ZERO, I)
    alike = I.xy.rounded == 0 and (I.xx - I.yy).rounded == 0
    across = I.xx if alike else 0.5 * (I.xx + I.yy - I.zz)
    round_axis = Symmetric(across, 0, across, 0, 0, 0)
    if body.sigma:
        return Inertia(0, ZERO, round_axis)
    return Inertia(inertia.mass, Vector(0, 0, inertia.moment.z), round_axis)


def _lamina(inertia: Inertia) -> Inertia:
    """Zeros exact, and I_zz = I_xx + I_yy to the last digit where it holds but for rounding.

    The moment about the axis, which is all that its own joint feels of the tensor, stays as it is:
    the others are differences of larger numbers and take up the rounding.
    """
    exact, I = snapped(inertia), inertia.tensor
    xx, zz = exact.tensor.xx, exact.tensor.zz
    if (xx == 0 and exact.tensor.yy == 0) or (I.xx + I.yy - I.zz).rounded != 0:
        return exact
    lamina = exact.tensor._replace(yy=zz - xx, zz=xx + (zz - xx))
    kept = abs(lamina.zz - zz) <= 1e-15 * abs(zz)
    return exact._replace(tensor=lamina) if kept else exact
