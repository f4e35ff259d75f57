"""Robots from URDF files, the format of ROS: https://wiki.ros.org/urdf/XML.

Fixed-base trees of revolute, continuous, prismatic and fixed joints. Shapes, transmissions and
what simulators add are passed over, and no other file is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import cos, inf, isfinite, sin
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lxml import etree

from appell.errors import ModelError
from appell.maths.vector import Symmetric, Vector
from appell.model.build import Hinge, Mimic, as_rotation, as_vector, assemble
from appell.model.inertia import NOTHING, Inertia, check_inertia
from appell.model.model import Joint, Model

Array = npt.NDArray[np.float64]
Element = Any  # lxml has no types

_LARGEST = 16 * 2**20  # bytes; the largest robots take a fiftieth of it
_XACRO = "xacro"
_REQUIRED: Any = object()


def read_urdf(
    path: str | os.PathLike[str],
    *,
    physical: bool = True,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> Model:
    """The robot of a URDF file, its coordinates in the order of the file's joints.

    A link without <inertial> has no mass. What a joint's <limit> leaves out is unlimited, but of
    lower and upper one alone makes the other 0, as ROS has it. ``physical=False`` accepts
    inertias that no body has; ``gravity`` is in the root link's axes, m/s^2.
    """
    robot = _parse(Path(path))
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    inertias = {name: _inertia(link) for name, link in links.items()}
    if physical:
        for name, link in links.items():
            _check(name, link, inertias[name])
    hinges = [_hinge(joint, links, joints) for joint in joints.values()]
    try:
        return assemble(_name(robot), inertias, hinges, gravity=gravity, physical=False)
    except ModelError as problem:
        raise ModelError(f"{_place(robot)}: {problem}") from None


# The file


def _parse(path: Path) -> Element:
    """The <robot> element of a file that may come from anywhere."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        robot = etree.fromstring(_bytes(path), parser, base_url=str(path))
    except etree.XMLSyntaxError as problem:
        raise ModelError(f"{path}:{problem.lineno}: this is not XML: {problem.msg}.") from None
    if robot.getroottree().docinfo.doctype:
        raise ModelError(
            f"{path}: the file has a document type (<!DOCTYPE>), which can define entities and "
            "name other files; a URDF needs none: take it out."
        )
    for element in robot.iter():
        if element.prefix == "xacro":
            raise _fault(element, f"<{_tag(element, True)}> is of xacro")
    if _tag(robot) != "robot":
        raise ModelError(f"{_place(robot)}: the root element is <{_tag(robot)}>, not <robot>.")
    return robot
