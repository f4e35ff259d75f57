"""Robots written as URDF files.

A moving link carries all the inertia of its body; links behind fixed joints follow it without
any. What URDF has no words for (rotors, springs, Coulomb friction that is another backwards,
gravity, a free base, coordinates in an order of their own) stands in elements ``<appell>``, which
``appell.load`` reads and other programs pass over, and helical and spherical joints are types
of Appell's own, at which other programs refuse the file: a warning says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from math import hypot, isinf
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import numpy.typing as npt
from lxml import etree

from appell.errors import InputError, ModelError, UrdfWarning
from appell.maths.rotation import After
from appell.maths.vector import Vector, Z
from appell.model.axes import as_array, rpy
from appell.model.description.urdf import OWN, TYPES, UNLIMITED
from appell.model.description.urdf_shapes import add_shapes
from appell.model.inertia import Inertia
from appell.model.model import BASE, CYCLE, FREE, GRAVITY, Body, Compound, Frame, Joint, Model
from appell.model.parameters import link_inertia
from appell.whole_file import write_whole

Array = npt.NDArray[np.float64]
Pose = tuple[Array, Array]


def write_urdf(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a robot to a file that ``appell.load`` reads back to the same dynamics. A file that is
    there is replaced."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"to_urdf({path!r}): expected the path of a .urdf file.")
    target = Path(path)
    if target.suffix.lower() != ".urdf":
        raise ModelError(f"'{path}': robots are written to .urdf files; name it so.")
    write_whole(target, urdf_text(model))
    return target


def urdf_text(model: Model) -> str:
    """The file's text, every number to its last digit."""
    robot = etree.Element("robot", name=model.name)
    root = model.frames[0]
    for frame in model.frames:
        own = [shape for shape in model.shapes if shape.link == frame.name]
        add_shapes(_link(robot, frame.name, _inertia_of(model, frame)), own, _text)
    placed = {frame.name for frame in model.frames}
    compounds = {c.last: c for c in model.compounds if c.last != root.body}
    on_joints = {i: b for i, b in model.links.items() if i != root.body}
    for i, body in sorted(on_joints.items(), key=lambda ib: ib[1].coordinate):
        if i in compounds:
            _compound(robot, model, compounds[i], placed)
        else:
            _moving(robot, model, body, placed)
    for frame in model.frames:
        owner = _owner(model, frame.body, root)
        if frame is not owner:
            joint = _joint(robot, f"fixed_{frame.name}", "fixed", owner.name, frame.name)
            _origin(joint, _between(_pose(owner), _pose(frame)))
    _extension(model, robot)
    if unread := [*_unread(model)]:
        warn(
            f"'{model.name}': other programs than Appell do not read from the file: "
            f"{'; '.join(unread)}.",
            UrdfWarning,
            stacklevel=3,
        )
    etree.indent(robot)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + str(etree.tostring(robot, encoding="unicode")) + "\n"


# What URDF has no words for


def _unread(model: Model) -> Iterator[str]:
    """What is said of them."""
    if tuple(model.gravity) != tuple(GRAVITY):
        yield f"gravity of ({', '.join(f'{float(x):g}' for x in model.gravity)}) m/s^2"
    if _free_base(model):
        yield "that its base is free"
    for kind in OWN:
        if names := [x for x, y in _kinds(model).items() if y == kind]:
            yield f"joints that are {kind}, at which they refuse it: {', '.join(names)}"
    if _reordered(model):
        yield "the order of its coordinates"
    if model.points:
        yield f"which points can touch a wall: {', '.join(model.points)} (nor does Appell)"
    drives: dict[str, Callable[[Joint], bool]] = {
        "the rotors' inertias": lambda joint: joint.rotor != 0,
        "the springs": lambda joint: joint.stiffness != 0,
        "the other Coulomb friction backwards": lambda joint: joint.coulomb_backwards is not None,
    }
    for what, has in drives.items():
        if names := [body.joint.name for body in model.bodies if has(body.joint)]:
            yield f"{what} of {', '.join(names)}"


def _extension(model: Model, robot: Any) -> None:
    said = {}
    if tuple(model.gravity) != tuple(GRAVITY):
        said["gravity"] = _text(model.gravity)
    if _free_base(model):
        said["base"] = "free"
    if _reordered(model):
        own = model.joints[FREE if _free_base(model) else 0 :]
        said["order"] = ",".join(joint.name for joint in own)
    above = {element.get("link") for element in robot.iter("parent")}
    ends = {frame.name for frame in model.frames} - above
    if model.tip is not None and ends != {model.tip}:
        said["tip"] = model.tip
    if said:
        etree.SubElement(robot, "appell", said)


def _free_base(model: Model) -> bool:
    """Whether the root itself moves, rather than a link on a free joint."""
    return model.free and model.frames[0].body != BASE


def _kinds(model: Model) -> dict[str, str]:
    """The kind of each joint, by name."""
    kinds = {b.joint.name: b.joint.kind for b in model.driven.values()}
    return kinds | {c.name: "free" if c.free else "spherical" for c in model.compounds}


def _reordered(model: Model) -> bool:
    """Whether a coordinate comes before one that carries it, which no order of joints says."""
    return any(
        body.parent != BASE and model.bodies[body.parent].coordinate > body.coordinate
        for body in model.bodies
    )


# Links and joints


def _inertia_of(model: Model, frame: Frame) -> Inertia | None:
    """That of the body named after the link, in the link's frame; the root's is the ground's."""
    if frame is model.frames[0] and frame.body == BASE:
        return model.ground
    for body in model.links.values():
        if body.name == frame.name:
            return link_inertia(model, body)
    return None


