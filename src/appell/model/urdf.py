"""Robots from URDF files, the format of ROS (https://wiki.ros.org/urdf/XML).

Trees of revolute, continuous, prismatic and fixed joints. Shapes, transmissions and
what simulators add are passed over, and no other file is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from math import copysign, inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.maths.vector import ZERO, Symmetric
from appell.model.build import Base, Hinge, Mimic, as_rotation, as_vector, assemble, from_rpy
from appell.model.elements import (
    Element,
    attribute,
    by_name,
    child,
    fault,
    known,
    magnitude,
    needed,
    number,
    numbers,
    parse,
    place,
    tag,
)
from appell.model.inertia import NOTHING, Inertia, check_inertia
from appell.model.model import Joint, Model

Array = npt.NDArray[np.float64]

UNLIMITED = 1.7976931348623157e308  # the largest number: how a file says that there is no limit

TYPES = ("revolute", "continuous", "prismatic", "fixed")
_ZEROS = (0.0, 0.0, 0.0)


def read_urdf(
    path: str | os.PathLike[str],
    *,
    physical: bool = True,
    gravity: Sequence[float] | None = None,
    base: Base | None = None,
) -> Model:
    """The robot of a URDF file; its coordinates stand in the order of the file's joints.

    A link without <inertial> has no mass. What <limit> leaves out is unlimited, but where it
    gives only one of lower and upper, the other is 0, as in ROS. ``physical=False`` accepts
    inertias that no body has; ``gravity`` is in the world's axes, m/s^2; ``base`` is "fixed",
    "free" to move in space, or "planar" to move in the world's x, y plane. Neither given, they are
    what an element <appell> says (:mod:`appell.model.urdf_writer`), or -9.81 along z and "fixed".
    """
    robot = parse(Path(path), "robot")
    _refuse_macros(robot)
    name = attribute(robot, "name")
    links = by_name(robot, "link")
    joints = by_name(robot, "joint")
    if not links:
        raise fault(robot, "there is no <link>; a robot has at least two, and a joint.")
    _refuse_two_parents(joints.values())
    inertias = {link: _inertia(element) for link, element in links.items()}
    if physical:
        for link, inertia in inertias.items():
            _check(link, inertia, links[link])
    followed: dict[str, Mimic] = {}
    hinges = [_hinge(joint, links, joints, followed) for joint in joints.values()]
    own = child(robot, "appell")
    field = numbers(own, "gravity", 3, (0.0, 0.0, -9.81)) if gravity is None else gravity
    stands: Any = (own is not None and own.get("base")) or "fixed"
    tip = known(own, "tip", links) if own is not None and own.get("tip") else None
    order = own.get("order").split(",") if own is not None and own.get("order") else None
    try:
        return assemble(
            name, inertias, hinges, gravity=field, physical=False, base=base or stands, tip=tip,
            order=order,
        )  # fmt: skip
    except ModelError as problem:
        raise ModelError(f"{place(robot)}: {problem}") from None


def _refuse_macros(robot: Element) -> None:
    for element in robot.iter():
        if element.prefix == "xacro":
            raise ModelError(
                f"{place(element)}: <xacro:{tag(element)}> is a macro; expand the file first, by "
                "`xacro FILE > robot.urdf`."
            )


def _refuse_two_parents(joints: Iterable[Element]) -> None:
    above: dict[str, Element] = {}
    for joint in joints:
        link = attribute(needed(joint, "child"), "link")
        first: Element = above.setdefault(link, joint)
        if first is not joint:
            raise fault(
                joint,
                f"its child, link '{link}', already hangs on joint '{first.get('name')}' (line "
                f"{first.sourceline}); a link has one parent: open the loop.",
            )


def _inertia(link: Element) -> Inertia:
    """In the link's frame; the file gives it about the centre of mass, in axes of its own."""
    inertial = child(link, "inertial")
    if inertial is None:
        return NOTHING
    mass = number(needed(inertial, "mass"), "value")
    moments = needed(inertial, "inertia")
    about_com = (number(moments, key) for key in ("ixx", "ixy", "iyy", "ixz", "iyz", "izz"))
    R, s = _origin(inertial)
    return Inertia(mass, ZERO, Symmetric(*about_com)).moved(as_rotation(R), as_vector(s))


