"""Spherical parallel robots: their limbs' axes meet in one centre."""

from __future__ import annotations

from math import acos, asin, pi, sqrt
from typing import Any

from appell.model.arcs import Angles, from_arcs, per_limb
from appell.model.spherical import SphericalModel

_STEEP, _FLAT = asin(sqrt(3) / 3), acos(sqrt(3) / 3)  # of axes at right angles to each other
_THIRDS = (0.0, 2 * pi / 3, 4 * pi / 3)


def agile_wrist(
    *,
    alpha1: Angles = 80 * pi / 180,
    alpha2: Angles = 70 * pi / 180,
    beta: Angles = _STEEP,
    gamma: Angles = _FLAT,
    lam: Angles = _THIRDS,
    eta: Angles = _THIRDS,
    link_density: float = 1.378,
    arc_radius: float = 0.1,
    platform_mass: float = 1.351,
    platform_inertia: Any = (38.29e-4, 38.29e-4, 4.5e-4),
    platform_com: Any = (0.0, 0.0, 0.0),
    gravity: Any = (0.0, 0.0, -9.81),
    branch: str = "-",
    margin: float = 1e-4,
) -> SphericalModel:
    """Agile Wrist, a spherical parallel robot (Abedloo et al. 2014, section IV).

    Three limbs of three joints. Angles in radians: ``alpha1`` and ``alpha2`` between the axes of a
    limb's first and second link, ``beta`` and ``gamma`` of the platform's and the base's axes to
    the vertical, ``lam`` and ``eta`` the limbs' places around it; each may be three numbers, one
    per limb. Links are slender arcs of ``arc_radius`` m and ``link_density`` kg/m.
    ``platform_inertia`` is about the centre: 3, 6 or 3 x 3 numbers, kg m^2. The paper gives
    neither the radius nor the centre of mass nor the inertia's reference point. ``branch`` is "+"
    or "-", or one sign per limb: the solution of the paper's equation 34.
    """
    first, second = (
        per_limb("agile_wrist", x, y, 3) for x, y in (("alpha1", alpha1), ("alpha2", alpha2))
    )
    return from_arcs(
        name="agile_wrist", alpha=[*zip(first, second, strict=True)], lam=lam, gamma=gamma, eta=eta,
        beta=beta, link_density=link_density, arc_radius=arc_radius, platform_mass=platform_mass,
        platform_inertia=platform_inertia, platform_com=platform_com, gravity=gravity,
        branch=branch, margin=margin,
    )  # fmt: skip


def agile_eye(*, gravity: Any = (0.0, 0.0, -9.81), branch: str = "-") -> SphericalModel:
    """Agile Eye, a spherical parallel robot with orthogonal axes (Gosselin and Hamel 1994).

    All links span right angles, and the axes on the base and those on the platform are at right
    angles; at q = 0 they lie on each other. Inertias are ours: slender arcs and a small camera.
    """
    return from_arcs(
        name="agile_eye", alpha=[[pi / 2, pi / 2]] * 3, lam=_THIRDS, gamma=_FLAT,
        eta=[x + pi / 3 for x in _THIRDS], beta=_FLAT, link_density=0.5,
        arc_radius=0.08, platform_mass=0.3, platform_com=(0.0, 0.0, 0.02),
        platform_inertia=(2.5e-4, 2.5e-4, 1e-4), gravity=gravity, branch=branch,
    )  # fmt: skip


def spherical_five_bar(*, gravity: Any = (0.0, 0.0, -9.81), branch: str = "-") -> SphericalModel:
    """Spherical five-bar linkage with two motors on the base (Gosselin and Caron 1999).

    A limb of two joints carries the platform, and one of three holds it; all links span right
    angles, as in the wrist of the Orthoglide (Ur-Rehman et al. 2009). Coordinates are the angles
    of the first limb's joints. Inertias are ours.
    """
    return from_arcs(
        name="spherical_five_bar", alpha=[[pi / 2], [pi / 2, pi / 2]], lam=(-pi / 2, 0.0),
        gamma=(pi / 2, pi), eta=(0.0, -pi / 2), beta=pi / 2, link_density=0.5, arc_radius=0.08,
        platform_mass=0.3, platform_com=(0.0, 0.0, -0.02), platform_inertia=(2.5e-4, 2.5e-4, 1e-4),
        gravity=gravity, branch=branch,
    )  # fmt: skip


def redundant_wrist(*, gravity: Any = (0.0, 0.0, -9.81), branch: str = "-") -> SphericalModel:
    """Agile Wrist whose third limb has a joint and a motor more: four freedoms.

    Its platform stands as that of the Agile Wrist does, while the limb can move aside: the fourth
    coordinate is its first joint's angle.
    """
    narrow, wide = 70 * pi / 180, 80 * pi / 180
    return from_arcs(
        name="redundant_wrist", alpha=[[wide, narrow], [wide, narrow], [pi / 4, pi / 3, pi / 3]],
        lam=_THIRDS, gamma=_FLAT, eta=_THIRDS, beta=_STEEP,
        link_density=1.378, platform_mass=1.351, platform_inertia=(38.29e-4, 38.29e-4, 4.5e-4),
        actuated=("limb1.joint1", "limb2.joint1", "limb3.joint1", "limb3.joint2"),
        gravity=gravity, branch=branch,
    )  # fmt: skip
