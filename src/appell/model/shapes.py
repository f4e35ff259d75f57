"""Shapes of links, as they are drawn. Dynamics does not know of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError

Array = npt.NDArray[np.float64]
Colour = tuple[float, float, float, float]  # red, green, blue and opacity, from 0 to 1

# What the sizes of each kind are, in m (a mesh's scale is a number, an arc's angle in rad). A shape
# is about its own origin, long ones along z; an arc is about the origin, from z towards -y.
SIZES = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),  # the length without the round ends
    "cone": ("radius", "length"),  # its foot at the origin
    "arc": ("radius", "angle", "thickness"),
    "mesh": ("x", "y", "z"),
}


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid fixed to a link, at a pose in the link's axes.

    ``kind`` is one of SIZES, which says what ``sizes`` are. A mesh has the name of its file, as the
    description gives it, and the folder of the description.
    """

    link: str
    kind: str
    sizes: tuple[float, ...]
    rotation: Array
    position: Array
    colour: Colour | None = None
    file: str = ""
    folder: str = ""
    role: Literal["visual", "collision"] = "visual"

    def __post_init__(self) -> None:
        names = SIZES.get(self.kind)
        if names is None:
            raise ModelError(f"shape of '{self.link}': kind = {self.kind!r}; expected {[*SIZES]}.")
        numbers = [*self.sizes, *np.ravel(self.rotation), *self.position]
        wrong = len(names) != len(self.sizes) or not all(map(isfinite, numbers))
        if wrong or (self.kind != "mesh" and min(self.sizes) < 0):
            raise ModelError(
                f"{self.kind} of '{self.link}': sizes {self.sizes}; expected {', '.join(names)}, "
                "finite and not negative."
            )

    @property
    def pose(self) -> Array:
        """The homogeneous matrix (4, 4) from the shape's axes to the link's."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.rotation, self.position
        return pose

    def path(self) -> Path | None:
        """The file of a mesh, or None where there is no such file: see `find_mesh`."""
        return next((x for x in find_mesh(self.file, self.folder) if x.is_file()), None)


def find_mesh(name: str, folder: str) -> Iterator[Path]:
    """The paths that the name of a mesh may stand for.

    ``package://robot/mesh.stl`` is looked for in ROS_PACKAGE_PATH, in the folders above that of
    the description (those named ``robot`` too) and beside the robots of example-robot-data; other
    names are relative to the description's folder, or absolute.
    """
    scheme, _, rest = name.rpartition("://")
    if scheme not in ("package", "model"):
        yield Path(folder, unquote(rest) if scheme == "file" else rest)
        return
    from appell.model.library.example_robots import robot_folders  # which are made of models

    rest = rest.lstrip("/")
    package, _, inside = rest.partition("/")
    above = [Path(folder), *Path(folder).parents]
    ros = [Path(x) for x in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if x]
    for root in (*ros, *above, *robot_folders()):
        yield root / rest
        if root.name == package:
            yield root / inside
        if package == "example-robot-data" and root.name == "robots":
            yield root.parent / inside


def link_shapes(shapes: Any, link: str) -> list[Shape]:
    """What is drawn of a link: its visual shapes, or where it has none, its collision shapes."""
    own = [shape for shape in shapes if shape.link == link]
    return [x for x in own if x.role == "visual"] or own
