"""Spherical parallel robots from numbers: angles of links, places of limbs, inertias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, isfinite, pi, sin
from typing import Any

from appell.errors import ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.axes import gravity_field
from appell.model.description.dh import link_inertia
from appell.model.inertia import Inertia, check_inertia, snapped
from appell.model.spherical import BRANCHES, CLOSING, Arc, Limb, SphericalModel

Angles = float | Sequence[float]


def from_arcs(
    *,
    alpha: Sequence[Sequence[float]],
    lam: Angles,
    gamma: Angles,
    eta: Angles,
    beta: Angles,
    links: Sequence[Sequence[tuple[Any, Any, Any]]] | None = None,
    link_density: float | None = None,
    arc_radius: float = 0.1,
    platform_mass: float,
    platform_inertia: Any,
    platform_com: Any = (0.0, 0.0, 0.0),
    actuated: Sequence[str] | None = None,
    carrier: str | None = None,
    name: str = "spherical",
    gravity: Any = (0.0, 0.0, -9.81),
    branch: str = "-",
    margin: float = 1e-4,
) -> SphericalModel:
    """A spherical parallel robot from its angles, in radians, and its inertias.

    ``alpha`` has one row per limb and in it one angle per link, from the base to the platform:
    that between the axes of the link's two joints. ``lam`` and ``gamma`` place the first axis of a
    limb on the base, Rz(lam) Rx(gamma - pi) z; ``eta`` and ``beta`` the last one on the platform,
    Rz(eta) Rx(-beta) z; one number for all limbs, or one per limb.

    Links are slender arcs of ``arc_radius`` m and ``link_density`` kg/m, or ``links`` has for each
    one its mass, centre of mass and inertia about the centre of the robot (3, 6 or 3 x 3 numbers),
    in the link's frame: z is the inner joint's axis, and the outer one lies towards negative y. The
    platform's inertia, too, is about the centre.

    ``actuated`` names the driven joints, as "limb1.joint1"; without it, the first of each limb.
    Coordinates are the platform's Euler angles, or with ``carrier="limb1"`` the joint angles of
    that limb; and besides, of each other limb, those of all joints but the last three. ``branch``
    is "+" or "-", or one sign per limb that is not the carrier: the solution of Abedloo's (34).
    """
    rows = _rows(name, alpha)
    n = len(rows)
    turns = {x: per_limb(name, x, y, n) for x, y in (("lam", lam), ("eta", eta))}
    tilts = {x: per_limb(name, x, y, n) for x, y in (("gamma", gamma), ("beta", beta))}
    for label, values in tilts.items():
        for x in values:
            if not 0 <= x <= pi:
                raise ModelError(
                    f"{name}: {label} = {x:g}; expected an angle from 0 to pi, in radians."
                )
    inertias = _inertias(name, rows, links, link_density, arc_radius)
    limbs = tuple(
        Limb(
            turns["lam"][i], tilts["gamma"][i], turns["eta"][i], tilts["beta"][i],
            tuple(Arc(x, inertia) for x, inertia in zip(rows[i], inertias[i], strict=True)),
        )
        for i in range(n)
    )  # fmt: skip
    where = [(x.lam % (2 * pi), x.gamma, x.eta % (2 * pi), x.beta) for x in limbs]
    if len({(tuple(row), x) for row, x in zip(rows, where, strict=True)}) < n:
        raise ModelError(
            f"{name}: lam = {lam!r} and eta = {eta!r} put two limbs in the same place, where "
            "they cannot hold the platform; give each limb its own."
        )
    carrying = _carrier(name, limbs, carrier)
    model = SphericalModel(
        name=name,
        limbs=limbs,
        platform=about_centre("platform", platform_mass, platform_com, platform_inertia),
        actuated=(),
        branch=branches(branch, n - (carrying is not None)),
        carrier=carrying,
        gravity=gravity_field(name, gravity),
        margin=number(name, "margin", margin, least=0),
    )
    for body, inertia in model.inertias.items():
        check_inertia(body, inertia)
    if not any(inertia.mass for inertia in model.inertias.values()):
        raise ModelError(f"{name}: neither the links nor the platform have a mass; give one.")
    return _driven(model, actuated)


def slender_arc(density: float, radius: float, angle: float) -> Inertia:
    """A slender arc's inertia about its centre; it runs from z towards negative y.

    A point of it is r (0, -sin x, cos x), with x from 0 to the angle, and has the mass
    density r dx: the integrals of these, of their products, and of the squares.
    """
    c, s = cos(angle), sin(angle)
    mass = density * radius * angle
    moment = density * radius**2
    square = density * radius**3
    yy, zz, yz = (angle - s * c) / 2, (angle + s * c) / 2, -s * s / 2
    return Inertia(
        mass,
        Vector(0, -(1 - c) * moment, s * moment),
        Symmetric(angle * square, 0, zz * square, 0, -yz * square, yy * square),
    )


def about_centre(name: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    """A body's inertia, given about the centre; refused if no body has it."""
    tensor = link_inertia(name, mass, (0.0, 0.0, 0.0), inertia)
    moment = link_inertia(name, mass, com, (0.0, 0.0, 0.0)).moment
    body = Inertia(tensor.mass, Vector(*moment), tensor.tensor)
    check_inertia(name, body)
    return snapped(body) if body.mass else body


