"""A robot on viser's stage: its links as nodes that are moved, a floor, a camera."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Any

import numpy as np

from appell.model.axes import frame_along
from appell.model.shapes import Array, Shape
from appell.show.viewer.robot_scene import BASE_COLOUR, Bar, RobotScene
from appell.show.viewer.triangles import Triangles, triangles

# Where the eye is, in widths of what is seen: to the right, back, and up.
_ASIDE, _BACK, _ABOVE = 0.85, 1.35, 0.6
_FROM_THE_FRONT = 0.35, 1.75, 0.25  # of a robot that moves in an upright plane


def wxyz(R: Array) -> Array:
    """The quaternions of rotations (..., 3, 3), as viser has them."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    return flat[:, [3, 0, 1, 2]].reshape(*R.shape[:-2], 4)


class Stage:
    """The nodes of a robot's links; ``move`` brings them where they are at coordinates q."""

    def __init__(self, server: Any, scene: RobotScene, views: Iterable[Array]) -> None:
        self.server, self.scene = server, scene
        self.server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="large",
            brand_color=(47, 120, 196),
        )  # fmt: skip
        self.server.gui.main_panel.dock_right()
        self.nodes = [
            server.scene.add_frame(f"/robot/{k}", show_axes=False) for k in range(len(scene.links))
        ]
        self._corners: list[tuple[int, Array]] = []
        for k, shape in enumerate(scene.shapes):
            self._add(k, shape)
        self.bars = [self._bar(k, bar) for k, bar in enumerate(scene.bars)]
        low, high = self._bounds([np.asarray(q, dtype=float) for q in views])
        self.centre, self.width = (low + high) / 2, float(np.linalg.norm(high - low))
        self._furnish(low)

    def node(self, link: str) -> str:
        """The name of a link's node."""
        return f"/robot/{self.scene.links.index(link)}"

    def move(self, q: Array) -> Array:
        """Bring the links where they are at q; their poses (links, 4, 4) are returned."""
        poses = self.scene.poses(q)
        turns = wxyz(poses[:, :3, :3])
        with self.server.atomic():
            for node, turn, pose in zip(self.nodes, turns, poses, strict=True):
                node.wxyz, node.position = turn, pose[:3, 3]
            where = dict(zip(self.scene.links, poses, strict=True))
            for node, bar in zip(self.bars, self.scene.bars, strict=True):
                a, b = (where.get(x, np.eye(4))[:3] @ [*s, 1.0] for x, s in bar.ends)
                node.wxyz, node.position = wxyz(frame_along(b - a, bar.name)), (a + b) / 2
        return poses

    def add_solid(self, name: str, surface: Triangles, **look: Any) -> Any:
        """A surface as a node."""
        r, g, b, a = surface.colour
        return self.server.scene.add_mesh_simple(
            name,
            surface.vertices,
            surface.faces,
            color=(round(255 * r), round(255 * g), round(255 * b)),
            flat_shading=surface.flat,
            side="double" if a < 1 else "front",
            **({"opacity": a} if a < 1 else {}),
            **look,
        )

    def _add(self, k: int, shape: Shape) -> None:
        link = self.scene.links.index(shape.link)
        turn = wxyz(shape.rotation)
        for part, surface in enumerate(triangles(shape)):
            name = f"/robot/{link}/{k}-{part}"
            self.add_solid(name, surface, wxyz=turn, position=shape.position)
            box = np.array([surface.vertices.min(axis=0), surface.vertices.max(axis=0)])
            corners = np.array(np.meshgrid(*box.T)).reshape(3, -1).T
            self._corners.append((link, corners @ shape.rotation.T + shape.position))

    def _bar(self, k: int, bar: Bar) -> Any:
        sizes, none = (bar.radius, bar.length), (np.eye(3), np.zeros(3))
        return self.add_solid(
            f"/bars/{k}", triangles(Shape("", "capsule", sizes, *none, BASE_COLOUR))[0]
        )

    def _bounds(self, views: list[Array]) -> tuple[Array, Array]:
        """The box, in the world's axes, that holds all shapes and the base's origin."""
        points = [np.zeros((1, 3))]
        for q in views:
            poses = self.scene.poses(q)
            points += [x @ poses[k, :3, :3].T + poses[k, :3, 3] for k, x in self._corners]
        every = np.concatenate(points)
        low, high = every.min(axis=0), every.max(axis=0)
        least = 0.5 * self.scene.length
        return np.minimum(low, (low + high - least) / 2), np.maximum(high, (low + high + least) / 2)

    def _furnish(self, low: Array) -> None:
        up, server = self.scene.up, self.server
        right = np.eye(3)[int(np.argmin(np.abs(up)))]
        right = right - up * (up @ right)
        right /= np.linalg.norm(right)
        ahead = np.cross(up, right)
        axes = [axis for axis in self.scene.joint_axes if axis.direction.any()]
        upright = len(axes) > 0 and abs(up[2]) < 0.5
        aside, back, above = _FROM_THE_FRONT if upright else (_ASIDE, _BACK, _ABOVE)
        eye = self.centre + self.width * (aside * right - back * ahead + above * up)
        server.scene.set_up_direction(tuple(map(float, up)))
        server.initial_camera.up = tuple(map(float, up))
        server.initial_camera.position = tuple(map(float, eye))
        server.initial_camera.look_at = tuple(map(float, self.centre))
        server.initial_camera.fov = 0.6
        server.initial_camera.near = self.width / 200
        depth = float(up @ low) if (up >= 0).all() else 0.0
        height = depth if depth < -0.02 * self.width else 0.0
        cell = _nice(self.width / 8)
        server.scene.add_grid(
            "/floor", plane="xy", wxyz=wxyz(frame_along(up, "up")), position=up * height,
            cell_size=cell, section_size=5 * cell, cell_color=(216, 220, 226),
            section_color=(176, 184, 194), infinite_grid=True, fade_distance=6 * self.width,
            fade_strength=2.0, fade_from="origin", shadow_opacity=0.18,
        )  # fmt: skip


def _nice(x: float) -> float:
    """1, 2 or 5 times a power of ten, near x."""
    power = 10.0 ** floor(log10(max(x, 1e-9)))
    return power * min((1, 2, 5, 10), key=lambda k: abs(np.log(k * power / x)))
