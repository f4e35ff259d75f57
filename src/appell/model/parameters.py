"""A model's numbers as arguments: masses, centres of mass, inertias, geometry, gravity.

All are given in the frames of the links, as the description has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.maths.rotation import After, Matrix, Rotation, as_matrix
from appell.maths.vector import Symmetric, Tensor, Vector, point_inertia
from appell.model.inertia import Inertia, check_inertia, snapped, with_sizes
from appell.model.model import BASE, CYCLE, Body, Joint, Model

Array = npt.NDArray[np.float64]

GROUPS = ("mass", "com", "inertia", "geometry", "gravity")


SYMBOLS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def inertial_parameters(model: Model, *, friction: bool = False, rotors: bool = False) -> Array:
    """m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz of each body about its link frame's origin; then, a
    joint each, the rotors' inertias felt there (of a robot without rotors, only if ``rotors``);
    with ``friction`` the viscous and then the Coulomb coefficients, and then, where these are
    others backwards, those."""
    numbers = [x for body in model.links.values() for x in link_inertia(model, body).parameters]
    joints = [body.joint for body in model.driven.values()]
    if _reflected(model, rotors):
        numbers += [joint.reflected for joint in joints]
    if friction:
        numbers += [*(joint.viscous for joint in joints), *(joint.coulomb for joint in joints)]
        numbers += [joint.backwards for joint in joints] if model.lopsided else []
    return np.array(numbers, dtype=float)


def parameter_names(
    model: Model, *, friction: bool = False, rotors: bool = False, short: bool = False
) -> tuple[str, ...]:
    """What each of the inertial parameters is: "link2.Izz", "joint2.viscous"; short, the links
    and joints by their numbers: "Izz2", "fv2"."""
    links = [(b.name, str(k)) for k, b in enumerate(model.links.values(), start=1)]
    number = dict(links)  # of a joint, that of the link it carries
    joints = [(b.joint.name, number[b.name]) for b in model.driven.values()]
    kinds = {"rotor": "Ia"} if _reflected(model, rotors) else {}
    kinds |= {x: short_name for x, short_name in _RUBBING.items() if x in _rubbing(model, friction)}
    return (
        *((x + k if short else f"{name}.{x}") for name, k in links for x in SYMBOLS),
        *(
            (x + k if short else f"{name}.{kind}")
            for kind, x in kinds.items()
            for name, k in joints
        ),
    )


def with_parameters(
    model: Model, given: Array, *, friction: bool = False, rotors: bool = False
) -> Model:
    """The model with these inertial parameters, in the order of `inertial_parameters`;
    refused if a link can have no such inertia."""
    expected = len(inertial_parameters(model, friction=friction, rotors=rotors))
    numbers = np.asarray(given, dtype=float)
    if numbers.shape != (expected,) or not np.isfinite(numbers).all():
        raise InputError(
            f"parameters of '{model.name}': got shape {numbers.shape}"
            + ("" if np.isfinite(numbers).all() else ", some not finite")
            + f"; expected {expected} finite numbers, as parameter_names lists them."
        )
    count = 10 * len(model.links)
    links = [body.name for body in model.links.values()]
    inertias = dict(zip(links, numbers[:count].reshape(-1, 10).tolist(), strict=True))
    drives = numbers[count:].reshape(-1, len(model.driven)).T.tolist()
    kinds = [*_reflected(model, rotors), *_rubbing(model, friction)]
    changed = {
        body.joint.name: _drive(body.joint, dict(zip(kinds, row, strict=True)))
        for body, row in zip(model.driven.values(), drives, strict=True)
    }
    bodies = []
    for body in model.bodies:
        joint = changed.get(body.joint.name, body.joint)
        if body.name in inertias:
            body = replace(body, inertia=_from_ten(model, body, inertias[body.name]))
        bodies.append(replace(body, joint=joint))
    joints = tuple(changed.get(joint.name, joint) for joint in model.joints)
    return replace(model, bodies=tuple(bodies), joints=joints)


def _reflected(model: Model, rotors: bool) -> tuple[str, ...]:
    return ("rotor",) if (model.rotors or rotors) else ()


_RUBBING = {"viscous": "fv", "coulomb": "fc", "coulomb_backwards": "fb"}


def _rubbing(model: Model, friction: bool) -> tuple[str, ...]:
    """The coefficients of friction that a joint has."""
    return tuple(_RUBBING)[: 2 + model.lopsided] if friction else ()


def _from_ten(model: Model, body: Body, numbers: Sequence[float]) -> Inertia:
    inertia = Inertia.from_parameters(tuple(numbers))
    check_inertia(body.name, inertia)
    link = model.frame(body.name)
    return snapped(with_sizes(inertia).moved(link.R, link.s))


def _drive(joint: Joint, numbers: dict[str, Any]) -> Joint:
    """The joint with these coefficients; a rotor's inertia is given as felt at the joint."""
    if "rotor" in numbers:
        numbers["rotor"] /= float(joint.gear) ** 2
    return replace(joint, **numbers)


