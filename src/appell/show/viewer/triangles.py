"""Shapes as triangles, through trimesh: primitives, and the files of meshes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter, warn

import numpy as np
import numpy.typing as npt

from appell.errors import UrdfWarning, quoted
from appell.model.shapes import Colour, Shape

_DEFAULT: Colour = (0.72, 0.74, 0.77, 1.0)
_SMOOTH = 20_000  # triangles; to find the sharp edges of more takes long
_STAND_IN = 0.03  # m: radius of the sphere in the place of a mesh that cannot be read


class Triangles(NamedTuple):
    """A surface of one colour: corners (n, 3) in m, and the three corners of each face (m, 3)."""

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    colour: Colour
    flat: bool = False  # whether each face is shaded for itself


def triangles(shape: Shape) -> list[Triangles]:
    """The surfaces of a shape, about its own origin. A mesh whose file is missing or broken is
    warned of, and a small sphere stands in its place; a shape without extent is left out."""
    colour = shape.colour or _DEFAULT
    if shape.kind != "mesh":
        if _has_extent(shape):
            return [_surface(_primitive(shape), colour)]
        _left_out(shape)
        return []
    path, why = shape.path(), "there is no such file"
    if path is not None:
        try:
            parts = _read_mesh(str(path))
            scale = np.array(shape.sizes, dtype=np.float32)
            return [_scaled(part, scale, shape.colour) for part in parts]
        except Exception as problem:  # there is no end of what may be wrong with a mesh
            why = str(problem) or type(problem).__name__
    warn(
        f"the mesh {quoted(shape.file)} of link '{shape.link}' cannot be drawn ({quoted(why)}); a "
        "small sphere is in its place. Meshes are STL, OBJ or DAE files; packages are found by "
        "ROS_PACKAGE_PATH and in the folders above the .urdf file.",
        UrdfWarning,
        stacklevel=2,
    )
    import trimesh

    return [_surface(trimesh.creation.icosphere(2, _STAND_IN), colour)]


def _has_extent(shape: Shape) -> bool:
    """Whether there is a surface: a flat box has one, a thread and a point have none."""
    if shape.kind == "box":
        return sum(x > 0 for x in shape.sizes) > 1
    if shape.kind in ("sphere", "capsule"):
        return shape.sizes[0] > 0
    return shape.kind != "cylinder" or min(shape.sizes) > 0


def _left_out(shape: Shape) -> None:
    sizes = ", ".join(f"{x:g}" for x in shape.sizes)
    warn(
        f"the {shape.kind} of link '{shape.link}' has no extent (sizes {sizes} m) and is not drawn;"
        " give it sizes above zero.",
        UrdfWarning,
        stacklevel=3,
    )


def _primitive(shape: Shape) -> Any:
    from trimesh import creation

    if shape.kind == "box":
        return creation.box(shape.sizes)
    if shape.kind == "sphere":
        return creation.icosphere(3, shape.sizes[0])
    if shape.kind == "cylinder":
        return creation.cylinder(*shape.sizes, sections=48)
    if shape.kind == "capsule":
        radius, length = shape.sizes
        return creation.capsule(length, radius, count=[32, 24])
    if shape.kind == "cone":
        return creation.cone(*shape.sizes, sections=48)
    return _arc(*shape.sizes)


def _arc(radius: float, angle: float, thickness: float) -> Any:
    """A bent tube with round ends."""
    import trimesh

    steps, sides = max(3, int(24 * angle)), 20
    turn = np.linspace(0, angle, steps)[:, None]
    around = np.linspace(0, 2 * np.pi, sides, endpoint=False)[None]
    out = radius + thickness * np.cos(around)
    corners = np.stack(
        [
            np.broadcast_to(thickness * np.sin(around), (steps, sides)),
            -np.sin(turn) * out,
            np.cos(turn) * out,
        ],
        axis=-1,
    )
    i, j = (x.ravel() for x in np.meshgrid(range(steps - 1), range(sides), indexing="ij"))
    a, b = i * sides + j, i * sides + (j + 1) % sides
    faces = np.concatenate([np.stack([a, a + sides, b], 1), np.stack([b, a + sides, b + sides], 1)])
    tube = trimesh.Trimesh(corners.reshape(-1, 3), faces, process=False)
    tube.fix_normals()
    ends = []
    for t in (0.0, angle):
        end = trimesh.creation.icosphere(2, thickness)
        end.apply_translation([0.0, -radius * np.sin(t), radius * np.cos(t)])
        ends.append(end)
    return trimesh.util.concatenate([tube, *ends])


@lru_cache(maxsize=512)
def _read_mesh(path: str) -> tuple[Triangles, ...]:
    """The surfaces in a file, each of one colour."""
    import trimesh

    with catch_warnings():
        simplefilter("ignore")  # of the libraries that read: what matters is an error
        scene = trimesh.load_scene(path)
        parts = scene.dump()
    solids = [part for part in parts if len(getattr(part, "faces", ()))]
    surfaces = [_surface(part, _own_colour(part, path)) for part in solids]
    if not surfaces:
        raise ValueError("it has no triangles")
    return tuple(surfaces)


def _own_colour(mesh: Any, path: str) -> Colour:
    """The colour that a file gives a mesh; STL files have none."""
    try:
        if Path(path).suffix.lower() == ".stl" or not mesh.visual.defined:
            return _DEFAULT
        material = getattr(mesh.visual, "material", None)
        image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
        if image is not None:
            r, g, b = np.asarray(image.convert("RGB").resize((1, 1)))[0, 0] / 255
            return float(r), float(g), float(b), 1.0
        r, g, b, a = (mesh.visual if material is None else material).main_color[:4] / 255
        return float(r), float(g), float(b), float(a) or 1.0
    except Exception:  # a colour is not worth an error
        return _DEFAULT


def _surface(mesh: Any, colour: Colour) -> Triangles:
    """A mesh whose sharp edges are sharp; a picture on it is left behind."""
    import trimesh

    flat = len(mesh.faces) > _SMOOTH
    merged = trimesh.Trimesh(mesh.vertices, mesh.faces)
    shaded = merged if flat else merged.smooth_shaded
    return Triangles(
        np.asarray(shaded.vertices, np.float32), np.asarray(shaded.faces, np.uint32), colour, flat
    )


def _scaled(part: Triangles, scale: Any, colour: Colour | None) -> Triangles:
    faces = part.faces[:, ::-1] if np.prod(scale) < 0 else part.faces  # a mirror turns them
    if not (np.isfinite(part.vertices).all() and len(part.vertices)):
        raise ValueError("its corners are not finite")
    return Triangles(part.vertices * scale, faces, colour or part.colour, part.flat)
