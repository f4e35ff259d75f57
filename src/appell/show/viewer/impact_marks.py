"""Balls where impacts happened: all of a motion, in batches, of which only those are sent again
whose impacts are near the present time."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.model.shapes import Shape
from appell.show.viewer.played_motion import Strike
from appell.show.viewer.triangles import triangles

_FLASH = 0.25  # s that an impact is large
_BATCH = 64  # balls per node


class ImpactMarks:
    """A ball at each place of each impact, from its time on; large at first."""

    def __init__(self, server: Any, strikes: tuple[Strike, ...], size: float) -> None:
        self.size = size
        self.times = np.repeat([x.time for x in strikes], [len(x.places) for x in strikes])
        self.places = np.concatenate([np.zeros((0, 3)), *(x.places for x in strikes)])
        self.scales = np.zeros(len(self.times), dtype=np.float32)  # 0 before an impact
        colour = (0.84, 0.27, 0.1, 1.0)
        ball = triangles(Shape("", "sphere", (1.0,), np.eye(3), np.zeros(3), colour))[0]
        self.nodes = []
        for k, first in enumerate(range(0, len(self.times), _BATCH)):
            some = self.places[first : first + _BATCH]
            self.nodes.append(server.scene.add_batched_meshes_simple(
                f"/impacts/{k}", ball.vertices, ball.faces, np.tile([1.0, 0, 0, 0], (len(some), 1)),
                some, batched_scales=np.zeros(len(some)), lod="off", visible=False,
                batched_colors=tuple(round(255 * x) for x in colour[:3]), cast_shadow=False,
            ))  # fmt: skip

    def move(self, t: float) -> None:
        """Bring the balls to a time."""
        fresh = np.clip(1 - (t - self.times) / _FLASH, 0, 1)
        scales = np.where(self.times <= t, self.size * (1 + 1.5 * fresh), 0).astype(np.float32)
        for k in np.unique(np.flatnonzero(scales != self.scales) // _BATCH):
            some = scales[_BATCH * k : _BATCH * (k + 1)]
            self.nodes[k].batched_scales = some
            self.nodes[k].visible = bool(some.any())
        self.scales = scales
