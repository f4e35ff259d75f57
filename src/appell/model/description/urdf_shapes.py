"""The shapes of links in a URDF file: <visual> and <collision>.

A shape is drawn and nothing else, so one that cannot be read is left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from lxml import etree

from appell.errors import ModelError, quoted
from appell.model.axes import rpy
from appell.model.description.elements import (
    Element,
    attribute,
    child,
    fault,
    needed,
    numbers,
    origin_of,
    tag,
)
from appell.model.shapes import Colour, Shape

_ROLES: tuple[Literal["visual", "collision"], ...] = ("visual", "collision")
_SIZES: dict[str, tuple[tuple[str, int], ...]] = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),  # of some simulators
}


def read_shapes(
    robot: Element, links: Iterable[Element], folder: str, repairs: list[str]
) -> tuple[Shape, ...]:
    """The shapes of all links, in the order of the file; what is wrong is added to ``repairs``."""
    colours = {
        str(x.get("name")): colour
        for x in robot.iterchildren("{*}material")
        if (colour := _colour(x, {})) is not None
    }
    shapes: list[Shape] = []
    for link in links:
        for role in _ROLES:
            for element in link.iterchildren(f"{{*}}{role}"):
                try:
                    shapes.append(_shape(link, element, role, folder, colours))
                except ModelError as problem:
                    why = str(problem).partition(": ")[2] or str(problem)
                    repairs.append(
                        f"line {element.sourceline}: a <{role}> is not drawn: {why.rstrip('.')}"
                    )
    return tuple(shapes)


def _shape(
    link: Element,
    element: Element,
    role: Literal["visual", "collision"],
    folder: str,
    colours: Mapping[str, Colour],
) -> Shape:
    geometry = needed(element, "geometry")
    kinds = [x for x in geometry.iterchildren() if tag(x) in (*_SIZES, "mesh")]
    if not kinds:
        known = ", ".join((*_SIZES, "mesh"))
        raise fault(geometry, f"<geometry> has no shape that is known: {known}.")
    solid, kind, file = kinds[0], tag(kinds[0]), ""
    if kind == "mesh":
        file, sizes = attribute(solid, "filename"), numbers(solid, "scale", 3, (1.0, 1.0, 1.0))
    else:
        sizes = tuple(x for key, count in _SIZES[kind] for x in numbers(solid, key, count))
    R, s = origin_of(element)
    colour = _colour(child(element, "material"), colours)
    return Shape(str(link.get("name")), kind, sizes, R, s, colour, file, folder, role)


def _colour(material: Element | None, known: Mapping[str, Colour]) -> Colour | None:
    """A material's colour, or that of the robot's material of the same name; None where it has
    none that can be read."""
    try:
        colour = None if material is None else child(material, "color")
        if colour is not None:
            r, g, b, a = (min(1.0, max(0.0, x)) for x in numbers(colour, "rgba", 4))
            return r, g, b, a
    except ModelError:
        return None
    return None if material is None else known.get(str(material.get("name")))


def add_shapes(link: Any, shapes: Iterable[Shape], text: Any) -> None:
    """Write the shapes of a link below its element; ``text`` writes numbers."""
    for shape in shapes:
        if shape.kind not in (*_SIZES, "mesh"):
            raise ModelError(f"{quoted(shape.link)}: a URDF file has no {shape.kind}.")
        element = etree.SubElement(link, shape.role)
        etree.SubElement(element, "origin", xyz=text(shape.position), rpy=text(rpy(shape.rotation)))
        geometry = etree.SubElement(element, "geometry")
        if shape.kind == "mesh":
            file = str(shape.path() or shape.file)
            etree.SubElement(geometry, "mesh", filename=file, scale=text(shape.sizes))
        else:
            rest = iter(shape.sizes)
            keys = {k: text([next(rest) for _ in range(n)]) for k, n in _SIZES[shape.kind]}
            etree.SubElement(geometry, shape.kind, keys)
        if shape.colour is not None:
            material = etree.SubElement(element, "material", name="")
            etree.SubElement(material, "color", rgba=text(shape.colour))