def branches(given: Any, count: int) -> str:
    """One sign per closing limb, from one for all or from as many."""
    text = given * count if isinstance(given, str) and len(given) == 1 else given
    if not isinstance(text, str) or len(text) != count or not set(text) <= set(BRANCHES):
        raise ModelError(
            f"branch = {given!r}: expected '+' or '-', or a sign for each limb such as "
            f"'{('-+' * count)[:count]}'."
        )
    return text


def per_limb(name: str, label: str, given: Any, count: int) -> list[float]:
    """One number per limb; a single one stands for all."""
    alone = isinstance(given, str) or not hasattr(given, "__len__")
    several = [given] * count if alone else given
    if len(several) != count:
        raise ModelError(f"{name}: {label} = {given!r}; expected a number, or one per limb.")
    return [number(name, label, x) for x in several]


def number(name: str, label: str, given: Any, least: float | None = None) -> float:
    """A finite number, at least ``least``."""
    try:
        x = float(given)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: {label} = {given!r}; expected a number.") from None
    if not isfinite(x) or (least is not None and x < least):
        wanted = "a finite number" if least is None else f"a finite number of {least:g} or more"
        raise ModelError(f"{name}: {label} = {x:g}; expected {wanted}.")
    return x


def _rows(name: str, alpha: Any) -> list[list[float]]:
    """The links' angles, limb by limb."""
    try:
        rows = [list(row) for row in alpha]
    except TypeError:
        raise ModelError(
            f"{name}: alpha = {alpha!r}; expected one row per limb, with one angle per link."
        ) from None
    if not rows:
        raise ModelError(f"{name}: alpha is empty; a robot has at least one limb.")
    for i, row in enumerate(rows, start=1):
        for j, x in enumerate(row, start=1):
            if not 0 < number(name, f"limb {i}: alpha{j}", x) < pi:
                raise ModelError(
                    f"{name}: limb {i}: alpha{j} = {x:g}; expected an angle between 0 and pi, in "
                    "radians."
                )
    return [[float(x) for x in row] for row in rows]


def _inertias(
    name: str, rows: Sequence[Sequence[float]], links: Any, density: Any, radius: Any
) -> list[list[Inertia]]:
    """The links' inertias, given or those of slender arcs."""
    if links is None:
        if density is None:
            raise ModelError(
                f"{name}: the links have no inertia; give link_density in kg/m (0 for links "
                "without mass), or links, one (mass, com, inertia) per link."
            )
        density = number(name, "link_density", density, least=0)
        radius = number(name, "arc_radius", radius, least=0)
        if radius == 0:
            raise ModelError(f"{name}: arc_radius = 0; expected the radius of the links, in m.")
        return [[slender_arc(density, radius, x) for x in row] for row in rows]
    if density is not None:
        raise ModelError(f"{name}: both links and link_density are given; leave one out.")
    try:
        given = [[(mass, com, inertia) for mass, com, inertia in row] for row in links]
    except (TypeError, ValueError):
        given = []
    if [len(row) for row in given] != [len(row) for row in rows]:
        raise ModelError(
            f"{name}: links = {links!r}; expected (mass, com, inertia) for each link, in rows as "
            "alpha has them."
        )
    return [
        [about_centre(f"link {j} of limb {i}", *body) for j, body in enumerate(row, start=1)]
        for i, row in enumerate(given, start=1)
    ]


def _carrier(name: str, limbs: Sequence[Limb], given: Any) -> int | None:
    """The limb that carries the platform; the only one that may have fewer than three joints."""
    known = {f"limb{i + 1}": i for i in range(len(limbs))}
    if given is not None and (not isinstance(given, str) or given not in known):
        raise ModelError(f"{name}: carrier = {given!r}; its limbs are {', '.join(known)}.")
    short = [limb for limb, i in known.items() if limbs[i].joints < CLOSING]
    chosen = short[0] if given is None and short else given
    if set(short) - {chosen}:
        raise ModelError(
            f"{name}: {', '.join(short)} have fewer than three joints. The last three angles of a "
            "limb follow from the platform's orientation, so only the one that carries the "
            "platform may have fewer. Take another body as the platform: a four-bar linkage is a "
            "crank on one joint, alpha = [], and a limb of two links from its end to the base."
        )
    return None if chosen is None else known[chosen]


def _driven(model: SphericalModel, actuated: Any) -> SphericalModel:
    """The model with these joints driven."""
    known = model.joint_names
    first = [f"limb{i + 1}.joint1" for i in range(len(model.limbs))]
    names = first if actuated is None else actuated
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise ModelError(f"{model.name}: actuated = {names!r}; expected names of joints.")
    for joint in names:
        if joint not in known:
            raise ModelError(
                f"{model.name}: actuated names joint {joint!r}; its joints are {', '.join(known)}."
            )
    if len(set(names)) < len(names):
        raise ModelError(f"{model.name}: actuated = {list(names)} names a joint twice.")
    return replace(model, actuated=tuple(known[joint] for joint in names))
