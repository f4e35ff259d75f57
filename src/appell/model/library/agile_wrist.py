"""The Agile Wrist, a spherical parallel robot with three limbs."""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, asin, isfinite, pi, sqrt
from typing import Any

from appell.errors import ModelError
from appell.maths.vector import Vector
from appell.model.build import gravity_field
from appell.model.dh import link_inertia
from appell.model.inertia import Inertia, check_inertia, snapped
from appell.model.wrist import BRANCHES, Limb, Wrist, arc

Angles = float | Sequence[float]

_THIRDS = (0.0, 2 * pi / 3, 4 * pi / 3)


def agile_wrist(
    *,
    alpha1: Angles = 80 * pi / 180,
    alpha2: Angles = 70 * pi / 180,
    beta: float = asin(sqrt(3) / 3),
    gamma: float = acos(sqrt(3) / 3),
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
) -> Wrist:
    """Agile Wrist, a spherical parallel robot (Abedloo et al. 2014, section IV).

    Angles in radians: ``alpha1`` and ``alpha2`` between the axes of a limb's first and second
    link, ``beta`` and ``gamma`` of the platform's and the base's axes to the vertical, ``lam``
    and ``eta`` the limbs' places around it; alpha1 and alpha2 may be three, one a limb. Links are
    slender arcs of ``arc_radius`` m and ``link_density`` kg/m. ``platform_inertia`` is about
    the centre: 3, 6 or 3 x 3 numbers, kg m^2. The paper gives neither the radius nor the centre of
    mass nor the inertia's reference point. ``branch`` is "+" or "-", or one sign a limb: the
    solution of the paper's equation 34.
    """
    first, second = _angles("alpha1", alpha1), _angles("alpha2", alpha2)
    for name, values in (
        ("alpha1", first), ("alpha2", second), ("beta", [beta]), ("gamma", [gamma]),
    ):  # fmt: skip
        for x in values:
            if not 0 < _number(name, x) < pi:
                raise ModelError(
                    f"agile_wrist: {name} = {x:g}; expected an angle between 0 and pi, in radians."
                )
    density = _number("link_density", link_density, least=0)
    radius = _number("arc_radius", arc_radius, least=0)
    if radius == 0:
        raise ModelError("agile_wrist: arc_radius = 0; expected the radius of the links, in m.")
    limbs = [
        Limb(a1, a2, x, y, arc(density, radius, a1), arc(density, radius, a2))
        for a1, a2, x, y in zip(
            first, second, _angles("lam", lam), _angles("eta", eta), strict=True
        )
    ]
    if len({(x.alpha1, x.alpha2, x.lam % (2 * pi), x.eta % (2 * pi)) for x in limbs}) < 3:
        raise ModelError(
            f"agile_wrist: lam = {lam!r} and eta = {eta!r} put two limbs in the same place, where "
            "they cannot hold the platform; give each limb its own."
        )
    wrist = Wrist(
        name="agile_wrist",
        limbs=(limbs[0], limbs[1], limbs[2]),
        beta=float(beta),
        gamma=float(gamma),
        platform=platform(platform_mass, platform_com, platform_inertia),
        gravity=gravity_field("agile_wrist", gravity),
        branch=branches(branch),
        margin=_number("margin", margin, least=0),
    )
    for limb in wrist.limbs:
        check_inertia("first", limb.first)
        check_inertia("second", limb.second)
    if not any(body.mass for body in (wrist.platform, limbs[0].first)):
        raise ModelError("agile_wrist: neither the links nor the platform have a mass; give one.")
    return wrist


def platform(mass: Any, com: Any, inertia: Any) -> Inertia:
    """The platform's inertia, given about the centre; refused if no body has it."""
    about_centre = link_inertia("platform", mass, (0.0, 0.0, 0.0), inertia)
    moment = link_inertia("platform", mass, com, (0.0, 0.0, 0.0)).moment
    found = Inertia(about_centre.mass, Vector(*moment), about_centre.tensor)
    check_inertia("platform", found)
    return snapped(found) if found.mass else found


def branches(given: Any) -> str:
    """A sign a limb, from one for all or from three."""
    text = given * 3 if isinstance(given, str) and len(given) == 1 else given
    if not isinstance(text, str) or len(text) != 3 or not set(text) <= set(BRANCHES):
        raise ModelError(
            f"branch = {given!r}: expected '+' or '-', or a sign for each limb such as '-+-'."
        )
    return text


def _angles(name: str, given: Any) -> list[float]:
    """Three angles; a single one stands for all."""
    several = given if isinstance(given, Sequence) or hasattr(given, "__len__") else [given] * 3
    if isinstance(several, str) or len(several) != 3:
        raise ModelError(f"agile_wrist: {name} = {given!r}; expected a number, or one a limb.")
    return [_number(name, x) for x in several]


def _number(name: str, given: Any, least: float | None = None) -> float:
    try:
        x = float(given)
    except (TypeError, ValueError):
        raise ModelError(f"agile_wrist: {name} = {given!r}; expected a number.") from None
    if not isfinite(x) or (least is not None and x < least):
        wanted = "a finite number" if least is None else f"a finite number of {least:g} or more"
        raise ModelError(f"agile_wrist: {name} = {x:g}; expected {wanted}.")
    return x
