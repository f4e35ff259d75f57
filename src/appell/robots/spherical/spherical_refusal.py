"""How near a spherical parallel robot is to what it cannot do, and how that is told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.equations.spherical.spherical_limbs import reaches
from appell.model.spherical import SphericalModel

Array = npt.NDArray[np.floating[Any]]

# Single precision knows h^2 to some 1e-7 only.
SINGLE = 1e-3
# What else a quantity divides by, besides h.
_DIVIDES = {
    "inverse_dynamics": ("platform",), "regressor": ("platform", "euler"),
    "actuator_torques": ("platform", "euler"), "forward_dynamics": ("euler",),
    "motion": ("euler",), "flow": ("euler",),
}  # fmt: skip


class Singularities(NamedTuple):
    """Distances from singularities; all have no unit and are at most one.

    ``limbs`` (..., limbs) is |h| = sin alpha1 sin alpha2 |sin psi| of each limb that closes a loop:
    at zero its last two links are stretched or folded; negative, -sqrt(-h^2), where it does not
    reach. ``platform`` (...) is the share of the volume that the rows of the actuator Jacobian
    span (of three limbs driven at the base: the normals of their last links): at zero the
    actuators do not hold the robot; no number where a limb does not reach. ``euler`` (...) is
    |cos q2|: at zero the Euler angles fail, the robot does not.
    """

    limbs: Array
    platform: Array
    euler: Array

    @property
    def distance(self) -> Array:
        """The smallest of them, (...)."""
        others = np.fmin(self.platform, self.euler)
        return np.minimum(self.limbs.min(axis=-1, initial=1.0), others)


def singularities(square: Array, spanned: Array, cosine: Array) -> Singularities:
    """The distances, from h^2, the spanned volume and cos q2."""
    limbs = np.copysign(np.sqrt(np.abs(square)), square)
    return Singularities(limbs, np.abs(spanned), np.abs(cosine))


def reason(
    model: SphericalModel, quantity: str, q: Array, near: Singularities, margin: float
) -> str | None:
    """Why a quantity is no number at one of the coordinates q, (..., n), which is as near to a
    singularity as the margin; None if for no reason that is known here, such as a NaN that was
    given."""
    for k in range(len(model.closing)):
        bad = near.limbs[..., k] <= margin
        if bad.any():
            at = _first(bad)
            return _limb(model, q[at], k, float(near.limbs[at][k]), _name("q", at))
    for which in _DIVIDES.get(quantity, ()):
        distance = getattr(near, which)
        bad = distance <= margin
        if bad.any():
            at = _first(bad)
            return (
                f"{_name('q', at)} = {q[at].tolist()}: {_TOLD[which]} ({float(distance[at]):.1e})"
            )
    return None


_TOLD = {
    "platform": "singular: no torques of the actuators hold the robot against every force (of "
    "three limbs driven at the base, the normals of the last links lie in a plane); keep away from "
    "such poses",
    "euler": "q2 is at 90 degrees, where the Euler angles fail; turn the base's axes (lam), give "
    "the motion another reference, or describe the platform by a limb (carrier)",
}


def _limb(model: SphericalModel, q: Array, k: int, distance: float, name: str) -> str:
    """Why a closing limb is at fault."""
    first, second = (link.alpha for link in model.limbs[model.closing[k]].links[-2:])
    angle = np.degrees(np.arccos(np.clip(float(reaches(model, q.tolist())[k][1]), -1, 1)))
    low = np.degrees(abs(first - second))
    high = np.degrees(min(first + second, 2 * np.pi - first - second))
    place = f"{name} = {q.tolist()}: limb {model.closing[k] + 1}"
    spans = f"its axes u and v are {angle:.4g} degrees apart, and its links span {low:.4g} to "
    if distance < 0:
        past = max(low - angle, angle - high)
        return (
            f"{place} does not reach: {spans}{high:.4g}; turn the platform back by {past:.2g} "
            "degrees, or choose other links (alpha1, alpha2)"
        )
    return (
        f"{place} is stretched or folded, a singularity: {spans}{high:.4g} (|h| = {distance:.1e}, "
        f"the margin is {model.margin:g}); keep away from the ends of its reach"
    )


def _first(bad: Any) -> tuple[int, ...]:
    return tuple(int(k[0]) for k in np.nonzero(bad)) if np.ndim(bad) else ()


def _name(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if at else name
