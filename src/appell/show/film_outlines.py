"""Outlines of solids on a sheet, frame by frame, as a camera far away sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.charts.palette import PAPER
from appell.model.shapes import Array, Shape
from appell.show.scene import View
from appell.show.svg import points

_EDGE = 1.3  # pixels of paper about a part, so that parts stay apart
_HUB = 5.0  # pixels: the radius above which a joint has a hub
_SIDES = 12  # corners of the outline of a solid that is no capsule, sphere or cylinder


class Camera(NamedTuple):
    """A view, and where its sheet is on the picture: pixels per metre, and the sheet's origin."""

    view: View
    scale: float = 1.0
    origin: tuple[float, float] = (0.0, 0.0)

    def __call__(self, places: Any) -> Array:
        """Pixels (..., 2), right and down, of places (..., 3)."""
        return self.origin + self.scale * self.view(places) * [1, -1]

    def seen(self, directions: Array) -> Array:
        """Directions (..., 3) as right, down, and towards the eye."""
        return np.concatenate(
            [self.view(directions) * [1, -1], self.view.nearness(directions)[..., None]], axis=-1
        )

    @classmethod
    def fitted(cls, view: View, places: Array, size: tuple[float, float], margin: float) -> Camera:
        """The camera for which places (k, 3) fill a picture of this size, but for a margin."""
        sheet = view(places)
        low, high = sheet.min(axis=0), sheet.max(axis=0)
        room = np.array(size) - 2 * margin
        scale = float(np.min(room / np.maximum(high - low, 1e-9)))
        middle = (low + high) / 2 * [1, -1]
        x, y = np.array(size) / 2 - scale * middle
        return cls(view, scale, (float(x), float(y)))


class Outline(NamedTuple):
    """An element whose points or path change from frame to frame, drawn once in each look."""

    tag: str
    values: list[str]
    looks: list[dict[str, Any]]

    @property
    def attribute(self) -> str:
        return "d" if self.tag == "path" else "points"


def reach(shape: Shape, poses: Array) -> Array:
    """Places (k, 3) around a shape at all its poses (N, 4, 4)."""
    return _moved(_corners(shape), poses).reshape(-1, 3)


def moved(shape: Shape, poses: Array) -> Array:
    """The places (N, k, 3) that say where a shape is: of a round one its middle line, of others
    their corners."""
    line = shape.kind in ("capsule", "sphere", "arc")
    return _moved(_spine(shape) if line else _corners(shape), poses)


def outlines(shape: Shape, poses: Array, camera: Camera) -> list[Outline]:
    """What is drawn of a shape at its poses (N, 4, 4), from back to front."""
    r, g, b, opacity = shape.colour or (0.6, 0.62, 0.65, 1.0)
    colour = _hex(r, g, b)
    if shape.kind in ("capsule", "sphere", "arc"):
        width = 2 * camera.scale * _thickness(shape)
        lines = camera(_moved(_spine(shape), poses))
        return [Outline("polyline", [points(x) for x in lines], _round(colour, width, opacity))]
    if shape.kind == "cylinder":
        return _cylinder(shape, poses, camera, (r, g, b), opacity)
    sheet = camera(_moved(_corners(shape), poses))
    edge = {"stroke": PAPER, "stroke_width": _EDGE, "stroke_linejoin": "round"}
    look = {"fill": colour, "fill_opacity": opacity if opacity < 1 else None} | edge
    return [Outline("polygon", [points(_hull(x)) for x in sheet], [look])]


def _round(colour: str, width: float, opacity: float) -> list[dict[str, Any]]:
    """A tube that is lit from above: its edge, itself, and the light on it."""
    ends = {"fill": "none", "stroke_linecap": "round", "stroke_linejoin": "round"}
    tube = ends | {"stroke": colour, "stroke_width": f"{width:.1f}"}
    if opacity < 1:
        return [tube | {"stroke_opacity": opacity}]
    edge = ends | {"stroke": PAPER, "stroke_width": f"{width + 2 * _EDGE:.1f}"}
    shift = f"translate({-0.12 * width:.1f} {-0.16 * width:.1f})"
    light = ends | {"stroke": "#fff", "stroke_opacity": 0.24, "transform": shift}
    return [edge, tube, light | {"stroke_width": f"{0.36 * width:.1f}"}]


