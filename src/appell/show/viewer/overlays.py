"""What can be shown besides the robot: frames, axes, centres of mass, inertias, ellipsoids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.model.shapes import Array, Shape
from appell.model.solids import equal_box
from appell.show.viewer.stage import Stage, wxyz
from appell.show.viewer.triangles import triangles

_AXIS, _MASS, _WHOLE = (213, 94, 0), (165, 95, 176), (15, 157, 116)
_ELLIPSOIDS = {  # colour, and what is said of it
    "mobility": ((0.18, 0.47, 0.77, 0.35), "velocities at joint speeds of length one: J J^T"),
    "force": ((0.84, 0.37, 0.0, 0.35), "forces of joint torques of length one: (J J^T)^-1"),
    "acceleration": (
        (0.06, 0.62, 0.45, 0.35),
        "accelerations by a unit force there: J M^-1 J^T, from the mass matrix",
    ),
}


class Overlays:
    """Nodes that follow the robot, each with a box to tick; only those shown are computed."""

    def __init__(self, stage: Stage, again: Callable[[], None]) -> None:
        self.stage, self.again = stage, again
        self.q: Array | None = None
        server, scene = stage.server, stage.scene
        size, n = 0.14 * stage.width, len(scene.links)
        at_rest = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)), np.zeros((n, 3))
        self.frames = server.scene.add_batched_axes(
            "/shown/frames", *at_rest, axes_length=0.5 * size, axes_radius=0.02 * size,
            visible=False,
        )  # fmt: skip
        m = max(1, len(scene.joint_axes))
        lines = np.zeros((m, 2, 3))
        lines[:, 1, 2] = size
        self.axes = server.scene.add_arrows(
            "/shown/axes", lines, _AXIS, shaft_radius=0.015 * size, head_radius=0.05 * size,
            head_length=0.15 * size, visible=False,
        )  # fmt: skip
        self.coms = server.scene.add_point_cloud(
            "/shown/coms", np.zeros((len(scene.inertias) + 1, 3)), _MASS, point_size=0.16 * size,
            point_shape="circle", precision="float32", visible=False,
        )  # fmt: skip
        self.boxes = [self._box(k, link) for k, link in enumerate(scene.inertias)]
        self.ellipsoids = {name: self._ellipsoid(name) for name in _ELLIPSOIDS}
        self._ticks()

    def _box(self, k: int, link: str) -> Any:
        inertia = self.stage.scene.inertias[link]
        edges, axes = equal_box(inertia)
        com = np.array([float(x) for x in inertia.com])
        sizes = tuple(map(float, np.maximum(edges, 1e-4 * self.stage.width)))
        surface = triangles(Shape(link, "box", sizes, axes, com, (0.64, 0.37, 0.69, 0.4)))[0]
        name = f"{self.stage.node(link)}/inertia{k}"
        return self.stage.add_solid(name, surface, wxyz=wxyz(axes), position=com, visible=False)

    def _ellipsoid(self, name: str) -> Any:
        colour = _ELLIPSOIDS[name][0]
        ball = Shape("", "sphere", (1.0,), np.eye(3), np.zeros(3), colour)
        return self.stage.add_solid(f"/shown/{name}", triangles(ball)[0], visible=False)

    def _ticks(self) -> None:
        gui, scene = self.stage.server.gui, self.stage.scene
        self.ticks: dict[str, Any] = {}
        with gui.add_folder("Show", expand_by_default=False):
            for label in ("link frames", "joint axes", "centres of mass", "inertia boxes"):
                self.ticks[label] = gui.add_checkbox(label, False)
            self.ticks["inertia boxes"].hint = "boxes of the same mass and inertia as the links"
            tip = getattr(scene.robot.model, "tip", None) or scene.links[-1]
            self.frame = gui.add_dropdown("ellipsoids of frame", scene.links, initial_value=tip)
            for name, (_, hint) in _ELLIPSOIDS.items():
                self.ticks[name] = gui.add_checkbox(f"{name} ellipsoid", False, hint=hint)
        for handle in (*self.ticks.values(), self.frame):
            handle.on_update(lambda _: self.again())

    def update(self, q: Array, poses: Array) -> str | None:
        """Bring what is shown to coordinates q and the links' poses there; what a robot refuses to
        answer is hidden, and its reason is returned."""
        on = {name: tick.value for name, tick in self.ticks.items()}
        where = dict(zip(self.stage.scene.links, poses, strict=True))
        self.frames.visible = on["link frames"]
        if on["link frames"]:
            self.frames.batched_wxyzs = wxyz(poses[:, :3, :3])
            self.frames.batched_positions = poses[:, :3, 3]
        self.axes.visible = on["joint axes"] and bool(self.stage.scene.joint_axes)
        if self.axes.visible:
            self.axes.points = self._axis_lines(where).astype(np.float32)
        self.coms.visible = on["centres of mass"]
        for box in self.boxes:
            box.visible = on["inertia boxes"]
        try:
            if on["centres of mass"]:
                self._show_coms(q, where)
            for name, node in self.ellipsoids.items():
                node.visible = on[name]
                if on[name]:
                    self._show_ellipsoid(name, node, q, where[self.frame.value])
        except AppellError as problem:
            for node in (self.coms, *self.ellipsoids.values()):
                node.visible = False
            return str(problem)
        return None

    def _axis_lines(self, where: dict[str, Array]) -> Array:
        half = 0.07 * self.stage.width
        lines = []
        for axis in self.stage.scene.joint_axes:
            T = where[axis.link]
            point, along = T[:3, :3] @ axis.point + T[:3, 3], T[:3, :3] @ axis.direction
            lines.append([point - half * along, point + 1.6 * half * along])
        return np.array(lines)

    def _show_coms(self, q: Array, where: dict[str, Array]) -> None:
        points = [
            where[link][:3, :3] @ np.array([float(x) for x in inertia.com]) + where[link][:3, 3]
            for link, inertia in self.stage.scene.inertias.items()
        ]
        whole = np.asarray(self.stage.scene.robot.centre_of_mass(q), dtype=float)
        self.coms.points = np.array([*points, whole], dtype=np.float32)
        colours = np.array([_MASS] * len(points) + [_WHOLE], dtype=np.uint8)
        self.coms.colors = colours

    def _show_ellipsoid(self, name: str, node: Any, q: Array, pose: Array) -> None:
        """Half axes are the singular values of a matrix; the longest is drawn in one size."""
        robot, frame = self.stage.scene.robot, self.frame.value
        J = np.asarray(robot.jacobian(q, frame), dtype=float)[:3]
        A = J @ J.T
        if name == "acceleration":
            A = np.asarray(robot.operational_inertia(q, frame, inverse=True), dtype=float)[:3, :3]
        values, axes = np.linalg.eigh(A)
        if np.linalg.det(axes) < 0:
            axes[:, 0] = -axes[:, 0]
        values = np.sqrt(np.maximum(values, 0.0))
        if name == "acceleration":
            values = values**2
        if name == "force":
            values = 1 / np.maximum(values, 1e-3 * max(values.max(), 1e-12))
        scale = 0.3 * self.stage.width / max(values.max(), 1e-12)
        node.scale = tuple(map(float, np.maximum(scale * values, 0.002 * self.stage.width)))
        node.wxyz, node.position = wxyz(axes), pose[:3, 3]