def _link(robot: Any, name: str, inertia: Inertia | None) -> Any:
    link = etree.SubElement(robot, "link", name=name)
    if inertia is None or not any(inertia.parameters):
        return link
    if inertia.mass == 0:
        raise ModelError(
            f"link '{name}' has moments of inertia and no mass, which a URDF file cannot say; give "
            "it a mass."
        )
    inertial = etree.SubElement(link, "inertial")
    etree.SubElement(inertial, "origin", xyz=_text(inertia.com))
    etree.SubElement(inertial, "mass", value=_text([inertia.mass]))
    keys = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
    moments = zip(keys, (_text([x]) for x in inertia.central), strict=True)
    etree.SubElement(inertial, "inertia", dict(moments))
    return link


def _moving(robot: Any, model: Model, body: Body, placed: set[str]) -> None:
    """A body's joint. A link that is off its joint's axis is fixed to one that is on it."""
    above = _owner(model, body.parent, model.frames[0])
    link = model.frame(body.name)
    R, s = _pose(link)
    on_axis = not body.rho or hypot(s[0], s[1]) <= 1e-15 * hypot(*s)
    joint_frame = (R, s) if on_axis else (R, np.array([0.0, 0.0, s[2]]))
    child = body.name
    if not on_axis:
        child = _unused(f"{body.name}_on_axis", placed)
        _link(robot, child, None)
        fixed = _joint(robot, f"fixed_{body.name}", "fixed", child, body.name)
        _origin(fixed, _between(joint_frame, (R, s)))
    kind = body.joint.kind
    if kind not in (*TYPES, *OWN):
        raise ModelError(
            f"'{model.name}': joint '{body.joint.name}' is {kind}, which a URDF file cannot say; "
            f"expected {', '.join((*TYPES, *OWN))}."
        )
    free_turn = kind == "revolute" and isinf(body.joint.lower) and isinf(body.joint.upper)
    kind_name = "continuous" if free_turn else kind
    joint = _joint(robot, body.joint.name, kind_name, above.name, child)
    if body.joint.pitch != 0:
        joint.set("pitch", _text([body.joint.pitch]))
    zero = body.shift - body.zero  # where the joint, by its limits, is at zero
    at_zero = as_array(body.rotation(zero)), np.array(body.offset(zero), dtype=float)
    _origin(joint, _between(_pose(above), _after(at_zero, joint_frame)))
    etree.SubElement(joint, "axis", xyz=_text(link.R.T @ Z))
    _drive(joint, body.joint, free_turn)
    leader = model.joints[body.coordinate]
    if leader.name != body.joint.name:
        follows = {"multiplier": _text([body.ratio]), "offset": _text([body.zero])}
        etree.SubElement(joint, "mimic", {"joint": leader.name, **follows})


def _compound(robot: Any, model: Model, compound: Compound, placed: set[str]) -> None:
    """A floating or spherical joint. A link that is off its frame is fixed to one that is on it."""
    first, last = model.bodies[compound.body], model.bodies[compound.last]
    above, link = _owner(model, first.parent, model.frames[0]), model.frame(last.name)
    child = last.name
    if not (np.array_equal(as_array(link.R), np.eye(3)) and not any(link.s)):
        child = _unused(f"{last.name}_on_joint", placed)
        _link(robot, child, None)
        _origin(_joint(robot, f"fixed_{last.name}", "fixed", child, last.name), _pose(link))
    kind = "floating" if compound.free else "spherical"
    joint = _joint(robot, compound.name, kind, above.name, child)
    at_rest = as_array(After(first.R0, CYCLE.T)), np.array(first.s0, dtype=float)
    _origin(joint, _between(_pose(above), at_rest))


def _joint(robot: Any, name: str, kind: str, parent: str, child: str) -> Any:
    taken = {element.get("name") for element in robot.iterchildren("joint")}
    joint = etree.SubElement(robot, "joint", name=_unused(name, taken), type=kind)
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=child)
    return joint


def _drive(element: Any, joint: Joint, free_turn: bool) -> None:
    limit = {} if free_turn else {"lower": _limit(joint.lower), "upper": _limit(joint.upper)}
    if not free_turn or not (isinf(joint.effort) and isinf(joint.speed)):
        limit |= {"effort": _limit(joint.effort), "velocity": _limit(joint.speed)}
        etree.SubElement(element, "limit", limit)
    if joint.viscous or joint.coulomb:
        damping, friction = _text([joint.viscous]), _text([joint.coulomb])
        etree.SubElement(element, "dynamics", damping=damping, friction=friction)
    names = ["rotor", "gear"] if joint.rotor != 0 else []
    names += ["stiffness", "rest"] if joint.stiffness != 0 else []
    names += ["coulomb_backwards"] if joint.coulomb_backwards is not None else []
    if names:
        own = {name: _text([getattr(joint, name)]) for name in names}
        etree.SubElement(element, "appell", own)


def _limit(x: float) -> str:
    return _text([max(-UNLIMITED, min(UNLIMITED, x))])


# Places


def _owner(model: Model, body: int, root: Frame) -> Frame:
    """The link on which what hangs on a body is put."""
    return root if body == BASE else model.frame(model.bodies[body].name)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _pose(frame: Frame) -> Pose:
    return as_array(frame.R), np.array(frame.s, dtype=float)


def _after(first: Pose, second: Pose) -> Pose:
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def _between(first: Pose, second: Pose) -> Pose:
    """The second as seen from the first."""
    return first[0].T @ second[0], first[0].T @ (second[1] - first[1])


def _origin(element: Any, pose: Pose) -> None:
    etree.SubElement(element, "origin", xyz=_text(pose[1]), rpy=_text(rpy(pose[0])))


def _text(numbers: Sequence[Any] | Vector | Array) -> str:
    return " ".join(repr(float(x) + 0.0) for x in numbers)