def _cylinder(
    shape: Shape, poses: Array, camera: Camera, rgb: tuple[float, ...], opacity: float
) -> list[Outline]:
    """Its sides, the disc of its near end, and a hub."""
    radius, length = shape.sizes
    ends = np.array([[0, 0, -0.5], [0, 0, 0.5]]) * length
    low, high = np.moveaxis(camera(_moved(ends, poses)), 1, 0)
    axis = camera.seen(poses[:, :3, 2])
    r = camera.scale * radius
    flat = np.abs(axis[:, 2])
    along = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]) * (np.hypot(*axis[:, :2].T) > 1e-6))
    across = r * np.stack([-np.sin(along), np.cos(along)], axis=1)
    near = np.where(axis[:, 2:] > 0, high, low)
    turn = np.degrees(along) + 90
    half = [f"A{r:.1f} {max(r * k, 0.05):.1f} {x:.0f} 0" for k, x in zip(flat, turn, strict=True)]
    sides, discs = [], []
    for a, b, c, u, arc in zip(low, high, near, across, half, strict=True):
        sides.append(
            f"M{_at(a + u)}L{_at(b + u)}{arc} 0 {_at(b - u)}L{_at(a - u)}{arc} 0 {_at(a + u)}Z"
        )
        discs.append(f"M{_at(c + u)}{arc} 0 {_at(c - u)}{arc} 0 {_at(c + u)}Z")
    edge = {"stroke": PAPER, "stroke_width": _EDGE, "stroke_linejoin": "round"}
    if opacity < 1:
        return [Outline("path", sides, [{"fill": _hex(*rgb), "fill_opacity": opacity} | edge])]
    dark, light = (_hex(*(k * x + m for x in rgb)) for k, m in ((0.82, 0.0), (0.72, 0.28)))
    hubs = [points([c, c]) for c in near]
    hub = {"stroke": dark, "stroke_width": f"{0.7 * r:.1f}", "stroke_linecap": "round"}
    drawn = [
        Outline("path", sides, [{"fill": dark} | edge]),
        Outline("path", discs, [{"fill": light}]),
    ]
    return [*drawn, Outline("polyline", hubs, [hub])] if r > _HUB else drawn


def _spine(shape: Shape) -> Array:
    """The line (k, 3) about which a round shape is."""
    if shape.kind == "sphere":
        return np.zeros((2, 3))
    if shape.kind == "capsule":
        return np.array([[0, 0, -0.5], [0, 0, 0.5]]) * shape.sizes[1]
    radius, angle, _ = shape.sizes
    turn = np.linspace(0, angle, max(5, round(8 * angle)))
    return radius * np.stack([0 * turn, -np.sin(turn), np.cos(turn)], axis=1)


def _thickness(shape: Shape) -> float:
    return shape.sizes[2 if shape.kind == "arc" else 0]


def _corners(shape: Shape) -> Array:
    """Places (k, 3) whose convex hull is the shape's, or holds it."""
    box = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), axis=-1).reshape(-1, 3)
    if shape.kind == "box":
        return box * shape.sizes
    if shape.kind in ("capsule", "sphere", "arc"):
        around = 2 * _thickness(shape) * box
        return (_spine(shape)[:, None] + around).reshape(-1, 3)
    radius, length = shape.sizes
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    if shape.kind == "cone":
        return np.concatenate([ring, [[0, 0, length]]])
    return np.concatenate([ring - [0, 0, length / 2], ring + [0, 0, length / 2]])


def _hull(sheet: Array) -> Array:
    """Places on the sheet (k, 2) that are farthest in directions all around."""
    turn = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)
    return sheet[np.argmax(np.stack([np.cos(turn), np.sin(turn)], axis=1) @ sheet.T, axis=1)]


def _moved(places: Array, poses: Array) -> Array:
    """Places (k, 3) of a shape at its poses (N, 4, 4), (N, k, 3)."""
    return places @ np.swapaxes(poses[:, :3, :3], 1, 2) + poses[:, None, :3, 3]


def _at(place: Array) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"


def _hex(r: float, g: float, b: float) -> str:
    return "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in (r, g, b))
