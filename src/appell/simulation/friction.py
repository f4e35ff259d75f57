"""Dry friction in joints: what sticks, what breaks loose, and which way it sets out.

A joint that turns has its Coulomb force against it. One at rest has no acceleration, by whatever
force that takes, up to a bound; beyond it the joint breaks loose, in the direction in which it was
pushed. Where walls hold a robot too, `appell.simulation.contacts.settle` finds both together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from appell.model.model import Model
from appell.robots.dynamics import Array

Mask = npt.NDArray[np.bool_]

SPARE = 1e-10  # of its bound that the force on a joint at rest may exceed it by

# (which way joints turn, which stick) -> accelerations, and the forces that hold what sticks.
Motion = Callable[[Array, Mask], tuple[Array, Array]]


def joint_friction(model: Model) -> tuple[Array, Array, Array]:
    """The viscous and the Coulomb coefficients of a robot's speeds, (nv,) each: N m s/rad or
    N s/m, and N m or N; and a constant force, N m or N.

    Coulomb friction that is c forwards and b backwards lies between -b and c at rest: it is that
    of one level (c + b) / 2 in both directions, moving or at rest, and a constant force
    (c - b) / 2 besides.
    """
    viscous, coulomb, constant = np.zeros((3, model.nv))
    for body in model.bodies:
        level, more = body.joint.dry
        viscous[body.coordinate] += body.ratio**2 * body.joint.viscous
        coulomb[body.coordinate] += abs(body.ratio) * level
        constant[body.coordinate] += body.ratio * more
    return viscous, coulomb, constant


def sticking(
    motion: Motion,
    direction: Array,
    at_rest: Mask,
    bound: Array,
    loosened: Mapping[int, float] | None = None,
) -> tuple[Array, Mask]:
    """The directions in which joints turn, -1, 0 or 1, and which of them stick.

    ``direction`` has the signs of the speeds, and zero for what is ``at_rest`` and may stick, while
    no force beyond its ``bound`` is needed for that. Joints are let go one at a time, the most
    overloaded first, beginning with those ``loosened``; one that would set out backwards stays.
    """
    direction, most = direction.copy(), bound * (1 + SPARE / 2)
    for joint, sign in (loosened or {}).items():
        direction[joint] = sign
    held_fast = at_rest  # what may still break loose
    for _ in range(4 * len(direction)):
        stuck = at_rest & (direction == 0)
        a, force = motion(direction, stuck)
        back = at_rest & (direction * a < -SPARE)
        direction = direction.copy()
        if back.any():
            direction[back] = 0.0
            held_fast = held_fast & ~back
            continue
        excess = np.where(stuck & held_fast, np.abs(force) - most, 0.0)
        joint = int(excess.argmax())
        if not excess[joint] > 0:
            break
        direction[joint] = np.sign(force[joint])
    return direction, at_rest & (direction == 0)
