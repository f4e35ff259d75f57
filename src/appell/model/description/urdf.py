"""Robots from URDF files, the format of ROS (https://wiki.ros.org/urdf/XML).

Trees of revolute, continuous, prismatic, fixed, floating and planar joints, and of those that
other programs do not know: helical and spherical ones. Shapes are kept for viewers; transmissions
and what simulators add are passed over, and no other file is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import copysign, inf
from pathlib import Path
from typing import Any, Literal, TypeGuard
from warnings import warn

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError, UrdfWarning, shorten
from appell.maths.vector import NIL, ZERO, Symmetric
from appell.model.axes import as_rotation, as_vector, frame_along
from appell.model.build import Base, assemble
from appell.model.description.elements import (
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
    origin_of,
    parse,
    place,
    tag,
)
from appell.model.description.urdf_shapes import read_shapes
from appell.model.hinges import CompoundJoint, Hinge, Mimic, in_series, on_a_plane
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model
from appell.model.physical_bodies import judge

Array = npt.NDArray[np.float64]

UNLIMITED = 1.7976931348623157e308  # the largest number: how a file says that there is no limit

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
OWN = ("helical", "spherical", "ball")  # which URDF does not have
COMPOUND: dict[str, Literal["free", "spherical"]] = {
    "floating": "free", "spherical": "spherical", "ball": "spherical",
}  # fmt: skip


def read_urdf(
    source: str | os.PathLike[str],
    *,
    physical: bool | None = None,
    gravity: Sequence[float] | None = None,
    base: Base | None = None,
    root: str | None = None,
    mimic: bool = True,
) -> Model:
    """The robot of a URDF file, or of its text; its coordinates stand in the order of the file's
    joints.

    A link without <inertial> has no mass. What <limit> leaves out is unlimited, but where it
    gives only one of lower and upper, the other is 0, as in ROS. Bodies (links fixed to each other
    are one) with inertias that no body has are warned of; ``physical=True`` refuses them, ``False``
    is silent. ``gravity`` is in the world's axes, m/s^2; ``base`` is "fixed", "free" to move in
    space, or "planar" to move in the world's x, y plane. Neither given, they are
    what an element <appell> says (`appell.model.description.urdf_writer`), or -9.81 along z
    and "fixed".
    ``root`` names another link than the file's root to stand on the base. ``mimic=False`` leaves
    joints that mimic others independent.

    A planar joint is two slides and a turn, in series; a helical one has a ``pitch`` in m/rad, as
    <joint type="helical" pitch="0.01">. Mistakes that other programs pass over are repaired as they
    do, with a warning: a <mimic> that names no joint, a <joint> on a ``world`` without a <link>, an
    <inertial> without <inertia>, prefixes without a namespace.
    """
    repairs: list[str] = []
    robot = parse(source if is_text(source) else Path(source), "robot", repairs)
    _refuse_macros(robot)
    name = attribute(robot, "name")
    links = by_name(robot, "link")
    joints = by_name(robot, "joint")
    if not links:
        raise fault(robot, "there is no <link>; a robot has at least two, and a joint.")
    _refuse_two_parents(joints.values())
    inertias = {x: _inertia(element, repairs) for x, element in links.items()}
    lines = {x: element.sourceline for x, element in links.items()}
    if "world" not in links and (on_world := _on_world(joints.values())) is not None:
        line = f"line {on_world.sourceline}"
        repairs.append(f"{line}: there is no <link> 'world'; it is taken to be the base")
        inertias = {"world": NOTHING, **inertias}
    leaders = _leaders(joints, repairs) if mimic else {}
    hinges: list[Hinge] = []
    for joint in joints.values():
        carriers, several = _hinges(joint, inertias, leaders, repairs)
        inertias |= carriers
        hinges += several
    own = child(robot, "appell")
    field = numbers(own, "gravity", 3, (0.0, 0.0, -9.81)) if gravity is None else gravity
    stands: Any = (own is not None and own.get("base")) or "fixed"
    tip = known(own, "tip", links) if own is not None and own.get("tip") else None
    order = own.get("order").split(",") if own is not None and own.get("order") else None
    try:
        model = assemble(
            name, inertias, hinges, gravity=field, physical=False, base=base or stands, tip=tip,
            order=order if mimic else None, root=root,
        )  # fmt: skip
    except ModelError as problem:
        raise ModelError(f"{place(robot)}: {problem}") from None
    file = place(robot).rpartition(":")[0]
    folder = "" if is_text(source) else str(Path(source).absolute().parent)
    shapes = read_shapes(robot, links.values(), folder, repairs)
    judge(model, inertias, physical, lines, file)
    if repairs:
        more = f"; and {len(repairs) - 5} more" if len(repairs) > 5 else ""
        warn(
            f"{file} is read with repairs: {'; '.join(repairs[:5])}{more}.",
            UrdfWarning,
            stacklevel=4,
        )
    return replace(model, shapes=shapes)


def is_text(source: Any) -> TypeGuard[str]:
    """Whether this is the text of a file rather than its path."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _refuse_macros(robot: Element) -> None:
    for element in robot.iter():
        if element.prefix == "xacro" or tag(element).startswith("xacro:"):
            macro = tag(element).removeprefix("xacro:")
            raise ModelError(
                f"{place(element)}: <xacro:{macro}> is a macro; expand the file first, by "
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


def _on_world(joints: Iterable[Element]) -> Element | None:
    """The first joint whose parent is the world."""
    parents = (needed(joint, "parent") for joint in joints)
    return next((x for x in parents if x.get("link") == "world"), None)


def _inertia(link: Element, repairs: list[str]) -> Inertia:
    """In the link's frame; the file gives it about the centre of mass, in axes of its own."""
    inertial = child(link, "inertial")
    if inertial is None:
        return NOTHING
    mass = number(needed(inertial, "mass"), "value")
    moments = child(inertial, "inertia")
    if moments is None:
        line = f"line {inertial.sourceline}"
        repairs.append(f"{line}: link '{link.get('name')}' has no <inertia>; it is a point mass")
        about_com = NIL
    else:
        keys = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
        about_com = Symmetric(*(number(moments, key) for key in keys))
    R, s = origin_of(inertial)
    return Inertia(mass, ZERO, about_com).moved(as_rotation(R), as_vector(s))


# Joints


def _hinges(
    joint: Element,
    links: Mapping[str, Any],
    leaders: Mapping[str, Mimic],
    repairs: list[str],
) -> tuple[dict[str, Inertia], list[Hinge]]:
    """A joint's hinges and the links between them, which only a planar joint has."""
    name, kind = attribute(joint, "name"), _kind(joint)
    above = known(needed(joint, "parent"), "link", links)
    below = known(needed(joint, "child"), "link", links)
    R, s = origin_of(joint)
    if kind == "fixed":
        return {}, [Hinge(name, above, below, None, R, s)]
    if kind not in COMPOUND and kind != "planar":
        drive, axis = _drive(joint), _axis(joint)
        return {}, [Hinge(name, above, below, drive, R, s, axis, leaders.get(name))]
    for x in ("limit", "dynamics"):
        if (element := child(joint, x)) is not None:
            line = f"line {element.sourceline}"
            repairs.append(f"{line}: <{x}> of joint '{name}', which is {kind}, is not read")
    if kind in COMPOUND:
        return {}, [Hinge(name, above, below, CompoundJoint(name, COMPOUND[kind]), R, s)]
    axes = frame_along(_axis(joint), name).T  # x and y of the plane, and its normal
    return in_series(above, below, [*zip(on_a_plane(name), axes, strict=True)], R, s)


def _kind(joint: Element) -> str:
    kind = attribute(joint, "type")
    if kind not in (*TYPES, *OWN):
        types = ", ".join((*TYPES, *OWN))
        raise fault(joint, f"type '{kind}' is unknown; expected one of {types}.")
    return kind


def _drive(joint: Element) -> Joint:
    kind = _kind(joint)
    limit, dynamics = child(joint, "limit"), child(joint, "dynamics")
    lower, upper = -inf, inf
    if kind != "continuous" and limit is not None and {"lower", "upper"} & {*limit.keys()}:
        lower, upper = (_unlimited(number(limit, key, 0.0)) for key in ("lower", "upper"))
    if lower > upper:
        raise fault(limit, f"lower, {lower:g}, is above upper, {upper:g}; exchange them.")
    own, coulomb = child(joint, "appell"), magnitude(dynamics, "friction", 0.0)
    pitch = number(joint, "pitch") if kind == "helical" else 0
    if kind == "helical" and pitch == 0:
        raise fault(joint, 'its pitch is 0; give one, in m/rad, or write type="revolute".')
    return Joint(
        attribute(joint, "name"),
        "revolute" if kind == "continuous" else kind,
        lower,
        upper,
        speed=_unlimited(magnitude(limit, "velocity", inf)),
        effort=_unlimited(magnitude(limit, "effort", inf)),
        viscous=magnitude(dynamics, "damping", 0.0),
        coulomb=coulomb,
        rotor=magnitude(own, "rotor", 0.0),
        gear=number(own, "gear", 1.0),
        pitch=pitch,
        coulomb_backwards=magnitude(own, "coulomb_backwards", coulomb),
        stiffness=magnitude(own, "stiffness", 0.0),
        rest=number(own, "rest", 0.0),
    )


def _unlimited(x: float) -> float:
    return copysign(inf, x) if abs(x) >= UNLIMITED else x


def _axis(joint: Element) -> Array:
    element = child(joint, "axis")
    axis = np.array((1.0, 0.0, 0.0) if element is None else numbers(element, "xyz", 3))
    if not axis.any():
        raise fault(element, "the axis is 0 0 0, which has no direction; give another.")
    return axis


def _leaders(joints: Mapping[str, Element], repairs: list[str]) -> dict[str, Mimic]:
    """What each joint that mimics another follows: an independent joint, perhaps through others
    that mimic too. Those whose <mimic> cannot be followed are independent."""
    direct: dict[str, Mimic] = {}
    for name, joint in joints.items():
        mimic = child(joint, "mimic")
        if mimic is None or _kind(joint) == "fixed":
            continue
        if _kind(joint) not in _SINGLE:
            repairs.append(
                f"line {mimic.sourceline}: joint '{name}' is {_kind(joint)} and mimics none; its "
                "<mimic> is passed over"
            )
            continue
        leader = attribute(mimic, "joint")
        ratio, shift = number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0)
        kind = _kind(joints[leader]) if leader in joints else None
        if kind in _SINGLE:
            direct[name] = Mimic(leader, ratio, shift)
            continue
        why = f"is {kind}" if kind else "is not there"
        repairs.append(
            f"line {mimic.sourceline}: joint '{name}' mimics '{shorten(leader)}', which {why}; "
            f"'{name}' is independent"
        )
    followed: dict[str, Mimic] = {}
    for name in joints:
        chain, passed = [name], {name}
        while chain[-1] in direct and chain[-1] not in followed:
            chain.append(direct[chain[-1]].joint)
            if chain[-1] not in passed:
                passed.add(chain[-1])
            else:
                ring = chain[chain.index(chain[-1]) :]
                line = needed(joints[chain[-2]], "mimic").sourceline
                around = "' mimics '".join(ring)
                repairs.append(f"line {line}: joint '{around}'; all of them are independent")
                for x in ring[1:]:
                    del direct[x]
                chain = chain[: chain.index(chain[-1]) + 1]
        for follower, leader in zip(chain[-2::-1], chain[:0:-1], strict=True):
            own, above = direct[follower], followed.get(leader, Mimic(leader))
            followed[follower] = Mimic(
                above.joint, own.ratio * above.ratio, own.ratio * above.shift + own.shift
            )
    return followed


_SINGLE = ("revolute", "continuous", "prismatic", "helical")
