"""Walls as they are drawn and kept in files: those that are functions by their gaps on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.errors import InputError
from appell.robots.dynamics import Array, Dynamics
from appell.simulation.contacts.surface import surface
from appell.walls import Circle, Cylinder, Ellipse, Plane, Sphere, Wall

_CELLS = 40  # along each side of the box
_ROOM = 0.3  # around the robot, of the longest side of where it is
_LEAST = 0.1  # m


@dataclass(frozen=True, eq=False)
class SampledWall(Wall):
    """A wall that is known by its gaps (n, n, n), in m, at the corners of a grid from ``low`` to
    ``high``: what is left of a wall of your own in a file. It can be drawn, not simulated."""

    low: Any
    high: Any
    gaps: Any

    _shown: ClassVar[str | None] = "low"

    def __post_init__(self) -> None:
        super().__post_init__()
        arrays = {name: np.array(getattr(self, name), float) for name in ("low", "high", "gaps")}
        shapes = tuple(x.shape for x in arrays.values())
        if shapes[:2] != ((3,), (3,)) or len(shapes[2]) != 3 or min(shapes[2]) < 2:
            raise InputError(f"SampledWall: arrays of {shapes}; expected (3,), (3,) and (n, n, n).")
        for name, value in arrays.items():
            object.__setattr__(self, name, value)

    def gap(self, x: Any, y: Any, z: Any) -> Any:
        """The distance of a point from the wall, m, linear between the corners of the grid."""
        from scipy.ndimage import map_coordinates

        try:
            points = np.stack(np.broadcast_arrays(*(np.asarray(u, dtype=float) for u in (x, y, z))))
        except (TypeError, ValueError):
            raise InputError(
                f"{self.label} was read from a file, which holds its shape and not its function; "
                "to simulate, give the wall itself."
            ) from None
        cells = (np.array(self.gaps.shape) - 1) / (np.asarray(self.high) - self.low)
        at = (points.reshape(3, -1).T - self.low) * cells
        return map_coordinates(self.gaps, at.T, order=1, mode="nearest").reshape(points.shape[1:])


SHAPES = (Circle, Cylinder, Ellipse, Plane, SampledWall, Sphere)  # walls that are plain data


def drawn_walls(run: Any) -> tuple[Wall, ...]:
    """The walls of a run as plain data: one that is a function is sampled where the run moves."""
    if all(type(wall) in SHAPES for wall in run.walls):
        return tuple(run.walls)
    box = _box(run.robot, run(np.linspace(run.t[0], run.t[-1], 25))[0])
    return tuple(x if type(x) in SHAPES else _sampled(x, *box) for x in run.walls)


def _box(robot: Dynamics, q: Array) -> tuple[Array, Array]:
    """The box in which the origins of the links are, with room around."""
    origins = np.asarray(robot.poses(q), dtype=float)[..., :3, 3].reshape(-1, 3)
    low, high = origins.min(axis=0), origins.max(axis=0)
    room = max(_ROOM * float(np.max(high - low)), _LEAST)
    return low - room, high + room


def _sampled(wall: Wall, low: Array, high: Array) -> SampledWall:
    sides = [np.linspace(a, b, _CELLS + 1) for a, b in zip(low, high, strict=True)]
    corners = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    gaps = np.array(surface(wall)(corners.reshape(-1, 3).T)[0]).reshape(corners.shape[:3])
    known = np.round(np.nan_to_num(gaps), 6)
    return SampledWall(low, high, known, restitution=wall.restitution, mu=wall.mu, name=wall.label)