def link_inertia(model: Model, body: Body) -> Inertia:
    """A body's inertia in the frame of the link it is named after."""
    link = model.frame(body.name)
    return body.inertia.moved(link.R.T, -(link.R.T @ link.s))


def names(option: str, given: Any) -> tuple[str, ...]:
    """Names as an option takes them, one or several."""
    if not given:
        return ()
    several = (given,) if isinstance(given, str) else given
    if not isinstance(several, (list, tuple, set)) or not all(isinstance(x, str) for x in several):
        raise InputError(f"{option}={given!r}: expected a name, or a list of names.")
    return tuple(several)


def groups(asked: Any) -> tuple[str, ...]:
    """The groups asked for; True is all of them."""
    wanted = GROUPS if asked is True else names("parameters", asked)
    for name in wanted:
        if name not in GROUPS:
            raise InputError(f"parameters={name!r}: expected one of {', '.join(GROUPS)}.")
    return tuple(dict.fromkeys(wanted))


def values(model: Model, group: str) -> Array:
    """The model's own numbers of a group: mass (n,), com (n, 3), inertia about the centre of mass
    (n, 6), geometry (n, 12) as the rows of [R | s] from the parent link at q = 0, gravity (3,)."""
    if group == "gravity":
        return np.array(model.gravity, dtype=float)
    inertias = [link_inertia(model, body) for body in model.links.values()]
    if group == "mass":
        return np.array([i.mass for i in inertias], dtype=float)
    if group == "com":
        return np.array([i.com for i in inertias], dtype=float)
    if group == "inertia":
        about_com = (i.tensor - point_inertia(i.com) * i.mass for i in inertias)
        return np.array([*map(tuple, about_com)], dtype=float)
    return np.array([_geometry(model, i) for i in model.links], dtype=float)


def with_values(model: Model, given: dict[str, Any]) -> Model:
    """The model with these numbers, scalars of any kind, in the place of its own."""
    bodies = list(model.bodies)
    for k, (i, body) in enumerate(model.links.items()):
        first = _first(model, i)
        if given.keys() & {"mass", "com", "inertia"}:
            bodies[i] = replace(bodies[i], inertia=_inertia(model, body, k, given))
        if "geometry" in given and not (model.free and k == 0):
            bodies[first] = _placed(model, bodies[first], body.name, given["geometry"][k])
    gravity = Vector(*given["gravity"]) if "gravity" in given else model.gravity
    return replace(model, bodies=tuple(bodies), gravity=gravity)


def _inertia(model: Model, body: Body, i: int, given: dict[str, Any]) -> Inertia:
    own = link_inertia(model, body)
    mass = given["mass"][i] if "mass" in given else own.mass
    com = Vector(*given["com"][i]) if "com" in given else own.com
    if "inertia" in given:
        tensor = Symmetric(*given["inertia"][i])
    else:
        tensor = own.tensor - point_inertia(own.com) * own.mass
    link = model.frame(body.name)
    return Inertia.about_com(mass, com, tensor).moved(link.R, link.s)


def _geometry(model: Model, i: int) -> list[Any]:
    """[R | s] of the body's link in its parent's at q = 0; a free base hangs nowhere."""
    body, first = model.bodies[i], model.bodies[_first(model, i)]
    if model.free and first is model.bodies[0]:
        return [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    link, above = model.frame(body.name), _above(model, first)
    R, s = first.rotation(body.shift), first.offset(body.shift)
    if first is not body:
        R = After(R, CYCLE.T)
    turned = as_matrix(After(above[0].T, After(R, link.R)))
    place = above[0].T @ (s + R @ link.s - above[1])
    return [x for row, p in zip(turned.rows, place, strict=True) for x in (*row, p)]


def _placed(model: Model, body: Body, name: str, numbers: Sequence[Any]) -> Body:
    """The first body of the joint that carries a link, hung where [R | s] says."""
    link, above = model.frame(name), _above(model, body)
    rows = [numbers[0:3], numbers[4:7], numbers[8:11]]
    R = Matrix(Tensor(*(Vector(*row) for row in rows)))
    R0 = as_matrix(After(above[0], After(R, link.R.T)))
    s = above[1] + above[0] @ Vector(numbers[3], numbers[7], numbers[11])
    turned = R0 if body.name == name else as_matrix(After(R0, CYCLE))
    return replace(body, R0=turned, s0=s - R0 @ link.s, shift=0)


def _first(model: Model, i: int) -> int:
    """The first of the bodies of the joint that carries body i: of a compound joint, its own."""
    return next((c.body for c in model.compounds if c.last == i), i)


def _above(model: Model, body: Body) -> tuple[Rotation, Vector]:
    name = model.frames[0].name if body.parent == BASE else model.bodies[body.parent].name
    link = model.frame(name)
    return link.R, link.s
