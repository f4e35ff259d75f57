"""Links and hinges written as other engines read them, every number to its last digit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from pinocchio.rpy import matrixToRpy
from scipy.spatial.transform import Rotation

from appell.model.hinges import Hinge
from appell.model.inertia import Inertia

Links = Mapping[str, Inertia]


def about_com(inertia: Inertia) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass, and the inertia tensor about it."""
    mass, *numbers = map(float, inertia.parameters)
    c = np.array(numbers[:3]) / mass
    xx, xy, yy, xz, yz, zz = numbers[3:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return mass, c, tensor - mass * (c @ c * np.eye(3) - np.outer(c, c))


def urdf(links: Links, hinges: Sequence[Hinge]) -> str:
    """A URDF file; it has no place for rotors."""
    robot = Element("robot", name="described")
    for name, inertia in links.items():
        link = SubElement(robot, "link", name=name)
        if inertia.mass:
            mass, c, I = about_com(inertia)
            inertial = SubElement(link, "inertial")
            SubElement(inertial, "origin", xyz=_text(c))
            SubElement(inertial, "mass", value=repr(mass))
            axes = [(i, j) for i in range(3) for j in range(i, 3)]
            moments = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(I[i, j])) for i, j in axes}
            SubElement(inertial, "inertia", moments)
    for h in hinges:
        joint = SubElement(robot, "joint", name=h.name, type=h.joint.kind if h.joint else "fixed")
        SubElement(joint, "parent", link=h.parent)
        SubElement(joint, "child", link=h.child)
        rpy = _text(matrixToRpy(h.rotation))
        SubElement(joint, "origin", xyz=_text(h.position), rpy=rpy)
        if h.joint:
            SubElement(joint, "axis", xyz=_text(h.axis))
            SubElement(joint, "limit", lower="-9", upper="9", effort="9", velocity="9")
    return tostring(robot, encoding="unicode")


def mjcf(links: Links, hinges: Sequence[Hinge]) -> str:
    """An MJCF file of bodies without shape, nothing derived or repaired by the compiler."""
    model = Element("mujoco")
    SubElement(model, "compiler", angle="radian", inertiafromgeom="false")
    option = SubElement(model, "option", gravity="0 0 -9.81")
    SubElement(option, "flag", contact="disable", energy="enable")
    bodies = {"base": SubElement(model, "worldbody")}
    for h in hinges:
        body = SubElement(
            bodies[h.parent], "body", name=h.child, pos=_text(h.position), quat=_quat(h.rotation)
        )
        bodies[h.child] = body
        mass, c, I = about_com(links[h.child])
        moments, axes = np.linalg.eigh(I)
        axes *= np.linalg.det(axes)
        SubElement(
            body, "inertial", mass=repr(mass), pos=_text(c), quat=_quat(axes),
            diaginertia=_text(moments),
        )  # fmt: skip
        if h.joint:
            kind = "hinge" if h.joint.kind == "revolute" else "slide"
            SubElement(
                body, "joint", name=h.name, type=kind, axis=_text(h.axis),
                armature=repr(float(h.joint.reflected)), stiffness=repr(float(h.joint.stiffness)),
                springref=repr(float(h.joint.rest)),
            )  # fmt: skip
    return tostring(model, encoding="unicode")


def _text(numbers: Sequence[float]) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def _quat(R: np.ndarray) -> str:
    """MuJoCo's order: w first."""
    return _text(np.roll(Rotation.from_matrix(R).as_quat(), 1))