def _check(name: str, inertia: Inertia, link: Element) -> None:
    try:
        check_inertia(name, inertia)
    except ModelError as problem:
        cure = "To read it as it is, say physical=False."
        raise ModelError(f"{place(link)}: {problem} {cure}") from None


def _hinge(
    joint: Element,
    links: Mapping[str, Element],
    joints: Mapping[str, Element],
    followed: dict[str, Mimic],
) -> Hinge:
    name = attribute(joint, "name")
    above = known(needed(joint, "parent"), "link", links)
    below = known(needed(joint, "child"), "link", links)
    R, s = _origin(joint)
    if _kind(joint) == "fixed":
        return Hinge(name, above, below, None, R, s)
    drive, axis = _drive(joint), _axis(joint)
    return Hinge(name, above, below, drive, R, s, axis, _mimic(name, joints, followed))


def _kind(joint: Element) -> str:
    kind = attribute(joint, "type")
    if kind in ("floating", "planar"):
        raise fault(
            joint,
            f"type '{kind}' is not supported yet; robots stand on a fixed base: make the joint "
            "fixed, or build it of prismatic and revolute ones.",
        )
    if kind not in TYPES:
        raise fault(joint, f"type '{kind}' is unknown; expected one of {', '.join(TYPES)}.")
    return kind


def _drive(joint: Element) -> Joint:
    kind = _kind(joint)
    limit, dynamics = child(joint, "limit"), child(joint, "dynamics")
    lower, upper = -inf, inf
    if kind != "continuous" and limit is not None and {"lower", "upper"} & {*limit.keys()}:
        lower, upper = (_unlimited(number(limit, key, 0.0)) for key in ("lower", "upper"))
    if lower > upper:
        raise fault(limit, f"lower, {lower:g}, is above upper, {upper:g}; exchange them.")
    rotor = child(joint, "appell")
    return Joint(
        attribute(joint, "name"),
        "prismatic" if kind == "prismatic" else "revolute",
        lower,
        upper,
        speed=_unlimited(magnitude(limit, "velocity", inf)),
        effort=_unlimited(magnitude(limit, "effort", inf)),
        viscous=magnitude(dynamics, "damping", 0.0),
        coulomb=magnitude(dynamics, "friction", 0.0),
        rotor=magnitude(rotor, "rotor", 0.0),
        gear=number(rotor, "gear", 1.0),
    )


def _unlimited(x: float) -> float:
    return copysign(inf, x) if abs(x) >= UNLIMITED else x


def _axis(joint: Element) -> Array:
    element = child(joint, "axis")
    axis = np.array((1.0, 0.0, 0.0) if element is None else numbers(element, "xyz", 3))
    if not axis.any():
        raise fault(element, "the axis is 0 0 0, which has no direction; give another.")
    return axis


def _mimic(name: str, joints: Mapping[str, Element], followed: dict[str, Mimic]) -> Mimic | None:
    """The independent joint that this one follows, perhaps through others that mimic too. Those
    that are ``followed`` already are not looked at again."""
    chain, passed = [name], {name}
    while chain[-1] not in followed and (mimic := child(joints[chain[-1]], "mimic")) is not None:
        leader = known(mimic, "joint", joints)
        if leader in passed:
            ring = "' mimics '".join([*chain, leader])
            raise fault(mimic, f"'{ring}', so none of them leads; delete one <mimic>.")
        if _kind(joints[leader]) == "fixed":
            raise fault(mimic, f"joint '{leader}' is fixed; name a moving one, or fix this one.")
        chain.append(leader)
        passed.add(leader)
    for follower, leader in zip(chain[-2::-1], chain[:0:-1], strict=True):
        mimic = child(joints[follower], "mimic")
        ratio, shift = number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0)
        above = followed.get(leader, Mimic(leader))
        followed[follower] = Mimic(above.joint, ratio * above.ratio, ratio * above.shift + shift)
    return followed.get(name)


def _origin(element: Element) -> tuple[Array, Array]:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll) and the position of <origin>."""
    origin = child(element, "origin")
    return from_rpy(numbers(origin, "rpy", 3, _ZEROS)), np.array(numbers(origin, "xyz", 3, _ZEROS))
