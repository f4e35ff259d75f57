"""Sketches: drawings in the plane, to scale, as SVG, that may move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.charts.palette import INK
from appell.robots.robot import Array
from appell.show.svg import element, grid, points, text


@dataclass(eq=False)
class Sketch:
    """Shapes in the order in which they are drawn, in units of the thing drawn; the drawing is
    fitted to them. Widths and sizes of letters are pixels."""

    title: str = ""
    shapes: list[tuple[str, Array, dict[str, Any]]] = field(default_factory=list)

    def line(self, places: Any, colour: str = INK, width: float = 1.0, **look: Any) -> None:
        """Draw a line through places (k, 2)."""
        ends: dict[str, Any] = {"stroke_linecap": "round", "stroke_linejoin": "round"}
        look = {"fill": "none", "stroke": colour, "stroke_width": width} | ends | look
        self.shapes.append(("polyline", np.asarray(places, dtype=float), look))

    def fill(self, places: Any, colour: str, **look: Any) -> None:
        """Fill an outline (k, 2)."""
        self.shapes.append(("polygon", np.asarray(places, dtype=float), {"fill": colour} | look))

    def dot(self, place: Any, colour: str = INK, radius: float = 3.0) -> None:
        """Draw a round dot."""
        at = np.asarray(place, dtype=float)[None]
        self.shapes.append(("circle", at, {"fill": colour, "r": radius}))

    def text(self, place: Any, words: str, colour: str = INK, **look: Any) -> None:
        """Write words about a place; ``dx`` and ``dy`` are pixels away from it."""
        at = np.asarray(place, dtype=float)[None]
        look = {"text_anchor": "middle", "fill": colour} | look
        self.shapes.append(("text", at, {"words": words} | look))

    def moving(self, frames: Any, seconds: float, colour: str, width: float) -> None:
        """Draw a line that moves, (frames, k, 2), over and over."""
        look = {"fill": "none", "stroke": colour, "stroke_width": width}
        self.shapes.append(("film", np.asarray(frames, dtype=float), look | {"seconds": seconds}))

    def drawn(self, width: float, most: float) -> tuple[str, float]:
        """The shapes as SVG, so wide and at most so high, and how high they are."""
        places = np.concatenate([x.reshape(-1, 2) for _, x, _ in self.shapes])
        low, high = places.min(axis=0), places.max(axis=0)
        top, margin = (22.0 if self.title else 0.0), 14.0
        size = np.maximum(high - low, 1e-9)
        scale = min((width - 2 * margin) / size[0], (most - top - 2 * margin) / size[1])
        height = top + 2 * margin + scale * size[1]
        middle = (low + high) / 2
        centre = np.array([width / 2, top + (height - top) / 2])

        def place(x: Array) -> Array:
            return centre + scale * (x - middle) * [1, -1]

        title = text(self.title, width / 2, 15, text_anchor="middle") if self.title else ""
        return title + "".join(
            _shape(k, place(x), dict(look)) for k, x, look in self.shapes
        ), height


def sketches_svg(
    sketches: Sequence[Sketch], title: str, columns: int = 1, width: float = 420, most: float = 380
) -> str:
    """Sketches beside and below each other as one <svg> element."""
    drawn = [sketch.drawn(width / columns, most) for sketch in sketches]
    height = max(high for _, high in drawn)
    return grid([part for part, _ in drawn], (width / columns, height), columns, title)


def _shape(kind: str, places: Array, look: dict[str, Any]) -> str:
    if kind == "text":
        dx, dy = look.pop("dx", 0.0), look.pop("dy", 0.0)
        return text(look.pop("words"), places[0, 0] + dx, places[0, 1] + dy + 4, **look)
    if kind == "circle":
        return element("circle", cx=f"{places[0, 0]:.1f}", cy=f"{places[0, 1]:.1f}", **look)
    if kind == "film":
        seconds = look.pop("seconds")
        moves = element(
            "animate", attributeName="points", dur=f"{seconds:g}s", repeatCount="indefinite",
            values=";".join(points(x) for x in places),
        )  # fmt: skip
        return element("polyline", moves, points=points(places[0]), stroke_linecap="round", **look)
    return element(kind, points=points(places), **look)
