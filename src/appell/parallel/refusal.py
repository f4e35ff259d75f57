"""How near a wrist is to what it cannot do, and how that is told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from appell.maths.rotation import Rotation as Turn
from appell.maths.vector import Z
from appell.model.wrist import Wrist

Array = npt.NDArray[np.floating[Any]]

# Single precision knows h^2 to some 1e-7 only.
_SINGLE = 1e-3
# What else a quantity divides by, besides h.
_DIVIDES = {"inverse_dynamics": ("platform",), "forward_dynamics": ("euler",)}


class Singularities(NamedTuple):
    """Distances from singularities; all have no unit and are at most one.

    ``limbs`` (..., 3) is |h| = sin alpha1 sin alpha2 |sin psi|: at zero a limb is stretched or
    folded; negative, -sqrt(-h^2), where it does not reach. ``platform`` (...) is the share of
    the volume that the normals of the three second links span: at zero the actuators do not hold
    the platform; no number where a limb does not reach. ``euler`` (...) is |cos q2|: at zero the
    Euler angles fail, the robot does not.
    """

    limbs: Array
    platform: Array
    euler: Array

    @property
    def distance(self) -> Array:
        """The smallest of them, (...)."""
        others = np.fmin(self.platform, self.euler)
        return np.minimum(self.limbs.min(axis=-1), others)


def singularities(square: Array, spanned: Array, cosine: Array) -> Singularities:
    """From h^2, the spanned volume and cos q2."""
    limbs = np.copysign(np.sqrt(np.abs(square)), square)
    return Singularities(limbs, np.abs(spanned), np.abs(cosine))


def reason(wrist: Wrist, quantity: str, q: Array, found: Singularities, kind: str) -> str | None:
    """Why a quantity is no number at one of the coordinates q, (..., 3); None if for no reason
    that is known here, such as a NaN that was given."""
    margin = max(wrist.margin, _SINGLE) if kind == "float32" else wrist.margin
    for i in range(len(wrist.limbs)):
        near = found.limbs[..., i] <= margin
        if near.any():
            at = _first(near)
            return _limb(wrist, q[at], i, float(found.limbs[at][i]), _name("q", at))
    for kind in _DIVIDES.get(quantity, ()):
        distance = getattr(found, kind)
        near = distance <= margin
        if near.any():
            at = _first(near)
            return f"{_name('q', at)} = {q[at].tolist()}: {_TOLD[kind]} ({float(distance[at]):.1e})"
    return None


_TOLD = {
    "platform": "singular: the normals of the three second links lie in a plane, so that no "
    "actuator torques hold the platform about one axis; keep away from such poses",
    "euler": "q2 is at 90 degrees, where the Euler angles fail; turn the base's axes (lam) or "
    "give the motion another reference",
}


def _limb(wrist: Wrist, q: Array, i: int, distance: float, name: str) -> str:
    limb = wrist.limbs[i]
    angle = np.degrees(_between(wrist, q, i))
    low = np.degrees(abs(limb.alpha1 - limb.alpha2))
    high = np.degrees(min(limb.alpha1 + limb.alpha2, 2 * np.pi - limb.alpha1 - limb.alpha2))
    place = f"{name} = {q.tolist()}: limb {i + 1}"
    spans = f"its axes u and v are {angle:.4g} degrees apart, and its links span {low:.4g} to "
    if distance < 0:
        past = max(low - angle, angle - high)
        return (
            f"{place} does not reach: {spans}{high:.4g}; turn the platform back by {past:.2g} "
            "degrees, or choose other links (alpha1, alpha2)"
        )
    return (
        f"{place} is stretched or folded, a singularity: {spans}{high:.4g} (|h| = {distance:.1e}, "
        f"the margin is {wrist.margin:g}); keep away from the ends of its reach"
    )


def _between(wrist: Wrist, q: Array, i: int) -> float:
    """The angle between a limb's first and last axis."""
    limb = wrist.limbs[i]
    base: Turn = wrist.base_axes(limb)
    u = np.array(base @ Z, dtype=float)
    v = Rotation.from_euler("ZYX", q).apply(np.array(wrist.platform_axis(limb), dtype=float))
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v))


def _first(near: Any) -> tuple[int, ...]:
    return tuple(int(k[0]) for k in np.nonzero(near)) if np.ndim(near) else ()


def _name(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if at else name
